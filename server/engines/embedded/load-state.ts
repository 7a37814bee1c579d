/**
 * Loads the memory state from an opened storage: the open tasks, the agents, the high-water mark, and what
 * was counted, and how the last tasks ended, nothing else.
 *
 * Where the row of a task or an agent is damaged the store opens without it, and the log names the row. Calls
 * for that task throw `StoreDamaged`; that agent is not registered, and its next registration writes the row
 * anew. Without the row of the high-water mark nothing opens: cursors might be issued twice.
 */
import { isSettled, type TaskState } from '../../domain/task.ts';
import type { Log } from '../../ports/log.ts';
import { type StoreDamaged, StoreUnavailable } from '../../ports/store.ts';
import { loadActivity } from './activity-rows.ts';
import { loadEnded } from './ended-rows.ts';
import { loadEntries } from './index-changes.ts';
import { createMemoryState, type MemoryState } from './memory/state.ts';
import { type DamagedRow, isDamagedRow, type OrderedStorage, type Row } from './storage/ordered-storage.ts';
import {
  AGENT_RANGE,
  afterKey,
  HIGH_WATER_MARK_KEY,
  lastPart,
  OPEN_RANGE,
  type Range,
  readEnvelope,
  readMark,
  TASK_RANGE,
} from './storage/row-keys.ts';

/** Few: each may have the longest tags, and all of a slice are in memory beside what they become. */
const ROWS_PER_SLICE = 64;

/** A running task that was loaded, whose slot must be granted again. */
type RunningTask = { readonly request_id: string; readonly agent_id: string; readonly assignedMs: number };

/**
 * Loads the state. Open tasks are due at the time in their rows; tasks created in the future, and all agents,
 * are due at once. The run is one higher than any before, also than `afterRun`, which may not be stored.
 * Cursors continue after the last stored one: a cursor that was issued but never stored was never shown
 * either.
 */
export async function loadState(
  storage: OrderedStorage,
  { nowMs, afterRun, log }: { nowMs: number; afterRun: number; log: Pick<Log, 'warn' | 'error'> },
): Promise<MemoryState> {
  const row = readMark(await storage.get(HIGH_WATER_MARK_KEY));
  const state = createMemoryState(
    { ...row, run: Math.max(row.run, afterRun) + 1 },
    await readNewestTaskKey(storage, log),
  );
  await loadActivity(storage, state.activity, log);
  await loadEnded(storage, state, log);
  await forEachRow(storage, AGENT_RANGE, {
    use([key, text]) {
      const { r, v } = readEnvelope(text);
      state.agents.put(lastPart(key), v as never, r, 0);
      state.due.set(`agent:${lastPart(key)}`, nowMs, null);
    },
    setAside(agent_id, err) {
      log.error({ agent_id, err }, 'a stored agent is damaged and was left out; it has to register again');
    },
  });
  const running: RunningTask[] = [];
  await forEachRow(storage, OPEN_RANGE, {
    use(row) {
      const task = loadOpenTask(state, row, nowMs);
      if (task) running.push(task);
    },
    setAside(request_id, err) {
      state.damagedTasks.set(request_id, err);
      log.error({ request_id, err }, 'an open task is damaged and was set aside; all others are served');
    },
  });
  running.sort((a, b) => a.assignedMs - b.assignedMs || (a.request_id < b.request_id ? -1 : 1));
  for (const { request_id, agent_id } of running) state.agents.grant(agent_id, request_id, 0);
  return state;
}

/** Puts a row's task into the state; returns it when an agent runs it. */
function loadOpenTask(state: MemoryState, [key, text]: Row, nowMs: number): RunningTask | undefined {
  const request_id = lastPart(key);
  const { r, v, d, o = false } = readEnvelope(text);
  const stored = v as TaskState;
  if (isSettled(stored))
    throw new StoreUnavailable(`The row "${key}" must hold an open task; it is settled.`);
  const storedDueMs = d ?? null;
  const task = state.tasks.put(request_id, {
    state: stored,
    hasOutput: o,
    revision: r,
    seq: 0,
    storedDueMs,
  });
  // A task created in the future was stored before the clock was set back, so none of its times can be relied
  // on.
  state.due.set(`task:${request_id}`, task.createdMs > nowMs ? nowMs : (d ?? nowMs), null);
  loadEntries(state, request_id, task);
  if (task.status !== 'running' || task.agent_id === null) return undefined;
  return { request_id, agent_id: task.agent_id, assignedMs: task.delivery?.assignedMs ?? 0 };
}

/**
 * A damaged last row does not prevent a start: then every task counts as possibly stored, and is read in the
 * file.
 */
async function readNewestTaskKey(storage: OrderedStorage, log: Pick<Log, 'warn'>): Promise<string> {
  try {
    const [newest] = await storage.scan(TASK_RANGE, 1, true);
    return newest?.[0] ?? '';
  } catch (error) {
    log.warn({ err: error }, 'the newest stored task is damaged; tasks are looked for in the whole file');
    return TASK_RANGE.to;
  }
}

type RowUse = {
  use(row: Row): void;
  /** Called instead of `use` for a damaged row, with the last part of its key. */
  setAside(id: string, damage: StoreDamaged): void;
};

async function forEachRow(storage: OrderedStorage, range: Range, { use, setAside }: RowUse): Promise<void> {
  let { from } = range;
  for (;;) {
    const { rows, damage } = await scanToDamage(storage, { from, to: range.to });
    for (const row of rows) use(row);
    if (damage) setAside(lastPart(damage.key), damage);
    const last = damage?.key ?? rows.at(-1)?.[0];
    if (last === undefined || (!damage && rows.length < ROWS_PER_SLICE)) return;
    // A damaged key may be no valid text: then it leads nowhere.
    if (damage && from === afterKey(last)) throw damage;
    from = afterKey(last);
  }
}

/** A slice of rows; where one of it is damaged, those before it. */
async function scanToDamage(
  storage: OrderedStorage,
  range: Range,
): Promise<{ readonly rows: readonly Row[]; readonly damage?: DamagedRow }> {
  try {
    return { rows: await storage.scan(range, ROWS_PER_SLICE) };
  } catch (error) {
    if (!isDamagedRow(error)) throw error;
    return { rows: await storage.scan({ from: range.from, to: error.key }, ROWS_PER_SLICE), damage: error };
  }
}
