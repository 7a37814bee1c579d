/**
 * The memory state of the engine: the open tasks and their entries in indexes, the agents, what is due, how
 * far cursors have come, how the output of open tasks stands, what is counted of the tasks, and how the last
 * of them ended.
 *
 * Invariants
 * - The state is what the file will hold once every decided commit is durable. Decisions on open tasks and
 *   agents read nothing else.
 * - Every entry has the number of the last commit that touched it (`seq`), so that no caller is shown the
 *   entry before that commit is durable.
 * - The stored due time of an open task is never later than the true one: to look at a task too early is
 *   harmless, too late is not.
 */
import { type BoundedMap, createBoundedMap } from '../../../async/bounded-map.ts';
import type { EndedTask } from '../../../domain/ended-task.ts';
import { OUTCOMES, type TaskOutcome } from '../../../domain/history-record.ts';
import { fillOutcomes, type OutcomeCounts } from '../../../domain/task-counts.ts';
import { STORE_LIMITS } from '../../../ports/limits.ts';
import type { StoreDamaged } from '../../../ports/store.ts';
import type { HighWaterMark, MarkRow } from '../storage/row-keys.ts';
import { type ActivitySteps, createActivitySteps } from './activity-steps.ts';
import { type Agents, createAgents } from './agents.ts';
import { createDueQueue, type DueQueue } from './due-queue.ts';
import { createIndexes, type Indexes } from './indexes.ts';
import { createOpenTasks, type OpenTasks } from './open-tasks.ts';
import { createOutputs, type Outputs } from './outputs.ts';

/** The end of a session's feed: the number of its last event, and whether any event is stored. */
export type FeedEnd = { readonly number: number; readonly stored: boolean };

export type MemoryState = {
  /** The number of this opening of the storage; revisions, leases and change cursors begin with it. */
  readonly run: number;
  readonly tasks: OpenTasks;
  /** Open tasks whose row is damaged, by id: why a call for one of them fails. */
  readonly damagedTasks: Map<string, StoreDamaged>;
  readonly agents: Agents;
  readonly due: DueQueue;
  readonly indexes: Indexes;
  readonly settledCounts: SettledCounts;
  readonly outputs: Outputs;
  readonly activity: ActivitySteps;
  /** The tasks that ended last, by id. */
  readonly ended: BoundedMap<string, EndedTask>;
  /** The last issued cursor. */
  highWaterMark: HighWaterMark;
  /**
   * No row of a task that is stored, or is about to be, has a greater key: a task whose keys are greater is
   * new, and the file need not be read. This is the usual case, because ids rise with time.
   */
  newestTaskKey: string;
};

/** Creates the state without tasks and agents of a storage with this high-water mark. */
export function createMemoryState(row: MarkRow, newestTaskKey: string): MemoryState {
  const { run, ms, n } = row;
  return {
    run,
    tasks: createOpenTasks(),
    damagedTasks: new Map(),
    agents: createAgents(run),
    due: createDueQueue(run),
    indexes: createIndexes(),
    settledCounts: createSettledCounts(row),
    outputs: createOutputs(row),
    activity: createActivitySteps(),
    ended: createBoundedMap(STORE_LIMITS.endedMax),
    highWaterMark: { run, ms, n },
    newestTaskKey,
  };
}

/** The counts as they are stored. */
type StoredCounts = Pick<MarkRow, 'ended'>;

/**
 * How many settled tasks are stored, by outcome. The counts are a part of the mark's row, which each group
 * that settles or trims tasks writes: so they are exact after a crash.
 */
type SettledCounts = {
  /** A task settled (1), or a settled one was removed (-1). */
  add(outcome: TaskOutcome, change: 1 | -1): void;
  read(): OutcomeCounts;
  store(): StoredCounts;
};

/** Creates the counts as they were stored. */
function createSettledCounts({ ended = [] }: StoredCounts): SettledCounts {
  const counts = fillOutcomes();
  for (const [index, outcome] of OUTCOMES.entries()) counts[outcome] = ended[index] ?? 0;

  return {
    add(outcome, change) {
      counts[outcome] += change;
    },
    read: () => ({ ...counts }),
    store: () => ({ ended: OUTCOMES.map((outcome) => counts[outcome]) }),
  };
}
