/**
 * Which indexes have an entry of a task, decided on its state alone. A commit that writes a state says what
 * changes in the indexes, so that an engine can keep them without knowing tasks. A test compares each cell of
 * the table with `entriesOf()`.
 *
 * Columns, each for a task: P pending, PW pending and waiting for an agent; R running and pushed, RW running
 * and waiting for another agent, RC running and claimable by its pull agent, RQ running with an open
 * question; S ended with success, F ended otherwise.
 *
 * Cells: `x` = the task has an entry, `-` = it has none, `step` = it has an entry unless its agent reported
 * the end; the settling step decides. Entries are ordered by `order`, then by id.
 *
 *   index              | of             | P | PW | R | RW | RC | RQ | S    | F    | order
 *   all                | -              | x | x  | x | x  | x  | x  | x    | x    | created
 *   by-session         | session        | x | x  | x | x  | x  | x  | x    | x    | created
 *   by-agent           | each agent     | - | -  | x | x  | x  | x  | x    | x    | created
 *   open               | pending        | x | x  | - | -  | -  | -  | -    | -    | created
 *   open               | running        | - | -  | x | x  | x  | x  | -    | -    | created
 *   by-outcome         | outcome        | - | -  | - | -  | -  | -  | -    | x    | created
 *   waiting            | -              | - | x  | - | x  | -  | -  | -    | -    | created
 *   waiting-for        | each tag, once | - | x  | - | x  | -  | -  | -    | -    | created
 *   waiting-for-answer | -              | - | -  | - | -  | -  | x  | -    | -    | asked
 *   claimable          | agent          | - | -  | - | -  | x  | -  | -    | -    | claimable from, assigned
 *   unreported         | agent          | - | -  | - | -  | -  | -  | step | step | settled
 *
 * - `each agent`: each agent that the task was ever assigned to. `asked`: when its first open question was
 *   asked.
 * - The rows are frozen like stored names: a commit removes the entries that this table has for the state
 *   before. If a row changed, entries stored by the old row would stay behind, so a change must wait for the
 *   next major version. Only the time from which a task is claimable may change, because an entry's name does
 *   not contain it.
 */
import { tookIndexOf } from './activity.ts';
import { findOpenQuestion, isWaitingForAnswer } from './asking.ts';
import { claimableFromMs } from './delivery.ts';
import { type EndedTask, endedTaskOf } from './ended-task.ts';
import { isSettled, type TaskState } from './task.ts';
import { classifyTask, isOutcome, tagsWithoutAgent } from './task-counts.ts';

/**
 * The entry of a task in an index. `of` names the part of the index; it is empty if the index has one part.
 */
export type IndexEntry = {
  readonly index:
    | 'all'
    | 'by-session'
    | 'by-agent'
    | 'open'
    | 'by-outcome'
    | 'waiting'
    | 'waiting-for'
    | 'waiting-for-answer'
    | 'claimable'
    | 'unreported';
  readonly of: string;
  /** The store time from which the entry counts; 0: at once. */
  readonly fromMs: number;
  readonly atMs: number;
};

/** Adds or removes an entry. Both are idempotent. */
export type IndexChange = IndexEntry & {
  readonly op: 'add' | 'remove';
  /** How long the entry is kept after the commit, in store time; absent: until it is removed. */
  readonly keepMs?: number;
};

/** How a task ended, known in the step that settles it. */
export type Ending = {
  readonly task: EndedTask;
  /** The index in the counts `tookMs` of an activity step. */
  readonly tookIndex: number;
  /** The tags for which the task found no agent. */
  readonly noAgent: readonly string[];
};

/** A row of the table: which parts of the index have an entry of a state, and at which times. */
type Row = {
  readonly index: IndexEntry['index'];
  of(state: TaskState): readonly string[];
  fromMs(state: TaskState): number;
  atMs(state: TaskState): number;
};

const NONE: readonly string[] = [];
const WHOLE: readonly string[] = [''];
const PENDING: readonly string[] = ['pending'];
const RUNNING: readonly string[] = ['running'];

const byCreation = { fromMs: () => 0, atMs: ({ createdMs }: TaskState) => createdMs };

const ROWS: readonly Row[] = [
  { index: 'all', of: () => WHOLE, ...byCreation },
  { index: 'by-session', of: ({ cli_session_id }) => [cli_session_id], ...byCreation },
  { index: 'by-agent', of: ({ assignees }) => assignees, ...byCreation },
  { index: 'open', of: listOpenClass, ...byCreation },
  { index: 'by-outcome', of: listFailure, ...byCreation },
  { index: 'waiting', of: ({ waiting }) => (waiting ? WHOLE : NONE), ...byCreation },
  {
    index: 'waiting-for',
    of: ({ waiting, task_tags }) => (waiting ? [...new Set(task_tags)] : NONE),
    ...byCreation,
  },
  {
    index: 'waiting-for-answer',
    of: (state) => (isWaitingForAnswer(state) ? WHOLE : NONE),
    fromMs: () => 0,
    atMs: (state) => findOpenQuestion(state)?.askedMs ?? 0,
  },
  {
    index: 'claimable',
    of: (state) => (state.agent_id === null || claimableFromMs(state) === null ? NONE : [state.agent_id]),
    fromMs: (state) => claimableFromMs(state) ?? 0,
    atMs: ({ delivery }) => delivery?.assignedMs ?? 0,
  },
];

function listOpenClass(state: TaskState): readonly string[] {
  if (isSettled(state)) return NONE;
  return classifyTask(state) === 'running' ? RUNNING : PENDING;
}

function listFailure(state: TaskState): readonly string[] {
  const taskClass = classifyTask(state);
  return isOutcome(taskClass) && taskClass !== 'success' ? [taskClass] : NONE;
}

/**
 * The changes in the indexes when a task goes from one state to another; a new task has no state before. An
 * entry whose `atMs` changes is removed and then added. An entry whose `fromMs` alone changes is only added
 * again.
 */
export function indexChanges(before: TaskState | undefined, after: TaskState): readonly IndexChange[] {
  const changes: IndexChange[] = [];
  for (const row of ROWS) {
    const { index } = row;
    const ofBefore = before ? row.of(before) : NONE;
    const ofAfter = row.of(after);
    if (ofBefore === ofAfter && ofAfter.length === 0) continue;
    const [fromMs, atMs] = [row.fromMs(after), row.atMs(after)];
    const [fromMsBefore, atMsBefore] = before ? [row.fromMs(before), row.atMs(before)] : [fromMs, atMs];
    const keepsName = atMs === atMsBefore;
    for (const of of ofBefore) {
      if (keepsName && ofAfter.includes(of)) continue;
      changes.push({ op: 'remove', index, of, fromMs: fromMsBefore, atMs: atMsBefore });
    }
    for (const of of ofAfter) {
      if (keepsName && fromMs === fromMsBefore && ofBefore.includes(of)) continue;
      changes.push({ op: 'add', index, of, fromMs, atMs });
    }
  }
  return changes;
}

/** All entries of a task in this state except `unreported`, which the settling step decides. */
export function entriesOf(state: TaskState): readonly IndexEntry[] {
  return ROWS.flatMap(({ index, of: listParts, fromMs, atMs }) =>
    listParts(state).map((of) => ({ index, of, fromMs: fromMs(state), atMs: atMs(state) })),
  );
}

/** How the task ends in this step; undefined if the task is still open or was settled before. */
export function endingOf(
  request_id: string,
  before: TaskState | undefined,
  after: TaskState,
): Ending | undefined {
  if (before && isSettled(before)) return undefined;
  const outcome = classifyTask(after);
  if (!isOutcome(outcome)) return undefined;
  const task = endedTaskOf(request_id, outcome, after);
  const tookIndex = tookIndexOf(task.endedMs - after.createdMs);
  return { task, tookIndex, noAgent: tagsWithoutAgent(after) };
}
