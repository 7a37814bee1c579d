/**
 * Checks the gateway's responses. The SDK uses a response only if every field that it or its caller relies on
 * is there, with the type of the contract. Fields that the contract does not have are ignored. A field may be
 * absent if a gateway that follows only the specification may leave it out.
 */
import type { CancelReceipt, FieldError, Problem, Task, TaskDone } from './contract.ts';

type Check = (value: unknown) => boolean;
/** Checks a response, and narrows its type. */
export type Guard<Data> = (value: unknown) => value is Data;

export const isText: Check = (value) => typeof value === 'string';
export const isNumber: Check = Number.isFinite;
export const isBoolean: Check = (value) => typeof value === 'boolean';
export const isTrue: Check = (value) => value === true;
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((one) => check(one));
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
export const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
/** Creates the check of an object's fields; the check narrows the object to `Data`. */
export const createGuard =
  <Data>(fields: Readonly<Record<string, Check>>): Guard<Data> =>
  (value): value is Data =>
    isObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

export const isTexts = isListOf(isText);
const hasTaskFields = createGuard<Task>({
  request_id: isText,
  task_type: isText,
  task_tags: isTexts,
  payload: isObject,
  agent_id: orNull(isText),
  cli_session_id: isText,
  create_time: isNumber,
  timeout: isNumber,
  progress: isNumber,
  result: orNull(isObject),
  error_info: orNull(isText),
});

/** Whether a status fits the result beside it. A later gateway may have a status that is unknown here. */
function checkStatus({ status, result }: Pick<Task, 'status' | 'result'>): boolean {
  return status === 'success' ? result !== null : isText(status);
}

/** Whether a value is a task: its twelve fields, and what its status promises. */
export const checkTask = <Payload, Result>(value: unknown): value is Task<Payload, Result> =>
  hasTaskFields(value) && checkStatus(value) && (value.status !== 'running' || value.agent_id !== null);

/** Whether a value is the event of a task that reached a terminal state, even one that is unknown here. */
export const checkTaskDone: Guard<TaskDone> = (value): value is TaskDone =>
  hasEventFields(value) && value.event === 'task_done' && checkStatus(value);
const hasEventFields = createGuard<TaskDone>({
  request_id: isText,
  result: orNull(isObject),
  error_info: orNull(isText),
});

/**
 * Returns an ended task, or the event of one, as success or failure: a terminal state that only a later
 * gateway knows counts as failed.
 */
export function readEnd<Ended extends Pick<Task, 'status' | 'error_info'>>(ended: Ended): Ended {
  const { status, error_info } = ended;
  if (status === 'success' || status === 'failed') return ended;
  return { ...ended, status: 'failed', result: null, error_info: error_info ?? `${status}` };
}

export const checkCancelReceipt = createGuard<CancelReceipt>({ ok: isTrue, request_id: isText });
const isProblem = createGuard<Problem>({ code: isText, title: isText, detail: isText });
const isFieldErrors = isListOf(createGuard<FieldError>({ pointer: isText, detail: isText }));

/** Returns the problem details of an error body, if it has them. `errors` is dropped if it is no list. */
export function readProblem(value: unknown): Problem | undefined {
  if (!isProblem(value)) return undefined;
  if (!('errors' in value) || isFieldErrors(value.errors)) return value;
  return { ...value, errors: [] } as Problem;
}
