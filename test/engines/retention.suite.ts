/** Retention: what is past its time is removed in bounded turns, and readers get a gap. */
import { describe, expect, test } from 'vitest';
import { FeedTrimmed } from '../../server/ports/store.ts';
import { cursorsOf, finish, idsOf, must, readFeed, submit } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const RETENTION = { keepTasksMs: 10_000, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 };

export function describeRetention({ store, reopen, underTest }: SuiteContext): void {
  const trim = (limit = 500, more: Partial<typeof RETENTION> = {}): Promise<number> =>
    store().trim({ ...RETENTION, ...more }, limit);
  async function trimAll(more: Partial<typeof RETENTION> = {}): Promise<void> {
    while ((await trim(500, more)) > 0);
  }
  const listed = async (): Promise<readonly string[]> =>
    (await store().list('tasks', {}, { limit: 1_000 })).items.map(({ request_id }) => request_id);

  describe('a settled task', () => {
    test('is kept for its time and then removed, with its input, its event and its positions in the listings', async () => {
      await finish(store(), 't1');
      await underTest().advance(9_999);
      expect(await trim()).toBe(0);
      expect(await store().get('task', 't1')).toBeDefined();
      await underTest().advance(1);
      expect(await trim()).toBe(1);
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        expect(await store().get('task', 't1')).toBeUndefined();
        expect(await store().get('input', 't1')).toBeUndefined();
        expect(await listed()).toEqual([]);
        expect((await store().list('tasks', { session: 's' }, { limit: 9 })).items).toEqual([]);
        expect(idsOf(await readFeed(store(), 's', null, 1))).toEqual(['gap']);
        expect(await trim()).toBe(0);
      }
    });

    test('leaves the number of its last event for the same time again, and nothing behind that', async () => {
      await finish(store(), 't1');
      await underTest().advance(10_000);
      await trimAll();
      await underTest().advance(9_999);
      expect(await trim()).toBe(0);
      await underTest().advance(1);
      expect([await trim(), await trim()]).toEqual([1, 0]);
    });

    test('leaves it for longer where its session has events again: a reader from before gets a gap', async () => {
      await finish(store(), 't1');
      const [cursor = ''] = cursorsOf(await readFeed(store(), 's', null, 1));
      await underTest().advance(10_000);
      await trimAll();
      await underTest().advance(5_000);
      await finish(store(), 't2');
      await underTest().advance(5_000);
      await trimAll();
      expect(idsOf(await readFeed(store(), 's', cursor, 1))).toEqual(['gap']);
    });

    test('that ended beside others, in any order, is not missed: a new reader gets a gap, then what is stored', async () => {
      const ids = Array.from({ length: 60 }, (_, index) => `t${String(index).padStart(2, '0')}`);
      for (const id of ids.toReversed()) await finish(store(), id);
      await underTest().advance(10_000);
      await trimAll();
      await finish(store(), 'later');
      expect(idsOf(await readFeed(store(), 's', null, 2))).toEqual(['gap', 'later']);
      await reopen();
      expect(idsOf(await readFeed(store(), 's', null, 2))).toEqual(['gap', 'later']);
    });

    test('is removed by the time it settled, not by its creation; open tasks stay', async () => {
      await submit(store(), 'open');
      await finish(store(), 'old');
      await underTest().advance(9_000);
      await finish(store(), 'young');
      await underTest().advance(1_000);
      await trimAll();
      expect([...(await listed())].sort()).toEqual(['open', 'young']);
      expect(await store().get('task', 'open')).toBeDefined();
      expect(await store().get('input', 'open')).toBeDefined();
    });

    test('may be submitted again under its id once it is removed', async () => {
      await finish(store(), 't1');
      await underTest().advance(10_000);
      await trimAll();
      await submit(store(), 't1');
      expect((await store().get('task', 't1'))?.value.status).toBe('pending');
    });
  });

  test('a pass removes no more than its limit, and returns how many it removed', async () => {
    for (let index = 0; index < 25; index += 1) await finish(store(), `t${index}`);
    await underTest().advance(10_000);
    expect(await trim(10)).toBe(10);
    expect(await listed()).toHaveLength(15);
    expect(await trim(10)).toBe(10);
    expect(await trim(10)).toBe(5);
    expect(await trim(10)).toBe(0);
  });

  test('an expired key is removed, unless it was used again', async () => {
    const putKey = async (id: string) =>
      must(
        await store().commit({
          writes: [
            {
              kind: 'key',
              id,
              expect: 'absent',
              value: { request_id: 't', fingerprint: id, create_time: 1 },
              keepMs: 1_000,
            },
          ],
        }),
      );
    await putKey('once');
    await putKey('again');
    await underTest().advance(1_000);
    await putKey('again');
    await trimAll();
    expect(await store().get('key', 'once')).toBeUndefined();
    expect((await store().get('key', 'again'))?.value.fingerprint).toBe('again');
    await underTest().advance(1_000);
    expect(await trim()).toBeGreaterThan(0);
    expect(await trim()).toBe(0);
    expect(await store().get('key', 'again')).toBeUndefined();
  });

  describe('a session with more events than its maximum', () => {
    test('loses the oldest; a reader from the beginning gets a gap first', async () => {
      for (let index = 0; index < 8; index += 1) await finish(store(), `t${index}`);
      await trimAll({ sessionEventsMax: 5, outputBytesMax: 2 ** 28 });
      expect(idsOf(await readFeed(store(), 's', null, 6))).toEqual(['gap', 't3', 't4', 't5', 't6', 't7']);
      expect(await store().get('task', 't0')).toBeDefined();
    });

    test('is trimmed in bounded turns', async () => {
      for (let index = 0; index < 8; index += 1) await finish(store(), `t${index}`);
      expect(await trim(2, { sessionEventsMax: 3, outputBytesMax: 2 ** 28 })).toBe(2);
      expect(await trim(2, { sessionEventsMax: 3, outputBytesMax: 2 ** 28 })).toBe(2);
      expect(await trim(2, { sessionEventsMax: 3, outputBytesMax: 2 ** 28 })).toBe(1);
      expect(await trim(2, { sessionEventsMax: 3, outputBytesMax: 2 ** 28 })).toBe(0);
    });

    test('gives no gap to a reader whose cursor is stored, and one to a reader whose cursor is not', async () => {
      for (let index = 0; index < 8; index += 1) await finish(store(), `t${index}`);
      const cursors = cursorsOf(await readFeed(store(), 's', null, 8));
      await trimAll({ sessionEventsMax: 5, outputBytesMax: 2 ** 28 });
      expect(idsOf(await readFeed(store(), 's', cursors[3] ?? '', 2))).toEqual(['t4', 't5']);
      expect(idsOf(await readFeed(store(), 's', cursors[1] ?? '', 2))).toEqual(['gap', 't3']);
    });

    test('is counted across a restart', async () => {
      for (let index = 0; index < 4; index += 1) await finish(store(), `t${index}`);
      await reopen();
      for (let index = 4; index < 8; index += 1) await finish(store(), `t${index}`);
      await trimAll({ sessionEventsMax: 3, outputBytesMax: 2 ** 28 });
      expect(idsOf(await readFeed(store(), 's', null, 4))).toEqual(['gap', 't5', 't6', 't7']);
    });

    test('does not affect other sessions', async () => {
      for (let index = 0; index < 4; index += 1) {
        await finish(store(), `s${index}`, 's');
        if (index < 2) await finish(store(), `o${index}`, 'other');
      }
      await trimAll({ sessionEventsMax: 2, outputBytesMax: 2 ** 28 });
      expect(idsOf(await readFeed(store(), 'other', null, 2))).toEqual(['o0', 'o1']);
    });
  });

  test('a reader so slow that its position was trimmed gets FeedTrimmed', async () => {
    for (let index = 0; index < 150; index += 1) await finish(store(), `t${index}`);
    const stop = new AbortController();
    const reading = store().feed('s', null, stop.signal)[Symbol.asyncIterator]();
    expect(await reading.next()).toMatchObject({ value: { request_id: 't0' } });
    await trimAll({ sessionEventsMax: 2, outputBytesMax: 2 ** 28 });
    const remaining = (async () => {
      for (;;) if ((await reading.next()).done) return;
    })();
    await expect(remaining).rejects.toThrow(FeedTrimmed);
  });

  test('a reader that waits at the end of its feed is not affected when events that it has read are trimmed', async () => {
    for (let index = 0; index < 5; index += 1) await finish(store(), `t${index}`);
    const stop = new AbortController();
    const reading = store().feed('s', null, stop.signal)[Symbol.asyncIterator]();
    for (let index = 0; index < 5; index += 1) await reading.next();
    const next = reading.next();
    await underTest().advance(10_000);
    await trimAll();
    await finish(store(), 'later');
    expect(await next).toMatchObject({ value: { request_id: 'later' } });
    stop.abort();
  });

  test('cursors and event numbers of a session continue after all its events were trimmed', async () => {
    await finish(store(), 't1');
    const [old = ''] = cursorsOf(await readFeed(store(), 's', null, 1));
    await underTest().advance(10_000);
    await trimAll();
    await reopen();
    await finish(store(), 't2');
    const [gap, item] = await readFeed(store(), 's', old, 2);
    expect(gap).toEqual({ gap: true });
    expect(item).toMatchObject({ request_id: 't2' });
    for (let index = 0; index < 4; index += 1) await finish(store(), `u${index}`);
    await trimAll({ sessionEventsMax: 3, outputBytesMax: 2 ** 28 });
    expect(idsOf(await readFeed(store(), 's', null, 4))).toEqual(['gap', 'u1', 'u2', 'u3']);
  });
}
