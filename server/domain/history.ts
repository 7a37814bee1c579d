/**
 * A task's history: what happened to the task. It is part of the task's state, so each commit writes it too.
 * Pure.
 *
 *   submitted       is not stored, because the state has its time. So a history is empty until the first step
 *   equal entries   that follow each other are one entry with a count, and the first and the last time
 *   progress        has one entry, that of the last reports in a row
 *   too many        entries: the middle is dropped and counted
 *   times           never fall from entry to entry
 *   the ending      is the last entry, and its event is the outcome
 *
 * Entries are stored as arrays. The names of the events are frozen.
 */
import { type HistoryEvent, type HistoryRecord, OUTCOMES, type TaskOutcome } from './history-record.ts';
import { isOpen } from './question.ts';
import { type Delivery, isSettled, type TaskState } from './task.ts';
import type { PushNote, Trigger } from './triggers.ts';

/** An entry as it is in the contract. Times are epoch seconds. */
export type HistoryEntry = {
  readonly time: number;
  readonly event: HistoryEvent;
  readonly agent_id: string | null;
  readonly detail: string | null;
  readonly count: number;
  readonly last_time: number;
};

/** The response to a push that acknowledges the task, before it is committed. */
export type AwaitedAcknowledgement = PushNote & { readonly agent_id: string; readonly attempt: number };

/** How many entries are stored at most. With `submitted`, which is not stored, there are sixteen. */
const STORED_MAX = 15;
/** This many of the first entries are never dropped. */
const FIRST_KEPT = 7;

/**
 * The state after a step, with the entries of the step added to its history. If the step makes the commit of
 * an awaited acknowledgement needless, the entry of that is added here too.
 */
export function addHistory(
  before: TaskState,
  after: TaskState,
  trigger: Trigger,
  nowMs: number,
  awaited: AwaitedAcknowledgement | null = null,
): TaskState {
  const records = listRecords(before, after, trigger, nowMs, awaited);
  if (records.length === 0) return after;
  const history = [...(before.history ?? [])];
  for (const record of records) add(history, record, before.createdMs);
  const excess = history.length - STORED_MAX;
  if (excess <= 0) return { ...after, history };
  history.splice(FIRST_KEPT, excess);
  return { ...after, history, historyDropped: (before.historyDropped ?? 0) + excess };
}

/** Oldest first. */
function listRecords(
  before: TaskState,
  after: TaskState,
  trigger: Trigger,
  nowMs: number,
  awaited: AwaitedAcknowledgement | null,
): readonly HistoryRecord[] {
  const own = recordTrigger(before, after, trigger, nowMs);
  const isNewlyAcknowledged = before.delivery !== null && !before.delivery.acknowledged;
  if (awaited && isNewlyAcknowledged && isOver(after) && isOf(awaited, before, before.delivery)) {
    return [recordPush('push_taken', awaited.agent_id, awaited), ...own];
  }
  if ((trigger.type === 'progress' || trigger.type === 'write') && isNewlyAcknowledged) {
    return [['acknowledged', nowMs, trigger.agent_id], ...own];
  }
  return own;
}

/** Whether an acknowledgement no longer needs a commit: for example, because a report came first. */
function isOver(after: TaskState): boolean {
  return isSettled(after) || after.delivery?.acknowledged === true;
}

function isOf(awaited: AwaitedAcknowledgement, before: TaskState, delivery: Delivery): boolean {
  return awaited.agent_id === before.agent_id && awaited.attempt > delivery.disowned;
}

function recordTrigger(
  before: TaskState,
  after: TaskState,
  trigger: Trigger,
  ms: number,
): readonly HistoryRecord[] {
  switch (trigger.type) {
    case 'assign':
      return [['assigned', ms, trigger.agent_id]];
    case 'reassign':
      return [['moved', ms, trigger.agent_id, `from ${before.agent_id}`]];
    case 'wait':
      if (before.status === 'pending') return [['waiting', ms]];
      return [['waiting', ms, before.agent_id, 'for another agent']];
    case 'attempt':
      return trigger.pull ? [['claimed', ms, before.agent_id]] : [];
    case 'untaken':
      return [recordPush('push_not_taken', trigger.agent_id, trigger.push ?? { ms })];
    case 'unknown':
      return [recordPush('push_unknown', trigger.agent_id, trigger.push ?? { ms })];
    case 'acknowledge':
      if (trigger.attempt === null) return [['acknowledged', ms, trigger.agent_id]];
      return [recordPush('push_taken', trigger.agent_id, trigger.push ?? { ms })];
    case 'disown':
      return [['offered_again', ms, trigger.agent_id]];
    case 'progress':
      return [['progress', ms, trigger.agent_id, `${after.progress} %`]];
    case 'lose':
      return [['agent_lost', ms, before.agent_id, null, trigger.seconds * 1_000]];
    case 'succeed':
      return [['success', ms, trigger.agent_id]];
    case 'fail':
      return [['failed', ms, trigger.agent_id]];
    case 'write':
      return isAsked(before, after) ? [['asked', ms, trigger.agent_id]] : [];
    case 'answer':
      return [['answered', ms]];
    case 'cancel':
      return [recordEnding('cancelled', ms, before.agent_id)];
    case 'expire':
      return [recordEnding('timeout', ms, before.agent_id)];
    case 'abandon':
      return [['no_agent', ms]];
    case 'stay':
    case 'fetch':
      return [];
  }
}

/**
 * Whether the step asked a question for the first time or again: the question's entry is then a new object.
 */
function isAsked({ questions: before = [] }: TaskState, { questions = [] }: TaskState): boolean {
  return questions.some((question) => isOpen(question) && !before.includes(question));
}

function recordEnding(event: TaskOutcome, ms: number, agent_id: string | null): HistoryRecord {
  return agent_id === null ? [event, ms] : [event, ms, agent_id];
}

function recordPush(
  event: HistoryEvent,
  agent_id: string,
  { ms, what = null, tookMs = null }: PushNote,
): HistoryRecord {
  return tookMs === null ? [event, ms, agent_id, what] : [event, ms, agent_id, what, tookMs];
}

/**
 * Adds an entry; if the last entry is equal, its count rises instead. The time of an entry is never earlier
 * than that of the entry before.
 */
function add(history: HistoryRecord[], record: HistoryRecord, createdMs: number): void {
  const [event, ms, agent_id = null, what = null, tookMs = null] = record;
  const isProgress = event === 'progress';
  if (isProgress) {
    const earlier = history.findIndex(([other]) => other === 'progress');
    if (earlier >= 0 && earlier < history.length - 1) history.splice(earlier, 1);
  }
  const last = history.at(-1);
  const earliestMs = last ? (last[6] ?? last[1]) : createdMs;
  const atMs = Math.max(ms, earliestMs);
  const isSame = last?.[0] === event && (last[2] ?? null) === agent_id;
  if (last && isSame && (isProgress || (last[3] ?? null) === what)) {
    history[history.length - 1] = [event, last[1], agent_id, what, tookMs, (last[5] ?? 1) + 1, atMs];
    return;
  }
  history.push(atMs === ms ? record : [event, atMs, agent_id, what, tookMs]);
}

/** The history of a task as it is in the contract, from its submission to its ending. */
export function describeHistory(state: TaskState): readonly HistoryEntry[] {
  const records: HistoryRecord[] = [['submitted', state.createdMs], ...(state.history ?? [])];
  return records.map(describeRecord);
}

function describeRecord([event, ms, agent_id, what, durationMs, count, lastMs]: HistoryRecord): HistoryEntry {
  return {
    time: ms / 1_000,
    event,
    agent_id: agent_id ?? null,
    detail: describeDetail(event, what ?? null, durationMs ?? null),
    count: count ?? 1,
    last_time: (lastMs ?? ms) / 1_000,
  };
}

function describeDetail(event: HistoryEvent, what: string | null, durationMs: number | null): string | null {
  if (durationMs === null) return what;
  if (event === 'agent_lost') return `no contact for ${durationMs / 1_000} s`;
  return what === null ? null : `${what}, ${durationMs} ms`;
}

/** How the task ended, read from the last entry of its history; null while the task is open. */
export function outcomeOf({ history }: TaskState): TaskOutcome | null {
  const last = history?.at(-1)?.[0];
  return isEnding(last) ? last : null;
}

const ENDINGS: ReadonlySet<string> = new Set(OUTCOMES);

function isEnding(event: HistoryEvent | undefined): event is TaskOutcome {
  return event !== undefined && ENDINGS.has(event);
}

/** The last contact of the agent that was lost with the task, to the second; null if no agent was lost. */
export function lostContactMs({ history }: TaskState): number | null {
  const [event, ms = 0, , , silentMs] = history?.at(-1) ?? [];
  return event === 'agent_lost' && typeof silentMs === 'number' ? ms - silentMs : null;
}

/**
 * When the task was assigned to its last agent; null if it never was, or if the history has dropped that
 * entry.
 */
export function assignedAtMs({ delivery, history }: TaskState): number | null {
  const isAssignment = ([event]: HistoryRecord): boolean => event === 'assigned' || event === 'moved';
  return delivery?.assignedMs ?? history?.findLast(isAssignment)?.[1] ?? null;
}
