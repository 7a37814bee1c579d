/** Hints: the first at once, one after every change, none lost, none after the end. */
import { describe, expect, test } from 'vitest';
import type { Ref } from '../../server/ports/store.ts';
import type { Given } from './conformance.ts';
import {
  agentRef,
  assign,
  buildState,
  must,
  register,
  settle,
  submit,
  taskRef,
  until,
  writeTask,
} from './store-under-test.ts';

export function describeWatching({ store, subject }: Given): void {
  /** Counts the hints of a topic until it is stopped. */
  function count(topic: Ref | 'due'): { readonly hints: () => number; stop(): Promise<void> } {
    const ending = new AbortController();
    let hints = 0;
    const loop = (async () => {
      for await (const _hint of store().watch(topic, ending.signal)) hints += 1;
    })();
    return {
      hints: () => hints,
      stop() {
        ending.abort();
        return loop;
      },
    };
  }

  describe('a watcher', () => {
    test('is hinted at once, and again after a change of what it watches', async () => {
      const first = await submit(store(), 't1');
      const watcher = count(taskRef('t1'));
      await until('the first hint', () => watcher.hints() === 1);
      must(await store().commit(writeTask('t1', first, buildState(store(), { progress: 1 }))));
      await until('the second hint', () => watcher.hints() === 2);
      await settle(store(), 't1');
      await until('the third hint', () => watcher.hints() === 3);
      await watcher.stop();
    });

    test('of something else hears nothing', async () => {
      const watcher = count(taskRef('t2'));
      const other = count(taskRef('t1'));
      await until('both have begun', () => watcher.hints() + other.hints() === 2);
      await submit(store(), 't1');
      await until('the other was hinted', () => other.hints() === 2);
      expect(watcher.hints()).toBe(1);
      await Promise.all([watcher.stop(), other.stop()]);
    });

    test('of an agent hears of its record and of its slots', async () => {
      const watcher = count(agentRef('A'));
      await until('the first hint', () => watcher.hints() === 1);
      await register(store(), 'A');
      await until('the record', () => watcher.hints() === 2);
      await submit(store(), 't1');
      must(await assign(store(), 't1', 'A'));
      await until('the grant', () => watcher.hints() === 3);
      await settle(store(), 't1');
      await until('the release', () => watcher.hints() === 4);
      await watcher.stop();
    });

    test('that is busy misses nothing: changes meanwhile are one hint when it comes back', async () => {
      const ending = new AbortController();
      const watching = store().watch(taskRef('t1'), ending.signal)[Symbol.asyncIterator]();
      await watching.next();
      const waiting = watching.next();
      let revision = await submit(store(), 't1');
      await waiting;
      for (let progress = 1; progress <= 3; progress += 1) {
        revision = must(await store().commit(writeTask('t1', revision, buildState(store(), { progress }))));
      }
      expect(await watching.next()).toMatchObject({ done: false });
      ending.abort();
      expect(await watching.next()).toMatchObject({ done: true });
    });

    test('ends with its signal: while it waits, before it began, and when it leaves by itself', async () => {
      const waiting = count(taskRef('t1'));
      await until('it waits', () => waiting.hints() === 1);
      await waiting.stop();
      for await (const _hint of store().watch(taskRef('t1'), AbortSignal.abort())) expect.unreachable();
      for await (const _hint of store().watch(taskRef('t1'), new AbortController().signal)) break;
    });
  });

  describe('a watcher of what is due', () => {
    test('is hinted when something is made due', async () => {
      const watcher = count('due');
      await until('the first hint', () => watcher.hints() === 1);
      await submit(store(), 't1');
      await until('the second hint', () => watcher.hints() >= 2);
      await watcher.stop();
    });

    test('is hinted at the moment the earliest entry comes due', async () => {
      const atMs = store().nowMs() + 400;
      must(await store().commit({ writes: [], due: [{ ref: agentRef('B'), atMs: atMs + 5_000 }] }));
      const watcher = count('due');
      await until('the first hint', () => watcher.hints() >= 1);
      must(await store().commit({ writes: [], due: [{ ref: agentRef('A'), atMs }] }));
      const before = watcher.hints();
      await subject().advance(399);
      expect(watcher.hints()).toBe(before);
      await subject().advance(1);
      await until('the hint', () => watcher.hints() > before);
      expect((await store().takeDue(5)).map(({ ref }) => ref)).toEqual([agentRef('A')]);
      await watcher.stop();
    });

    test('is hinted when a lease runs out, and of what is due in a month', async () => {
      must(
        await store().commit({
          writes: [],
          due: [
            { ref: agentRef('A'), atMs: store().nowMs() },
            { ref: agentRef('B'), atMs: store().nowMs() + 30 * 24 * 3_600_000 },
          ],
        }),
      );
      await store().takeDue(1);
      const watcher = count('due');
      await until('the first hint', () => watcher.hints() >= 1);
      const before = watcher.hints();
      await subject().advance(1_500);
      await until('the lease is over', () => watcher.hints() > before);
      const [again] = await store().takeDue(1);
      must(
        await store().commit({
          writes: [],
          due: [{ ref: agentRef('A'), atMs: null, lease: again?.lease ?? '' }],
        }),
      );
      const then = watcher.hints();
      await subject().advance(30 * 24 * 3_600_000);
      await until('the month is over', () => watcher.hints() > then);
      await watcher.stop();
    });
  });
}
