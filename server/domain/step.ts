/**
 * A task's whole life: one pure, total function. Every state and every trigger has an answer, and the unit test
 * is the table below as text.
 *
 *             | pending                   | running                                        | success | failed
 * assign      | running                   | refuse task_not_pending                        | T | T
 * wait        | pending, waiting          | running, waiting                               | T | T
 * stay        | refuse task_not_running   | no longer waiting                              | T | T
 * attempt     | refuse task_not_running   | attempts + 1, unknown until told otherwise     | T | T
 * untaken     | refuse task_not_running   | that attempt was not taken                     | T | T
 * acknowledge | refuse task_not_running   | acknowledged, unless by a disowned attempt (agent) | T | T
 * disown      | refuse task_not_running   | unacknowledged, to be pushed again (agent)     | T | T
 * reassign    | refuse task_not_running   | other agent, only while unacknowledged, and
 *             |                           | nothing may have been taken or its agent is gone | T | T
 * progress    | refuse agent_mismatch     | acknowledged, progress rises (agent)           | T | T
 * succeed     | refuse agent_mismatch     | success             (assignee)                 | T | T
 * fail        | refuse agent_mismatch     | failed: its reason  (assignee)                 | T | T
 * lose        | refuse task_not_running   | failed: agent lost                             | T | T
 * cancel      | failed: cancelled by user | failed: cancelled by user                      | T | T
 * expire      | failed: timeout           | failed: timeout                                | T | T
 * abandon     | failed: 无可用 Agent       | refuse task_not_pending                        | T | T
 *
 * T = refuse task_terminal. (agent) = its present agent; (assignee) = a present or earlier one, which becomes
 * agent_id; anybody else is refused as agent_mismatch, and that is judged before T.
 *
 * `wait` joins those that are offered again whenever an agent becomes free: a pending task with a queue time, or
 * a running one whose agent is gone. `stay` ends that when its own agent is back. `disown` is the agent's own word,
 * given at registration, that it does not have a task it was sent: nothing that was sent before counts as taken,
 * also where the answer of that push comes later.
 */
import type { Delivery, JsonObject, TaskState } from './task.ts';
import { isSettled, mayBeTaken } from './task.ts';

/** The error text of a task no agent qualified for (§2.3). */
export const NO_AGENT = '无可用 Agent';
/** The error text of an expired task (§2.3). */
export const TIMED_OUT = 'timeout';
/** The error text of a cancelled task (§2.3). */
export const CANCELLED = 'cancelled by user';

export type Trigger =
  /** `attempted`: the first push starts with the assignment; a pull agent's first attempt is its claim. */
  | {
      readonly type: 'assign';
      readonly agent_id: string;
      readonly attempted: boolean;
      readonly nextMs: number;
    }
  | { readonly type: 'wait' }
  | { readonly type: 'stay' }
  | { readonly type: 'attempt'; readonly nextMs: number }
  | {
      readonly type: 'untaken';
      readonly agent_id: string;
      readonly attempt: number;
      readonly nextMs: number;
      /** Set when the agent answered busy: until when it is not asked again for this task. */
      readonly busyUntilMs: number | null;
    }
  | {
      readonly type: 'acknowledge';
      readonly agent_id: string;
      /** The push that was answered; null when the agent named the task itself. */
      readonly attempt: number | null;
    }
  | { readonly type: 'disown'; readonly agent_id: string }
  | {
      readonly type: 'reassign';
      readonly agent_id: string;
      readonly attempted: boolean;
      readonly nextMs: number;
      /** The present agent has been offline or unregistered for long enough. */
      readonly agentGone: boolean;
    }
  | {
      readonly type: 'progress';
      readonly agent_id: string;
      readonly progress: number | null;
      readonly reply: string | null;
    }
  | { readonly type: 'succeed'; readonly agent_id: string; readonly result: JsonObject | null }
  | { readonly type: 'fail'; readonly agent_id: string; readonly error_info: string | null }
  | { readonly type: 'lose'; readonly seconds: number }
  | { readonly type: 'cancel' }
  | { readonly type: 'expire' }
  | { readonly type: 'abandon' };

/** The domain's "no". `task_not_pending`, `task_not_running` and `task_not_movable` never reach the wire. */
export type Refusal =
  | 'task_not_pending'
  | 'task_not_running'
  | 'task_not_movable'
  | 'task_terminal'
  | 'agent_mismatch';

export type Step =
  | { readonly ok: true; readonly state: TaskState }
  | { readonly ok: false; readonly refusal: Refusal };

/** Agents a task remembers having been assigned to; the oldest are forgotten beyond this. */
const ASSIGNEES_MAX = 1_000;

/** What the trigger makes of the state at this store time. Total, pure. */
export function step(state: TaskState, trigger: Trigger, nowMs: number): Step {
  const stranger = isStranger(state, trigger);
  if (stranger) return { ok: false, refusal: 'agent_mismatch' };
  if (isSettled(state)) return { ok: false, refusal: 'task_terminal' };
  switch (trigger.type) {
    case 'assign':
      if (state.status !== 'pending') return { ok: false, refusal: 'task_not_pending' };
      return { ok: true, state: assignTo(state, trigger, nowMs) };
    case 'reassign':
      return reassign(state, trigger, nowMs);
    case 'wait':
      return { ok: true, state: { ...state, waiting: true } };
    case 'stay':
      if (state.status !== 'running') return { ok: false, refusal: 'task_not_running' };
      return { ok: true, state: { ...state, waiting: false } };
    case 'attempt':
    case 'untaken':
    case 'acknowledge':
    case 'disown':
    case 'progress':
      return deliver(state, trigger, nowMs);
    case 'succeed':
      return settle(state, nowMs, {
        status: 'success',
        agent_id: trigger.agent_id,
        progress: 100,
        result: joinReply(trigger.result ?? {}, state.reply),
      });
    case 'fail':
      return fail(state, nowMs, trigger.error_info || 'agent reported failure', trigger.agent_id);
    case 'lose':
      if (state.status !== 'running') return { ok: false, refusal: 'task_not_running' };
      return fail(state, nowMs, `agent lost: no contact for ${trigger.seconds} s`);
    case 'cancel':
      return fail(state, nowMs, CANCELLED);
    case 'expire':
      return fail(state, nowMs, TIMED_OUT);
    case 'abandon':
      if (state.status !== 'pending') return { ok: false, refusal: 'task_not_pending' };
      return fail(state, nowMs, NO_AGENT);
  }
}

/**
 * Whether the trigger comes from an agent that has no say. Progress on a settled task is the exception's exception:
 * any assignee may hear that it is over, while only the present agent may move a running task.
 */
function isStranger(state: TaskState, trigger: Trigger): boolean {
  switch (trigger.type) {
    case 'succeed':
    case 'fail':
      return !state.assignees.includes(trigger.agent_id);
    case 'progress':
      return isSettled(state)
        ? !state.assignees.includes(trigger.agent_id)
        : state.agent_id !== trigger.agent_id;
    case 'acknowledge':
    case 'disown':
    case 'untaken':
      return state.status === 'running' && state.agent_id !== trigger.agent_id;
    default:
      return false;
  }
}

function assignTo(
  state: TaskState,
  to: { agent_id: string; attempted: boolean; nextMs: number },
  nowMs: number,
): TaskState {
  const earlier = state.assignees.filter((id) => id !== to.agent_id).slice(1 - ASSIGNEES_MAX);
  return {
    ...state,
    status: 'running',
    agent_id: to.agent_id,
    waiting: false,
    assignees: [...earlier, to.agent_id],
    delivery: {
      assignedMs: nowMs,
      attempts: to.attempted ? 1 : 0,
      untaken: 0,
      attemptMs: to.attempted ? nowMs : null,
      acknowledged: false,
      disowned: 0,
      nextMs: to.nextMs,
      busy: state.delivery?.busy.filter((one) => one.untilMs > nowMs) ?? [],
    },
  };
}

function reassign(state: TaskState, trigger: Extract<Trigger, { type: 'reassign' }>, nowMs: number): Step {
  const delivery = state.delivery;
  if (state.status !== 'running' || !delivery) return { ok: false, refusal: 'task_not_running' };
  const movable = !delivery.acknowledged && (trigger.agentGone || !mayBeTaken(delivery));
  if (!movable || trigger.agent_id === state.agent_id) return { ok: false, refusal: 'task_not_movable' };
  return { ok: true, state: assignTo(state, trigger, nowMs) };
}

type DeliveryTrigger = Extract<
  Trigger,
  { type: 'attempt' | 'untaken' | 'acknowledge' | 'disown' | 'progress' }
>;

function deliver(state: TaskState, trigger: DeliveryTrigger, nowMs: number): Step {
  const delivery = state.delivery;
  if (state.status !== 'running' || !delivery) return { ok: false, refusal: 'task_not_running' };
  switch (trigger.type) {
    case 'attempt':
      return withDelivery(state, {
        ...delivery,
        attempts: delivery.attempts + 1,
        attemptMs: nowMs,
        nextMs: trigger.nextMs,
      });
    case 'untaken':
      return untaken(state, delivery, trigger, nowMs);
    case 'acknowledge':
      if (trigger.attempt !== null && trigger.attempt <= delivery.disowned) return { ok: true, state };
      return { ok: true, state: acknowledgeBy(state, delivery) };
    case 'disown': {
      const anew = { acknowledged: false, disowned: delivery.attempts, attemptMs: null, nextMs: nowMs };
      return withDelivery(state, { ...delivery, ...anew });
    }
    case 'progress': {
      const progress = Math.max(state.progress, trigger.progress ?? 0);
      const reply = trigger.reply ?? state.reply;
      return { ok: true, state: { ...acknowledgeBy(state, delivery), progress, reply } };
    }
  }
}

/** Word about an attempt that is not the last one, or that an acknowledgement has overtaken, changes nothing. */
function untaken(
  state: TaskState,
  delivery: Delivery,
  trigger: Extract<Trigger, { type: 'untaken' }>,
  nowMs: number,
): Step {
  const stale =
    trigger.attempt !== delivery.attempts || delivery.acknowledged || delivery.untaken === delivery.attempts;
  if (stale) return { ok: true, state };
  const others = delivery.busy.filter((one) => one.untilMs > nowMs && one.agent_id !== trigger.agent_id);
  const busy =
    trigger.busyUntilMs === null
      ? others
      : [...others, { agent_id: trigger.agent_id, untilMs: trigger.busyUntilMs }];
  return withDelivery(state, { ...delivery, untaken: delivery.untaken + 1, nextMs: trigger.nextMs, busy });
}

/** An acknowledged task no longer waits for another agent. */
function acknowledgeBy(state: TaskState, delivery: Delivery): TaskState {
  if (delivery.acknowledged) return state;
  return { ...state, waiting: false, delivery: { ...delivery, acknowledged: true, nextMs: null } };
}

function withDelivery(state: TaskState, delivery: Delivery): Step {
  return { ok: true, state: { ...state, delivery } };
}

/** A reply that was reported while running joins the final result unless that brings its own (§2.2). */
function joinReply(result: JsonObject, reply: string | null): JsonObject {
  if (reply === null || Object.hasOwn(result, 'reply')) return result;
  return { reply, ...result };
}

function fail(state: TaskState, nowMs: number, error_info: string, agent_id = state.agent_id): Step {
  return settle(state, nowMs, { status: 'failed', agent_id, error_info });
}

type Ending = Partial<Pick<TaskState, 'progress' | 'result' | 'error_info'>> &
  Pick<TaskState, 'status' | 'agent_id'>;

function settle(state: TaskState, nowMs: number, ending: Ending): Step {
  const clean = { result: null, error_info: null, delivery: null, reply: null, waiting: false };
  return { ok: true, state: { ...state, ...clean, ...ending, settledMs: nowMs } };
}
