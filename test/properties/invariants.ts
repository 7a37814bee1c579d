/**
 * The invariants, checked on the open store and through the gateway after every operation of a life.
 *
 * 1 a settled task never changes · 2 exactly one `task_done` per task with a session, in its feed, equal to the task ·
 * 3 an agent's slots are exactly its running tasks · 4 no slot is granted at or above the limit · 5 a task with an
 * eligible agent is not abandoned · 6 nothing stays open after its deadline · 7 replay equals what a patient
 * subscriber saw · 8 whatever was answered is there after a crash
 *
 * Number 5 is judged by the life itself, which alone knows that nothing else was happening.
 */
import { expect } from 'vitest';
import { isSettled, type TaskInfo } from '../../server/domain/task.ts';
import type { Batch, Store } from '../../server/ports/store.ts';
import { settleMicrotasks } from '../harness/fake-clock.ts';
import { NEVER, type World } from '../harness/world.ts';
import { listRunning, nameAgent } from './gateway-calls.ts';
import type { Past, Told } from './model-history.ts';
import { AGENTS } from './operations.ts';

/** A planned outage hides what was due for the length of a lease. */
const LEASE_SLACK_MS = 1_600;

/** Throws what the present breaks. */
export async function checkInvariants(world: World, past: Past): Promise<void> {
  const { tasks, settled, answered } = past;
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
    const theirs = running.get(nameAgent(n)) ?? [];
    expect(
      (await listRunning(world.store, n)).filter((id) => answered.has(id)).sort(),
      `invariant 3: ${nameAgent(n)}`,
    ).toEqual(theirs.sort());
  }
  for (const session of past.patients.keys()) await checkFeed(world, past, session);
}

async function checkFeed(world: World, past: Past, session: string): Promise<void> {
  const replay: Told[] = [];
  const leave = new AbortController();
  const reading = (async () => {
    for await (const item of world.gateway.subscribeEvents(session, null, (item) => item, leave.signal)) {
      if (!item.gap) replay.push(item);
    }
  })();
  await settleMicrotasks();
  leave.abort();
  await reading;
  expect(past.patients.get(session)?.seen, 'invariant 7').toEqual(replay);
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
  const ended = [...past.settled.values()]
    .filter((one) => one.cli_session_id === session)
    .map((one) => one.request_id);
  expect(ids.filter((id) => past.settled.has(id)).sort(), 'invariant 2: all').toEqual(ended.sort());
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
export function watchGrants(store: Store): Store {
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
        const { items } = await store.list('slots', { agent_id: slot.agent_id }, { limit: 1_000 });
        const limit = limits.get(slot.agent_id) ?? Number.POSITIVE_INFINITY;
        if (items.length > limit)
          throw new Error(`invariant 4: ${slot.agent_id} holds ${items.length} of ${limit}`);
      }
      return outcome;
    },
  };
}
