/**
 * A slow disk: no call resolves with anything that depends on a commit that is not durable yet. It waits, or
 * shows what is durable.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { yieldToEventLoop } from '../../server/async/waiting.ts';
import type { TaskState } from '../../server/domain/task.ts';
import type { Stored } from '../../server/ports/store.ts';
import { append, begin, countYields, readPieces, textOf } from './output-calls.ts';
import {
  assign,
  buildAgent,
  type Disk,
  endingOf,
  follow,
  must,
  readFeed,
  readState,
  register,
  submit,
  taskRef,
  until,
  writeAgent,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const A = textOf('a');
const B = textOf('b');

export function describeDurability(context: SuiteContext): void {
  const { store, reopen } = context;
  let disk: Disk;
  beforeEach(() => {
    disk = context.disk();
  });
  async function waitSomeTurns(): Promise<void> {
    for (let ticks = 0; ticks < 20; ticks += 1) await yieldToEventLoop();
  }

  test('a row that one commit removes and the next puts again, both written at once, is there after a restart', async () => {
    const revision = await register(store(), 'A');
    const removed = store().commit(writeAgent('A', revision, null));
    const put = store().commit(writeAgent('A', 'absent', buildAgent('A', { max_concurrent: 7 })));
    must(await removed);
    must(await put);
    await reopen();
    expect((await store().get('agent', 'A'))?.value.max_concurrent).toBe(7);
  });

  describe('while a commit is not durable', () => {
    test('it has not resolved, and no reader is shown what it wrote', async () => {
      await register(store(), 'A', { max_concurrent: 2 });
      await submit(store(), 't1');
      must(await assign(store(), 't1', 'A'));
      await submit(store(), 't2');
      const ending = await endingOf(store(), 't1', { unreported: 'A' });
      disk.hold();
      const committed = follow(store().commit(ending));
      await until('the write is held', disk.isHolding);
      const shown = [
        follow(store().get('task', 't1')),
        follow(store().getAgentStatus('A')),
        follow(store().list('slots', { agent_id: 'A' }, { limit: 5 })),
        follow(store().list('waiting', { tags: ['a'] }, { limit: 5 })),
        follow(store().list('tasks', {}, { limit: 5 })),
        follow(store().readAgentChanges(null)),
        follow(store().list('unreported', { agent_id: 'A' }, { limit: 5 })),
        follow(readFeed(store(), 's', null, 1)),
        follow(store().readEnded()),
      ];
      await waitSomeTurns();
      expect(committed.now()).toBe('waiting');
      if (disk.readsShowDurable) {
        expect((await store().get('task', 't1'))?.value.status).toBe('running');
        expect((await store().getAgentStatus('A'))?.slots).toBe(1);
        expect((await store().list('slots', { agent_id: 'A' }, { limit: 5 })).items).toHaveLength(1);
        expect((await store().list('unreported', { agent_id: 'A' }, { limit: 5 })).items).toEqual([]);
        expect(await store().readEnded()).toEqual([]);
        expect(await store().findSlots('A', ['t1'])).toEqual(new Set(['t1']));
      } else expect(shown.map((call) => call.now())).toEqual(shown.map(() => 'waiting'));
      const untouched = store().get('task', 't2');
      if (!disk.readsWaitForWrites) expect((await untouched)?.value.status).toBe('pending');
      disk.release();
      await until('all calls have resolved', () => shown.every((call) => call.now() === 'done'));
      expect(committed.now()).toBe('done');
      expect((await untouched)?.value.status).toBe('pending');
    });

    test('the state of an open task is not shown, even after another commit re-timed the task', async () => {
      await submit(store(), 't1');
      const before = await readState(store(), 't1');
      const due = [{ ref: taskRef('t1'), atMs: store().nowMs() + 60_000 }];
      disk.hold();
      const committed = [
        store().commit(writeTask('t1', before, { ...before.value, progress: 7 }, { due })),
        store().commit({ writes: [], due: [{ ref: taskRef('t1'), atMs: store().nowMs() }] }),
      ];
      const reading = store().get('task', 't1');
      const shown = follow(reading);
      await until('the write is held', disk.isHolding);
      await waitSomeTurns();
      if (disk.readsShowDurable) expect((await reading)?.value.progress).toBe(0);
      else expect(shown.now()).toBe('waiting');
      disk.release();
      for (const result of await Promise.all(committed)) must(result);
      expect((await readState(store(), 't1')).value.progress).toBe(7);
    });

    test('the next commit may be decided on it where it is read, and is not applied without it', async () => {
      await submit(store(), 't1');
      const first = await readState(store(), 't1');
      const write = (before: Stored<TaskState>, progress: number) =>
        store().commit(writeTask('t1', before, { ...before.value, progress }));
      disk.hold();
      const earlier = write(first, 1);
      await until('the write is held', disk.isHolding);
      const read = store().getForCommit('t1');
      if (disk.readsWaitForWrites) disk.release();
      const undurable = await read;
      if (!undurable) throw new Error('it was submitted');
      if (disk.readsShowDurable) {
        // The commit that was decided on the state before it is a conflict, and decided again.
        const early = write(undurable, 2);
        disk.release();
        must(await earlier);
        expect(await early).toEqual({ ok: false, conflict: 'revision' });
        return;
      }
      expect(undurable.value.progress).toBe(1);
      const later = write(undurable, 2);
      const both = follow(Promise.all([earlier, later]));
      if (!disk.readsWaitForWrites) {
        await waitSomeTurns();
        expect(both.now()).toBe('waiting');
        disk.release();
      }
      must(await earlier);
      must(await later);
      expect((await readState(store(), 't1')).value.progress).toBe(2);
    });

    test('a contact of an agent waits for its record alone', async () => {
      await submit(store(), 't1');
      const revision = await register(store(), 'A');
      disk.hold();
      const granted = assign(store(), 't1', 'A');
      if (!disk.readsWaitForWrites) {
        await until('the write is held', disk.isHolding);
        expect(await store().touch('A', { by: 'call' })).toMatchObject({ agent_id: 'A', limit: 1 });
      }
      disk.release();
      must(await granted);
      disk.hold();
      const registered = store().commit(writeAgent('A', revision, buildAgent('A', { max_concurrent: 3 })));
      await until('the write is held', disk.isHolding);
      const touched = store().touch('A', { by: 'call' });
      const shown = follow(touched);
      await waitSomeTurns();
      expect(shown.now()).toBe(disk.readsShowDurable ? 'done' : 'waiting');
      disk.release();
      must(await registered);
      expect((await touched)?.max_concurrent).toBe(disk.readsShowDurable ? 1 : 3);
      expect((await store().touch('A', { by: 'call' }))?.max_concurrent).toBe(3);
    });

    test('a removed value is not shown as absent', async () => {
      const revision = await register(store(), 'A');
      disk.hold();
      const removal = store().commit(writeAgent('A', revision, null));
      const shown = [follow(store().get('agent', 'A')), follow(store().getAgentStatus('A'))];
      await until('the write is held', disk.isHolding);
      await waitSomeTurns();
      if (disk.readsShowDurable) {
        expect(await store().getAgentStatus('A')).toMatchObject({ revision });
        expect(await store().get('agent', 'A')).toMatchObject({ revision });
      } else expect(shown.map((call) => call.now())).toEqual(['waiting', 'waiting']);
      disk.release();
      must(await removal);
      await until('both calls have resolved', () => shown.every((call) => call.now() === 'done'));
      expect(await store().get('agent', 'A')).toBeUndefined();
    });

    test('a conflict that depends on it does not resolve', async () => {
      await submit(store(), 't1');
      const before = await readState(store(), 't1');
      const write = (progress: number) =>
        store().commit(writeTask('t1', before, { ...before.value, progress }));
      disk.hold();
      const first = write(1);
      const second = write(2);
      const conflicting = follow(second);
      await until('the write is held', disk.isHolding);
      await waitSomeTurns();
      expect(conflicting.now()).toBe('waiting');
      disk.release();
      must(await first);
      expect(await second).toEqual({ ok: false, conflict: 'revision' });
    });

    test('no watcher is notified of it', async () => {
      await submit(store(), 't1');
      const stop = new AbortController();
      const watching = store().watch(taskRef('t1'), stop.signal)[Symbol.asyncIterator]();
      await watching.next();
      const ending = await endingOf(store(), 't1');
      disk.hold();
      const committed = store().commit(ending);
      const notification = follow(watching.next());
      await until('the write is held', disk.isHolding);
      await waitSomeTurns();
      expect(notification.now()).toBe('waiting');
      disk.release();
      must(await committed);
      await until('the watcher is notified', () => notification.now() === 'done');
      stop.abort();
    });

    test('later commits wait for it, and all become durable', async () => {
      disk.hold();
      const all = Promise.all(Array.from({ length: 100 }, (_, index) => submit(store(), `t${index}`)));
      await until('the write is held', disk.isHolding);
      disk.release();
      await all;
      await reopen();
      expect((await store().list('tasks', {}, { limit: 200 })).items).toHaveLength(100);
    });
  });

  describe('while an append is not durable', () => {
    test('it has not resolved, and no reader is shown its pieces', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A]);
      const watcher = countYields(store(), 'output:t1');
      await until('the watcher has begun', () => watcher.count() === 1);
      disk.hold();
      const appended = follow(append(store(), 't1', 'w', 1, [B]));
      await until('the write is held', disk.isHolding);
      const repeated = follow(append(store(), 't1', 'w', 1, [B]));
      const shown: (readonly string[])[] = [];
      const reading = readPieces(store(), 't1').then((pieces) => shown.push(pieces));
      await waitSomeTurns();
      expect([appended.now(), repeated.now(), watcher.count()]).toEqual(['waiting', 'waiting', 1]);
      expect(shown).toEqual(disk.readsWaitForWrites ? [] : [[`1:${A}`]]);
      disk.release();
      await until('all calls have resolved', () => appended.now() === 'done' && repeated.now() === 'done');
      await reading;
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`, `2:${B}`]);
      await until('the watcher is notified', () => watcher.count() > 1);
      await watcher.stop();
    });
  });
}
