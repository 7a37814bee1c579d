/** The client's operations on a task it has submitted: get, cancel. */
import { describeTask, isSettled, type TaskInfo } from '../../domain/task.ts';
import { type Caller, UNNAMED_CALLER } from '../../ports/caller.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Gateway, GatewayError } from '../../ports/gateway.ts';
import { type Store, StoreDamaged, taskRef } from '../../ports/store.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import type { LargeTasks } from '../tasks/large-tasks.ts';

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly commits: TaskCommits;
  readonly largeTasks: LargeTasks;
};

/** Creates the client's operations on a submitted task. */
export function createTasks(deps: Deps): Pick<Gateway, 'getTask' | 'cancelTask'> {
  const { store, commits, largeTasks } = deps;
  return {
    async getTask(request_id, waitMs, signal, caller = UNNAMED_CALLER) {
      const read = () => largeTasks.read(request_id, { caller }, () => readTask(store, request_id, caller));
      const task = await read();
      if (!task) throw taskNotFound();
      if (waitMs === 0 || isSettled(task)) return task;
      await awaitTerminal(deps, request_id, waitMs, signal);
      return (await read()) ?? task;
    },

    async cancelTask(request_id) {
      const result = await commits.advanceTask(request_id, { type: 'cancel' });
      if (result.kind === 'absent') throw taskNotFound();
      if (result.kind === 'refused') {
        throw new GatewayError(
          'task_terminal',
          `The task has already ended as ${result.state.status}; only a pending or running task can be cancelled.`,
        );
      }
      return { ok: true, request_id };
    },
  };
}

/** The error for an unknown `request_id`. */
export function taskNotFound(): GatewayError {
  return new GatewayError(
    'task_not_found',
    'No task has this request_id. It was never submitted here, or it ended so long ago that it is no longer kept.',
  );
}

/**
 * Reads input and state of a task; undefined when it is not kept. One without the other is damage, and
 * throws.
 */
export async function readTask(
  store: Store,
  request_id: string,
  caller?: Caller,
): Promise<TaskInfo | undefined> {
  const readHalves = () =>
    Promise.all([store.get('input', request_id, caller), store.get('task', request_id, caller)]);
  let [input, state] = await readHalves();
  // Both are written and removed together, but read separately: only one of them shows a change in between.
  if (!input !== !state) [input, state] = await readHalves();
  if (input && state) return describeTask(input.value, state.value);
  if (!input && !state) return undefined;
  const [present, missing] = input ? ['input', 'state'] : ['state', 'input'];
  throw new StoreDamaged(
    `The store is damaged: it has the ${present} of task ${request_id} but not its ${missing}.`,
  );
}

/** Resolves when the task is terminal, the wait is over or the caller leaves. */
async function awaitTerminal(
  deps: Deps,
  request_id: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  void deps.clock.sleep(waitMs, either).then(() => over.abort('over'));
  try {
    for await (const _ of deps.store.watch(taskRef(request_id), either)) {
      const state = await deps.store.get('task', request_id);
      if (!state || isSettled(state.value)) break;
    }
  } finally {
    over.abort('over');
  }
}
