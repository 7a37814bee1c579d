/**
 * What failed lately: counts the tasks that ended in the last quarter of an hour, and groups the failed ones
 * by cause. Pure. A cause is a task type, an agent, an outcome and an error; errors that differ in numbers
 * and ids alone are the same. Cancelled tasks and tasks without an agent are left out, because their end says
 * nothing of an agent.
 *
 * Only the last 500 ended tasks are looked at. If these do not reach back a quarter of an hour, `sinceMs` of
 * the result says how far they reach.
 */
import { STEP_MS, STEPS_MAX, stepOf } from './activity.ts';
import type { EndedTask } from './ended-task.ts';
import type { TaskOutcome } from './history-record.ts';

type FailedOutcome = 'failed' | 'timeout' | 'agent_lost';

type FailureGroup = {
  readonly type: string;
  /** Null: no agent had these tasks. */
  readonly agent_id: string | null;
  readonly outcome: FailedOutcome;
  /** The error of the last task; the errors of the others differ from it in numbers and ids at most. */
  readonly error: string | null;
  readonly count: number;
  /** How many tasks of this type ended at this agent, successes included. */
  readonly ended: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** The last task of the group. */
  readonly request_id: string;
};

export type EndedTally = {
  readonly type: string;
  readonly agent_id: string | null;
  readonly ended: number;
  readonly failed: number;
  /** How many tasks have failed since the last success. */
  readonly inRow: number;
  /**
   * The last failed task. `sinceMs` is when the first failed task of the present row ended; without a row,
   * the first of all failed tasks.
   */
  readonly last: EndedTask | null;
  readonly sinceMs: number;
};

export type Failures = {
  /** Null: all tasks of the window are counted. Otherwise, only tasks that ended at this time or later. */
  readonly sinceMs: number | null;
  /** How many tasks succeeded or failed. */
  readonly ended: number;
  readonly failed: number;
  /** Most tasks first, then the latest. */
  readonly groups: readonly FailureGroup[];
  readonly tallies: readonly EndedTally[];
};

/** When the window begins: with the first of the 30 steps of the activity, 14.5 to 15 minutes ago. */
export function windowStartMs(nowMs: number): number {
  return stepOf(nowMs) - (STEPS_MAX - 1) * STEP_MS;
}

function isFailure(outcome: TaskOutcome | null): outcome is FailedOutcome {
  return outcome === 'failed' || outcome === 'timeout' || outcome === 'agent_lost';
}

type Growing<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Groups the failed tasks among `ended`, which has the last ended tasks, newest first. If it has `endedMax`
 * of them, older ones may be missing.
 */
export function groupFailures(ended: readonly EndedTask[], nowMs: number, endedMax: number): Failures {
  const fromMs = windowStartMs(nowMs);
  const types: Types = new Map();
  const ofAgents: TypeAtAgent[] = [];
  let [endedCount, failed] = [0, 0];
  for (const task of ended) {
    const { endedMs, outcome, type, agent_id } = task;
    if (endedMs < fromMs) break;
    if (outcome !== 'success' && !isFailure(outcome)) continue;
    const found = findTypeAtAgent(types, type, agent_id) ?? addTypeAtAgent(types, type, agent_id);
    if (found.tally.ended === 0) ofAgents.push(found);
    found.tally.ended += 1;
    endedCount += 1;
    if (!isFailure(outcome)) continue;
    failed += 1;
    noteFailure(found.tally, task);
    const cause = `${outcome} ${foldError(task.error ?? '')}`;
    const group = found.groups.get(cause);
    if (group) {
      group.count += 1;
      group.firstMs = endedMs;
    } else found.groups.set(cause, createGroup(task, outcome));
  }
  const oldestMs = ended.length < endedMax ? fromMs : (ended.at(-1)?.endedMs ?? fromMs);
  return {
    sinceMs: oldestMs > fromMs ? oldestMs : null,
    ended: endedCount,
    failed,
    groups: ofAgents.flatMap(listGroups).sort((a, b) => b.count - a.count || b.lastMs - a.lastMs),
    tallies: ofAgents.map(({ tally }) => tally),
  };
}

type TypeAtAgent = {
  readonly tally: Growing<EndedTally>;
  readonly groups: Map<string, Growing<FailureGroup>>;
};
type Types = Map<string, Map<string | null, TypeAtAgent>>;

function findTypeAtAgent(types: Types, type: string, agent_id: string | null): TypeAtAgent | undefined {
  return types.get(type)?.get(agent_id);
}

function addTypeAtAgent(types: Types, type: string, agent_id: string | null): TypeAtAgent {
  const tally = { type, agent_id, ended: 0, failed: 0, inRow: 0, last: null, sinceMs: 0 };
  const found = { tally, groups: new Map() };
  const agents = types.get(type) ?? new Map<string | null, TypeAtAgent>();
  types.set(type, agents.set(agent_id, found));
  return found;
}

function listGroups({ tally, groups }: TypeAtAgent): readonly FailureGroup[] {
  for (const group of groups.values()) group.ended = tally.ended;
  return [...groups.values()];
}

/** Tasks come newest first: the row goes on as long as every task so far has failed. */
function noteFailure(tally: Growing<EndedTally>, task: EndedTask): void {
  tally.failed += 1;
  tally.last ??= task;
  const isInRow = tally.failed === tally.ended;
  if (isInRow) tally.inRow = tally.failed;
  if (isInRow || tally.inRow === 0) tally.sinceMs = task.endedMs;
}

function createGroup(task: EndedTask, outcome: FailedOutcome): Growing<FailureGroup> {
  const { type, agent_id, error, endedMs, request_id } = task;
  return {
    type,
    agent_id,
    outcome,
    error,
    count: 1,
    ended: 1,
    firstMs: endedMs,
    lastMs: endedMs,
    request_id,
  };
}

/** A word with a digit counts as an id from this length on; a hexadecimal word, from the shorter length. */
const ID_CHARS_MIN = 16;
const HEX_ID_CHARS_MIN = 6;

/** A UUID or a word, and a point or comma before it. The expression hardly backtracks, so no text is slow. */
const WORDS = /([.,]?)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-z]+)/gi;

/**
 * Writes an error with `#` instead of each number and id. For example, both `timed out after 12000 ms` and
 * `timed out after 950.5 ms` become `timed out after # ms`.
 */
export function foldError(text: string): string {
  /** Where the last number or id ended. */
  let numberEnd = -1;
  return text.replace(WORDS, (found: string, point: string, word: string, at: number) => {
    const folded = foldWord(word);
    // `1.5` and `10,000` are one number.
    const isPart = point !== '' && numberEnd === at && folded.startsWith('#');
    if (folded.endsWith('#')) numberEnd = at + found.length;
    return isPart ? folded.slice(1) : point + folded;
  });
}

function foldWord(word: string): string {
  if (word.includes('-')) return '#';
  if (!/[0-9]/.test(word)) return word;
  const isHex = word.startsWith('0x') || !/[g-z]/i.test(word);
  return word.length >= (isHex ? HEX_ID_CHARS_MIN : ID_CHARS_MIN) ? '#' : word.replace(/[0-9]+/g, '#');
}
