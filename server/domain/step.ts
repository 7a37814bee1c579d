/**
 * A task's whole life as one pure, total function: every state has a result for every trigger. The tables
 * below are the specification; a test compares each of their cells with what `step()` does.
 *
 *   pending ──assign──▶ running ──succeed──▶ success
 *      │                  │ ▲ reassign: another agent, while unacknowledged
 *      │                  └─┘
 *      └── cancel, expire, abandon ──▶ failed ◀── fail, lose, cancel, expire ── running
 *
 * `success` and `failed` are terminal: a task that reaches one of them is settled and never changes again.
 * `running` never goes back to `pending`.
 *
 * Columns: a pending task; five running tasks, whose only attempt is unknown (`running`), untaken,
 * acknowledged, disowned, or acknowledged with an open question (`asked`); a settled task. A is the present
 * agent, E had the task before, B never had it.
 *
 * Cells: `A 1-0` = running on A with 1 attempt, 0 of them untaken; `ack` = acknowledged; `wait` = the task
 * waits. A settled task has its status and `agent_id`. A refused trigger has the reason: T task_terminal, NP
 * task_not_pending, NR task_not_running, NM task_not_movable, AM agent_mismatch, NQ not_asked.
 *
 * trigger          | pending  | running    | untaken    | acknowledged | disowned   | asked      | settled
 * assign B         | B 1-0    | NP         | NP         | NP           | NP         | NP         | T
 * wait             | wait     | A 1-0 wait | A 1-1 wait | A ack wait   | A 1-1 wait | A ack wait | T
 * stay             | NR       | A 1-0      | A 1-1      | A ack        | A 1-1      | A ack      | T
 * attempt          | NR       | A 2-0      | A 2-1      | A ack        | A 2-1      | A ack      | T
 * fetch            | NR       | A 1-0      | A 1-1      | A ack        | A 1-1      | A ack      | T
 * untaken A        | NR       | A 1-1      | A 1-1      | A ack        | A 1-1      | A ack      | T
 * untaken E        | NR       | AM         | AM         | AM           | AM         | AM         | T
 * unknown A        | NR       | A 1-0      | A 1-1      | A ack        | A 1-1      | A ack      | T
 * unknown E        | NR       | AM         | AM         | AM           | AM         | AM         | T
 * acknowledge A    | NR       | A ack      | A ack      | A ack        | A 1-1      | A ack      | T
 * named by A       | NR       | A ack      | A ack      | A ack        | A ack      | A ack      | T
 * acknowledge E    | NR       | AM         | AM         | AM           | AM         | AM         | T
 * disown A         | NR       | A 1-1      | A 1-1      | A 1-1        | A 1-1      | A 1-1      | T
 * disown A, late   | NR       | A 1-0      | A 1-1      | A ack        | A 1-1      | A ack      | T
 * reassign B       | NR       | NM         | B 1-0      | NM           | B 1-0      | NM         | T
 * reassign B, gone | NR       | B 1-0      | B 1-0      | NM           | B 1-0      | NM         | T
 * reassign A       | NR       | NM         | NM         | NM           | NM         | NM         | T
 * progress A       | AM       | A ack 40%  | A ack 40%  | A ack 40%    | A ack 40%  | A ack 40%  | T
 * progress E       | AM       | AM         | AM         | AM           | AM         | AM         | T
 * progress B       | AM       | AM         | AM         | AM           | AM         | AM         | AM
 * write A          | AM       | A ack      | A ack      | A ack        | A ack      | A ack      | T
 * write E          | AM       | AM         | AM         | AM           | AM         | AM         | T
 * write B          | AM       | AM         | AM         | AM           | AM         | AM         | AM
 * answer           | NR       | NQ         | NQ         | NQ           | NQ         | A ack      | T
 * succeed A        | AM       | success A  | success A  | success A    | success A  | success A  | T
 * succeed E        | AM       | success E  | success E  | success E    | success E  | success E  | T
 * succeed B        | AM       | AM         | AM         | AM           | AM         | AM         | AM
 * fail A           | AM       | failed A   | failed A   | failed A     | failed A   | failed A   | T
 * fail E           | AM       | failed E   | failed E   | failed E     | failed E   | failed E   | T
 * fail B           | AM       | AM         | AM         | AM           | AM         | AM         | AM
 * lose             | NR       | failed A   | failed A   | failed A     | failed A   | failed A   | T
 * cancel           | failed - | failed A   | failed A   | failed A     | failed A   | failed A   | T
 * expire           | failed - | failed A   | failed A   | failed A     | failed A   | failed A   | T
 * abandon          | failed - | NP         | NP         | NP           | NP         | NP         | T
 *
 *   trigger   | ending
 *   succeed A | 100% {}
 *   succeed E | 100% {"output":"x"}
 *   fail A    | agent reported failure
 *   fail E    | oops
 *   lose      | agent lost: no contact for 60 s
 *   cancel    | cancelled by user
 *   expire    | timeout
 *   abandon   | 无可用 Agent
 *
 * - `succeed` and `fail` count from the present and from every earlier agent; the reporting agent becomes
 *   `agent_id`. From any other agent they are an `agent_mismatch`, which is checked before `task_terminal`.
 * - `wait` puts the task on the waiting list, which is offered to an agent when it gets a free slot. The task
 *   is pending with a queue time, or it runs and wants to move while no other agent is eligible; its own
 *   agent still gets attempts. `stay` takes a task that no longer wants to move off the list.
 * - `fetch`: since the assignment the agent has registered as `pull`: from now on claims hand the task out.
 * - `assign` is part of the commit that submits the task if an agent is free at that moment. `acknowledge` is
 *   decided up to 250 ms after the agent's response, on the state at that time.
 * - `unknown` changes only the time of the next push, and the history.
 * - `disown`: the agent registers again and does not name the task. Attempts up to then count as not taken,
 *   even if the agent answers one later. A `disown` that comes after a further attempt is late.
 * - `write`: a writer's first call, and each call with questions, is a step and always changes the state.
 *   Another writer, a move and `disown` withdraw open questions.
 */
import { answerQuestion, withdrawQuestions, writeQuestions } from './asking.ts';
import { JsonText } from './json-text.ts';
import { type Delivery, isSettled, type JsonObject, mayBeTaken, mayWrite, type TaskState } from './task.ts';
import type { Step, Trigger } from './triggers.ts';

const NO_AGENT = '无可用 Agent';
const TIMED_OUT = 'timeout';
const CANCELLED = 'cancelled by user';

/** A task remembers the last agents that it was assigned to, at most this many. */
const ASSIGNEES_MAX = 1_000;

/** Decides what the trigger does to the state at this store time. */
export function step(state: TaskState, trigger: Trigger, nowMs: number): Step {
  if (isStranger(state, trigger)) return { ok: false, refusal: 'agent_mismatch' };
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
    case 'fetch':
    case 'untaken':
    case 'unknown':
    case 'acknowledge':
    case 'disown':
    case 'progress':
    case 'write':
    case 'answer':
      return deliver(state, trigger, nowMs);
    case 'succeed':
      return settle(state, nowMs, {
        status: 'success',
        agent_id: trigger.agent_id,
        progress: 100,
        result: joinReply(trigger),
      });
    case 'fail':
      return failAsReported(state, trigger, nowMs);
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

/** Whether the trigger comes from an agent that may not cause it. */
function isStranger(state: TaskState, trigger: Trigger): boolean {
  switch (trigger.type) {
    case 'succeed':
    case 'fail':
      return !state.assignees.includes(trigger.agent_id);
    case 'progress':
    case 'write':
      return !mayWrite(state, trigger.agent_id);
    case 'acknowledge':
    case 'disown':
    case 'untaken':
    case 'unknown':
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
    ...withdrawQuestions(state),
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
      busy: state.delivery?.busy.filter(({ untilMs }) => untilMs > nowMs) ?? [],
      pull: !to.attempted,
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
  {
    type:
      | 'attempt'
      | 'fetch'
      | 'untaken'
      | 'unknown'
      | 'acknowledge'
      | 'disown'
      | 'progress'
      | 'write'
      | 'answer';
  }
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
        pull: trigger.pull,
      });
    case 'fetch':
      return withDelivery(state, { ...delivery, pull: true });
    case 'untaken':
      return untaken(state, delivery, trigger, nowMs);
    case 'unknown':
      if (isStale(delivery, trigger.attempt)) return { ok: true, state };
      return withDelivery(state, { ...delivery, nextMs: trigger.nextMs });
    case 'acknowledge':
      if (trigger.attempt !== null && trigger.attempt <= delivery.disowned) return { ok: true, state };
      return { ok: true, state: acknowledgeBy(state, delivery) };
    case 'disown': {
      const { attempts } = trigger;
      if (delivery.attempts !== attempts) return { ok: true, state };
      const untakenAll = { acknowledged: false, untaken: attempts, disowned: attempts, disownedMs: nowMs };
      // The registering process has not answered a push yet, so it does not count as busy.
      const busy = delivery.busy.filter(({ agent_id }) => agent_id !== trigger.agent_id);
      const due = { attemptMs: null, nextMs: nowMs, busy };
      return withDelivery(withdrawQuestions(state), { ...delivery, ...untakenAll, ...due });
    }
    case 'progress': {
      const progress = raiseProgress(state, trigger.progress);
      const taken = { ...acknowledgeBy(state, delivery), progress };
      if (trigger.reply === null || state.hasReply) return { ok: true, state: taken };
      const details = { ...trigger.details, reply: trigger.reply };
      return { ok: true, state: { ...taken, hasReply: true }, details };
    }
    case 'write':
      return writeQuestions(acknowledgeBy(state, delivery), trigger, nowMs);
    case 'answer':
      return answerQuestion(state, trigger, nowMs);
  }
}

/** The outcome of an earlier attempt changes nothing, nor does an outcome after an acknowledgement. */
function untaken(
  state: TaskState,
  delivery: Delivery,
  trigger: Extract<Trigger, { type: 'untaken' }>,
  nowMs: number,
): Step {
  if (isStale(delivery, trigger.attempt)) return { ok: true, state };
  const others = delivery.busy.filter(
    ({ agent_id, untilMs }) => untilMs > nowMs && agent_id !== trigger.agent_id,
  );
  const busy =
    trigger.busyUntilMs === null
      ? others
      : [...others, { agent_id: trigger.agent_id, untilMs: trigger.busyUntilMs }];
  return withDelivery(state, { ...delivery, untaken: delivery.untaken + 1, nextMs: trigger.nextMs, busy });
}

function isStale(delivery: Delivery, attempt: number): boolean {
  return attempt !== delivery.attempts || delivery.acknowledged || delivery.untaken === delivery.attempts;
}

/** Takes an acknowledged task off the waiting list: it stays with its agent. */
function acknowledgeBy(state: TaskState, delivery: Delivery): TaskState {
  if (delivery.acknowledged) return state;
  return { ...state, waiting: false, delivery: { ...delivery, acknowledged: true, nextMs: null } };
}

function withDelivery(state: TaskState, delivery: Delivery): Step {
  return { ok: true, state: { ...state, delivery } };
}

/** Adds the reply that was reported while the task ran, if the final result has none. */
function joinReply({ result, details }: Extract<Trigger, { type: 'succeed' }>): JsonObject {
  const reply = details?.reply;
  if (reply === undefined) return result ?? {};
  if (!(result instanceof JsonText)) return { reply, ...result };
  return new JsonText(`{"reply":${JSON.stringify(reply)},${result.text.slice(1)}`);
}

/** Progress counts only from the present agent. */
function failAsReported(state: TaskState, trigger: Extract<Trigger, { type: 'fail' }>, nowMs: number): Step {
  const { agent_id, error_info } = trigger;
  const progress = raiseProgress(state, agent_id === state.agent_id ? trigger.progress : null);
  const ending = { status: 'failed', agent_id, progress } as const;
  return settle(state, nowMs, { ...ending, error_info: error_info || 'agent reported failure' });
}

function raiseProgress(state: TaskState, progress: number | null): number {
  return Math.max(state.progress, progress ?? 0);
}

function fail(state: TaskState, nowMs: number, error_info: string): Step {
  return settle(state, nowMs, { status: 'failed', agent_id: state.agent_id, error_info });
}

type Ending = Partial<Pick<TaskState, 'progress' | 'result' | 'error_info'>> &
  Pick<TaskState, 'status' | 'agent_id'>;

function settle(state: TaskState, nowMs: number, ending: Ending): Step {
  const { hasReply: _, ...rest } = state;
  const clean = { result: null, error_info: null, delivery: null, waiting: false };
  // The details are removed with the reply. Details with questions stay, because a person may look at them
  // later.
  const details = state.hasReply && !state.questions && { details: null };
  return { ok: true, state: { ...rest, ...clean, ...ending, settledMs: nowMs }, ...details };
}
