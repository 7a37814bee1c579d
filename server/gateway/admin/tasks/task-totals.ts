/**
 * How many tasks match a filter. By status, outcome and for what they wait alone they are counted in the
 * store with each commit, and the tasks that ended last by what is kept of them. Anything else is counted by
 * looking: at the open tasks that wait and the others, at those that did not succeed and at all, those first
 * that the filter asks for, until the call has looked at as many tasks as one call may.
 */
import { isWaitingForAnswer } from '../../../domain/asking.ts';
import type { EndedTask } from '../../../domain/ended-task.ts';
import { outcomeOf } from '../../../domain/history.ts';
import { OUTCOMES, type TaskOutcome } from '../../../domain/history-record.ts';
import { isSettled, type TaskStatus } from '../../../domain/task.ts';
import { fillOutcomes } from '../../../domain/task-counts.ts';
import type { TaskFilter, TaskTotals } from '../../../ports/admin.ts';
import { STORE_LIMITS } from '../../../ports/limits.ts';
import { type FoundTask, filterEnded, LOOKED_AT_MAX, type SearchDeps, searchTasks } from './task-search.ts';

/** Counts them. If `endMs` has passed, by the monotonic clock, the rest is left out. */
export async function countTasks(deps: SearchDeps, filter: TaskFilter, endMs: number): Promise<TaskTotals> {
  const counted = isByClassAlone(filter)
    ? await readCounts(deps, filter)
    : isByEndAlone(filter)
      ? await countEnded(deps, filter)
      : await countMatches(deps, filter, endMs);
  return describeTotals(filter, counted);
}

/** Tasks by what they are counted under. `complete`: whether all of these were looked at. */
type Counted = OpenCounts & {
  /** The open tasks that match, by their status and for what they wait too. */
  readonly openTotal: number;
  readonly ended: Readonly<Record<TaskOutcome, number>>;
  readonly complete: { readonly [P in Part]: boolean };
};

type OpenCounts = Readonly<Record<'pending' | 'running' | 'waiting' | 'waitingForAnswer', number>>;

/** The tasks that are looked at apart from others: the open ones in two parts, or in one that has both. */
type Part = 'waiting' | 'open' | 'unsuccessful' | 'success';

/**
 * The store does not count how many of the pending tasks wait for an agent, how many of the running ones, and
 * how many of those that wait for an answer.
 */
function isByClassAlone({ status, outcome, waiting, waiting_for_answer, ...others }: TaskFilter): boolean {
  if (Object.values(others).some((value) => value !== undefined)) return false;
  if (waiting === undefined) return true;
  if (waiting_for_answer !== undefined) return false;
  return status === undefined || status.includes('pending') === status.includes('running');
}

/** For what tasks wait, where the filter asks for those that do: they have a listing of their own. */
function waitOf(filter: TaskFilter): 'waiting' | 'waiting_for_answer' | null {
  if (filter.waiting_for_answer) return 'waiting_for_answer';
  return filter.waiting ? 'waiting' : null;
}

/** Whether all that is asked for is kept of the tasks that ended last: then none of them is read. */
function isByEndAlone({ ended_after, tag, session, created_after, created_before }: TaskFilter): boolean {
  const others = [tag, session, created_after, created_before];
  return ended_after !== undefined && others.every((value) => value === undefined);
}

async function countEnded({ store }: SearchDeps, filter: TaskFilter): Promise<Counted> {
  const { outcome: _outcome, ...others } = filter;
  const all = await store.readEnded();
  const ended = fillOutcomes();
  for (const { outcome } of filterEnded(all, others)) ended[outcome] += 1;
  const isWhole = reachesBack(all, filter.ended_after ?? 0);
  return {
    pending: 0,
    running: 0,
    waiting: 0,
    waitingForAnswer: 0,
    openTotal: 0,
    ended,
    complete: { waiting: isWhole, open: isWhole, unsuccessful: isWhole, success: isWhole },
  };
}

/** Whether these are all tasks that ended since this time, in epoch seconds. */
function reachesBack(ended: readonly EndedTask[], ended_after: number): boolean {
  return ended.length < STORE_LIMITS.endedMax || (ended.at(-1)?.endedMs ?? 0) < ended_after * 1_000;
}

async function readCounts({ store }: SearchDeps, filter: TaskFilter): Promise<Counted> {
  const { pending, running, waiting, waitingForAnswer, ended } = await store.readCounts(0);
  const runningWanted = isWanted(filter, 'running', null) ? running : 0;
  const open = (isWanted(filter, 'pending', null) ? pending : 0) + runningWanted;
  const waitFor = filter.waiting === undefined ? waitingForAnswer : waiting;
  const isAsked = filter.waiting ?? filter.waiting_for_answer;
  const wait = (filter.waiting === undefined ? runningWanted : open) > 0 ? waitFor : 0;
  return {
    pending,
    running,
    waiting,
    waitingForAnswer,
    ended,
    openTotal: isAsked === undefined ? open : isAsked ? wait : open - wait,
    complete: { waiting: true, open: true, unsuccessful: true, success: true },
  };
}

async function countMatches(deps: SearchDeps, filter: TaskFilter, endMs: number): Promise<Counted> {
  const { status: _status, outcome: _outcome, waiting: _waiting, ...some } = filter;
  const { waiting_for_answer: _waitsForAnswer, ...others } = some;
  const open = { pending: 0, running: 0, waiting: 0, waitingForAnswer: 0 };
  const counts = { ...open, openTotal: 0, ended: fillOutcomes() };
  const complete = { waiting: false, open: false, unsuccessful: false, success: false };
  const { ended_after } = others;
  const isWhole = ended_after === undefined || reachesBack(await deps.store.readEnded(), ended_after);
  let left = LOOKED_AT_MAX;

  async function look(parts: readonly Part[], part: Look): Promise<void> {
    if (left <= 0 || deps.clock.monotonicMs() > endMs) return;
    const { next, lookedAt } = await searchTasks(deps, {
      filter: { ...others, ...part },
      after: null,
      lookedAtMax: left,
      endMs,
      visit(found) {
        for (const one of found) count(counts, filter, one);
        return true;
      },
    });
    left -= lookedAt;
    if (next === null && isWhole) for (const name of parts) complete[name] = true;
  }

  const { session, agent, id } = others;
  const isOneListing = [session, agent, id, ended_after].some((value) => value !== undefined);
  const wait = waitOf(filter);
  if (isOneListing) await look(PARTS, {});
  else {
    for (const part of orderParts(filter)) {
      if (part === 'waiting') await look([part], wait === null ? {} : { [wait]: true });
      else if (part !== 'open') await look([part], LOOKS[part]);
      else if (wait) await look(['open'], { ...LOOKS.open, [wait]: false });
      else await look(['waiting', 'open'], LOOKS.open);
    }
  }
  return { ...counts, complete };
}

const PARTS = ['waiting', 'open', 'unsuccessful', 'success'] as const;
type Look = Pick<TaskFilter, 'status' | 'waiting' | 'waiting_for_answer'>;
const LOOKS: Readonly<Record<Exclude<Part, 'waiting'>, Look>> = {
  open: { status: ['pending', 'running'] },
  unsuccessful: { status: ['failed'] },
  success: { status: ['success'] },
};

type Counts = { -readonly [K in keyof OpenCounts]: number } & {
  openTotal: number;
  ended: Record<TaskOutcome, number>;
};

function count(counts: Counts, filter: TaskFilter, { state }: FoundTask): void {
  const outcome = outcomeOf(state);
  if (outcome !== null) {
    counts.ended[outcome] += 1;
    return;
  }
  if (isSettled(state)) return;
  const status = state.status === 'running' ? 'running' : 'pending';
  counts[status] += 1;
  const waitsForAnswer = isWaitingForAnswer(state);
  if (state.waiting) counts.waiting += 1;
  if (waitsForAnswer) counts.waitingForAnswer += 1;
  const { waiting = state.waiting, waiting_for_answer = waitsForAnswer } = filter;
  const isAskedFor = waiting === state.waiting && waiting_for_answer === waitsForAnswer;
  if (isAskedFor && isWanted(filter, status, null)) counts.openTotal += 1;
}

/** Those first that the filter asks for. Only a filter that asks for tasks that wait looks at these apart. */
function orderParts(filter: TaskFilter): readonly Part[] {
  const wanted = listWanted(filter);
  const parts = PARTS.filter((part) => part !== 'waiting' || waitOf(filter) !== null);
  return [...parts.filter((part) => wanted.has(part)), ...parts.filter((part) => !wanted.has(part))];
}

/** The parts in which tasks may match by their status and outcome. */
function listWanted(filter: TaskFilter): ReadonlySet<Part> {
  const wanted = new Set<Part>();
  const isOpenWanted = isWanted(filter, 'pending', null) || isWanted(filter, 'running', null);
  const isWait = waitOf(filter) !== null;
  if (isOpenWanted) wanted.add(isWait ? 'waiting' : 'open');
  if (isWait) return wanted;
  for (const outcome of OUTCOMES) {
    const part = outcome === 'success' ? 'success' : 'unsuccessful';
    if (isWanted(filter, statusOf(outcome), outcome)) wanted.add(part);
  }
  return wanted;
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

function describeTotals(filter: TaskFilter, counted: Counted): TaskTotals {
  const { pending, running, waiting, waitingForAnswer, openTotal, ended, complete } = counted;
  const failed = OUTCOMES.filter((outcome) => outcome !== 'success').reduce(
    (sum, outcome) => sum + ended[outcome],
    0,
  );
  const endedWanted = waitOf(filter)
    ? []
    : OUTCOMES.filter((outcome) => isWanted(filter, statusOf(outcome), outcome));
  const endedTotal = endedWanted.reduce((sum, outcome) => sum + ended[outcome], 0);
  return {
    total: openTotal + endedTotal,
    complete: [...listWanted(filter)].every((part) => complete[part]),
    by_status: { pending, running, success: ended.success, failed },
    waiting,
    waiting_for_answer: waitingForAnswer,
    by_outcome: ended,
  };
}
