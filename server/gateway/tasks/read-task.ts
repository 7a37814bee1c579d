/** Reads tasks: one task as its client sees it, or the state of one among several. */
import { outcomeOf } from '../../domain/history.ts';
import { describeTask, hasDetails, type TaskDetails, type TaskState } from '../../domain/task.ts';
import { GatewayError, type ReadTask } from '../../ports/gateway.ts';
import { type Revision, type Store, StoreDamaged, type Stored } from '../../ports/store.ts';

export function taskNotFound(): GatewayError {
  return new GatewayError(
    'task_not_found',
    'No task has this request_id. It was never submitted here, or it ended so long ago that it is no longer kept.',
  );
}

/**
 * Reads the state of one task of several. A damaged task counts as missing, so that the others can be read.
 */
export function readIfWhole(
  store: Pick<Store, 'get'>,
  request_id: string,
): Promise<Stored<TaskState> | undefined> {
  return unlessDamaged(store.get('task', request_id));
}

/** Resolves as `reading` does; with undefined if the value is damaged. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreDamaged) return undefined;
    throw error;
  }
}

/**
 * Reads the input and the state of a task; undefined if the task is not kept. Throws `StoreDamaged` if only
 * one of the two is there.
 */
export async function readTask(store: Store, request_id: string): Promise<ReadTask | undefined> {
  const readHalves = () => Promise.all([store.get('input', request_id), store.get('task', request_id)]);
  let [input, state] = await readHalves();
  // A commit between the two reads shows in one of them only, so both are read once more.
  if (!input !== !state) [input, state] = await readHalves();
  if (input && state) {
    return { task: describeTask(input.value, state.value), outcome: outcomeOf(state.value) };
  }
  if (!input && !state) return undefined;
  const [present, missing] = input ? ['input', 'state'] : ['state', 'input'];
  throw new StoreDamaged(
    `The store is damaged: it has the ${present} of task ${request_id} but not its ${missing}.`,
  );
}

/**
 * Reads the details of a task that had some at this revision. Undefined if the task has changed since and has
 * none any more. Throws `StoreDamaged` if they are missing.
 */
export async function readDetails(
  store: Pick<Store, 'get'>,
  request_id: string,
  revision: Revision,
): Promise<TaskDetails | undefined> {
  const details = await store.get('details', request_id);
  if (!details && (await store.get('task', request_id))?.revision === revision)
    throw new StoreDamaged(`The store is damaged: it has task ${request_id} but not its details.`);
  return details?.value;
}

/** Reads the state of a task and its details, if it has some. The details may be newer than the state. */
export async function readWithDetails(
  store: Pick<Store, 'get'>,
  request_id: string,
): Promise<{ readonly state: TaskState; readonly details: TaskDetails } | undefined> {
  const task = await store.get('task', request_id);
  if (!task) return undefined;
  const { value: state, revision } = task;
  if (!hasDetails(state)) return { state, details: {} };
  const details = await readDetails(store, request_id, revision);
  return details ? { state, details } : await readWithDetails(store, request_id);
}
