/** How long output is kept, and what happens where there is too much of it: of one task, and of all. */
import { describe, expect, test } from 'vitest';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import { type Store, StoreRefused, StoreUnavailable } from '../../server/ports/store.ts';
import { append, begin, changeOutput, readPieces, textOf } from './output-calls.ts';
import { must, settle, submit } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const A = textOf('a');
const RETENTION = { keepTasksMs: 10_000, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 };
/** A piece that counts 1,000 bytes. */
const KILO = textOf('x'.repeat(1_000 - STORE_LIMITS.outputPieceBytes - textOf('').length));

export function describeOutputRetention({ store, underTest, reopen }: SuiteContext): void {
  const trim = (more: Partial<typeof RETENTION> = {}, limit = 500): Promise<number> =>
    store().trim({ ...RETENTION, ...more }, limit);
  async function trimAll(more: Partial<typeof RETENTION> = {}, limit = 500): Promise<void> {
    while ((await trim(more, limit)) > 0);
  }
  /** A settled task with this many pieces of 1,000 bytes, each a write of its own. */
  async function finishWith(id: string, count: number): Promise<void> {
    await submit(store(), id);
    await begin(store(), id, 'w');
    for (let from = 0; from < count; from += 1) await append(store(), id, 'w', from, [KILO]);
    await settle(store(), id);
  }

  describe('the limit of one task’s output', () => {
    const large = textOf('x'.repeat(60_000));
    const bytes = large.length + STORE_LIMITS.outputPieceBytes;
    const fitting = Math.floor(STORE_LIMITS.outputBytesMax / bytes);

    test('refuses the write that exceeds it and all later ones, also after a restart and of another writer', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      for (let from = 0; from < fitting; from += 1)
        expect((await append(store(), 't1', 'w', from, [large])).ok).toBe(true);
      const full = { ok: true, next: fitting, last: fitting, isFull: true };
      expect(await append(store(), 't1', 'w', fitting, [large])).toEqual(full);
      expect(await append(store(), 't1', 'w', fitting, [large])).toEqual(full);
      await reopen();
      expect(await append(store(), 't1', 'w', fitting, [A])).toEqual(full);
      expect(await append(store(), 't1', 'w', fitting - 1, [large])).toEqual(full);
      expect((await store().readOutput('t1', fitting, 9)).missing).toBe('truncated');
      expect(await begin(store(), 't1', 'v', [A])).toEqual({ next: 0, last: fitting + 1, isFull: true });
      await settle(store(), 't1');
      expect(await store().readOutput('t1', fitting, 9)).toMatchObject({
        pieces: [{ n: fitting + 1, json: '{"reset":true}' }],
        missing: 'truncated',
      });
    });

    test('refuses no piece that is needed, and counts it', async () => {
      await submit(store(), 't1');
      const by = { writer: 'w', from: 0 };
      const half = textOf('x'.repeat(STORE_LIMITS.outputBytesMax / 2));
      const pieces = [half, half, A];
      expect(
        await changeOutput(store(), 't1', {
          begins: { writer: 'w' },
          append: { pieces, by, isNeeded: true },
        }),
      ).toMatchObject({ output: { next: 3, last: 3, isFull: false } });
      expect(await append(store(), 't1', 'w', 3, [A])).toEqual({ ok: true, next: 3, last: 3, isFull: true });
      expect(await changeOutput(store(), 't1', { append: { pieces: [A] } })).toMatchObject({
        output: { next: 3, last: 4, isFull: true },
      });
      const question = { pieces: [A, A], by: { writer: 'w', from: 2 }, isNeeded: true };
      expect(await changeOutput(store(), 't1', { append: question })).toMatchObject({
        output: { next: 4, last: 5, isFull: true },
      });
    });

    test('stores questions and resets up to a reserve beyond the limit, then answers alone', async () => {
      await submit(store(), 't1');
      const change = (output: Parameters<typeof changeOutput>[2]) => changeOutput(store(), 't1', output);
      const quarter = textOf('x'.repeat(STORE_LIMITS.outputReserveBytes / 4));
      const by = { writer: 'w', from: 0 };
      const limit = STORE_LIMITS.outputBytesMax / STORE_LIMITS.outputReserveBytes;
      const pieces = Array.from({ length: limit * 4 }, () => quarter);
      must(await change({ begins: { writer: 'w' }, append: { pieces, by, isNeeded: true } }));
      const question = (from: number, behind: readonly string[] = []) => ({
        append: { pieces: [quarter], by: { writer: 'w', from }, isNeeded: true, behind },
      });
      for (let from = limit * 4; from < limit * 4 + 3; from += 1) must(await change(question(from)));
      const { last } = await store().readOutput('t1', 0, 1);
      const full = { ok: false, conflict: 'full' };
      expect(await change(question(limit * 4 + 3))).toEqual(full);
      // Neither does an answer that comes again with a question which is stored already.
      expect(await change(question(limit * 4, [quarter]))).toEqual(full);
      const successor = { writer: 'x', reset: quarter };
      expect(
        await change({ begins: successor, append: { pieces: [A], by: { writer: 'x', from: 0 } } }),
      ).toEqual(full);
      expect((await store().readOutput('t1', 0, 1)).last).toBe(last);
      for (const number of [1, 2])
        expect(await change({ append: { pieces: [quarter] } })).toMatchObject({
          output: { last: last + number },
        });
    });

    test('counts an empty piece for its writer, and stores nothing of it', async () => {
      await submit(store(), 't1');
      const ask = (from: number, pieces: readonly string[], begins = {}) =>
        changeOutput(store(), 't1', {
          ...begins,
          append: { pieces, by: { writer: 'w', from }, isNeeded: true },
        });
      expect(await ask(0, [A, '', KILO, ''], { begins: { writer: 'w' } })).toMatchObject({
        output: { next: 4, last: 2 },
      });
      expect(await ask(3, ['', ''])).toMatchObject({ output: { next: 5, last: 2 } });
      expect(await ask(0, [A, '', KILO, '', ''])).toMatchObject({ output: { next: 5, last: 2 } });
      expect(await append(store(), 't1', 'w', 5, [A])).toMatchObject({ next: 6, last: 3 });
      expect((await store().readOutput('t1', 0, 9)).pieces.map(({ json }) => json)).toEqual([A, KILO, A]);
    });

    test('refuses pieces that are all or nothing with their whole commit', async () => {
      await submit(store(), 't1');
      const by = { writer: 'w', from: 0 };
      const half = textOf('x'.repeat(STORE_LIMITS.outputBytesMax / 2));
      const begins = { writer: 'w' };
      must(await changeOutput(store(), 't1', { begins, append: { pieces: [half], by, isWhole: true } }));
      const whole = { append: { pieces: [half, A], by: { writer: 'w', from: 1 }, isWhole: true } };
      for (const more of [{}, { begins: { writer: 'v', reset: A } }]) {
        const before = await store().get('task', 't1');
        expect(await changeOutput(store(), 't1', { ...whole, ...more })).toMatchObject({ ok: false });
        expect(await store().get('task', 't1')).toEqual(before);
      }
      expect(await changeOutput(store(), 't1', whole)).toEqual({ ok: false, conflict: 'full' });
      expect(await append(store(), 't1', 'w', 1, [A])).toEqual({ ok: true, next: 2, last: 2, isFull: false });
    });

    test('counts the bytes of each piece and 64 for it, in any script', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      const chinese = textOf('中'.repeat(15_000));
      const count = Math.floor(STORE_LIMITS.outputBytesMax / (Buffer.byteLength(chinese) + 64));
      for (let from = 0; from < count; from += 1) await append(store(), 't1', 'w', from, [chinese]);
      const left = STORE_LIMITS.outputBytesMax - count * (Buffer.byteLength(chinese) + 64);
      const last = textOf('x'.repeat(left - 64 - textOf('').length));
      expect(await append(store(), 't1', 'w', count, [`${last} `])).toMatchObject({
        isFull: true,
        last: count,
      });
      await submit(store(), 't2');
      await begin(store(), 't2', 'w');
      for (let from = 0; from < count; from += 1) await append(store(), 't2', 'w', from, [chinese]);
      expect(await append(store(), 't2', 'w', count, [last])).toMatchObject({
        isFull: false,
        last: count + 1,
      });
    });
  });

  describe('the limit of all output', () => {
    test('removes that of the task which settled first, from 7/8 on; its number stays', async () => {
      for (const id of ['t1', 't2', 't3']) {
        await underTest().advance(1);
        await finishWith(id, 3);
      }
      await trimAll({ outputBytesMax: Math.ceil((9_000 * 8) / 7) });
      expect(await readPieces(store(), 't1')).toHaveLength(3);
      await trimAll({ outputBytesMax: Math.ceil((9_000 * 8) / 7) - 8 });
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        const { revision } = (await store().get('task', 't1')) ?? {};
        for (const after of [0, 2, 3])
          expect(await store().readOutput('t1', after, 9)).toEqual({
            pieces: [],
            last: 3,
            missing: 'removed',
            revision,
          });
        expect(await readPieces(store(), 't2')).toHaveLength(3);
      }
      await trimAll({ outputBytesMax: 3_500 });
      expect((await store().readOutput('t2', 0, 9)).missing).toBe('removed');
      expect(await readPieces(store(), 't3')).toHaveLength(3);
    });

    test('has a writer wait while that of settled tasks is removed, and then takes its pieces', async () => {
      await finishWith('done', 5);
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      await trim({ outputBytesMax: 8_000 });
      for (let from = 0; from < 3; from += 1) await append(store(), 't1', 'w', from, [KILO]);
      await expect(append(store(), 't1', 'w', 3, [KILO])).rejects.toThrow(StoreUnavailable);
      await expect(append(store(), 't1', 'w', 3, [KILO])).rejects.toThrow(
        /until that of ended tasks is removed/,
      );
      expect(await append(store(), 't1', 'w', 2, [KILO])).toMatchObject({ ok: true, next: 3 });
      expect(await changeOutput(store(), 't1', { append: { pieces: [KILO] } })).toMatchObject({
        output: { last: 4 },
      });
      expect((await store().readOutput('t1', 3, 9)).missing).toBe(null);
      await trimAll({ outputBytesMax: 8_000 });
      expect(await append(store(), 't1', 'w', 3, [KILO])).toMatchObject({ ok: true, next: 4, isFull: false });
      expect((await store().readOutput('done', 0, 9)).missing).toBe('removed');
    });

    test('is that of a task where no settled one has any: its output is full', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      await trimAll({ outputBytesMax: 2_500 });
      for (let from = 0; from < 2; from += 1) await append(store(), 't1', 'w', from, [KILO]);
      expect(await append(store(), 't1', 'w', 2, [KILO])).toMatchObject({ ok: true, next: 2, isFull: true });
      await settle(store(), 't1');
      expect(await store().readOutput('t1', 2, 9)).toMatchObject({ last: 2, missing: 'truncated' });
    });

    test('is counted exactly: after restarts, trims and settlements all of it is free again', async () => {
      const fits = async (id: string): Promise<boolean> => {
        await submit(store(), id);
        await begin(store(), id, 'w');
        for (let from = 0; from < 9; from += 1) await append(store(), id, 'w', from, [KILO]);
        const result = await append(store(), id, 'w', 9, [KILO]);
        return result.ok && !result.isFull;
      };
      for (let round = 0; round < 3; round += 1) {
        await trimAll({ outputBytesMax: 10_000 });
        expect(await fits(`t${round}`), `round ${round}`).toBe(true);
        expect(await append(store(), `t${round}`, 'w', 10, [A]), `round ${round}`).toMatchObject({
          isFull: true,
        });
        await reopen();
        await settle(store(), `t${round}`);
        await underTest().advance(10_000);
        await trimAll({ outputBytesMax: 10_000 });
        await reopen();
      }
    });

    test('takes questions within the limit of all output, waits for that of ended tasks, and takes answers', async () => {
      await finishWith('done', 2);
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      const question = (from: number) =>
        changeOutput(store(), 't1', {
          append: { pieces: [KILO], by: { writer: 'w', from }, isNeeded: true },
        });
      await trimAll({ outputBytesMax: 3_400 });
      must(await question(0));
      await expect(question(1)).rejects.toThrow(StoreRefused);
      await trimAll({ outputBytesMax: 2_500 });
      must(await question(1));
      expect(await question(2)).toEqual({ ok: false, conflict: 'full' });
      must(await changeOutput(store(), 't1', { append: { pieces: [KILO] } }));
    });

    test('removes at most the limit of rows in a pass, and shows a reader all or nothing meanwhile', async () => {
      await finishWith('done', 30);
      for (let passes = 0; passes < 100; passes += 1) {
        const { pieces, missing, last } = await store().readOutput('done', 0, 100);
        expect(last).toBe(30);
        expect(pieces).toHaveLength(missing === 'removed' ? 0 : 30);
        const removed = await trim({ outputBytesMax: 1_000 }, 7);
        expect(removed).toBeLessThanOrEqual(7);
        if (removed === 0) break;
      }
      expect((await store().readOutput('done', 0, 100)).missing).toBe('removed');
    });
  });

  describe('retention', () => {
    test('removes output with its task, what is left of a removed one too', async () => {
      await finishWith('t1', 30);
      await finishWith('t2', 3);
      await trimAll({ outputBytesMax: 5_000 });
      expect((await store().readOutput('t1', 0, 9)).missing).toBe('removed');
      await underTest().advance(9_999);
      await trimAll();
      expect(await readPieces(store(), 't2')).toHaveLength(3);
      await underTest().advance(1);
      for (let passes = 0; (await trim({}, 4)) > 0; passes += 1) expect(passes).toBeLessThan(40);
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        for (const id of ['t1', 't2'])
          expect(await store().readOutput(id, 0, 9)).toEqual(await pageOfNothing(store()));
      }
    });

    test('leaves the output of open tasks, and a new task under an old id has none', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A]);
      await finishWith('t2', 2);
      await underTest().advance(20_000);
      await trimAll();
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`]);
      await submit(store(), 't2');
      expect(await readPieces(store(), 't2')).toEqual([]);
      expect(await begin(store(), 't2', 'v', [A])).toEqual({ next: 1, last: 1, isFull: false });
    });
  });
}

/** What a page of an unknown task is. */
function pageOfNothing(store: Store) {
  return store.readOutput('unknown', 0, 9);
}
