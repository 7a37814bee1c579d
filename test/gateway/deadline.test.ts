/** One deadline for a call: the caller gets its response in time, and nothing is applied after a 503. */
import { expect, test } from 'vitest';
import type { Batch, Store } from '../../server/ports/store.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, type World } from '../harness/world.ts';
import { useWorlds } from '../harness/worlds.ts';

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  /** Every call that changes something, made on a pending task. */
  const calls = (world: World, request_id: string): readonly (() => Promise<unknown>)[] => [
    () => world.gateway.registerAgent(buildRegistration('A')),
    () => world.gateway.heartbeatAgent({ agent_id: 'A', draining: true }),
    () => world.gateway.submitTask(buildSubmission()),
    () => world.gateway.submitTask(buildSubmission(), 'key'),
    () => world.gateway.cancelTask(request_id),
    () => world.gateway.unregisterAgent('A'),
  ];

  test('a call’s commits must be applied within four seconds of its start', async () => {
    const batches: Batch[] = [];
    const wrap = (store: Store): Store => ({
      ...store,
      commit(batch) {
        batches.push(batch);
        return store.commit(batch);
      },
    });
    const world = await start({ wrap });
    const { request_id } = await world.gateway.submitTask(buildSubmission({ queue_timeout: 60 }));
    for (const call of calls(world, request_id)) {
      const startMs = world.store.nowMs();
      batches.length = 0;
      await call();
      expect(batches.length).toBeGreaterThan(0);
      for (const { notAfterMs, writes } of batches) {
        if (writes.length > 0) expect(notAfterMs).toBe(startMs + 4_000);
      }
    }
  });

  test('a store that does not reply is an outage within five seconds', async () => {
    let isStuck = false;
    const wrap = (store: Store): Store => ({
      ...store,
      commit: (batch) => (isStuck ? new Promise(() => undefined) : store.commit(batch)),
    });
    const world = await start({ wrap });
    const { request_id } = await world.gateway.submitTask(buildSubmission({ queue_timeout: 60 }));
    await world.gateway.registerAgent(buildRegistration('A', { agent_tags: [] }));
    isStuck = true;
    for (const call of calls(world, request_id)) {
      const result = call().then(
        () => 'done',
        (error: unknown) => error,
      );
      await world.clock.advance(4_750);
      expect(await result).toBeInstanceOf(StoreUnavailable);
    }
  });

  test('a claim that does not wait is over within five seconds, however long each of its steps takes', async () => {
    let stepMs = 0;
    const slow = async <T>(work: () => Promise<T>): Promise<T> => {
      if (stepMs > 0) await world.clock.sleep(stepMs);
      return await work();
    };
    const wrap = (store: Store): Store => ({
      ...store,
      getAgentStatus: (id) => slow(() => store.getAgentStatus(id)),
      listClaimable: (id, count) => slow(() => store.listClaimable(id, count)),
      touch: (id, contact) => slow(() => store.touch(id, contact)),
      commit: (batch) => slow(() => store.commit(batch)),
    });
    const world: World = await start({ wrap });
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
    await world.gateway.submitTask(buildSubmission());
    stepMs = 2_000;
    const result = world.gateway
      .claimTask({ agent_id: 'A', wait: 0 }, new AbortController().signal)
      .catch((error: unknown) => error);
    await world.clock.advance(4_750);
    expect(await Promise.race([result, Promise.resolve('waits')])).toBeInstanceOf(StoreUnavailable);
  });
});
