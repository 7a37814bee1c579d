/**
 * Finds the tasks that match a filter, newest first. It reads the store's smallest listings that hold all of
 * them: tasks of a session or an agent, open tasks, tasks that did not succeed. Several listings are merged
 * by their positions, which have the same form in each. Tasks that wait for an answer have a listing of their
 * own, in its own order.
 *
 * A search looks at a bounded number of tasks and for a bounded time, so a rare match costs no more than a
 * common one. It reads tasks as pieces of the large work: some small tasks or one large task in each piece.
 * So all searches together take no more than half of the process, and their callers take turns.
 */
import type { LargeWork } from '../../../async/large-work.ts';
import { isWaitingForAnswer } from '../../../domain/asking.ts';
import { type EndedTask, ERROR_CHARS_MAX } from '../../../domain/ended-task.ts';
import { foldError } from '../../../domain/failures.ts';
import { outcomeOf } from '../../../domain/history.ts';
import type { TaskOutcome } from '../../../domain/history-record.ts';
import { cutText } from '../../../domain/payload-preview.ts';
import type { TaskState, TaskStatus } from '../../../domain/task.ts';
import type { TaskFilter } from '../../../ports/admin.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Page, Revision, Store, TasksAsk } from '../../../ports/store.ts';
import { readIfWhole } from '../../tasks/read-task.ts';
import { findTaskIds, type ListedTask } from './task-ids.ts';

/** How many tasks one call looks at. */
export const LOOKED_AT_MAX = 1_000;
/** How many tasks of a listing are taken at once. */
const SLICE = 100;
/** How many states are read side by side in one piece. */
const READ_AT_ONCE = 25;
/** After this long, the searches of a call end with what they have. A call as a whole may take longer. */
const SEARCH_WITHIN_MS = 2_000;

export type SearchDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly largeWork: LargeWork;
  /** How long a settled task is kept, and the longest time that a task may stay open. */
  readonly keepTasksMs: number;
};

type Listing = TasksAsk | 'waitingForAnswer';

export type FoundTask = ListedTask & { readonly state: TaskState; readonly revision: Revision };

export type Search = {
  readonly filter: TaskFilter;
  /** The listings to read; default: those that hold every match. */
  readonly asks?: readonly Listing[];
  /** If given, only the tasks with these ids are looked at, in this order. A position is then an index. */
  readonly named?: readonly string[];
  /** The search begins behind this position; null: with the newest task. */
  readonly after: string | null;
  readonly lookedAtMax: number;
  /** When the search ends with what it has, by the monotonic clock. Default: `endOfSearches()`. */
  readonly endMs?: number;
  /** Called with matches, newest first. Resolving with false ends the search before the next matches. */
  visit(found: readonly FoundTask[]): boolean | Promise<boolean>;
};

/** How far a search came. The next search continues at `next`; null if nothing is left. */
export type SearchEnd = { readonly next: string | null; readonly lookedAt: number };

/** When the searches of a call that begins now must end, by the monotonic clock. They share this time. */
export function endOfSearches(clock: Pick<Clock, 'monotonicMs'>): number {
  return clock.monotonicMs() + SEARCH_WITHIN_MS;
}

export async function searchTasks(deps: SearchDeps, search: Search): Promise<SearchEnd> {
  const { filter, endMs = endOfSearches(deps.clock) } = search;
  const readSlice = await createReader(deps, search);
  let after = search.after;
  let lookedAt = 0;
  for (;;) {
    const slice = await readSlice(after, Math.min(SLICE, search.lookedAtMax - lookedAt));
    for (let from = 0; from < slice.items.length; ) {
      const listed = slice.items.slice(from, from + READ_AT_ONCE);
      const found = await readStates(deps, listed);
      const mayGoOn = await search.visit(found.filter((one) => matchesFilter(one, filter)));
      from += listed.length;
      lookedAt += listed.length;
      after = listed.at(-1)?.position ?? after;
      if (slice.next === null && from >= slice.items.length) return { next: null, lookedAt };
      const isOver = lookedAt >= search.lookedAtMax || deps.clock.monotonicMs() > endMs;
      if (!mayGoOn || isOver) return { next: after, lookedAt };
    }
    if (slice.next === null) return { next: null, lookedAt };
    after = slice.next;
  }
}

/** Whether a task matches each field of the filter. */
export function matchesFilter(
  { request_id, state }: Pick<FoundTask, 'request_id' | 'state'>,
  filter: TaskFilter,
): boolean {
  const { status, outcome, waiting, waiting_for_answer, type, tag, session, agent, id } = filter;
  const { created_after, created_before, ended_after, error } = filter;
  const createdSeconds = state.createdMs / 1_000;
  return (
    (status === undefined || status.includes(state.status)) &&
    (outcome === undefined || isOneOf(outcomeOf(state), outcome)) &&
    (waiting === undefined || state.waiting === waiting) &&
    (waiting_for_answer === undefined || isWaitingForAnswer(state) === waiting_for_answer) &&
    (type === undefined || state.task_type === type) &&
    (tag === undefined || state.task_tags.includes(tag)) &&
    (session === undefined || state.cli_session_id === session) &&
    (agent === undefined || state.agent_id === agent) &&
    (id === undefined || request_id.endsWith(id)) &&
    (created_after === undefined || createdSeconds >= created_after) &&
    (created_before === undefined || createdSeconds < created_before) &&
    (ended_after === undefined || (state.settledMs ?? 0) >= ended_after * 1_000) &&
    (error === undefined || isSameError(state.error_info, error))
  );
}

/** Whether both errors begin with the same text, when numbers and ids are folded. */
function isSameError(error_info: string | null, error: string): boolean {
  const fold = (text: string): string => foldError(cutText(text, ERROR_CHARS_MAX));
  return error_info !== null && fold(error_info) === fold(error);
}

function isOneOf(outcome: TaskOutcome | null, outcomes: readonly TaskOutcome[]): boolean {
  return outcome !== null && outcomes.includes(outcome);
}

const OPEN: readonly TaskStatus[] = ['pending', 'running'];
const ALL: readonly TaskStatus[] = [...OPEN, 'success', 'failed'];
const FAILED_ALONE: readonly TaskStatus[] = ['failed'];
const UNSUCCESSFUL = ['failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'] as const;

/** Chooses the smallest listings that together hold every possible match. */
export function chooseListings(filter: TaskFilter): readonly Listing[] {
  const range = toRange(filter);
  const mayMatch = filter.error === undefined ? ALL : FAILED_ALONE;
  const statuses = (filter.status ?? ALL).filter((status) => mayMatch.includes(status));
  const open = filter.outcome ? [] : statuses.filter((status) => OPEN.includes(status));
  if (filter.waiting_for_answer) return open.includes('running') ? ['waitingForAnswer'] : [];
  if (filter.session !== undefined) return [{ session: filter.session, ...range }];
  if (filter.agent !== undefined) return [{ agent_id: filter.agent, ...range }];
  if (filter.waiting) return open.length > 0 ? [{ open: 'waiting', ...range }] : [];
  const outcomes = filter.outcome ?? (['success', ...UNSUCCESSFUL] as const);
  if (statuses.includes('success') && outcomes.includes('success')) return [range];
  const unsuccessful = statuses.includes('failed')
    ? UNSUCCESSFUL.filter((outcome) => outcomes.includes(outcome))
    : [];
  return [
    ...(open.length > 0 ? [{ open: chooseOpen(open), ...range }] : []),
    ...unsuccessful.map((outcome) => ({ outcome, ...range })),
  ];
}

function chooseOpen(statuses: readonly TaskStatus[]): true | 'pending' | 'running' {
  const [status] = statuses;
  return statuses.length === 1 && (status === 'pending' || status === 'running') ? status : true;
}

function toRange({ created_after, created_before }: TaskFilter): Pick<TasksAsk, 'fromMs' | 'toMs'> {
  return {
    ...(created_after !== undefined && { fromMs: toWholeMs(created_after) }),
    ...(created_before !== undefined && { toMs: toWholeMs(created_before) }),
  };
}

/** Rounds up to whole milliseconds, within what positions can hold. */
function toWholeMs(seconds: number): number {
  return Math.min(Math.max(0, Math.ceil(seconds * 1_000)), LATEST_MS);
}

/** The end of the year 9999. */
const LATEST_MS = 253_402_300_799_999;
const MS_DIGITS = String(LATEST_MS).length;

type ReadSlice = (after: string | null, limit: number) => Promise<Page<ListedTask>>;

async function createReader(deps: SearchDeps, search: Search): Promise<ReadSlice> {
  const { filter, named, asks = chooseListings(filter) } = search;
  if (named) return async (after, limit) => pageNamed(named, Number(after), limit);
  if (filter.ended_after !== undefined) return createEndedReader(await deps.store.readEnded(), filter);
  if (filter.id !== undefined) {
    const items = await findTaskIds(deps, filter.id);
    const isBehind = (after: string | null) => (one: ListedTask) => after === null || one.position < after;
    return async (after) => ({ items: items.filter(isBehind(after)), next: null });
  }
  const readers = asks.map(
    (ask): ReadSlice =>
      (after, limit) => {
        const page = { limit, ...(after !== null && { after }) };
        return ask === 'waitingForAnswer'
          ? deps.store.list(ask, {}, page)
          : deps.store.list('tasks', ask, page);
      },
  );
  const [only] = readers;
  if (only && readers.length === 1) return only;
  return async (after, limit) => mergePages(await Promise.all(readers.map((read) => read(after, limit))));
}

function pageNamed(ids: readonly string[], from: number, limit: number): Page<ListedTask> {
  const to = from + limit;
  const items = ids
    .slice(from, to)
    .map((request_id, index) => ({ request_id, position: `${from + index + 1}` }));
  return { items, next: to < ids.length ? `${to}` : null };
}

/** Filters the tasks that ended last. Only a few fields of each are kept. The newest task comes first. */
function filterEnded(
  ended: readonly EndedTask[],
  { ended_after = 0, type, agent, id, outcome, error }: TaskFilter,
): readonly EndedTask[] {
  return ended.filter(
    (task) =>
      task.endedMs >= ended_after * 1_000 &&
      (type === undefined || task.type === type) &&
      (agent === undefined || task.agent_id === agent) &&
      (id === undefined || task.request_id.endsWith(id)) &&
      (outcome === undefined || outcome.includes(task.outcome)) &&
      (error === undefined || isSameError(task.error, error)),
  );
}

function createEndedReader(ended: readonly EndedTask[], filter: TaskFilter): ReadSlice {
  const items = filterEnded(ended, filter).map(({ request_id, endedMs }) => ({
    request_id,
    position: `${padMs(endedMs)}/${request_id}`,
  }));
  return async (after, limit) => {
    const from = after === null ? 0 : items.findIndex(({ position }) => position < after);
    if (from < 0) return { items: [], next: null };
    const page = items.slice(from, from + limit);
    return { items: page, next: from + limit < items.length ? (page.at(-1)?.position ?? null) : null };
  };
}

function padMs(ms: number): string {
  return ms.toFixed(0).padStart(MS_DIGITS, '0');
}

/**
 * Merges pages that begin at the same position, newest first. Where a listing goes on, tasks older than its
 * page are left for the next merge, because the listing may have tasks between them.
 */
function mergePages(pages: readonly Page<ListedTask>[]): Page<ListedTask> {
  const byPosition = new Map(pages.flatMap(({ items }) => items.map((item) => [item.position, item])));
  const all = [...byPosition.values()].sort((a, b) => (a.position > b.position ? -1 : 1));
  const ends = pages.flatMap(({ items, next }) => (next === null ? [] : (items.at(-1)?.position ?? next)));
  if (ends.length === 0) return { items: all, next: null };
  const end = ends.reduce((latest, one) => (one > latest ? one : latest));
  return { items: all.filter(({ position }) => position >= end), next: end };
}

/**
 * Reads the states of tasks. Tasks that are removed or damaged are left out. Only one search reads at a time:
 * the largest states of several would not fit into memory.
 */
async function readStates(
  { store, largeWork }: SearchDeps,
  listed: readonly ListedTask[],
): Promise<readonly FoundTask[]> {
  const states = await largeWork.run(() =>
    Promise.all(listed.map(({ request_id }) => readIfWhole(store, request_id))),
  );
  return listed.flatMap((one, index) => {
    const stored = states[index];
    return stored ? [{ ...one, state: stored.value, revision: stored.revision }] : [];
  });
}
