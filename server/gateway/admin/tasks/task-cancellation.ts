/**
 * Cancels many tasks: those that match a filter, or those that are named. Each has a commit and an event of
 * its own, as with `cancelTask`. If a task changes before its commit, it is read again, and left alone if it
 * no longer matches.
 *
 * A call looks at a bounded number of tasks and for a bounded time. Other calls run in between.
 */
import { writeCursor } from '../../../domain/cursor.ts';
import { isSettled, type TaskState } from '../../../domain/task.ts';
import type {
  AdminCalls,
  CancellationReceipt,
  ConsoleMode,
  TaskCancellation,
  TaskFilter,
} from '../../../ports/admin.ts';
import type { Stored } from '../../../ports/store.ts';
import { commitEach, type TaskCommits } from '../../tasks/commit-step.ts';
import { requirePosition } from '../page-cursor.ts';
import { readOnly } from '../read-only.ts';
import {
  chooseListings,
  type FoundTask,
  LOOKED_AT_MAX,
  matchesFilter,
  type SearchDeps,
  searchTasks,
} from './task-search.ts';

/** The form of a position in a list of named tasks: how many ids earlier calls have looked at. */
const INDEX = /^\d{1,4}$/;
/** How many named tasks are cancelled side by side, if they are open. */
const CANCELLED_AT_ONCE = 50;

type Deps = SearchDeps & { readonly commits: TaskCommits; readonly consoleMode: ConsoleMode };

/**
 * The result of one look at a task. `other`: the task does not match, or was submitted after
 * `created_before`.
 */
type Ending = 'cancelled' | 'already_ended' | 'not_found' | 'other';
type Receipt = { -readonly [K in keyof CancellationReceipt]: CancellationReceipt[K] };

export function createTaskCancellation(deps: Deps): Pick<AdminCalls, 'cancelTasks'> {
  return {
    async cancelTasks(cancellation) {
      if (deps.consoleMode === 'read-only') throw readOnly();
      const receipt = { matched: 0, cancelled: 0, already_ended: 0, not_found: 0, next_cursor: null };
      return cancellation.filter === null
        ? await cancelNamed(deps, cancellation, cancellation.request_ids, receipt)
        : await cancelMatching(deps, cancellation, cancellation.filter, receipt);
    },
  };
}

async function cancelNamed(
  deps: Deps,
  { created_before, dry_run, cursor }: TaskCancellation,
  request_ids: readonly string[],
  receipt: Receipt,
): Promise<CancellationReceipt> {
  const choice = { filter: { created_before }, dry_run };
  let stored = 0;
  // Cancels more tasks at once than it reads: one large group of commits costs less than two small ones.
  // Ended tasks are counted at once and not kept, because their results may be large.
  let waiting: FoundTask[] = [];
  const { next, lookedAt } = await searchTasks(deps, {
    filter: {},
    named: [...new Set(request_ids)],
    after: cursor === null ? null : requirePosition(cursor, INDEX),
    lookedAtMax: LOOKED_AT_MAX,
    async visit(found) {
      stored += found.length;
      const open = found.filter(({ state }) => !isSettled(state));
      waiting.push(...open);
      await cancelAll(
        deps,
        found.filter(({ state }) => isSettled(state)),
        choice,
        receipt,
      );
      if (waiting.length < CANCELLED_AT_ONCE) return true;
      await cancelAll(deps, waiting, choice, receipt);
      waiting = [];
      return true;
    },
  });
  await cancelAll(deps, waiting, choice, receipt);
  receipt.not_found += lookedAt - stored;
  return { ...receipt, next_cursor: next === null ? null : writeCursor(next) };
}

async function cancelMatching(
  deps: Deps,
  { created_before, dry_run, cursor }: TaskCancellation,
  asked: TaskFilter,
  receipt: Receipt,
): Promise<CancellationReceipt> {
  const filter = { ...asked, created_before };
  // Only open tasks are looked at, even with a session or an agent: they may have many ended tasks.
  const { session: _session, agent: _agent, ...rest } = filter;
  const asks = chooseListings({ ...rest, status: (filter.status ?? OPEN).filter(isOpenStatus) });
  if (asks.length === 0) return receipt;
  // A task may end between the listing and the look. It no longer waits then and has another status, but
  // still matches, and counts as already ended.
  const others = forgetOpen(filter);
  const { next } = await searchTasks(deps, {
    filter: others,
    asks,
    after: cursor === null ? null : requirePosition(cursor),
    lookedAtMax: LOOKED_AT_MAX,
    async visit(found) {
      await cancelAll(deps, found, { filter, dry_run }, receipt);
      return true;
    },
  });
  return { ...receipt, next_cursor: next === null ? null : writeCursor(next) };
}

/** Removes the parts of the filter that ended tasks cannot match. */
function forgetOpen(filter: TaskFilter): TaskFilter {
  const { status: _status, waiting: _waiting, waiting_for_answer: _waitsForAnswer, ...others } = filter;
  return others;
}

const OPEN = ['pending', 'running'] as const;

function isOpenStatus(status: string): boolean {
  return status === 'pending' || status === 'running';
}

function note(receipt: Receipt, ending: Ending): void {
  if (ending === 'other') return;
  receipt[ending] += 1;
  if (ending !== 'not_found') receipt.matched += 1;
}

/** The filter that decides which found tasks are cancelled. */
type Choice = { readonly filter: TaskFilter; readonly dry_run: boolean };

async function cancelAll(
  deps: Deps,
  found: readonly FoundTask[],
  choice: Choice,
  receipt: Receipt,
): Promise<void> {
  await commitEach(found, async (one) => note(receipt, await cancelOne(deps, one, choice)));
}

/** Cancels a task if it is open and matches; in a dry run, only tells whether it would. */
function cancelOne(
  { store, commits }: Deps,
  { request_id, state, revision }: FoundTask,
  { filter, dry_run }: Choice,
): Promise<Ending> {
  const others = forgetOpen(filter);
  let before: Stored<TaskState> | undefined = { value: state, revision };
  return commits.retryCommit<Ending>(async (notAfterMs) => {
    if (!before) return 'not_found';
    const found = { request_id, state: before.value };
    if (!matchesFilter(found, others)) return 'other';
    if (isSettled(before.value)) return 'already_ended';
    if (!matchesFilter(found, filter)) return 'other';
    if (dry_run) return 'cancelled';
    const result = await commits.commitStep(request_id, before, { type: 'cancel' }, { notAfterMs });
    if (result.kind !== 'conflict') return 'cancelled';
    // Read again, because the task has changed meanwhile.
    before = await store.get('task', request_id);
    return undefined;
  });
}
