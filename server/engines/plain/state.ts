/**
 * Everything that the plain store keeps: values as they were written, and the order of waiting tasks and of
 * due entries. No caller may change a value. A store opened on the state of an earlier store finds everything
 * that was committed there.
 */
import BTreeModule from 'sorted-btree';
import type { StepRecord } from '../../domain/activity.ts';
import type { TaskOutcome } from '../../domain/history-record.ts';
import type { OutputHead } from '../../ports/output.ts';
import type { Cursor, Kinds, Lease, Ref, Stored } from '../../ports/store.ts';
import { createChangeLog } from '../change-log.ts';
import { createContacts } from '../contacts.ts';

const BTree = BTreeModule.default;
const MS_DIGITS = 14;

/** `n` orders the entries of the same time as they were set. */
type DueEntry = {
  readonly ref: Ref;
  readonly atMs: number;
  readonly n: number;
  readonly lease: Lease | null;
};
type FeedEvent = { readonly cursor: Cursor; readonly request_id: string; readonly number: number };
/** `trimmed`: the number of the last removed event, kept until `untilMs`. */
type Feed = { readonly events: FeedEvent[]; readonly trimmed: number; readonly untilMs: number };
/** The pieces of a task's output, and who writes. `isRemoved`: the pieces were removed to make room. */
export type PlainOutput = OutputHead & {
  readonly writer: string | null;
  readonly replaced: readonly string[];
  readonly pieces: readonly string[];
  readonly bytes: number;
  readonly isRemoved?: true;
};
type Step = StepRecord & {
  readonly ended: Record<TaskOutcome, number>;
  readonly took: Map<number, number>;
  readonly noAgent: Map<string, number>;
};

export type PlainState = ReturnType<typeof createPlainState>;

export function createPlainState() {
  const values: { readonly [K in keyof Kinds]: Map<string, Stored<Kinds[K]>> } = {
    input: new Map(),
    task: new Map(),
    agent: new Map(),
    key: new Map(),
    details: new Map(),
  };
  return {
    values,
    keyUntilMs: new Map<string, number>(),
    open: new Map<string, Kinds['task']>(),
    /** When each settled task settled; the earliest first. */
    settledMs: new Map<string, number>(),
    /** The ids of waiting tasks by their positions. */
    waiting: new BTree<string, string>(),
    /** The number of each grant, by agent and task. */
    slots: new Map<string, Map<string, number>>(),
    due: new Map<Ref, DueEntry>(),
    dueOrder: new BTree<DueEntry, undefined>(undefined, (a, b) => a.atMs - b.atMs || a.n - b.n),
    feeds: new Map<string, Feed>(),
    outputs: new Map<string, PlainOutput>(),
    outputBytes: 0,
    outputBytesMax: Number.POSITIVE_INFINITY,
    steps: new Map<number, Step>(),
    /** Tasks that settled without a report of their agent. Their states do not say so. */
    unreported: new Set<{ agent_id: string; request_id: string; atMs: number; untilMs: number }>(),
    lastId: 0,
    /** The time of the last commit. */
    lastMs: 0,
    /** These three belong to the store that was opened last. */
    nowMs: (): number => 0,
    contacts: createContacts(0),
    changes: createChangeLog('0'),
  };
}

/** Undefined if the value is absent or has expired. */
export function readValue<K extends keyof Kinds>(state: PlainState, kind: K, id: string) {
  if (kind === 'key' && (state.keyUntilMs.get(id) ?? 0) <= state.nowMs()) return undefined;
  return state.values[kind].get(id) as Stored<Kinds[K]> | undefined;
}

/** A number for a commit, lease, grant or due time. No number is used twice. */
export function nextId(state: PlainState): number {
  state.lastId += 1;
  return state.lastId;
}

/** Sets the time of a due entry, or removes the entry. Both end its lease. */
export function setDue(state: PlainState, ref: Ref, atMs: number | null, lease: Lease | null = null): void {
  const before = state.due.get(ref);
  if (before) state.dueOrder.delete(before);
  state.due.delete(ref);
  if (atMs === null) return;
  const entry = { ref, atMs, n: nextId(state), lease };
  state.due.set(ref, entry);
  state.dueOrder.set(entry, undefined);
}

/** How many more tasks an agent may take; 0 if it has no record. */
export function freeSlots({ values, slots }: PlainState, agent_id: string): number {
  return Math.max(0, (values.agent.get(agent_id)?.value.limit ?? 0) - (slots.get(agent_id)?.size ?? 0));
}

/** A task's position in a listing by time. Positions compare as texts. */
export function positionOf(ms: number, request_id: string): string {
  return `${String(Math.max(0, Math.floor(ms))).padStart(MS_DIGITS, '0')}/${request_id}`;
}

/** The waiting tasks, oldest first; with `tags`, only tasks that share one of these. */
export function* listWaiting({ waiting, open }: PlainState, tags?: readonly string[]) {
  for (const [position, id] of waiting.entries())
    if (!tags || open.get(id)?.task_tags.some((tag) => tags.includes(tag))) yield [position, id] as const;
}
