/** The commit of a batch in the plain store: first all conditions, then all effects. */
import { isTimed, levelsOf, STEP_TAGS_MAX, STEPS_MAX, stepOf } from '../../domain/activity.ts';
import { claimableFromMs } from '../../domain/delivery.ts';
import { endingOf } from '../../domain/projection.ts';
import { isSettled } from '../../domain/task.ts';
import { fillOutcomes } from '../../domain/task-counts.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import { agentRef, type Batch, type CommitResult, type TaskWrite } from '../../ports/store.ts';
import { planOutput, putOutput } from './output.ts';
import { freeSlots, listWaiting, nextId, type PlainState, positionOf, readValue, setDue } from './state.ts';

/** Commits a batch and adds the topics to notify to `topics`, or returns the conflict. */
export function commitBatch(state: PlainState, batch: Batch, topics: Set<string>): CommitResult {
  const conflict = findConflict(state, batch);
  if (conflict) return conflict;
  const output = batch.output && planOutput(state, batch.output);
  if (output && 'conflict' in output) return output;
  const number = nextId(state);
  const head = batch.output && output && putOutput(state, batch.output.request_id, output);
  // The topic of a written state also notifies the watchers of the output.
  if (batch.output && batch.writes.length === 0) topics.add(`output:${batch.output.request_id}`);
  applyBatch(state, batch, number, topics);
  return { ok: true, revision: `r${number}`, ...(head && { output: head }) };
}

function findConflict(state: PlainState, batch: Batch): CommitResult | undefined {
  const { writes, due = [], noneWaiting, noContactAfter: silent, noneFree } = batch;
  if (writes.some(({ kind, id, expect }) => expect !== (readValue(state, kind, id)?.revision ?? 'absent')))
    return { ok: false, conflict: 'revision' };
  const isHeld = ({ ref, lease, isNew }: (typeof due)[number]): boolean =>
    lease === undefined || isNew === true || state.due.get(ref)?.lease === lease;
  if (!due.every(isHeld)) return { ok: false, conflict: 'lease' };
  if (!areGrantable(state, batch)) return { ok: false, conflict: 'slot' };
  if (noneWaiting && !listWaiting(state, noneWaiting).next().done) return { ok: false, conflict: 'waiting' };
  if (silent && state.contacts.contactOf(silent.agent_id).contactMs > silent.atMs)
    return { ok: false, conflict: 'contact' };
  for (const [agent_id, { value }] of noneFree ? state.values.agent : [])
    if (freeSlots(state, agent_id) > 0 && value.agent_tags.some((tag) => noneFree?.includes(tag)))
      return { ok: false, conflict: 'free_agent', agent_id };
  return isOverLimit(state, batch) ? { ok: false, conflict: 'full' } : undefined;
}

/** Grants and releases of one batch count in their order. */
function areGrantable(state: PlainState, { slots = [] }: Batch): boolean {
  const free = new Map<string, number>();
  for (const slot of slots) {
    const { op, agent_id, request_id } = slot;
    const left = free.get(agent_id) ?? freeSlots(state, agent_id);
    const held = Number(state.slots.get(agent_id)?.has(request_id) ?? false);
    free.set(agent_id, op === 'release' ? left + held : left - 1 + held);
    if (op === 'release') continue;
    if (state.values.agent.get(agent_id)?.value.registration !== slot.registration) return false;
    if (held === 0 && left === 0) return false;
  }
  return true;
}

/** Only a batch that adds tasks or agents can exceed a limit. Stored tasks and agents may always change. */
function isOverLimit({ open, values }: PlainState, { writes, atMost = {} }: Batch): boolean {
  const [tasksMax, agentsMax] = [atMost.openTasks ?? Infinity, atMost.agents ?? Infinity];
  let [tasks, agents] = [0, 0];
  for (const { kind, id, value } of writes) {
    if (kind === 'task') tasks += Number(!isSettled(value)) - Number(open.has(id));
    if (kind === 'agent') agents += Number(value !== null) - Number(values.agent.has(id));
  }
  if (tasks > 0 && open.size + tasks > tasksMax) return true;
  return agents > 0 && values.agent.size + agents > agentsMax;
}

function applyBatch(state: PlainState, batch: Batch, number: number, topics: Set<string>): void {
  const { values, nowMs } = state;
  const { writes, due = [], slots = [], event } = batch;
  const agents = writes.flatMap(({ kind, id }) => (kind === 'agent' ? [id] : []));
  const touched = new Set([...agents, ...slots.map(({ agent_id }) => agent_id)]);
  const before = [...touched].map((agent_id) => {
    const registration = values.agent.get(agent_id)?.value.registration;
    return { agent_id, registration, free: freeSlots(state, agent_id) };
  });
  state.lastMs = Math.max(state.lastMs, nowMs());
  for (const { ref, atMs, lease, unlessHeld } of due) {
    const entry = state.due.get(ref);
    if (unlessHeld && entry && entry.lease !== null && entry.atMs > nowMs()) continue;
    if (atMs === 'held') setDue(state, ref, nowMs() + STORE_LIMITS.leaseMs, lease);
    else setDue(state, ref, atMs);
    topics.add('due');
  }
  for (const write of writes) {
    if (write.kind === 'task') applyTask(state, write, topics);
    if (write.kind === 'key') state.keyUntilMs.set(write.id, nowMs() + write.keepMs);
    put(values[write.kind], write.id, write.value, number);
    if (write.kind === 'task') put(values.details, write.id, write.details, number);
  }
  for (const { op, agent_id, request_id } of slots) {
    const held = state.slots.get(agent_id) ?? new Map<string, number>();
    if (op === 'release') held.delete(request_id);
    if (op === 'release' || held.has(request_id)) continue;
    state.slots.set(agent_id, held.set(request_id, nextId(state)));
    state.contacts.noteGrant(agent_id, nowMs());
  }
  for (const agent of before) noteAgent(state, agent, topics);
  if (!event) return;
  const feed = state.feeds.get(event.session) ?? { events: [], trimmed: 0, untilMs: 0 };
  feed.events.push({ cursor: `${state.lastMs}-${number}`, request_id: event.request_id, number });
  state.feeds.set(event.session, feed);
  topics.add(`feed:${event.session}`);
}

/** Stores a value. Null removes the stored value; undefined leaves it. */
function put(ofKind: Map<string, unknown>, id: string, value: unknown, number: number): void {
  if (value === null) ofKind.delete(id);
  else if (value !== undefined) ofKind.set(id, { value, revision: `r${number}` });
}

type Agent = { readonly agent_id: string; readonly registration: string | undefined; readonly free: number };

/**
 * Notes that an agent changed. If the agent can take more tasks and a task waits for its tags, it becomes due
 * at once.
 */
function noteAgent(state: PlainState, before: Agent, topics: Set<string>): void {
  const { agent_id, registration, free } = before;
  const { values, contacts, changes, nowMs } = state;
  const record = values.agent.get(agent_id)?.value;
  topics.add(agentRef(agent_id));
  if (!record) {
    contacts.forget(agent_id);
    changes.noteRemoved(agent_id);
    return;
  }
  const isNew = record.registration !== registration;
  if (isNew) contacts.noteRegistration(agent_id, nowMs());
  changes.note(agent_id);
  const now = freeSlots(state, agent_id);
  const hasMore = now > free || (now > 0 && isNew);
  if (!hasMore || listWaiting(state, record.agent_tags).next().done) return;
  setDue(state, agentRef(agent_id), nowMs());
  topics.add('due');
}

/** Changes everything that follows from a task's new state. The state itself is stored afterwards. */
function applyTask(state: PlainState, { id, value, index }: TaskWrite, topics: Set<string>): void {
  const before = state.values.task.get(id)?.value;
  const { ended, took, noAgent } = beginStep(state);
  if (before?.waiting) state.waiting.delete(positionOf(before.createdMs, id));
  if (value.waiting) state.waiting.set(positionOf(value.createdMs, id), id);
  if (!isSettled(value)) state.open.set(id, value);
  const ending = endingOf(id, before, value);
  if (ending) {
    const { task, tookIndex } = ending;
    state.open.delete(id);
    state.settledMs.set(id, state.lastMs);
    ended[task.outcome] += 1;
    if (isTimed(task.outcome)) took.set(tookIndex, (took.get(tookIndex) ?? 0) + 1);
    for (const tag of ending.noAgent)
      if (noAgent.has(tag) || noAgent.size < STEP_TAGS_MAX) noAgent.set(tag, (noAgent.get(tag) ?? 0) + 1);
  }
  // Queries read the other indexes from the states. This index depends on the step, so it is stored.
  for (const { index: name, of: agent_id, atMs, keepMs = 0 } of index)
    if (name === 'unreported')
      state.unreported.add({ agent_id, request_id: id, atMs, untilMs: state.nowMs() + keepMs });
  topics.add(`task:${id}`);
  if (claimableFromMs(value) === 0) topics.add(agentRef(value.agent_id ?? ''));
}

/** Returns the record of the present step. A new record begins with the levels before the commit. */
function beginStep({ steps, open, waiting, nowMs }: PlainState) {
  const atMs = stepOf(nowMs());
  const fresh = { ended: fillOutcomes(), took: new Map(), noAgent: new Map() };
  const step = steps.get(atMs) ?? { atMs, before: levelsOf(open.size, waiting.size), ...fresh };
  steps.set(atMs, step);
  const [oldest = atMs] = steps.keys();
  if (steps.size > STEPS_MAX) steps.delete(oldest);
  return step;
}
