/**
 * Checks the responses of agents' calls, of explanations and of the administrator's calls, as `responses.ts`
 * checks the others.
 */
import type {
  AgentDetail,
  AgentId,
  AgentPage,
  AnswerReceipt,
  CancellationReceipt,
  DepartureReceipt,
  GatewayOverview,
  HeartbeatReceipt,
  MatchPreview,
  OutputReceipt,
  QuestionAnswer,
  RegistrationReceipt,
  ReportReceipt,
  Task,
  TaskExplanation,
  TaskPage,
} from './contract.ts';
import { ConnectionError } from './errors.ts';
import {
  checkTask,
  createGuard,
  type Guard,
  isBoolean,
  isListOf,
  isNumber,
  isObject,
  isText,
  isTexts,
  isTrue,
  orAbsent,
  orNull,
} from './responses.ts';

/** Whether a value is a task, or absent because there is none to claim. */
export const checkClaim: Guard<Task | undefined> = (value): value is Task | undefined =>
  value === undefined || checkTask(value);
const isAnswer = createGuard<QuestionAnswer>({ key: isText });
/** Whether a value is an answer, or absent because there is none yet. */
export const checkAnswer: Guard<QuestionAnswer | undefined> = (value): value is QuestionAnswer | undefined =>
  value === undefined || isAnswer(value);
export const checkAnswerReceipt = createGuard<AnswerReceipt>({ ok: isTrue, request_id: isText, key: isText });
export const checkRegistrationReceipt = createGuard<RegistrationReceipt>({
  ok: isTrue,
  agent_id: orAbsent(isText),
  registration: orAbsent(isText),
  heartbeat_interval: orAbsent(isNumber),
  cancelled_request_ids: orAbsent(isTexts),
});
export const checkHeartbeatReceipt = createGuard<HeartbeatReceipt>({
  ok: isTrue,
  agent_id: orAbsent(isText),
  cancelled_request_ids: orAbsent(isTexts),
});
export const checkReportReceipt = createGuard<ReportReceipt>({
  ok: isTrue,
  request_id: isText,
  accepted: isBoolean,
});
export const checkOutputReceipt = createGuard<OutputReceipt>({
  ok: isTrue,
  request_id: isText,
  status: isText,
  accepted: isBoolean,
  next: isNumber,
});
export const checkDepartureReceipt = createGuard<DepartureReceipt>({
  ok: isTrue,
  agent_id: orAbsent(isText),
});

const agentFields = {
  agent_id: isText,
  endpoint: isText,
  agent_tags: isTexts,
  state: isText,
  max_concurrent: isNumber,
  current_load: isNumber,
  running: isNumber,
  push: isObject,
  registered_time: isNumber,
  replaced: isBoolean,
  last_contact_time: isNumber,
  full: isBoolean,
  failing: isBoolean,
  eligible: isBoolean,
  unacknowledged: isNumber,
  offline_time: orNull(isNumber),
  lost_after: orNull(isNumber),
};

const page = { time: isNumber, next_cursor: orNull(isText) };
export const checkAgentPage = createGuard<AgentPage>({
  ...page,
  agents: isListOf(createGuard(agentFields)),
  total: isNumber,
  counts: isObject,
});
const checkAgentDetail = createGuard<AgentDetail>({
  ...agentFields,
  time: isNumber,
  activity: isObject,
  slots: isListOf(isObject),
  pushes: isListOf(isObject),
});
/**
 * Creates the check of a response about one agent. An id may have slashes and dots: a proxy that decodes
 * paths makes `b` of `x/../b`, and the response is then valid, but about another agent.
 */
export const checkDetailOf =
  (agent_id: AgentId): Guard<AgentDetail> =>
  (value): value is AgentDetail => {
    if (!checkAgentDetail(value)) return false;
    if (value.agent_id === agent_id) return true;
    throw new ConnectionError(
      'id_mismatch',
      'The response is about another agent than the one asked for. A proxy before the gateway changes paths: it must pass them on as they are sent.',
    );
  };
export const checkTaskPage = createGuard<TaskPage>({
  ...page,
  counts: orNull(
    createGuard({
      total: isNumber,
      complete: isBoolean,
      waiting: isNumber,
      waiting_for_answer: isNumber,
      by_status: isObject,
      by_outcome: isObject,
    }),
  ),
  tasks: isListOf(
    createGuard({
      request_id: isText,
      task_type: isText,
      task_tags: isTexts,
      cli_session_id: isText,
      status: isText,
      waiting: isBoolean,
      waiting_for_answer: isBoolean,
      outcome: orNull(isText),
      agent_id: orNull(isText),
      progress: isNumber,
      acknowledged: isBoolean,
      create_time: isNumber,
      assigned_time: orNull(isNumber),
      ended_time: orNull(isNumber),
      deadline_time: isNumber,
      gives_up_time: orNull(isNumber),
      error_info: orNull(isText),
      payload_preview: isText,
      payload_bytes: isNumber,
    }),
  ),
});
export const checkCancellationReceipt = createGuard<CancellationReceipt>({
  matched: isNumber,
  cancelled: isNumber,
  already_ended: isNumber,
  not_found: isNumber,
  next_cursor: orNull(isText),
});
export const checkOverview = createGuard<GatewayOverview>({
  time: isNumber,
  version: isText,
  console: isText,
  store: isObject,
  tasks: isObject,
  slots: isObject,
  agents: isObject,
  window: isNumber,
  ended: isObject,
  failures: createGuard({
    since: orNull(isNumber),
    ended: isNumber,
    failed: isNumber,
    groups_total: isNumber,
    groups: isListOf(isObject),
  }),
  median_seconds: orNull(isNumber),
  series: isObject,
  tags_total: isNumber,
  tags: isListOf(isObject),
  oldest_waiting: isListOf(isObject),
  problems: isListOf(isObject),
});

/**
 * Only the fields of explanations and previews that the SDK itself reads. A program that shows others checks
 * them itself, so that a page need not load their checks.
 */
const checkAdvice = createGuard({ hint: orNull(isText), match: orNull(isObject) });
export const checkExplanation = checkAdvice as Guard<TaskExplanation>;
export const checkMatchPreview = checkAdvice as Guard<MatchPreview>;
