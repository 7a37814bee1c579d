/** Notifications of watchers: the first at once, one after every change, none lost, none after the end. */
import { describe, expect, test } from 'vitest';
import type { Ref } from '../../server/ports/store.ts';
import {
  agentRef,
  assign,
  buildState,
  must,
  readState,
  register,
  settle,
  submit,
  taskRef,
  until,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeWatching({ store, underTest }: SuiteContext): void {
  /** Counts the notifications of a topic until it is stopped. */
  function startCounting(topic: Ref | 'due'): { readonly count: () => number; stop(): Promise<void> } {
    const ending = new AbortController();
    let count = 0;
    const loop = (async () => {
      for await (const _notification of store().watch(topic, ending.signal)) count += 1;
    })();
    return {
      count: () => count,
      stop() {
        ending.abort();
        return loop;
      },
    };
  }

  describe('a watcher', () => {
    test('is notified at once, and again after each change of what it watches', async () => {
      await submit(store(), 't1');
      const first = await readState(store(), 't1');
      const watcher = startCounting(taskRef('t1'));
      await until('the first notification', () => watcher.count() === 1);
      must(await store().commit(writeTask('t1', first, buildState(store(), { progress: 1 }))));
      await until('the second notification', () => watcher.count() === 2);
      await settle(store(), 't1');
      await until('the third notification', () => watcher.count() === 3);
      await watcher.stop();
    });

    test('of another task is not notified', async () => {
      const watcher = startCounting(taskRef('t2'));
      const other = startCounting(taskRef('t1'));
      await until('both have begun', () => watcher.count() + other.count() === 2);
      await submit(store(), 't1');
      await until('the other is notified', () => other.count() === 2);
      expect(watcher.count()).toBe(1);
      await Promise.all([watcher.stop(), other.stop()]);
    });

    test('of an agent is notified of changes of its record and of its slots', async () => {
      const watcher = startCounting(agentRef('A'));
      await until('the first notification', () => watcher.count() === 1);
      await register(store(), 'A');
      await until('the record', () => watcher.count() === 2);
      await submit(store(), 't1');
      must(await assign(store(), 't1', 'A'));
      await until('the grant', () => watcher.count() === 3);
      await settle(store(), 't1');
      await until('the release', () => watcher.count() === 4);
      await watcher.stop();
    });

    test('that is busy gets one notification for all changes meanwhile', async () => {
      const ending = new AbortController();
      const watching = store().watch(taskRef('t1'), ending.signal)[Symbol.asyncIterator]();
      await watching.next();
      const waiting = watching.next();
      await submit(store(), 't1');
      await waiting;
      for (let progress = 1; progress <= 3; progress += 1) {
        const before = await readState(store(), 't1');
        must(await store().commit(writeTask('t1', before, { ...before.value, progress })));
      }
      expect(await watching.next()).toMatchObject({ done: false });
      ending.abort();
      expect(await watching.next()).toMatchObject({ done: true });
    });

    test('ends with its signal, while it waits or before it began, and when its reader stops', async () => {
      const waiting = startCounting(taskRef('t1'));
      await until('it waits', () => waiting.count() === 1);
      await waiting.stop();
      for await (const _notification of store().watch(taskRef('t1'), AbortSignal.abort()))
        expect.unreachable();
      for await (const _notification of store().watch(taskRef('t1'), new AbortController().signal)) break;
    });
  });

  describe('a watcher of what is due', () => {
    test('is notified when an entry is made due', async () => {
      const watcher = startCounting('due');
      await until('the first notification', () => watcher.count() === 1);
      await submit(store(), 't1');
      await until('the second notification', () => watcher.count() >= 2);
      await watcher.stop();
    });

    test('is notified at the moment the earliest entry becomes due', async () => {
      const atMs = store().nowMs() + 400;
      must(await store().commit({ writes: [], due: [{ ref: agentRef('B'), atMs: atMs + 5_000 }] }));
      const watcher = startCounting('due');
      await until('the first notification', () => watcher.count() >= 1);
      must(await store().commit({ writes: [], due: [{ ref: agentRef('A'), atMs }] }));
      const before = watcher.count();
      await underTest().advance(399);
      expect(watcher.count()).toBe(before);
      await underTest().advance(1);
      await until('the notification', () => watcher.count() > before);
      expect((await store().takeDue(5)).map(({ ref }) => ref)).toEqual([agentRef('A')]);
      await watcher.stop();
    });

    test('is notified when a lease expires, and of an entry that is due in a month', async () => {
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
      const watcher = startCounting('due');
      await until('the first notification', () => watcher.count() >= 1);
      const before = watcher.count();
      await underTest().advance(1_500);
      await until('the lease is over', () => watcher.count() > before);
      const [again] = await store().takeDue(1);
      must(
        await store().commit({
          writes: [],
          due: [{ ref: agentRef('A'), atMs: null, lease: again?.lease ?? '' }],
        }),
      );
      const afterLease = watcher.count();
      await underTest().advance(30 * 24 * 3_600_000);
      await until('the month is over', () => watcher.count() > afterLease);
      await watcher.stop();
    });
  });
}
