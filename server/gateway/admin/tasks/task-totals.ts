/**
 * How many tasks match a filter. The store keeps counts by status, by outcome and by what tasks wait for. For
 * any other filter tasks are looked at, as many as one call may: first the matches, then the tasks of all
 * statuses.
 */
import { isWaitingForAnswer } from '../../../domain/asking.ts';
import { outcomeOf } from '../../../domain/history.ts';
import { OUTCOMES, type TaskOutcome } from '../../../domain/history-record.ts';
import type { TaskStatus } from '../../../domain/task.ts';
import { fillOutcomes } from '../../../domain/task-counts.ts';
import type { TaskFilter, TaskTotals } from '../../../ports/admin.ts';
import { STORE_LIMITS } from '../../../ports/limits.ts';
import { type FoundTask, LOOKED_AT_MAX, type SearchDeps, searchTasks } from './task-search.ts';

/** Counts the matches. After `endMs`, by the monotonic clock, the rest is left out. */
export async function countTasks(deps: SearchDeps, filter: TaskFilter, endMs: number): Promise<TaskTotals> {
  return isByClassAlone(filter) ? await readCounts(deps, filter) : await countMatches(deps, filter, endMs);
}

/** Counts of tasks by class. */
type Classes = Record<'pending' | 'running' | 'waiting' | 'waitingForAnswer', number> & {
  ended: Record<TaskOutcome, number>;
};

/**
 * Whether the store's counts suffice. The store counts waiting tasks, but not how many of these are pending
 * or run. Nor does it count the tasks that wait for an answer and for an agent.
 */
function isByClassAlone({ status, outcome, waiting, waiting_for_answer, ...others }: TaskFilter): boolean {
  if (Object.values(others).some((value) => value !== undefined)) return false;
  if (waiting === undefined) return true;
  if (waiting_for_answer !== undefined) return false;
  return status === undefined || status.includes('pending') === status.includes('running');
}

async function readCounts({ store }: SearchDeps, filter: TaskFilter): Promise<TaskTotals> {
  const classes = await store.readCounts(0);
  const { pending, running, waiting, waitingForAnswer, ended } = classes;
  const runningWanted = isWanted(filter, 'running', null) ? running : 0;
  const open = (isWanted(filter, 'pending', null) ? pending : 0) + runningWanted;
  const [isAsked, openToWait, wait] =
    filter.waiting === undefined
      ? [filter.waiting_for_answer, runningWanted, waitingForAnswer]
      : [filter.waiting, open, waiting];
  const waits = openToWait > 0 ? wait : 0;
  const openTotal = isAsked === undefined ? open : isAsked ? waits : open - waits;
  const wanted = isAsked ? [] : OUTCOMES.filter((one) => isWanted(filter, statusOf(one), one));
  const total = wanted.reduce((sum, outcome) => sum + ended[outcome], openTotal);
  return describeTotals(classes, total, true);
}

function isWanted(
  { status: statuses, outcome: outcomes }: TaskFilter,
  status: TaskStatus,
  outcome: TaskOutcome | null,
): boolean {
  const isInStatus = statuses === undefined || statuses.includes(status);
  return isInStatus && (outcomes === undefined || (outcome !== null && outcomes.includes(outcome)));
}

function statusOf(outcome: TaskOutcome): TaskStatus {
  return outcome === 'success' ? 'success' : 'failed';
}

async function countMatches(deps: SearchDeps, filter: TaskFilter, endMs: number): Promise<TaskTotals> {
  const { status, outcome, waiting, waiting_for_answer, ...others } = filter;
  const isOfAll = [status, outcome, waiting, waiting_for_answer].every((value) => value === undefined);
  const asked = await lookThrough(deps, filter, LOOKED_AT_MAX, endMs);
  const left = LOOKED_AT_MAX - asked.lookedAt;
  const all = isOfAll || left <= 0 ? asked : await lookThrough(deps, others, left, endMs);
  return describeTotals(takeLarger(asked.classes, all.classes), asked.total, asked.isWhole);
}

/** Counts the matches among the first `lookedAtMax` tasks. */
async function lookThrough(deps: SearchDeps, filter: TaskFilter, lookedAtMax: number, endMs: number) {
  const classes: Classes = { pending: 0, running: 0, waiting: 0, waitingForAnswer: 0, ended: fillOutcomes() };
  let total = 0;
  if (deps.clock.monotonicMs() > endMs) return { classes, total, lookedAt: 0, isWhole: false };
  const { next, lookedAt } = await searchTasks(deps, {
    filter,
    after: null,
    lookedAtMax,
    endMs,
    visit(found) {
      total += found.length;
      for (const one of found) count(classes, one);
      return true;
    },
  });
  return { classes, total, lookedAt, isWhole: next === null && (await reachesBack(deps, filter)) };
}

/** Whether the store remembers each task that ended since `ended_after`. */
async function reachesBack({ store }: SearchDeps, { ended_after }: TaskFilter): Promise<boolean> {
  if (ended_after === undefined) return true;
  const ended = await store.readEnded();
  return ended.length < STORE_LIMITS.endedMax || (ended.at(-1)?.endedMs ?? 0) < ended_after * 1_000;
}

function count(classes: Classes, { state }: FoundTask): void {
  const outcome = outcomeOf(state);
  if (outcome !== null) {
    classes.ended[outcome] += 1;
    return;
  }
  classes[state.status === 'running' ? 'running' : 'pending'] += 1;
  if (state.waiting) classes.waiting += 1;
  if (isWaitingForAnswer(state)) classes.waitingForAnswer += 1;
}

/** Takes the larger count of each class, because either look may have seen more of it. */
function takeLarger(a: Classes, b: Classes): Classes {
  const ended = fillOutcomes();
  for (const outcome of OUTCOMES) ended[outcome] = Math.max(a.ended[outcome], b.ended[outcome]);
  return {
    pending: Math.max(a.pending, b.pending),
    running: Math.max(a.running, b.running),
    waiting: Math.max(a.waiting, b.waiting),
    waitingForAnswer: Math.max(a.waitingForAnswer, b.waitingForAnswer),
    ended,
  };
}

function describeTotals(classes: Readonly<Classes>, total: number, complete: boolean): TaskTotals {
  const { pending, running, waiting, waitingForAnswer, ended } = classes;
  const failed = OUTCOMES.filter((outcome) => outcome !== 'success').reduce(
    (sum, outcome) => sum + ended[outcome],
    0,
  );
  return {
    total,
    complete,
    by_status: { pending, running, success: ended.success, failed },
    waiting,
    waiting_for_answer: waitingForAnswer,
    by_outcome: ended,
  };
}
