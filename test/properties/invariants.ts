/**
 * The invariants, required of the open store and of the gateway after every operation of a model run.
 *
 * 1. A settled task never changes.
 * 2. A settled task with a session has exactly one `task_done` in that session's feed, equal to the task.
 * 3. An agent's slots are exactly its running tasks.
 * 4. No slot is granted at or above the agent's limit.
 * 5. A task with an eligible agent is not abandoned.
 * 6. No task stays open after its deadline.
 * 7. A replay of a feed equals what a subscriber that stayed has received.
 * 8. Every submitted task that a client knows of is still there after a crash.
 * 9. An agent that did not reply 410 became offline after 90 s, or its `lost_after`, without contact.
 * 10. What was pushed to an agent is stored as assigned to it, also after a crash.
 * 11. A task's history begins with its submission, its times never fall, it names the agents the task was
 *     assigned to, and it ends with the outcome exactly when the task is settled.
 * 12. The store lists and counts the tasks as their states say, and so it does with those that ended last.
 * 13. A task's output has every piece whose write returned that it is stored, and its numbers have no hole;
 *     that of a settled task is complete, and gets no further piece.
 * 14. A question has one answer at most, which stays with its key through restarts and moves; in the output
 *     it stands once behind the question each time that it is asked.
 * 15. Details are stored exactly while the state says so, with the content of each question.
 *
 * The model run itself requires number 5, because only it knows that nothing else was happening.
 */

import { expect } from 'vitest';
import { type EndedTask, endedTaskOf, sortEnded } from '../../server/domain/ended-task.ts';
import { describeHistory, outcomeOf } from '../../server/domain/history.ts';
import type { TaskOutcome } from '../../server/domain/history-record.ts';
import { isOpen } from '../../server/domain/question.ts';
import {
  hasDetails,
  isSettled,
  type TaskDetails,
  type TaskInfo,
  type TaskState,
} from '../../server/domain/task.ts';
import { classifyTask, fillOutcomes, isOutcome } from '../../server/domain/task-counts.ts';
import type { Batch, Lists, Store } from '../../server/ports/store.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { NEVER, type World } from '../harness/world.ts';
import { listRunning, nameAgent } from './model-agents.ts';
import type { ModelHistory, StreamedEvent } from './model-history.ts';
import { AGENTS } from './operations.ts';

/** After a planned outage or a crash, a due entry stays hidden until its lease ends. */
const LEASE_SLACK_MS = 1_600;

/** Throws when an invariant does not hold now. */
export async function requireInvariants(world: World, history: ModelHistory): Promise<void> {
  const { tasks, settled, submitted } = history;
  const running = new Map<string, string[]>();
  for (const request_id of tasks) {
    const { task: info, outcome } = await world.gateway.getTask(request_id, 0, NEVER);
    const state = (await world.store.get('task', request_id))?.value;
    if (!state) throw new Error(`invariant 8: ${request_id} is gone`);
    expect(outcome === 'success', 'invariant 11').toBe(info.status === 'success');
    expect(outcome !== null, 'invariant 11').toBe(isSettled(state));
    requireShape(info);
    const details = await requireDetails(world, request_id);
    requireHistory(request_id, state);
    const pieces = await requireOutput(world, request_id, history);
    requireQuestions(request_id, state, details, pieces, history);
    if (info.status === 'running')
      running.set(info.agent_id ?? '', [...(running.get(info.agent_id ?? '') ?? []), request_id]);
    const before = settled.get(request_id);
    if (before) expect(info, 'invariant 1').toEqual(before);
    else if (isSettled(state)) settled.set(request_id, info);
    else
      expect(Math.max(state.deadlineMs, history.crashedMs), `invariant 6: ${request_id}`).toBeGreaterThan(
        world.store.nowMs() - LEASE_SLACK_MS,
      );
  }
  for (let n = 0; n < AGENTS; n += 1) {
    const expected = running.get(nameAgent(n)) ?? [];
    expect(
      (await listRunning(world.store, n)).filter((id) => submitted.has(id)).sort(),
      `invariant 3: ${nameAgent(n)}`,
    ).toEqual(expected.sort());
    await requireSilence(world.store, nameAgent(n));
  }
  await requirePushed(world);
  await requireListings(world.store, tasks);
  for (const session of history.received.keys()) await requireFeed(world, history, session);
}

/** Throws unless the task's history fits its state: invariant 11. */
export function requireHistory(request_id: string, state: TaskState): void {
  const name = `invariant 11: ${request_id}`;
  const history = describeHistory(state);
  const times = history.flatMap(({ time, last_time }) => [time, last_time]);
  expect(times, name).toEqual([...times].sort((a, b) => a - b));
  expect(history[0]?.event, name).toBe('submitted');
  expect(history.length, name).toBeLessThanOrEqual(16);
  expect(isEnd(history.at(-1)?.event), name).toBe(isSettled(state));
  // The rest of the state says the same.
  expect(outcomeOf(state), name).toBe(readOutcome(state));
  if (state.historyDropped !== undefined) return;
  const assigned = history.filter(({ event }) => event === 'assigned' || event === 'moved');
  expect(new Set(assigned.map(({ agent_id }) => agent_id)), name).toEqual(new Set(state.assignees));
}

/** Returns the pieces of the output; throws unless it has those that were written: invariant 13. */
async function requireOutput(
  { gateway }: World,
  request_id: string,
  { written, ends }: ModelHistory,
): Promise<readonly string[]> {
  const { pieces, complete, outcome } = await gateway.readOutput(request_id, 0, 0, NEVER);
  const name = `invariant 13: ${request_id}`;
  expect(complete, name).toBe(outcome !== null);
  expect(
    pieces.map(({ n }) => n),
    name,
  ).toEqual(pieces.map((_, index) => index + 1));
  if (complete) expect(pieces.length, name).toBe(ends.get(request_id) ?? pieces.length);
  if (complete) ends.set(request_id, pieces.length);
  const stored = pieces.map(({ json }) => json);
  const known = new Set(stored);
  expect(
    (written.get(request_id) ?? []).filter((piece) => !known.has(piece)),
    name,
  ).toEqual([]);
  return stored;
}

/** Returns the details of a task; throws unless they are what its state says: invariant 15. */
async function requireDetails({ store }: World, request_id: string): Promise<TaskDetails> {
  for (;;) {
    const before = await store.get('task', request_id);
    const details = (await store.get('details', request_id))?.value;
    const after = await store.get('task', request_id);
    // A commit may lie between the two reads.
    if (!before || before.revision !== after?.revision) continue;
    expect(details !== undefined, 'invariant 15').toBe(hasDetails(before.value));
    if (before.value.hasReply) expect(details?.reply, 'invariant 15').toBeDefined();
    const keys = (of: readonly { readonly key: string }[] = []) => of.map(({ key }) => key).sort();
    expect(keys(details?.questions), 'invariant 15').toEqual(keys(before.value.questions));
    return details ?? {};
  }
}

/** Throws unless pieces, state, details and calls say the same of each question: invariant 14. */
function requireQuestions(
  request_id: string,
  { questions = [] }: TaskState,
  details: TaskDetails,
  pieces: readonly string[],
  { answered }: ModelHistory,
): void {
  const name = `invariant 14: ${request_id}`;
  const answers = new Map<string, unknown>();
  /** Those that were asked and are not answered behind it, and of these those behind the last reset. */
  const unanswered = new Set<string>();
  const open = new Set<string>();
  for (const json of pieces) {
    const { question, answer, reset } = JSON.parse(json);
    if (reset) open.clear();
    if (question) for (const keys of [unanswered, open]) keys.add(question.key);
    if (!answer) continue;
    expect(unanswered.delete(answer.key), `${name}, once behind its question`).toBe(true);
    open.delete(answer.key);
    expect(answer.answer, `${name}, one answer`).toEqual(answers.get(answer.key) ?? answer.answer);
    answers.set(answer.key, answer.answer);
  }
  expect(
    [...answers.keys()].filter((key) => unanswered.has(key)),
    `${name}, again`,
  ).toEqual([]);
  const inState = (details.questions ?? []).flatMap((one) =>
    'answer' in one ? [[one.key, one.answer]] : [],
  );
  expect(Object.fromEntries(inState), `${name}, in the state`).toEqual(Object.fromEntries(answers));
  const openInState = questions.filter(isOpen).map(({ key }) => key);
  expect([...open], `${name}, open`).toEqual(expect.arrayContaining(openInState));
  for (const one of answered.filter((other) => other.request_id === request_id)) {
    expect(one.answer, `${name}, as a call returned`).toEqual(answers.get(one.key));
  }
}

/** How a task ended, by its status and error instead of its history. */
function readOutcome({ status, agent_id, error_info }: TaskState): TaskOutcome | null {
  if (status !== 'failed') return status === 'success' ? 'success' : null;
  if (error_info === '无可用 Agent' && agent_id === null) return 'no_agent';
  if (error_info === 'cancelled by user') return 'cancelled';
  if (error_info === 'timeout') return 'timeout';
  return /^agent lost: no contact for \d+ s$/.test(error_info ?? '') ? 'agent_lost' : 'failed';
}

const isEnd = (event = ''): boolean =>
  ['success', 'failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'].includes(event);

async function requirePushed({ pusher, store }: World): Promise<void> {
  for (const { task } of pusher.sent) {
    const assignees = (await store.get('task', task.request_id))?.value.assignees ?? [];
    expect(assignees, `invariant 10: ${task.request_id}`).toContain(task.agent_id);
  }
}

/** Requires invariant 12 of all tasks, also of those whose submission had no response. */
async function requireListings(store: Store, submitted: readonly string[]): Promise<void> {
  const listed = await listIds(store, 'tasks', {});
  expect(listed, 'invariant 12: all').toEqual(expect.arrayContaining([...submitted]));
  const ids = { pending: [] as string[], running: [] as string[], waiting: [] as string[] };
  const asking: string[] = [];
  const ended = fillOutcomes();
  const endings: EndedTask[] = [];
  for (const id of listed) {
    const state = (await store.get('task', id))?.value;
    if (!state) throw new Error(`invariant 12: ${id} is listed and gone`);
    const taskClass = classifyTask(state);
    if (isOutcome(taskClass)) {
      ended[taskClass] += 1;
      endings.push(endedTaskOf(id, taskClass, state));
    } else ids[taskClass].push(id);
    if (state.waiting) ids.waiting.push(id);
    if (state.settledMs === null && state.questions?.some(isOpen)) asking.push(id);
  }
  const [pending, running, waiting] = [ids.pending.length, ids.running.length, ids.waiting.length];
  const counts = { pending, running, waiting, waitingForAnswer: asking.length, ended };
  expect(await store.readCounts(0), 'invariant 12').toMatchObject(counts);
  expect(await store.readEnded(), 'invariant 12: ended').toEqual(sortEnded(endings));
  for (const open of ['pending', 'running', 'waiting'] as const) {
    expect(await listIds(store, 'tasks', { open }), `invariant 12: ${open}`).toEqual(ids[open]);
  }
  expect((await listIds(store, 'waiting', {})).sort(), 'invariant 12').toEqual(ids.waiting.sort());
  expect((await listIds(store, 'waitingForAnswer', {})).sort(), 'invariant 12').toEqual(asking.sort());
}

async function listIds<Q extends 'tasks' | 'waiting' | 'waitingForAnswer'>(
  store: Store,
  query: Q,
  ask: Lists[Q]['ask'],
) {
  const { items } = await store.list(query, ask, { limit: 1_000 });
  return items.map(({ request_id }) => request_id);
}

async function requireSilence(store: Store, agent_id: string): Promise<void> {
  const agentStatus = await store.getAgentStatus(agent_id);
  if (!agentStatus) return;
  const { offlineMs, left: answered410, lostAfterMs } = agentStatus.record;
  const { contactMs } = agentStatus.contact;
  // A later contact may have been noted by a call that an outage ended before it brought the agent back.
  if (offlineMs === null || answered410 || contactMs >= offlineMs) return;
  const silenceMs = offlineMs - contactMs;
  expect(silenceMs, `invariant 9: ${agent_id}`).toBeGreaterThanOrEqual(
    Math.min(90_000, lostAfterMs ?? 90_000),
  );
}

async function requireFeed(world: World, history: ModelHistory, session: string): Promise<void> {
  const replay: StreamedEvent[] = [];
  const leave = new AbortController();
  const reading = (async () => {
    for await (const item of world.gateway.subscribeEvents(session, null, (item) => item, leave.signal)) {
      if (!item.gap) replay.push(item);
    }
  })();
  await flushMicrotasks();
  leave.abort();
  await reading;
  expect(history.received.get(session), 'invariant 7').toEqual(replay);
  const ids = replay.map(({ event }) => event.request_id);
  expect(new Set(ids).size, 'invariant 2: once').toBe(ids.length);
  for (const { event } of replay) {
    const { task } = await world.gateway.getTask(event.request_id, 0, NEVER);
    const { status, result, error_info } = task;
    expect(event, 'invariant 2: equal').toEqual({
      event: 'task_done',
      request_id: event.request_id,
      status,
      result,
      error_info,
    });
  }
  const settled = [...history.settled.values()]
    .filter((one) => one.cli_session_id === session)
    .map((one) => one.request_id);
  expect(ids.filter((id) => history.settled.has(id)).sort(), 'invariant 2: all').toEqual(settled.sort());
}

function requireShape(info: TaskInfo): void {
  const { status, result, error_info, agent_id, progress } = info;
  expect(status === 'success', 'success has a result').toBe(result !== null);
  expect(status === 'failed', 'failure has a reason').toBe(error_info !== null);
  if (status === 'pending') expect(agent_id).toBeNull();
  if (status === 'running' || status === 'success') expect(agent_id).not.toBeNull();
  expect(progress).toBeGreaterThanOrEqual(0);
  expect(progress).toBeLessThanOrEqual(100);
}

/**
 * Requires invariant 4 at the port: after a grant the agent holds no more slots than the highest limit it
 * ever had: in the whole run, also before a crash.
 */
export function watchGrants(store: Store, limits: Map<string, number>): Store {
  return {
    ...store,
    async commit(batch: Batch) {
      for (const write of batch.writes) {
        if (write.kind !== 'agent' || !write.value) continue;
        limits.set(write.id, Math.max(limits.get(write.id) ?? 0, write.value.limit));
      }
      const result = await store.commit(batch);
      if (!result.ok) return result;
      for (const slot of batch.slots ?? []) {
        if (slot.op !== 'grant') continue;
        const { items } = await store.list('slots', { agent_id: slot.agent_id }, { limit: 1_000 });
        const limit = limits.get(slot.agent_id) ?? Number.POSITIVE_INFINITY;
        if (items.length > limit)
          throw new Error(`invariant 4: ${slot.agent_id} holds ${items.length} of ${limit}`);
      }
      return result;
    },
  };
}
