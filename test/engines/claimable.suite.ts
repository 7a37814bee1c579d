/** The tasks that claims may hand out: which, in which order, from when on, and who is notified. */
import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../server/domain/task.ts';
import type { Claimable } from '../../server/ports/store.ts';
import {
  agentRef,
  assign,
  must,
  NEVER,
  readState,
  register,
  settle,
  submit,
  until,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

export function describeClaimable({ store, reopen, underTest }: SuiteContext): void {
  /** Changes the delivery of a running task; `attemptMs` null: no claim has handed it out. */
  async function deliver(id: string, change: Partial<Delivery>): Promise<void> {
    const before = await readState(store(), id);
    const { value } = before;
    if (!value.delivery) throw new Error('it must be running');
    must(
      await store().commit(
        writeTask(id, before, { ...value, delivery: { ...value.delivery, pull: true, ...change } }),
      ),
    );
  }
  async function assignToPull(id: string, agent_id = 'A'): Promise<void> {
    await submit(store(), id);
    must(await assign(store(), id, agent_id));
    await deliver(id, { attemptMs: null, attempts: 0 });
    await underTest().advance(1);
  }
  const claimable = async (limit = 10, agent_id = 'A'): Promise<Claimable> =>
    await store().listClaimable(agent_id, limit);
  const idsNow = async (limit = 10): Promise<readonly string[]> => (await claimable(limit)).request_ids;

  describe('the tasks that claims may hand out', () => {
    test('are those of that agent that it has not acknowledged, oldest assignment first', async () => {
      await register(store(), 'A', { max_concurrent: 10 });
      await register(store(), 'B', { max_concurrent: 10 });
      for (const id of ['t3', 't1', 't2']) await assignToPull(id);
      await assignToPull('other', 'B');
      await submit(store(), 'pushed');
      must(await assign(store(), 'pushed', 'A'));
      expect(await claimable()).toEqual({ request_ids: ['t3', 't1', 't2'], nextMs: null });
      expect(await claimable(2)).toEqual({ request_ids: ['t3', 't1'], nextMs: null });
      await deliver('t1', { acknowledged: true });
      expect(await idsNow()).toEqual(['t3', 't2']);
      expect(await claimable(10, 'absent')).toEqual({ request_ids: [], nextMs: null });
    });

    test('rest for fifteen seconds after each claim, and keep the order of their assignments', async () => {
      await register(store(), 'A', { max_concurrent: 10 });
      for (const id of ['t1', 't2', 't3']) await assignToPull(id);
      const firstMs = store().nowMs();
      await deliver('t1', { attemptMs: firstMs });
      expect(await claimable()).toEqual({ request_ids: ['t2', 't3'], nextMs: firstMs + 15_000 });
      await underTest().advance(5_000);
      await deliver('t2', { attemptMs: store().nowMs() });
      expect(await claimable()).toEqual({ request_ids: ['t3'], nextMs: firstMs + 15_000 });
      await underTest().advance(10_000);
      expect(await claimable()).toEqual({ request_ids: ['t1', 't3'], nextMs: firstMs + 20_000 });
      await deliver('t1', { attemptMs: store().nowMs() });
      await underTest().advance(20_000);
      expect(await claimable()).toEqual({ request_ids: ['t1', 't2', 't3'], nextMs: null });
      await deliver('t2', { attemptMs: null });
      expect(await idsNow(2)).toEqual(['t1', 't2']);
    });

    test('leave when the task settles, moves or is pushed', async () => {
      await register(store(), 'A', { max_concurrent: 10 });
      for (const id of ['settled', 'moved', 'pushed', 'left']) await assignToPull(id);
      await settle(store(), 'settled');
      const before = await readState(store(), 'moved');
      must(await store().commit(writeTask('moved', before, { ...before.value, agent_id: 'B' })));
      await deliver('pushed', { pull: false });
      expect(await idsNow()).toEqual(['left']);
      expect((await claimable(10, 'B')).request_ids.filter((id) => id !== 'moved')).toEqual([]);
    });

    test('are there after a restart', async () => {
      await register(store(), 'A', { max_concurrent: 10 });
      for (const id of ['t1', 't2', 't3']) await assignToPull(id);
      const atMs = store().nowMs();
      await deliver('t1', { attemptMs: atMs });
      await deliver('t2', { acknowledged: true });
      await reopen();
      expect(await claimable()).toEqual({ request_ids: ['t3'], nextMs: atMs + 15_000 });
    });

    test('notify the watchers of their agent when they become claimable at once', async () => {
      await register(store(), 'A', { max_concurrent: 10 });
      await assignToPull('t1');
      await deliver('t1', { attemptMs: store().nowMs() });
      const leave = new AbortController();
      let yields = 0;
      const watching = (async () => {
        for await (const _ of store().watch(agentRef('A'), AbortSignal.any([NEVER, leave.signal])))
          yields += 1;
      })();
      await until('the first yield', () => yields === 1);
      await deliver('t1', { attemptMs: null });
      await until('a notification', () => yields === 2);
      leave.abort();
      await watching;
    });
  });

  describe('the tasks that hold a slot of an agent', () => {
    test('are found among those that are asked for', async () => {
      await register(store(), 'A', { max_concurrent: 10 });
      await register(store(), 'B', { max_concurrent: 10 });
      for (const id of ['t1', 't2', 't3']) await assignToPull(id);
      await assignToPull('other', 'B');
      await settle(store(), 't2');
      const asked = ['t3', 'other', 't2', 'absent', 't1'];
      expect(await store().findSlots('A', asked)).toEqual(new Set(['t3', 't1']));
      expect(await store().findSlots('A', [])).toEqual(new Set());
      expect(await store().findSlots('absent', asked)).toEqual(new Set());
    });
  });
}
