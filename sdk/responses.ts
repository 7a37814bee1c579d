/**
 * What a gateway's response must hold before the SDK uses it: every field that it or its caller relies on, of
 * the type that the contract gives it. Fields the contract does not have are ignored; those that a gateway
 * which follows the specification alone may leave out may be absent.
 */
import type {
  AgentListings,
  CancelReceipt,
  DepartureReceipt,
  FieldError,
  HeartbeatReceipt,
  MatchPreview,
  Problem,
  RegistrationReceipt,
  ReportReceipt,
  Task,
  TaskDone,
  TaskExplanation,
  TaskPage,
} from './contract.ts';

type Check = (value: unknown) => boolean;
/** Checks a response, and narrows its type. */
export type Guard<Data> = (value: unknown) => value is Data;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = Number.isFinite;
const isBoolean: Check = (value) => typeof value === 'boolean';
const isTrue: Check = (value) => value === true;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((one) => check(one));
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
/** Creates the check of an object's fields. The type is what an object that passes is taken for. */
const createGuard =
  <Data>(fields: Readonly<Record<string, Check>>): Guard<Data> =>
  (value): value is Data =>
    isObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

const isTexts = isListOf(isText);
const hasTaskFields = createGuard<Task>({
  ...{ request_id: isText, task_type: isText, task_tags: isTexts, payload: isObject },
  ...{ agent_id: orNull(isText), cli_session_id: isText, create_time: isNumber, timeout: isNumber },
  ...{ progress: isNumber, result: orNull(isObject), error_info: orNull(isText) },
});

/** Whether a status fits what comes with it. */
function checkStatus({ status, result }: Pick<Task, 'status' | 'result'>): boolean {
  return status === 'success' ? result !== null : /^(pending|running|failed)$/.test(status);
}

/** Whether a value is a task: its twelve fields, and what its status promises. */
export const checkTask = <Payload, Result>(value: unknown): value is Task<Payload, Result> =>
  hasTaskFields(value) && checkStatus(value) && (value.status !== 'running' || value.agent_id !== null);

/** Whether a value is the event of a task that reached a terminal state. */
export const checkTaskDone: Guard<TaskDone> = (value): value is TaskDone =>
  hasEventFields(value) &&
  value.event === 'task_done' &&
  (value.status === 'failed' || (value.status === 'success' && value.result !== null));
const hasEventFields = createGuard<TaskDone>({
  request_id: isText,
  result: orNull(isObject),
  error_info: orNull(isText),
});

/** Whether a value is a task, or absent because there is none to claim. */
export const checkClaim: Guard<Task | undefined> = (value): value is Task | undefined =>
  value === undefined || checkTask(value);
export const checkCancelReceipt = createGuard<CancelReceipt>({ ok: isTrue, request_id: isText });
export const checkRegistrationReceipt = createGuard<RegistrationReceipt>({
  ...{ ok: isTrue, agent_id: orAbsent(isText), registration: orAbsent(isText) },
  ...{ heartbeat_interval: orAbsent(isNumber), cancelled_request_ids: orAbsent(isTexts) },
});
export const checkHeartbeatReceipt = createGuard<HeartbeatReceipt>({
  ...{ ok: isTrue, agent_id: orAbsent(isText), cancelled_request_ids: orAbsent(isTexts) },
});
export const checkReportReceipt = createGuard<ReportReceipt>({
  ...{ ok: isTrue, request_id: isText, accepted: isBoolean },
});
export const checkDepartureReceipt = createGuard<DepartureReceipt>({
  ok: isTrue,
  agent_id: orAbsent(isText),
});
export const checkAgentListings = createGuard<AgentListings>({
  total: isNumber,
  agents: isListOf(
    createGuard({
      ...{ agent_id: isText, endpoint: isText, agent_tags: isTexts, state: isText },
      ...{ max_concurrent: isNumber, current_load: isNumber, running: isNumber, push: isObject },
      ...{ registered_time: isNumber, last_contact_time: isNumber, running_request_ids: isTexts },
    }),
  ),
});
export const checkTaskPage = createGuard<TaskPage>({
  tasks: isListOf(checkTask),
  next_cursor: orNull(isText),
});

/**
 * Of explanations and previews, what the SDK itself reads. What shows the rest checks it: a page need not
 * load that.
 */
const checkAdvice = createGuard({ hint: orNull(isText), match: orNull(isObject) });
export const checkExplanation = checkAdvice as Guard<TaskExplanation>;
export const checkMatchPreview = checkAdvice as Guard<MatchPreview>;

const isProblem = createGuard<Problem>({ code: isText, title: isText, detail: isText });
const isFieldErrors = isListOf(createGuard<FieldError>({ pointer: isText, detail: isText }));

/** Returns the problem details of an error body, if it has them. Errors that are no list are left out. */
export function readProblem(value: unknown): Problem | undefined {
  if (!isProblem(value)) return undefined;
  if (!('errors' in value) || isFieldErrors(value.errors)) return value;
  return { ...value, errors: [] } as Problem;
}
