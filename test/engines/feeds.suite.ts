/**
 * Feeds: stored events, then live ones, in the order of commits, without gap or repeat, each session on its
 * own.
 */
import { describe, expect, test } from 'vitest';
import type { FeedItem } from '../../server/ports/store.ts';
import {
  buildState,
  createRandom,
  cursorsOf,
  drawSeed,
  endingOf,
  finish,
  idsOf,
  must,
  readFeed,
  readState,
  submit,
  until,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeFeeds({ store, reopen, underTest }: SuiteContext): void {
  describe('a feed', () => {
    test('yields stored events in the order of their commits, then live ones', async () => {
      await finish(store(), 't1');
      await finish(store(), 't2');
      const reading = readFeed(store(), 's', null, 4);
      await finish(store(), 't3');
      await finish(store(), 't4');
      expect(idsOf(await reading)).toEqual(['t1', 't2', 't3', 't4']);
    });

    test('waits for the first event of a new session', async () => {
      const reading = readFeed(store(), 'new', null, 1);
      await finish(store(), 'other', 'elsewhere');
      await finish(store(), 't1', 'new');
      expect(idsOf(await reading)).toEqual(['t1']);
    });

    test('has cursors of milliseconds and a number, rising within the session', async () => {
      for (let index = 0; index < 12; index += 1) await finish(store(), `t${index}`);
      const cursors = cursorsOf(await readFeed(store(), 's', null, 12));
      const padded = cursors.map((cursor) => {
        expect(cursor).toMatch(/^\d+-\d+$/);
        const [ms = '', n = ''] = cursor.split('-');
        return `${ms.padStart(16, '0')}-${n.padStart(16, '0')}`;
      });
      expect(padded).toEqual([...new Set(padded)].sort());
    });

    test('continues after a cursor that is stored in the session', async () => {
      for (const id of ['t1', 't2', 't3']) await finish(store(), id);
      const [first, second, third] = cursorsOf(await readFeed(store(), 's', null, 3));
      expect(idsOf(await readFeed(store(), 's', first ?? '', 2))).toEqual(['t2', 't3']);
      expect(idsOf(await readFeed(store(), 's', second ?? '', 1))).toEqual(['t3']);
      const reading = readFeed(store(), 's', third ?? '', 1);
      await finish(store(), 't4');
      expect(idsOf(await reading)).toEqual(['t4']);
    });

    test.each(['', 'nonsense', '0-0', '99999999999999-9', '-1-1', '1-2-3', '../x'])(
      'yields every event, without a gap, to a reader whose cursor %j is not stored in the session',
      async (cursor) => {
        await finish(store(), 't1');
        await finish(store(), 't2');
        expect(idsOf(await readFeed(store(), 's', cursor, 2))).toEqual(['t1', 't2']);
      },
    );

    test('accepts neither a cursor of another session nor another spelling of its own', async () => {
      await finish(store(), 't1', 'one');
      await finish(store(), 't2', 'two');
      const [cursor = ''] = cursorsOf(await readFeed(store(), 'one', null, 1));
      expect(idsOf(await readFeed(store(), 'two', cursor, 1))).toEqual(['t2']);
      expect(idsOf(await readFeed(store(), 'one', `0${cursor}`, 1))).toEqual(['t1']);
    });

    test('is the same after a restart, including its cursors', async () => {
      for (const id of ['t1', 't2', 't3']) await finish(store(), id);
      const before = await readFeed(store(), 's', null, 3);
      await reopen();
      expect(await readFeed(store(), 's', null, 3)).toEqual(before);
      const [, second = ''] = cursorsOf(before);
      const reading = readFeed(store(), 's', second, 2);
      await finish(store(), 't4');
      expect(idsOf(await reading)).toEqual(['t3', 't4']);
    });

    test('yields more events than one slice holds', async () => {
      const ids = Array.from({ length: 350 }, (_, index) => `t${index}`);
      for (const id of ids) await submit(store(), id);
      for (const id of ids) must(await store().commit(await endingOf(store(), id)));
      expect(idsOf(await readFeed(store(), 's', null, 350))).toEqual(ids);
    });

    test('yields every event to a reader that takes none while hundreds come', async () => {
      const stop = new AbortController();
      const reading = store().feed('s', null, stop.signal)[Symbol.asyncIterator]();
      const ids = Array.from({ length: 300 }, (_, index) => `t${index}`);
      const [first = '', ...others] = ids;
      await finish(store(), first);
      const taken = [await reading.next()];
      for (const id of others) await finish(store(), id);
      while (taken.length < ids.length) taken.push(await reading.next());
      stop.abort();
      expect(idsOf(taken.map(({ value }) => value))).toEqual(ids);
    });

    test('has no event of a commit with a conflict', async () => {
      await submit(store(), 't1');
      const before = await readState(store(), 't1');
      const settledMs = store().nowMs();
      const history = [['failed', settledMs]] as const;
      const settled = buildState(store(), { status: 'failed', settledMs, history });
      const event = { session: 's', request_id: 't1' };
      const results = await Promise.all([
        store().commit(writeTask('t1', before, settled, { event })),
        store().commit(writeTask('t1', before, settled, { event })),
      ]);
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      await finish(store(), 't2');
      expect(idsOf(await readFeed(store(), 's', null, 2))).toEqual(['t1', 't2']);
    });

    test('ends with its signal: while it waits, between two items, and before it began', async () => {
      await finish(store(), 't1');
      await finish(store(), 't2');
      const stop = new AbortController();
      const items: FeedItem[] = [];
      const waiting = (async () => {
        for await (const item of store().feed('s', null, stop.signal)) items.push(item);
      })();
      await until('it waits', () => items.length === 2);
      stop.abort();
      await waiting;
      expect(idsOf(await readFeed(store(), 's', null, 1))).toEqual(['t1']);
      for await (const _item of store().feed('s', null, AbortSignal.abort())) expect.unreachable();
    });
  });

  test('readers that join in the middle of writes see every event once, in the same order', async () => {
    const random = createRandom(drawSeed());
    const TASKS = 300;
    const readers: Promise<FeedItem[]>[] = [];
    const sessions = ['s', 'other'];
    for (let index = 0; index < TASKS; index += 1) {
      await submit(store(), `t${index}`, { cli_session_id: sessions[index % 2] ?? 's' });
    }
    let next = 0;
    const writer = async (): Promise<void> => {
      while (next < TASKS) {
        const id = `t${next}`;
        next += 1;
        must(await store().commit(await endingOf(store(), id)));
        if (random.next(15) === 0) readers.push(readFeed(store(), 's', null, TASKS / 2));
        if (random.next(40) === 0) await underTest().advance(random.next(3));
      }
    };
    await Promise.all([writer(), writer(), writer(), writer()]);
    const complete = await readFeed(store(), 's', null, TASKS / 2);
    expect(new Set(idsOf(complete)).size, `seed ${random.seed}`).toBe(TASKS / 2);
    for (const reading of readers) expect(await reading, `seed ${random.seed}`).toEqual(complete);

    // A reader that returns with any cursor gets exactly the rest.
    for (let times = 0; times < 10; times += 1) {
      const index = random.next(TASKS / 2 - 1);
      const cursor = cursorsOf(complete)[index] ?? '';
      const rest = await readFeed(store(), 's', cursor, TASKS / 2 - index - 1);
      expect(rest, `seed ${random.seed}`).toEqual(complete.slice(index + 1));
    }
  });
}
