/**
 * The tasks an agent works on: which it takes, which it has done, and how it stops.
 *
 * A task occupies a slot from `take` until its outcome is delivered or no longer wanted and its handler has
 * ended. Delivered tasks are remembered, so that a repeated push does not start the work again.
 */
import type { RequestId, RunningTask } from '../contract.ts';
import type { KeptReport } from './outbox.ts';
import { createSlots } from './slots.ts';
import { createTaskRun, type TaskRun, type TaskRunDeps } from './task-run.ts';

/**
 * `duplicate`: the agent has or had the task. `full`: no slot is free. `closed`: the agent takes no more
 * tasks.
 */
type TakeResult = 'taken' | 'duplicate' | 'full' | 'closed';

export type Work = {
  /** Begins to work on a task, which is dropped after `timeLeftMs`. */
  take(task: RunningTask, timeLeftMs: number): TakeResult;
  /** Occupies slots with outcomes of an earlier process; `deliverRestored` delivers them. */
  restore(reports: readonly KeptReport[]): void;
  deliverRestored(): void;
  /** Returns this agent's tasks that are neither delivered nor dropped. */
  request_ids(): readonly RequestId[];
  /** Stops the work on tasks that the gateway no longer wants done. Unknown ids are ignored. */
  drop(request_ids: readonly RequestId[]): void;
  isFull(): boolean;
  /** Resolves when a slot is free or the signal fires. */
  waitForSlot(signal: AbortSignal): Promise<void>;
  /** From now on no task is taken. */
  close(): void;
  /** Resolves when all slots are free or the signal fires. */
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
  readonly agent_id: string;
  readonly maxConcurrent: number;
  /** Called when `request_ids` has changed. */
  readonly onChange: () => void;
};

/** The number of tasks among which repeated pushes are recognised. */
const DELIVERED_MAX = 10_000;

/** Creates the work of one agent. */
export function createWork(deps: WorkDeps): Work {
  const { agent_id, maxConcurrent, logEvent, onChange } = deps;
  const slots = createSlots<TaskRun>(maxConcurrent, onChange);
  const delivered = new Set<string>();
  let restored: readonly TaskRun[] = [];
  let isClosed = false;

  async function deliver(run: TaskRun): Promise<void> {
    const { request_id } = run;
    if (await run.deliver()) {
      delivered.add(request_id);
      if (delivered.size > DELIVERED_MAX) delivered.delete(delivered.keys().next().value ?? request_id);
    }
    slots.free(run);
  }

  return {
    take(task, timeLeftMs) {
      const { request_id } = task;
      const earlier = slots.get(request_id);
      if (delivered.has(request_id) || (earlier && !earlier.isDropped())) return 'duplicate';
      if (isClosed) return 'closed';
      // A dropped task that is assigned again has to wait until its first handler has ended.
      if (earlier || slots.isFull()) return 'full';
      const run = createTaskRun(deps, { request_id, agent_id });
      slots.occupy(run);
      logEvent({ kind: 'taken', task });
      void run.work(task, timeLeftMs).then(() => deliver(run));
      return 'taken';
    },
    restore(reports) {
      restored = reports.map(({ agent_id: owner, ...outcome }) =>
        createTaskRun(deps, { request_id: outcome.request_id, agent_id: owner }, outcome),
      );
      for (const run of restored) slots.occupy(run);
    },
    deliverRestored() {
      for (const run of restored) void deliver(run);
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
    waitForSlot: (signal) => slots.waitUntil(() => !slots.isFull(), signal),
    close() {
      isClosed = true;
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
