/**
 * The tasks that an agent works on: which it takes, which it has done, and how it stops.
 *
 * A task occupies a slot from `take` until its handler has ended and its outcome is delivered or no longer
 * wanted. The agent remembers tasks that are over, so that a repeated push does not start the work again.
 */
import type { AgentId, RequestId, RunningTask } from '../contract.ts';
import { runCallback } from '../log.ts';
import type { KeptReport } from './outbox.ts';
import { type Arrival, createRecentTasks, type RecentTasks } from './recent-tasks.ts';
import { createSlots, type Slots } from './slots.ts';
import { createTaskRun, type TaskRun, type TaskRunDeps } from './task-run.ts';

/** How many tasks one request can name. */
export const REQUEST_IDS_MAX = 1_000;

/**
 * `duplicate`: the agent has or had the task. `full`: no slot is free. `closed`: the agent takes no pushes
 * yet, or no more.
 */
type TakeResult = 'taken' | 'duplicate' | 'full' | 'closed';

export type Work = {
  /** Begins to work on a task, and drops it after `timeLeftMs`. */
  take(task: RunningTask, timeLeftMs: number, arrival: Arrival): TakeResult;
  /** Takes pushes from now on, unless `close` was called. */
  open(): void;
  /** Occupies slots with outcomes of an earlier process; `deliverRestored` delivers them. */
  restore(reports: readonly KeptReport[]): void;
  deliverRestored(): void;
  /** Returns this agent's tasks that are neither delivered nor dropped. */
  request_ids(): readonly RequestId[];
  /** Stops the work on tasks that the gateway no longer wants done. Ignores unknown ids. */
  drop(request_ids: readonly RequestId[]): void;
  isFull(): boolean;
  /** Resolves when a slot is free and the agent is not busy, or when the signal fires. */
  waitForSlot(signal: AbortSignal): Promise<void>;
  /**
   * Takes no push from now on, even after another `open`, but still what a claim under way brings. Restored
   * outcomes that are not being delivered stay in the outbox.
   */
  close(): void;
  /** Resolves when all slots are free, or when the signal fires. */
  waitUntilDone(signal: AbortSignal): Promise<void>;
  /** Fires the signals of the handlers that still run. Their outcomes are reported all the same. */
  interrupt(): void;
  /**
   * Reports tasks whose handlers still run as failed, and finishes delivering outcomes, until the signal
   * fires.
   */
  abandon(signal: AbortSignal): Promise<void>;
};

export type WorkDeps = TaskRunDeps & {
  readonly agent_id: AgentId;
  readonly maxConcurrent: number;
  /** Whether the agent can take no task although a slot is free; called before each task. */
  readonly isBusy?: (() => boolean) | undefined;
  /** Called when `request_ids` has changed. */
  readonly onChange: () => void;
};

/** How often an agent that claims calls `isBusy` while that returns true. */
const BUSY_EVERY_MS = 500;

export function createWork(deps: WorkDeps): Work {
  const { agent_id, maxConcurrent, logEvent, onChange } = deps;
  const slots = createSlots<TaskRun>(maxConcurrent, onChange);
  const recent = createRecentTasks();
  let restored: readonly TaskRun[] = [];
  let state: 'new' | 'open' | 'closed' = 'new';

  /** Runs one task to its end. Whatever fails, its slot becomes free and every promise settles. */
  async function finish(run: TaskRun, work: Promise<void>): Promise<void> {
    try {
      await work;
      const end = await run.deliver();
      if (end !== 'unfinished') recent.add(run.request_id, end);
    } catch (error) {
      logEvent({ kind: 'failure', during: 'report', error });
    } finally {
      slots.free(run, run.waitForHandler());
    }
  }

  return {
    take(task, timeLeftMs, arrival) {
      const { request_id } = task;
      if (isDuplicate(slots.get(request_id), recent, request_id, arrival)) return 'duplicate';
      // No claim begins before the agent is open. The last claim may outlast it, and its task is still taken.
      if (arrival.kind === 'push' && state !== 'open') return 'closed';
      // A dropped task that is assigned again waits until its first handler has ended.
      if (slots.isBusy(request_id) || slots.isFull()) return 'full';
      // Only pushes are refused: the agent asked for a claimed task, which would come again only after 15 s.
      if (arrival.kind === 'push' && checkBusy(deps)) return 'full';
      const run = createTaskRun(deps, { request_id, agent_id, trace: arrival.trace });
      slots.occupy(run);
      logEvent({ kind: 'taken', task });
      void finish(run, run.work(task, timeLeftMs));
      return 'taken';
    },
    restore(reports) {
      restored = reports.map(({ agent_id: owner, ...outcome }) =>
        createTaskRun(deps, { request_id: outcome.request_id, agent_id: owner }, outcome),
      );
      for (const run of restored) slots.occupy(run);
    },
    deliverRestored() {
      for (const run of restored) void finish(run, Promise.resolve());
      restored = [];
    },
    request_ids: () =>
      slots
        .list()
        .filter((run) => !run.isDropped() && !run.isAbandoned() && run.agent_id === agent_id)
        .map(({ request_id }) => request_id),
    drop(request_ids) {
      for (const request_id of request_ids) slots.get(request_id)?.drop();
    },
    isFull: slots.isFull,
    waitForSlot: (signal) => waitForSlot(deps, slots, signal),
    open() {
      if (state === 'new') state = 'open';
    },
    close() {
      state = 'closed';
      for (const run of restored) slots.free(run);
      restored = [];
    },
    waitUntilDone: (signal) => slots.waitUntil(() => slots.list().length === 0, signal),
    interrupt() {
      for (const run of slots.list()) run.interrupt();
    },
    async abandon(signal) {
      const runs = slots.list().filter((run) => !run.isDropped());
      const abandoned = runs.filter((run) => !run.hasOutcome()).map((run) => run.abandon(signal));
      const stop = (): void => {
        for (const run of runs) run.stopDelivering();
      };
      signal.addEventListener('abort', stop);
      const isOver = (run: TaskRun): boolean => run.isAbandoned() || !slots.get(run.request_id);
      await Promise.all([...abandoned, slots.waitUntil(() => runs.every(isOver), signal)]);
      signal.removeEventListener('abort', stop);
    },
  };
}

/** Whether the agent is busy. If the callback throws, it is not. */
function checkBusy({ isBusy }: Pick<WorkDeps, 'isBusy'>): boolean {
  let busy = false;
  runCallback('isBusy', () => {
    busy = isBusy?.() === true;
  });
  return busy;
}

async function waitForSlot(deps: WorkDeps, slots: Slots<TaskRun>, signal: AbortSignal): Promise<void> {
  for (;;) {
    await slots.waitUntil(() => !slots.isFull(), signal);
    if (signal.aborted || !checkBusy(deps)) return;
    await deps.clock.sleep(BUSY_EVERY_MS, signal);
  }
}

/** Whether a task that arrives is one that the agent has (`earlier`) or had. */
function isDuplicate(
  earlier: TaskRun | undefined,
  recent: RecentTasks,
  request_id: RequestId,
  arrival: Arrival,
): boolean {
  if (earlier?.isDropped()) recent.add(request_id, 'dropped');
  const isOver = recent.isOver(request_id, arrival);
  if (arrival.kind === 'push') recent.see(request_id, arrival.sentSeconds);
  return isOver || (earlier !== undefined && !earlier.isDropped());
}
