/** Reading a task's output: what a page holds, and what is notified. */
import { describe, expect, test } from 'vitest';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import { append, begin, changeOutput, countYields, readPieces, textOf } from './output-calls.ts';
import { readState, settle, submit, until } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const A = textOf('a');
const B = textOf('b');

export function describeOutputReads({ store, reopen }: SuiteContext): void {
  describe('a page', () => {
    test('names the revision of the state now; null where there is no task', async () => {
      expect(await store().readOutput('t1', 0, 9)).toEqual({
        pieces: [],
        last: 0,
        missing: null,
        revision: null,
      });
      await submit(store(), 't1');
      const open = await store().readOutput('t1', 0, 9);
      expect(open.revision).toBe((await readState(store(), 't1')).revision);
      const settled = await settle(store(), 't1');
      expect(await store().readOutput('t1', 0, 9)).toEqual({
        pieces: [],
        last: 0,
        missing: null,
        revision: settled,
      });
      await reopen();
      expect((await store().readOutput('t1', 0, 9)).revision).toBe(settled);
    });

    test('has at most 256 KiB of pieces, and at least one', async () => {
      await submit(store(), 't1');
      const large = textOf('x'.repeat(60_000));
      await begin(store(), 't1', 'w');
      for (let from = 0; from < 20; from += 1) await append(store(), 't1', 'w', from, [large]);
      const { pieces, last } = await store().readOutput('t1', 3, 1_000);
      expect(pieces.map(({ n }) => n)).toEqual([4, 5, 6, 7]);
      expect(last).toBe(20);
      const own = textOf('y'.repeat(STORE_LIMITS.outputPageBytes));
      await changeOutput(store(), 't1', { append: { pieces: [own, A] } });
      expect(await readPieces(store(), 't1', 20)).toEqual([`21:${own}`, `22:${A}`]);
    });

    test('is the same for many readers at once, wherever each of them is', async () => {
      await submit(store(), 't1');
      const large = textOf('x'.repeat(30_000));
      await begin(store(), 't1', 'w');
      for (let from = 0; from < 60; from += 1) await append(store(), 't1', 'w', from, [large]);
      const pages = await Promise.all(
        Array.from({ length: 90 }, (_, index) => readPieces(store(), 't1', index % 61)),
      );
      for (const [index, pieces] of pages.entries())
        expect(pieces.length, `behind ${index % 61}`).toBe(60 - (index % 61));
    });

    test('reaches the end however small the writes are', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      for (let from = 0; from < 500; from += 100)
        await Promise.all(
          Array.from({ length: 100 }, (_, index) =>
            append(store(), 't1', 'w', from + index, [textOf(String(from + index))]),
          ),
        );
      expect((await store().readOutput('t1', 0, 1_000)).pieces.map(({ n }) => n)).toEqual(
        Array.from({ length: 500 }, (_, index) => index + 1),
      );
      expect((await store().readOutput('t1', 17, 230)).pieces.map(({ n }) => n)).toEqual(
        Array.from({ length: 230 }, (_, index) => index + 18),
      );
    });
  });

  describe('a watcher of output', () => {
    test('is notified of pieces, of a new writer and of the state; one of the state alone not of pieces', async () => {
      await submit(store(), 't1');
      await submit(store(), 't2');
      const output = countYields(store(), 'output:t1');
      const state = countYields(store(), 'task:t1');
      const other = countYields(store(), 'output:t2');
      await until('all have begun', () => output.count() + state.count() + other.count() === 3);
      await begin(store(), 't1', 'w', [A]);
      await until('it is notified of the first pieces', () => output.count() === 2 && state.count() === 2);
      await append(store(), 't1', 'w', 1, [B]);
      await until('it is notified of more', () => output.count() === 3);
      await settle(store(), 't1');
      await until('it is notified of the end', () => output.count() === 4 && state.count() === 3);
      expect(other.count()).toBe(1);
      await Promise.all([output, state, other].map((one) => one.stop()));
    });

    test('that reads behind its last piece at each notification finds all of them', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      const ending = new AbortController();
      const found: number[] = [];
      const reading = (async () => {
        for await (const _ of store().watch('output:t1', ending.signal)) {
          const { pieces } = await store().readOutput('t1', found.length, 1_000);
          found.push(...pieces.map(({ n }) => n));
          if (found.length === 50) return;
        }
      })();
      for (let from = 0; from < 50; from += 1) await append(store(), 't1', 'w', from, [A]);
      await until('it has all', () => found.length === 50);
      await reading;
      ending.abort();
      expect(found).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    });
  });
}
