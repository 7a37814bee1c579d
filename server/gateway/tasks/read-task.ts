/** Reads a task: as its client sees it, or as one of several; and the error when a task is not kept. */
import { outcomeOf } from '../../domain/history.ts';
import { describeTask, hasDetails, type TaskDetails, type TaskState } from '../../domain/task.ts';
import { GatewayError, type ReadTask } from '../../ports/gateway.ts';
import { type Revision, type Store, StoreDamaged, type Stored } from '../../ports/store.ts';

/** The error for an unknown `request_id`. */
export function taskNotFound(): GatewayError {
  return new GatewayError(
    'task_not_found',
    'No task has this request_id. It was never submitted here, or it ended so long ago that it is no longer kept.',
  );
}

/** Reads the state of one task of several. A damaged one counts as gone: it hides no other. */
export function readIfWhole(
  store: Pick<Store, 'get'>,
  request_id: string,
): Promise<Stored<TaskState> | undefined> {
  return unlessDamaged(store.get('task', request_id));
}

/** Resolves as the reading does; with undefined where the value is damaged. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreDamaged) return undefined;
    throw error;
  }
}

/**
 * Reads input and state of a task; undefined when it is not kept. One without the other is damage, and
 * throws.
 */
export async function readTask(store: Store, request_id: string): Promise<ReadTask | undefined> {
  const readHalves = () => Promise.all([store.get('input', request_id), store.get('task', request_id)]);
  let [input, state] = await readHalves();
  // Both are written and removed together, but read separately: only one of them shows a change in between.
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
 * Reads the details of a task that has some at this revision; undefined when the task has changed since, and
 * has none any more. Throws `StoreDamaged` where they are missing.
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

/** Reads the state of a task and, if it has some, its details, which may be newer. */
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
