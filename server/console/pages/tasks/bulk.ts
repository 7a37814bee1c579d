/**
 * Actions on many tasks: what they will do, in words, and their calls, one page or one task after another,
 * with progress and a stop. Pure except for the calls, which are given.
 */
import { formatCount, formatNumber } from '../../parts/format.ts';
import type { TaskFilterQuery } from '../../routing/filter.ts';

/** A task that was chosen for an action. */
export type ChosenTask = {
  readonly request_id: string;
  readonly status: string;
  /** Whether it waits for an agent. */
  readonly waiting: boolean;
};
/** How many tasks are chosen, by what can be done with them. */
export type ChosenCounts = {
  readonly total: number;
  readonly waiting: number;
  readonly running: number;
  readonly ended: number;
  /** Whether all matching tasks were counted; if not, there are at least this many. */
  readonly complete: boolean;
};
/** From this many tasks on, a person must type the number before they are cancelled. */
export const TYPED_FROM = 1_000;
/** The most ids that one call of `cancelTasks` takes. */
export const IDS_MAX = 1_000;

/** Counts tasks that were chosen one by one. */
export function countChosen(tasks: readonly ChosenTask[]): ChosenCounts {
  const open = tasks.filter(({ status }) => status === 'pending' || status === 'running');
  const waiting = open.filter((task) => task.waiting).length;
  const running = open.length - waiting;
  const total = tasks.length;
  return { total, waiting, running, ended: total - waiting - running, complete: true };
}

/** Counts all tasks that match a filter, from what `listTasks` returned for it. */
export function countMatching(
  counts: {
    readonly total: number;
    readonly complete: boolean;
    readonly waiting: number;
    readonly waiting_for_answer: number;
    readonly by_status: Readonly<Record<'pending' | 'running' | 'success' | 'failed', number>>;
  },
  filter: Pick<TaskFilterQuery, 'status' | 'outcome' | 'waiting' | 'waiting_for_answer'>,
): ChosenCounts {
  const { pending, running: assigned } = counts.by_status;
  // An open task has no outcome.
  const isIn = (status: string): boolean =>
    filter.outcome === undefined && (filter.status?.includes(status) ?? true);
  // Tasks with the status running that wait for another agent.
  const again = Math.min(Math.max(counts.waiting - pending, 0), assigned);
  const { waiting: isWaiting, waiting_for_answer: isAsking } = filter;
  const waiting =
    isWaiting === false || isAsking ? 0 : (isIn('pending') ? pending : 0) + (isIn('running') ? again : 0);
  const asking = Math.min(counts.waiting_for_answer, assigned - again);
  const chosen = isAsking === undefined ? assigned - again : isAsking ? asking : assigned - again - asking;
  const running = isWaiting !== true && isIn('running') ? chosen : 0;
  const total = Math.max(counts.total, waiting + running);
  return { total, waiting, running, ended: total - waiting - running, complete: counts.complete };
}

export function countOpen({ waiting, running }: ChosenCounts): number {
  return waiting + running;
}

/**
 * Announces a cancellation: `60 tasks match. 23 are open: 9 wait and 14 run.`, then what happens to each
 * kind. `open` is the count of a dry run, if there was one.
 */
export function describeCancel(
  counts: ChosenCounts,
  isFilter: boolean,
  open: number = countOpen(counts),
): string {
  const { waiting, running, ended, complete } = counts;
  const total = Math.max(counts.total, open + ended);
  const least = complete ? '' : 'At least ';
  const subject = isFilter
    ? `${least}${formatCount(total, 'task')} ${total === 1 ? 'matches' : 'match'}.`
    : `${formatCount(total, 'task')} ${total === 1 ? 'is' : 'are'} selected.`;
  const parts = [
    ...(waiting > 0 ? [`${formatNumber(waiting)} ${waiting === 1 ? 'waits' : 'wait'}`] : []),
    ...(running > 0 ? [`${formatNumber(running)} ${running === 1 ? 'runs' : 'run'}`] : []),
  ];
  // The parts are named only if they add up to this count.
  const split = open === waiting + running && open > 0 ? `: ${parts.join(' and ')}` : '';
  const opens = `${formatNumber(open)} ${open === 1 ? 'is' : 'are'} open${split}.`;
  const become = `${open === 1 ? 'It ends' : 'They end'} as \`cancelled by user\`, and ${
    open === 1 ? 'its client receives' : 'their clients receive'
  } the event.`;
  const rest =
    ended === 0
      ? ''
      : ` ${formatNumber(ended)} ${ended === 1 ? 'has' : 'have'} ended already and ${
          ended === 1 ? 'stays as it is' : 'stay as they are'
        }.`;
  return `${subject} ${opens}${open > 0 ? ` ${become}` : ''}${rest}`;
}

/** The sums of the responses to `cancelTasks`, over the pages so far. */
export type CancelTotals = {
  readonly cancelled: number;
  readonly already_ended: number;
  readonly not_found: number;
};
export type CancelPage = CancelTotals & { readonly next_cursor: string | null };

/** How a bulk action ended. */
export type BulkEnd<Totals> =
  | { readonly kind: 'finished' | 'stopped'; readonly totals: Totals }
  | { readonly kind: 'failed'; readonly totals: Totals; readonly error: unknown };

/**
 * Cancels page after page until there are no more, the signal fires or a page fails. `onTotals` gets the
 * totals after each page.
 */
export async function cancelPages(
  readPage: (cursor: string | null) => Promise<CancelPage>,
  signal: AbortSignal,
  onTotals: (totals: CancelTotals) => void,
): Promise<BulkEnd<CancelTotals>> {
  let totals: CancelTotals = { cancelled: 0, already_ended: 0, not_found: 0 };
  let cursor: string | null = null;
  do {
    if (signal.aborted) return { kind: 'stopped', totals };
    try {
      const page = await readPage(cursor);
      totals = {
        cancelled: totals.cancelled + page.cancelled,
        already_ended: totals.already_ended + page.already_ended,
        not_found: totals.not_found + page.not_found,
      };
      cursor = page.next_cursor;
      onTotals(totals);
    } catch (error) {
      if (signal.aborted) return { kind: 'stopped', totals };
      return { kind: 'failed', totals, error };
    }
  } while (cursor !== null);
  return { kind: 'finished', totals };
}

/** Says how many tasks a cancellation ended: `19 cancelled, 4 had ended already.` */
export function describeCancelled({ kind, totals }: BulkEnd<CancelTotals>): string {
  const { cancelled, already_ended, not_found } = totals;
  const parts = [
    `${formatNumber(cancelled)} cancelled`,
    ...(already_ended > 0 ? [`${formatNumber(already_ended)} had ended already`] : []),
    ...(not_found > 0 ? [`${formatNumber(not_found)} no longer kept`] : []),
  ];
  const sentence = `${parts.join(', ')}.`;
  if (kind === 'stopped') return `Stopped: ${sentence}`;
  return kind === 'failed' ? `Not finished: ${sentence}` : sentence;
}

/** How many tasks were submitted again so far, and how many failed. */
export type AgainTotals = { readonly submitted: number; readonly failed: number };

/**
 * Submits tasks again, one after another, until the signal fires. A failure does not stop the others.
 * `onTotals` gets the totals after each task.
 */
export async function submitEach(
  ids: readonly string[],
  submitAgain: (request_id: string) => Promise<void>,
  signal: AbortSignal,
  onTotals: (totals: AgainTotals) => void,
): Promise<BulkEnd<AgainTotals>> {
  let totals: AgainTotals = { submitted: 0, failed: 0 };
  let failure: unknown;
  for (const request_id of ids) {
    if (signal.aborted) return { kind: 'stopped', totals };
    try {
      await submitAgain(request_id);
      totals = { ...totals, submitted: totals.submitted + 1 };
    } catch (error) {
      if (signal.aborted) return { kind: 'stopped', totals };
      failure = error;
      totals = { ...totals, failed: totals.failed + 1 };
    }
    onTotals(totals);
  }
  return totals.failed > 0 ? { kind: 'failed', totals, error: failure } : { kind: 'finished', totals };
}
