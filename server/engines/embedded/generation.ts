/**
 * One life of the engine over an opened storage: the image of all that is open, what joins the disk next, and what is
 * known of the rest. A life begins by reading the file and ends with the first write whose fate is unknown; the next
 * one reads anew.
 *
 * Invariants
 * - The image is what the file will hold once every decided commit is durable; decisions look at nothing else.
 * - Every entry knows the last commit that touched it (`seq`), so that nobody is shown it before that is durable.
 * - The stored due time of an open task is never later than the true one: looking early is harmless, late is not.
 */
import { isSettled, type TaskState } from '../../domain/task.ts';
import { type Revision, StoreUnavailable } from '../../ports/store.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Agents, createAgents } from './memory/agents.ts';
import { createDueQueue, type DueQueue } from './memory/due-queue.ts';
import { createRecentRows, type FileReads, type RecentRows } from './memory/recent-rows.ts';
import { createWaitingTasks, type WaitingTasks } from './memory/waiting-tasks.ts';
import type { OrderedStorage, Row } from './sqlite/ordered-storage.ts';
import {
  AGENT_RANGE,
  afterKey,
  type Envelope,
  HIGH_WATER_MARK_KEY,
  type HighWaterMark,
  lastPart,
  OPEN_RANGE,
  type Range,
  readEnvelope,
  TASK_RANGE,
} from './sqlite/row-keys.ts';

/** An open task in memory: the small state only. */
export type OpenTask = {
  readonly state: TaskState;
  readonly revision: Revision;
  readonly seq: number;
  /** The due time its row holds; null: none. */
  readonly storedDueMs: number | null;
};

/** The end of a session's feed: the number of its last event, and whether any event is stored. */
export type FeedEnd = { readonly number: number; readonly stored: boolean };

/** What a life holds in memory. */
export type MemoryState = {
  readonly run: number;
  readonly tasks: Map<string, OpenTask>;
  readonly agents: Agents;
  readonly waiting: WaitingTasks;
  readonly due: DueQueue;
  /** The last cursor given away. */
  highWaterMark: HighWaterMark;
  /**
   * No row of a task that is stored, or is about to be, has a greater key: a task whose keys are greater is new, and
   * the file need not be asked. Ids that rise with time make that the usual case.
   */
  newestTaskKey: string;
};

export type Generation = MemoryState & {
  readonly storage: OrderedStorage;
  readonly commits: GroupCommit;
  readonly reads: FileReads;
  /** Rows that were written lately, by key; null: removed. */
  readonly recentRows: RecentRows<Envelope | null>;
  readonly feedEnds: RecentRows<FeedEnd>;
};

/** Characters of recent values kept in memory, about; what is older is read from the file. */
const RECENT_CHARS = 8_000_000;
const FEED_ENDS_CHARS = 4_000_000;
const READ_SLICE = 1_000;

/** Puts a life together around what was read. */
export function createGeneration(
  state: MemoryState,
  storage: OrderedStorage,
  commits: GroupCommit,
): Generation {
  const reads: FileReads = { count: 0 };
  return {
    ...state,
    storage,
    commits,
    reads,
    recentRows: createRecentRows(RECENT_CHARS, commits.isDurable, reads),
    feedEnds: createRecentRows(FEED_ENDS_CHARS, commits.isDurable, reads),
  };
}

/**
 * Reads the state: the open tasks, the agents and the mark, whatever else is stored. Every open task is due when its
 * row says, those of the future and every agent at once. The run is one that no life before has had; cursors go on behind the last stored one,
 * and none that is not stored was ever shown.
 */
export async function readState(storage: OrderedStorage, nowMs: number): Promise<MemoryState> {
  const last = readHighWaterMark(await storage.get(HIGH_WATER_MARK_KEY));
  const run = last.run + 1;
  const state: MemoryState = {
    run,
    tasks: new Map(),
    agents: createAgents(run),
    waiting: createWaitingTasks(),
    due: createDueQueue(run),
    highWaterMark: { run, ms: last.ms, n: last.n },
    newestTaskKey: await readNewestTaskKey(storage),
  };
  await eachRow(storage, AGENT_RANGE, ([key, text]) => {
    const { r, v } = readEnvelope(text);
    state.agents.put(lastPart(key), v as never, r, 0);
    state.due.set(`agent:${lastPart(key)}`, nowMs, null);
  });
  const running: { id: string; agent_id: string; assignedMs: number }[] = [];
  await eachRow(storage, OPEN_RANGE, ([key, text]) => {
    const id = lastPart(key);
    const { r, v, d } = readEnvelope(text);
    const task = v as TaskState;
    if (isSettled(task)) throw new StoreUnavailable(`The row "${key}" holds a task that has ended.`);
    state.tasks.set(id, { state: task, revision: r, seq: 0, storedDueMs: d ?? null });
    // One of the future was stored before the clock was set back: its times say nothing, so somebody looks at once.
    state.due.set(`task:${id}`, task.createdMs > nowMs ? nowMs : (d ?? nowMs), null);
    if (task.waiting) state.waiting.join(id, task.task_tags, task.createdMs);
    if (task.status === 'running' && task.agent_id !== null) {
      running.push({ id, agent_id: task.agent_id, assignedMs: task.delivery?.assignedMs ?? 0 });
    }
  });
  running.sort((a, b) => a.assignedMs - b.assignedMs || (a.id < b.id ? -1 : 1));
  for (const { id, agent_id } of running) state.agents.grant(agent_id, id, 0);
  return state;
}

/** The last row may be damaged, which is no reason not to start: then every task is looked up in the file. */
async function readNewestTaskKey(storage: OrderedStorage): Promise<string> {
  try {
    const [last] = await storage.scan(TASK_RANGE, 1, true);
    return last?.[0] ?? '';
  } catch {
    return TASK_RANGE.to;
  }
}

/** Writes the mark as text. */
export function writeHighWaterMark(highWaterMark: HighWaterMark): string {
  return JSON.stringify(highWaterMark);
}

function readHighWaterMark(text: string | undefined): HighWaterMark {
  return text === undefined ? { run: 0, ms: 0, n: 0 } : (JSON.parse(text) as HighWaterMark);
}

async function eachRow(storage: OrderedStorage, range: Range, use: (row: Row) => void): Promise<void> {
  let from = range.from;
  for (;;) {
    const rows = await storage.scan({ from, to: range.to }, READ_SLICE);
    for (const row of rows) use(row);
    const last = rows.at(-1);
    if (rows.length < READ_SLICE || !last) return;
    from = afterKey(last[0]);
  }
}
