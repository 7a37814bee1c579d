/** What the plain store keeps in memory, and its queries, each of which scans everything. */
import {
  type ActivityStep,
  buildActivity,
  isTimed,
  type Levels,
  STEP_TAGS_MAX,
  type StepRecord,
  stepOf,
  tookIndexOf,
} from '../../server/domain/activity.ts';
import { claimableFromMs } from '../../server/domain/delivery.ts';
import { type EndedTask, sortEnded } from '../../server/domain/ended-task.ts';
import { endingOf } from '../../server/domain/projection.ts';
import { isOpen } from '../../server/domain/question.ts';
import { isSettled, type TaskState } from '../../server/domain/task.ts';
import {
  classifyTask,
  fillOutcomes,
  isOutcome,
  type TaskCounts,
  tagsWithoutAgent,
} from '../../server/domain/task-counts.ts';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import type {
  AgentStatus,
  Claimable,
  Demand,
  Kinds,
  Lease,
  Lists,
  Ref,
  Stored,
  TagDemand,
  TasksAsk,
  Touch,
} from '../../server/ports/store.ts';

const START_MS = 1_700_000_000_000;

type DueEntry = { atMs: number; lease: Lease | null };
type Contact = AgentStatus['contact'];
type StoredEvent = { readonly cursor: string; readonly request_id: string };

const NO_CONTACT: Contact = {
  contactMs: 0,
  beatMs: null,
  beatGapMs: null,
  push: null,
  unreachedSinceMs: null,
};

/** The pieces of a task's output, and who writes. */
export type PlainOutput = {
  readonly writer: string | null;
  readonly replaced: readonly string[];
  readonly next: number;
  readonly pieces: readonly string[];
  readonly isFull: boolean;
};

export type PlainState = ReturnType<typeof createPlainState>;

/** Creates an empty state on the clock. */
export function createPlainState(clock: { nowMs(): number }) {
  const nowMs = (): number => START_MS + clock.nowMs();
  return {
    nowMs,
    values: new Map<string, Stored<unknown>>(),
    /** When a value that is kept for a time is gone. */
    expiries: new Map<string, number>(),
    /** Tasks by the agent that holds a slot for them, oldest grant first. */
    slots: new Map<string, readonly string[]>(),
    grants: new Map<string, number>(),
    contacts: new Map<string, Contact>(),
    registeredMs: new Map<string, number>(),
    due: new Map<Ref, DueEntry>(),
    feeds: new Map<string, readonly StoredEvent[]>(),
    outputs: new Map<string, PlainOutput>(),
    /** What each commit found, and the tasks that it settled. */
    changes: [] as { ms: number; before: Levels; ended: readonly TaskState[] }[],
    /** The tasks that settled without a report of their agent: no state says so. */
    unreported: [] as { agent_id: string; request_id: string; atMs: number; untilMs: number }[],
    /** Commits and leases so far. */
    counter: 0,
    lastSweepMs: nowMs(),
    resumedMs: nowMs(),
  };
}

/** A value and its revision; undefined when it is absent or has expired. */
export function readValue<K extends keyof Kinds>(
  { values, expiries, nowMs }: PlainState,
  kind: K,
  id: string,
): Stored<Kinds[K]> | undefined {
  const key = `${kind} ${id}`;
  if ((expiries.get(key) ?? Number.POSITIVE_INFINITY) <= nowMs()) return undefined;
  return values.get(key) as Stored<Kinds[K]> | undefined;
}

/** All values of a kind, by id. */
export function allOf<K extends keyof Kinds>(
  { values }: PlainState,
  kind: K,
): readonly (readonly [string, Stored<Kinds[K]>])[] {
  return [...values.entries()]
    .filter(([key]) => key.startsWith(`${kind} `))
    .map(([key, stored]) => [key.slice(kind.length + 1), stored as Stored<Kinds[K]>]);
}

/** The tasks for which an agent holds slots. */
export function slotsOf({ slots }: PlainState, agent_id: string): readonly string[] {
  return slots.get(agent_id) ?? [];
}

/** An agent with one of the tags and a free slot. */
export function findFreeAgent(state: PlainState, tags: readonly string[]): string | undefined {
  return allOf(state, 'agent')
    .map(([, { value }]) => value)
    .find(
      ({ agent_id, limit, agent_tags }) =>
        slotsOf(state, agent_id).length < limit && agent_tags.some((tag) => tags.includes(tag)),
    )?.agent_id;
}

/** The waiting tasks that share a tag, oldest first; without tags all of them. */
export function waitingTasks(state: PlainState, tags?: readonly string[]): readonly string[] {
  return allOf(state, 'task')
    .filter(([, { value }]) => value.waiting && (!tags || value.task_tags.some((tag) => tags.includes(tag))))
    .sort(([a, x], [b, y]) => x.value.createdMs - y.value.createdMs || (a < b ? -1 : 1))
    .map(([id]) => id);
}

/** The tasks that wait for an answer, the one that has waited longest first. */
function listWaitingForAnswer(state: PlainState): readonly ListedItem[] {
  return allOf(state, 'task')
    .flatMap(([request_id, { value }]) => {
      const open = isSettled(value) ? [] : (value.questions ?? []).filter(isOpen);
      return open.length > 0 ? [positionTask(Math.min(...open.map((one) => one.askedMs)), request_id)] : [];
    })
    .sort((a, b) => (a.position < b.position ? -1 : 1));
}

function positionTask(ms: number, request_id: string): ListedItem {
  const position = `${String(ms).padStart(15, '0')}/${request_id}`;
  return { position, item: { request_id, position } };
}

/** How many tasks are stored, and for what those wait that do. */
export function readCounts(state: PlainState, tagsMax: number): TaskCounts & Demand {
  const waiting = allOf(state, 'task').flatMap(([, { value }]) => (value.waiting ? [value] : []));
  const [waits, waitingForAnswer] = [waiting.length, listWaitingForAnswer(state).length];
  const counts = { pending: 0, running: 0, waiting: waits, waitingForAnswer, ended: fillOutcomes() };
  for (const [, { value }] of allOf(state, 'task')) {
    const taskClass = classifyTask(value);
    if (isOutcome(taskClass)) counts.ended[taskClass] += 1;
    else counts[taskClass] += 1;
  }
  const tags = [...new Set(waiting.flatMap(({ task_tags }) => task_tags))].map((tag): TagDemand => {
    const created = waiting.flatMap(({ task_tags, createdMs }) => (task_tags.includes(tag) ? createdMs : []));
    return { tag, waiting: created.length, oldestMs: Math.min(...created) };
  });
  return {
    ...counts,
    oldestWaitingMs: waiting.length === 0 ? null : Math.min(...waiting.map(({ createdMs }) => createdMs)),
    tagsTotal: tags.length,
    tags: tags.slice(0, tagsMax),
  };
}

/** How many tasks wait, and how many others are open. */
export function levelsOf(state: PlainState): Levels {
  const { pending, running, waiting } = readCounts(state, 0);
  return { waiting, running: pending + running - waiting };
}

/** What happened lately, made of every change there ever was. */
export function readActivity(state: PlainState): readonly ActivityStep[] {
  const records = new Map<number, ReturnType<typeof createRecord>>();
  for (const { ms, before, ended } of state.changes) {
    const record = records.get(stepOf(ms)) ?? createRecord(stepOf(ms), before);
    records.set(record.atMs, record);
    for (const task of ended) addEnded(record, task);
  }
  return buildActivity([...records.values()], levelsOf(state), state.nowMs());
}

function createRecord(atMs: number, before: Levels) {
  const took = new Map<number, number>();
  const noAgent = new Map<string, number>();
  return { atMs, before, ended: fillOutcomes(), took, noAgent } satisfies StepRecord;
}

function addEnded({ ended, took, noAgent }: ReturnType<typeof createRecord>, task: TaskState): void {
  const outcome = classifyTask(task);
  if (!isOutcome(outcome)) return;
  ended[outcome] += 1;
  const index = tookIndexOf((task.settledMs ?? task.createdMs) - task.createdMs);
  if (isTimed(outcome)) took.set(index, (took.get(index) ?? 0) + 1);
  for (const tag of tagsWithoutAgent(task)) {
    if (noAgent.has(tag) || noAgent.size < STEP_TAGS_MAX) noAgent.set(tag, (noAgent.get(tag) ?? 0) + 1);
  }
}

/** The tasks that ended last, read from the states. */
export function readEnded(state: PlainState): readonly EndedTask[] {
  const ended = allOf(state, 'task').flatMap(([id, { value }]) => endingOf(id, undefined, value)?.task ?? []);
  return sortEnded(ended).slice(0, STORE_LIMITS.endedMax);
}

/** An agent's record and what is counted for it; undefined when it has no record. */
export function agentStatusOf(state: PlainState, agent_id: string): AgentStatus | undefined {
  const stored = readValue(state, 'agent', agent_id);
  if (!stored) return undefined;
  const contact = state.contacts.get(agent_id) ?? NO_CONTACT;
  return {
    record: stored.value,
    revision: stored.revision,
    slots: slotsOf(state, agent_id).length,
    lastGrantMs: state.grants.get(agent_id) ?? 0,
    contact: { ...contact, contactMs: Math.max(contact.contactMs, state.resumedMs) },
  };
}

/** The tasks that a claim of the agent may hand out at the time, oldest assignment first; then the others. */
export function listClaimable(state: PlainState, agent_id: string, limit: number): Claimable {
  const tasks = allOf(state, 'task').flatMap(([request_id, { value }]) => {
    const fromMs = value.agent_id === agent_id ? claimableFromMs(value) : null;
    return fromMs === null ? [] : [{ request_id, fromMs, assignedMs: value.delivery?.assignedMs ?? 0 }];
  });
  const now = tasks.filter(({ fromMs }) => fromMs <= state.nowMs());
  const later = tasks.filter(({ fromMs }) => fromMs > state.nowMs()).map(({ fromMs }) => fromMs);
  now.sort((a, b) => a.assignedMs - b.assignedMs || (a.request_id < b.request_id ? -1 : 1));
  return {
    request_ids: now.slice(0, limit).map(({ request_id }) => request_id),
    nextMs: later.length === 0 ? null : Math.min(...later),
  };
}

type Ask = TasksAsk & { readonly tags?: readonly string[] };
type ListedItem = { readonly position: string; readonly item: object };

/** A whole listing, in its order. */
export function listAll(state: PlainState, query: keyof Lists, ask: Ask): readonly ListedItem[] {
  const tasks = (ids: readonly string[]): readonly ListedItem[] =>
    ids.map((request_id) => ({ position: request_id, item: { request_id } }));
  switch (query) {
    case 'slots':
      return tasks(slotsOf(state, ask.agent_id ?? ''));
    case 'waiting':
      return tasks(waitingTasks(state, ask.tags));
    case 'waitingForAnswer':
      return listWaitingForAnswer(state);
    case 'agents':
      return allOf(state, 'agent').flatMap(([id]) => {
        const item = agentStatusOf(state, id);
        return item ? [{ position: id, item }] : [];
      });
    case 'tasks':
      return allOf(state, 'task')
        .filter(([, { value }]) => ask.session === undefined || value.cli_session_id === ask.session)
        .filter(([, { value }]) => ask.agent_id === undefined || value.assignees.includes(ask.agent_id))
        .filter(([, { value }]) => isAskedFor(value, ask))
        .sort(([a, x], [b, y]) => y.value.createdMs - x.value.createdMs || (a < b ? 1 : -1))
        .map(([request_id, { value }]) => positionTask(value.createdMs, request_id));
    case 'unreported':
      return tasks(
        state.unreported
          .filter(({ agent_id, untilMs }) => agent_id === ask.agent_id && untilMs > state.nowMs())
          .sort((a, b) => b.atMs - a.atMs || (a.request_id < b.request_id ? 1 : -1))
          .map(({ request_id }) => request_id),
      );
  }
}

function isAskedFor(
  task: TaskState,
  { open, outcome, fromMs = 0, toMs = Number.MAX_VALUE }: TasksAsk,
): boolean {
  const taskClass = classifyTask(task);
  if (open === 'waiting' && !task.waiting) return false;
  const openClass = open === true || open === 'waiting' ? undefined : open;
  if (open !== undefined && (isOutcome(taskClass) || (openClass ?? taskClass) !== taskClass)) return false;
  if (outcome !== undefined && outcome !== taskClass) return false;
  return task.createdMs >= fromMs && task.createdMs < toMs;
}

/** Records a contact. */
export function applyTouch(state: PlainState, agent_id: string, touch: Touch): void {
  const before = state.contacts.get(agent_id) ?? NO_CONTACT;
  state.contacts.set(agent_id, { ...before, ...contactAfter(state, agent_id, before, touch) });
}

/** Records the contact that is a registration. */
export function applyRegistration(state: PlainState, agent_id: string): void {
  const before = state.contacts.get(agent_id) ?? NO_CONTACT;
  const contactMs = state.nowMs();
  state.contacts.set(agent_id, { ...before, contactMs, push: null, unreachedSinceMs: null });
  state.registeredMs.set(agent_id, contactMs);
}

function contactAfter(state: PlainState, agent_id: string, before: Contact, touch: Touch): Partial<Contact> {
  const nowMs = state.nowMs();
  switch (touch.by) {
    case 'beat': {
      const registeredMs = state.registeredMs.get(agent_id) ?? 0;
      const sinceMs = Math.max(before.beatMs ?? 0, registeredMs, state.resumedMs);
      return { contactMs: nowMs, beatMs: nowMs, beatGapMs: nowMs - sinceMs };
    }
    case 'call':
      return { contactMs: nowMs };
    case 'push': {
      const { taken, busy, status, error } = touch;
      const push = { taken, status, error };
      if (taken || busy) return { contactMs: nowMs, push, unreachedSinceMs: null };
      return { push, unreachedSinceMs: before.unreachedSinceMs ?? nowMs };
    }
  }
}
