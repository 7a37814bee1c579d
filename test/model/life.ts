/**
 * One life of a gateway under test: carries out operations and checks the invariants after each.
 *
 * 1 a settled task never changes · 2 exactly one `task_done` per task with a session, in its feed, equal to the task ·
 * 3 an agent's slots are exactly its running tasks · 4 no slot is granted at or above the limit · 5 a task with an
 * eligible agent is not abandoned · 6 nothing stays open after its deadline · 7 replay equals what a patient
 * subscriber saw · 8 whatever was answered is there after a crash
 */
import { expect } from 'vitest';
import { isSettled, type TaskInfo } from '../../server/domain/task.ts';
import { GatewayError, type StreamItem } from '../../server/ports/gateway.ts';
import { type Batch, type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock, settleMicrotasks } from '../fakes/clock.ts';
import { createFaultyStore, type FaultyStore } from '../fakes/faulty-store.ts';
import { BROKEN, BUSY, createFakePusher, GONE, REFUSED, TAKEN } from '../fakes/pusher.ts';
import { buildRegistration, buildSubmission, createWorld, NEVER, type World } from '../fakes/world.ts';
import { AGENTS, type Operation } from './operations.ts';

/** How a life gets its store: fresh, and again after a crash on what was durable. */
export type Lifetimes = {
  open(clock: FakeClock): Promise<Store>;
  /** Drops the open store as a crash would and opens what is left. Absent: this store does not outlive a crash. */
  reopen?(clock: FakeClock): Promise<Store>;
  end(): Promise<void>;
  /** Plants a wrong design between the gateway and its store. */
  mutate?(store: Store): Store;
};

const OUTCOMES = { taken: TAKEN, refused: REFUSED, busy: BUSY, gone: GONE, broken: BROKEN };
const SESSIONS = ['s1', 's2'];
/** A planned outage hides what was due for the length of a lease. */
const LEASE_SLACK_MS = 1_600;

type Patient = { readonly seen: Extract<StreamItem, { gap: false }>[]; readonly leave: AbortController };

/** Runs the operations from a fresh store to the end; throws what the invariants throw. */
export async function live(lifetimes: Lifetimes, plan: readonly Operation[]): Promise<void> {
  const clock = createFakeClock();
  const pusher = createFakePusher();
  const tasks: string[] = [];
  const settled = new Map<string, TaskInfo>();
  const answered = new Set<string>();
  const patients = new Map<string, Patient>();
  let faulty: FaultyStore;
  let world: World;

  async function start(store: Store): Promise<void> {
    faulty = createFaultyStore(watchGrants(store));
    world = createWorld(lifetimes.mutate?.(faulty) ?? faulty, { clock, pusher });
    for (const session of SESSIONS) subscribe(session);
  }

  /** A patient subscriber resumes from its cursor after a crash, as a client would. */
  function subscribe(session: string): void {
    const known = patients.get(session);
    known?.leave.abort();
    const patient: Patient = { seen: known?.seen ?? [], leave: new AbortController() };
    patients.set(session, patient);
    const after = patient.seen.at(-1)?.cursor ?? null;
    void (async () => {
      for await (const item of world.gateway.subscribeEvents(session, after, patient.leave.signal)) {
        if (!item.gap) patient.seen.push(item);
      }
    })().catch(() => undefined);
  }

  await start(await lifetimes.open(clock));
  try {
    for (const operation of plan) {
      await carryOut(operation);
      await checkInvariants();
    }
  } finally {
    for (const { leave } of patients.values()) leave.abort();
    await lifetimes.end();
  }

  async function carryOut(operation: Operation): Promise<void> {
    if (operation.op === 'crash') return await crash();
    if (operation.op === 'fault') return faulty.plan(operation.faults);
    if (operation.op === 'pass') return await passTime(operation.ms);
    if (operation.op === 'freeze') {
      faulty.plan([]);
      await clock.advance(operation.ms);
    } else if (operation.op === 'together') {
      await clock.drive(Promise.all(operation.operations.map((one) => call(one))));
    } else if (operation.op === 'submit') await submitAlone(operation);
    else await clock.drive(call(operation));
    await settle();
  }

  async function crash(): Promise<void> {
    if (!lifetimes.reopen) return;
    for (let n = 0; n < AGENTS; n += 1) pusher.answer(endpointOf(n), BROKEN);
    await settleMicrotasks();
    await start(await lifetimes.reopen(clock));
    await settle();
  }

  /** The duties meet planned outages as the running gateway does: they come back to what they left. */
  async function settle(): Promise<void> {
    for (let tries = 0; tries < 8; tries += 1) {
      try {
        return await world.settle();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    }
  }

  async function passTime(ms: number): Promise<void> {
    faulty.plan([]);
    await world.pass(ms);
  }

  /** Invariant 5, seen from outside: with an eligible agent before and nothing else happening, nobody is abandoned. */
  async function submitAlone(operation: Extract<Operation, { op: 'submit' }>): Promise<void> {
    faulty.plan([]);
    const { agents } = await world.gateway.listAgents();
    const eligible = agents.some(
      (one) => one.eligible && one.agent_tags.some((tag) => operation.tags.includes(tag)),
    );
    const before = tasks.length;
    await clock.drive(call(operation));
    await settle();
    const request_id = tasks.length > before ? tasks.at(-1) : undefined;
    if (!eligible || request_id === undefined || operation.key !== null) return;
    expect((await world.gateway.getTask(request_id, 0, NEVER)).status, 'invariant 5').not.toBe('failed');
  }

  /** A call may be refused or meet an outage; anything else it throws is a defect. */
  async function call(operation: Operation): Promise<void> {
    try {
      await makeCall(operation);
    } catch (error) {
      if (!(error instanceof GatewayError || error instanceof StoreUnavailable)) throw error;
    }
  }

  async function makeCall(operation: Operation): Promise<void> {
    const { gateway } = world;
    switch (operation.op) {
      case 'submit': {
        const { tags: task_tags, session: cli_session_id, timeout, queue, key } = operation;
        const queued = queue === null ? {} : { queue_timeout: queue };
        const submission = buildSubmission({ task_tags, cli_session_id, timeout, ...queued });
        const { request_id } = await gateway.submitTask(submission, key ?? undefined);
        if (!answered.has(request_id)) tasks.push(request_id);
        answered.add(request_id);
        return;
      }
      case 'register': {
        const { tags: agent_tags, max: max_concurrent, load: current_load, pull, lostAfter } = operation;
        const endpoint = pull ? { endpoint: 'pull' } : {};
        const lost = lostAfter === null ? {} : { lost_after: lostAfter };
        const more = { agent_tags, max_concurrent, current_load, ...endpoint, ...lost };
        await gateway.registerAgent(buildRegistration(nameOf(operation.agent), more));
        return;
      }
      case 'restart': {
        const request_ids = operation.keep ? await runningOf(operation.agent) : [];
        const more = { agent_tags: ['a', 'b'], max_concurrent: 3, request_ids };
        await gateway.registerAgent(buildRegistration(nameOf(operation.agent), more));
        return;
      }
      case 'heartbeat': {
        const { draining, load, names } = operation;
        const request_ids = names ? { request_ids: await runningOf(operation.agent) } : {};
        await gateway.heartbeatAgent({
          agent_id: nameOf(operation.agent),
          ...(draining !== null && { draining }),
          ...(load !== null && { current_load: load }),
          ...request_ids,
        });
        return;
      }
      case 'unregister':
        await gateway.unregisterAgent(nameOf(operation.agent));
        return;
      case 'claim': {
        const claim = gateway.claimTask({ agent_id: nameOf(operation.agent), wait: operation.wait }, NEVER);
        if (operation.wait === 0) await claim;
        else claim.catch(() => undefined);
        return;
      }
      case 'report':
      case 'finish':
      case 'cancel':
        return await settleCall(operation);
      case 'script':
        pusher.script(
          endpointOf(operation.agent),
          operation.answer === 'hang' ? 'hang' : OUTCOMES[operation.answer],
        );
        return;
      case 'answer':
        pusher.answer(endpointOf(operation.agent), OUTCOMES[operation.answer]);
        return;
      default:
        return;
    }
  }

  async function settleCall(
    operation: Extract<Operation, { op: 'report' | 'finish' | 'cancel' }>,
  ): Promise<void> {
    const { gateway } = world;
    if (operation.op === 'cancel') {
      const request_id = tasks[operation.task % Math.max(1, tasks.length)] ?? 'none';
      await gateway.cancelTask(request_id);
      return;
    }
    const agent_id = nameOf(operation.agent);
    const request_id =
      operation.op === 'finish'
        ? ((await runningOf(operation.agent))[0] ?? 'none')
        : (tasks[operation.task % Math.max(1, tasks.length)] ?? 'none');
    const status = operation.op === 'finish' ? 'success' : operation.status;
    await gateway.reportResult({ request_id, agent_id, status, progress: 40, result: { output: '好' } });
  }

  async function runningOf(agent: number): Promise<string[]> {
    const { items } = await world.store.list('slots', { agentId: nameOf(agent) }, { limit: 100 });
    return items.map(({ request_id }) => request_id);
  }

  async function checkInvariants(): Promise<void> {
    const running = new Map<string, string[]>();
    for (const request_id of tasks) {
      const info = await world.gateway.getTask(request_id, 0, NEVER);
      const state = (await world.store.get('task', request_id))?.value;
      if (!state) throw new Error(`invariant 8: ${request_id} is gone`);
      checkShape(info);
      if (info.status === 'running')
        running.set(info.agent_id ?? '', [...(running.get(info.agent_id ?? '') ?? []), request_id]);
      const before = settled.get(request_id);
      if (before) expect(info, 'invariant 1').toEqual(before);
      else if (isSettled(state)) settled.set(request_id, info);
      else
        expect(state.deadlineMs, `invariant 6: ${request_id}`).toBeGreaterThan(
          world.store.nowMs() - LEASE_SLACK_MS,
        );
    }
    for (let n = 0; n < AGENTS; n += 1) {
      const theirs = running.get(nameOf(n)) ?? [];
      expect(
        (await runningOf(n)).filter((id) => answered.has(id)).sort(),
        `invariant 3: ${nameOf(n)}`,
      ).toEqual(theirs.sort());
    }
    for (const session of SESSIONS) await checkFeed(session);
  }

  async function checkFeed(session: string): Promise<void> {
    const replay: Extract<StreamItem, { gap: false }>[] = [];
    const leave = new AbortController();
    const reading = (async () => {
      for await (const item of world.gateway.subscribeEvents(session, null, leave.signal)) {
        if (!item.gap) replay.push(item);
      }
    })();
    await settleMicrotasks();
    leave.abort();
    await reading;
    expect(patients.get(session)?.seen, 'invariant 7').toEqual(replay);
    const ids = replay.map(({ event }) => event.request_id);
    expect(new Set(ids).size, 'invariant 2: once').toBe(ids.length);
    for (const { event } of replay) {
      const { status, result, error_info } = await world.gateway.getTask(event.request_id, 0, NEVER);
      expect(event, 'invariant 2: equal').toEqual({
        event: 'task_done',
        request_id: event.request_id,
        status,
        result,
        error_info,
      });
    }
    const ended = [...settled.values()]
      .filter((one) => one.cli_session_id === session)
      .map((one) => one.request_id);
    expect(ids.filter((id) => settled.has(id)).sort(), 'invariant 2: all').toEqual(ended.sort());
  }
}

function checkShape(info: TaskInfo): void {
  const { status, result, error_info, agent_id, progress } = info;
  expect(status === 'success', 'success has a result').toBe(result !== null);
  expect(status === 'failed', 'failure has a reason').toBe(error_info !== null);
  if (status === 'pending') expect(agent_id).toBeNull();
  if (status === 'running' || status === 'success') expect(agent_id).not.toBeNull();
  expect(progress).toBeGreaterThanOrEqual(0);
  expect(progress).toBeLessThanOrEqual(100);
}

/** Invariant 4, at the port: after a grant the agent holds no more than the highest limit it was ever given. */
function watchGrants(store: Store): Store {
  const limits = new Map<string, number>();
  return {
    ...store,
    async commit(batch: Batch) {
      for (const write of batch.writes) {
        if (write.kind !== 'agent' || !write.value) continue;
        limits.set(write.id, Math.max(limits.get(write.id) ?? 0, write.value.limit));
      }
      const outcome = await store.commit(batch);
      if (!outcome.ok) return outcome;
      for (const slot of batch.slots ?? []) {
        if (slot.op !== 'grant') continue;
        const { items } = await store.list('slots', { agentId: slot.agentId }, { limit: 1_000 });
        const limit = limits.get(slot.agentId) ?? Number.POSITIVE_INFINITY;
        if (items.length > limit)
          throw new Error(`invariant 4: ${slot.agentId} holds ${items.length} of ${limit}`);
      }
      return outcome;
    },
  };
}

function nameOf(agent: number): string {
  return `A${agent}`;
}

function endpointOf(agent: number): string {
  return `http://${nameOf(agent)}.test/tasks`;
}
