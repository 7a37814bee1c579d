/** The races: what two gateways do at once on one store, and what must hold whatever the order. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { isSettled } from '../../server/domain/task.ts';
import { GatewayError, type StreamItem } from '../../server/ports/gateway.ts';
import type { Store } from '../../server/ports/store.ts';
import { type FakeClock, flushMicrotasks } from '../harness/fake-clock.ts';
import { listAgents } from '../harness/listings.ts';
import { buildRegistration, buildSubmission, NEVER } from '../harness/world.ts';
import { requireHistory } from './invariants.ts';
import { createPair, type Pair, type Replica } from './pair.ts';

export type Race = {
  /**
   * Brings the pair to the moment before the race. Returns the id of the task, or the token of the
   * registration, that the race is about, or ''.
   */
  prepare(pair: Pair): Promise<string>;
  /** The calls that are made at once. */
  work(pair: Pair, request_id: string): readonly (() => Promise<unknown>)[];
  /** Throws when something beside the invariants does not hold after the race. */
  requireResults?(
    results: readonly PromiseSettledResult<unknown>[],
    pair: Pair,
    request_id: string,
  ): Promise<void> | void;
};

async function startTask(pair: Pair): Promise<string> {
  await pair.one.gateway.registerAgent(buildRegistration('A'));
  const { request_id } = await pair.one.gateway.submitTask(buildSubmission({ timeout: 60 }));
  await pair.runUntilIdle();
  return request_id;
}

/** A task whose agent has been silent for so long that the next sweep finds it offline and the task lost. */
async function startSilence(pair: Pair): Promise<string> {
  await pair.one.gateway.registerAgent(buildRegistration('A', { lost_after: 3 }));
  const { request_id } = await pair.one.gateway.submitTask(buildSubmission({ timeout: 60 }));
  await pair.runUntilIdle();
  await pair.clock.advance(3_100);
  return request_id;
}

/** The agent was answered just now: nothing that was decided on its silence holds. */
async function requireEligible(
  results: readonly PromiseSettledResult<unknown>[],
  pair: Pair,
  states: readonly string[],
): Promise<void> {
  const last = results.at(-1);
  const answered = last?.status === 'fulfilled' ? (last.value as { state?: string }).state : last?.reason;
  expect(states).toContain(answered);
  await pair.runUntilIdle();
  const { agents } = await listAgents(pair.one.gateway);
  expect(agents.map(({ state }) => states.includes(state))).toEqual([true]);
}

const ELIGIBLE = ['ready', 'processing'];

const cancel = (on: Replica, request_id: string) => () => on.gateway.cancelTask(request_id);
const report = (on: Replica, request_id: string, status: 'success' | 'failed') => () =>
  on.gateway.reportResult({ request_id, agent_id: 'A', status, result: { output: status } });
const submit = (on: Replica) => () => on.gateway.submitTask(buildSubmission());
const runDuePass = (on: Replica) => () => on.duties.runDuePass();

function countFulfilled(results: readonly PromiseSettledResult<unknown>[]): number {
  return results.filter(({ status }) => status === 'fulfilled').length;
}

/** By name, as the suites title them. */
export const RACES: Record<string, Race> = {
  'cancel × report': {
    prepare: startTask,
    work: ({ one, two }, id) => [cancel(one, id), report(two, id, 'success')],
  },
  'expire × report': {
    async prepare(pair) {
      const request_id = await startTask(pair);
      await pair.clock.advance(60_001);
      return request_id;
    },
    work: ({ one, two }, id) => [runDuePass(one), runDuePass(two), report(two, id, 'success')],
  },
  'report × report': {
    prepare: startTask,
    work: ({ one, two }, id) => [report(one, id, 'success'), report(two, id, 'failed')],
    requireResults(results) {
      const accepted = results.filter(
        (one) => one.status === 'fulfilled' && (one.value as { accepted: boolean }).accepted,
      );
      expect(accepted).toHaveLength(1);
    },
  },
  'cancel × cancel': {
    prepare: startTask,
    work: ({ one, two }, id) => [cancel(one, id), cancel(two, id)],
    requireResults: (results) => expect(countFulfilled(results)).toBe(1),
  },
  'two dispatchers': {
    async prepare(pair) {
      // Submitted before there is an agent, so that the dispatchers find it.
      const { request_id } = await pair.one.gateway.submitTask(buildSubmission({ queue_timeout: 30 }));
      await pair.one.gateway.submitTask(buildSubmission({ queue_timeout: 30 }));
      await pair.one.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
      return request_id;
    },
    work: ({ one, two }) => [runDuePass(one), runDuePass(two)],
    async requireResults(_results, pair) {
      await pair.runUntilIdle();
      expect(pair.pusher.sent).toHaveLength(2);
    },
  },
  'two submissions × one slot': {
    async prepare(pair) {
      await pair.one.gateway.registerAgent(buildRegistration('A'));
      return '';
    },
    work: ({ one, two }) => [submit(one), submit(two), runDuePass(one), runDuePass(two)],
    async requireResults(_results, pair) {
      await pair.runUntilIdle();
      const { tasks } = await pair.one.gateway.listTasks({ limit: 10 });
      expect(tasks.map(({ status }) => status).sort()).toEqual(['failed', 'running']);
    },
  },
  'two submissions × one slot that both know': {
    /** Both replicas know the agent, so each assigns its task in the commit that submits it. */
    async prepare(pair) {
      await pair.one.gateway.registerAgent(buildRegistration('A'));
      for (const on of [pair.one, pair.two]) {
        const { request_id } = await on.gateway.submitTask(buildSubmission({ queue_timeout: 30 }));
        await pair.runUntilIdle();
        await report(on, request_id, 'success')();
      }
      await pair.runUntilIdle();
      return String(pair.pusher.sent.length);
    },
    work: ({ one, two }) => [submit(one), submit(two)],
    async requireResults(_results, pair, before) {
      await pair.runUntilIdle();
      const { tasks } = await pair.one.gateway.listTasks({ limit: 2 });
      expect(tasks.map(({ status }) => status).sort()).toEqual(['failed', 'running']);
      expect(pair.pusher.sent.length - Number(before)).toBe(1);
    },
  },
  'acknowledge × register': {
    /** The agent has the task; its successor registers without it, while the acknowledgement waits. */
    prepare: startTask,
    work: ({ two }) => [
      () => two.gateway.registerAgent(buildRegistration('A', { request_ids: [] })),
      async () => await two.duties.runDuePass(),
    ],
    async requireResults(_results, pair, request_id) {
      await pair.clock.advance(400);
      await pair.runUntilIdle();
      expect(pair.pusher.sent.map(({ task }) => task.request_id)).toEqual([request_id, request_id]);
    },
  },
  'acknowledge × report': {
    prepare: startTask,
    work: ({ two, clock }, id) => [report(two, id, 'success'), async () => await clock.advance(250)],
    requireResults: (results) => expect(countFulfilled(results)).toBe(2),
  },
  'unregister × assign': {
    async prepare(pair) {
      const { request_id } = await pair.one.gateway.submitTask(buildSubmission({ queue_timeout: 30 }));
      await pair.one.gateway.registerAgent(buildRegistration('A'));
      return request_id;
    },
    work: ({ one, two }) => [runDuePass(one), () => two.gateway.unregisterAgent('A')],
  },
  'unregister × submit': {
    async prepare(pair) {
      await pair.one.gateway.registerAgent(buildRegistration('A'));
      return '';
    },
    work: ({ one, two }) => [submit(one), () => two.gateway.unregisterAgent('A')],
  },
  'waiting task × submit': {
    /** One task runs, one waits for its agent, and a third is submitted at the moment the first settles. */
    async prepare(pair) {
      const request_id = await startTask(pair);
      await pair.one.gateway.submitTask(buildSubmission({ queue_timeout: 30 }));
      await pair.runUntilIdle();
      return request_id;
    },
    work: ({ one, two }, id) => [report(one, id, 'success'), submit(two)],
    async requireResults(_results, pair) {
      await pair.runUntilIdle();
      // The third task gives way for a moment. Without the slot it fails.
      await pair.clock.advance(100);
      await pair.runUntilIdle();
      const { tasks } = await pair.one.gateway.listTasks({ limit: 10 });
      expect(tasks.map(({ status }) => status)).toEqual(['failed', 'running', 'success']);
    },
  },
  'register × abandon': {
    async prepare(pair) {
      return (await pair.one.gateway.submitTask(buildSubmission({ queue_timeout: 30 }))).request_id;
    },
    work: ({ one, two }) => [
      runDuePass(one),
      () => two.gateway.registerAgent(buildRegistration('A')),
      runDuePass(two),
    ],
    async requireResults(_results, pair, request_id) {
      await pair.runUntilIdle();
      await pair.clock.advance(1_600);
      await pair.runUntilIdle();
      expect((await pair.one.gateway.getTask(request_id, 0, NEVER)).task.status).toBe('running');
    },
  },
  'sweep × register': {
    prepare: startSilence,
    work: ({ one, two }) => [
      runDuePass(one),
      runDuePass(two),
      () => two.gateway.registerAgent(buildRegistration('A', { lost_after: 3 })),
    ],
    requireResults: (results, pair) => requireEligible(results, pair, ELIGIBLE),
  },
  'sweep × beat': {
    prepare: startSilence,
    work: ({ one, two }) => [
      runDuePass(one),
      runDuePass(two),
      () => two.gateway.heartbeatAgent({ agent_id: 'A' }),
    ],
    requireResults: (results, pair) => requireEligible(results, pair, ELIGIBLE),
  },
  'lose × report': {
    prepare: startSilence,
    work: ({ one, two }, id) => [
      runDuePass(one),
      runDuePass(one),
      runDuePass(two),
      report(two, id, 'success'),
    ],
    async requireResults(results, pair, request_id) {
      const last = results.at(-1);
      const isAccepted = last?.status === 'fulfilled' && (last.value as { accepted: boolean }).accepted;
      await pair.runUntilIdle();
      const { task } = await pair.one.gateway.getTask(request_id, 0, NEVER);
      expect(task.status).toBe(isAccepted ? 'success' : 'failed');
    },
  },
  'unregister with an earlier token × register': {
    async prepare(pair) {
      return (await pair.one.gateway.registerAgent(buildRegistration('A'))).registration;
    },
    work: ({ one, two }, token) => [
      () => one.gateway.unregisterAgent('A', token),
      () => two.gateway.registerAgent(buildRegistration('A')),
    ],
    requireResults: (results, pair) => requireEligible(results, pair, ['ready']),
  },
  'subscribe × settle': {
    prepare: startTask,
    work: ({ one, two }, id) => [
      report(one, id, 'success'),
      async () => expect(await readFeed(two)).toBeDefined(),
    ],
  },
};

async function readFeed(on: Replica): Promise<readonly string[]> {
  const seen: StreamItem[] = [];
  const leave = new AbortController();
  const reading = (async () => {
    for await (const item of on.gateway.subscribeEvents('s', null, (item) => item, leave.signal)) {
      seen.push(item);
    }
  })();
  await flushMicrotasks();
  leave.abort();
  await reading;
  return seen.flatMap((item) => (item.gap ? [] : [item.event.request_id]));
}

/**
 * Throws unless each settled task has exactly one event, each open one none, every history fits its task, and
 * slots are the running tasks.
 */
async function requireConsistency(pair: Pair): Promise<void> {
  const { tasks } = await pair.one.gateway.listTasks({ limit: 100 });
  const events = await readFeed(pair.one);
  for (const { request_id, status } of tasks) {
    const state = (await pair.store.get('task', request_id))?.value;
    if (!state) throw new Error(`${request_id} is gone`);
    expect(events.filter((id) => id === request_id)).toHaveLength(isSettled(state) ? 1 : 0);
    expect(status).toBe(state.status);
    requireHistory(request_id, state);
  }
  const running = tasks.filter(({ status }) => status === 'running').map(({ request_id }) => request_id);
  const { items } = await pair.store.list('slots', { agent_id: 'A' }, { limit: 100 });
  expect(items.map(({ request_id }) => request_id).sort()).toEqual(running.sort());
}

/** The property that no order of the store calls breaks the race's rules or the invariants. */
export function describeRace(
  open: (clock: FakeClock) => Promise<Store>,
  race: Race,
): fc.IAsyncProperty<[fc.Scheduler]> {
  return fc.asyncProperty(fc.scheduler(), async (scheduler) => {
    const pair = await createPair(open, scheduler);
    try {
      const request_id = await race.prepare(pair);
      const results = await pair.race(...race.work(pair, request_id));
      for (const one of results) {
        if (one.status === 'rejected' && !(one.reason instanceof GatewayError)) throw one.reason;
      }
      await race.requireResults?.(results, pair, request_id);
      await pair.runUntilIdle();
      await requireConsistency(pair);
    } finally {
      await pair.store.close();
    }
  });
}
