/**
 * A task as the gateway keeps it: what was submitted (written once) and its small state (what changes).
 * Everything here is plain readonly data; `step.ts` is the only place that derives one state from another.
 */

/** Any JSON object; its keys pass through the gateway untouched. */
export type JsonObject = { readonly [key: string]: unknown };

export type TaskStatus = 'pending' | 'running' | 'success' | 'failed';

/** The wire's task: exactly the twelve fields of §2.1. */
export type TaskInfo = {
  readonly request_id: string;
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly payload: JsonObject;
  readonly status: TaskStatus;
  readonly agent_id: string | null;
  readonly cli_session_id: string;
  /** Unix epoch seconds, decimal, millisecond precision. */
  readonly create_time: number;
  /** Seconds, echoed as it was sent. */
  readonly timeout: number;
  readonly progress: number;
  readonly result: JsonObject | null;
  readonly error_info: string | null;
};

/** What was submitted, payload and all. Never changes after the submit's commit (§4.1). */
export type TaskInput = Pick<
  TaskInfo,
  'request_id' | 'task_type' | 'task_tags' | 'payload' | 'cli_session_id' | 'create_time' | 'timeout'
>;

/**
 * How the assignment travels to its present agent. An attempt counts as unknown until it is told to be
 * untaken or the task is acknowledged: `attempts > untaken` means the agent may have the task.
 */
export type Delivery = {
  /** Store time of the assignment to the present agent. */
  readonly assignedMs: number;
  /** Pushes begun, or hand-outs to a pull agent, since that assignment. */
  readonly attempts: number;
  /** Attempts of which it is known that the agent did not take the task. */
  readonly untaken: number;
  /** Store time at which the last attempt began; null before the first. */
  readonly attemptMs: number | null;
  readonly acknowledged: boolean;
  /** Attempts up to this one went to an agent that has said since, registering anew, that it has none of them. */
  readonly disowned: number;
  /** Store time at which the delivery wants a look again; null once acknowledged. */
  readonly nextMs: number | null;
  /** Agents that answered busy for this task, each with the store time until which it is not asked again. */
  readonly busy: readonly { readonly agent_id: string; readonly untilMs: number }[];
};

/** The small state of a task. All times are milliseconds of the store's clock. */
export type TaskState = {
  readonly status: TaskStatus;
  readonly agent_id: string | null;
  readonly progress: number;
  readonly result: JsonObject | null;
  readonly error_info: string | null;
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly cli_session_id: string;
  readonly createdMs: number;
  /** The task's one deadline, over pending and running; `timeout` as enforced (§8). */
  readonly deadlineMs: number;
  /** Until when the task may wait for an agent; null: it does not wait (§1.3). */
  readonly queueEndMs: number | null;
  /** Whether the task is among those that wait for an agent to become free. */
  readonly waiting: boolean;
  /** Every agent the task was ever assigned to, the present one included, each once. */
  readonly assignees: readonly string[];
  /** Present exactly while the task runs. */
  readonly delivery: Delivery | null;
  /** A `reply` reported with `running`; joins the final result if that has none. */
  readonly reply: string | null;
  /** When the task entered its terminal state; null while it is open. */
  readonly settledMs: number | null;
};

/** Says whether a state is terminal (§3). */
export function isSettled(state: TaskState): boolean {
  return state.status === 'success' || state.status === 'failed';
}

/** Says whether the present agent may have the task: acknowledged, or an attempt whose fate is unknown. */
export function mayBeTaken(delivery: Delivery): boolean {
  return delivery.acknowledged || delivery.attempts > delivery.untaken;
}

/** The state of a task that was submitted this moment (§2.1: pending, null, 0, null, null). */
export function createTaskState(
  input: TaskInput,
  times: { createdMs: number; deadlineMs: number; queueEndMs: number | null },
): TaskState {
  return {
    status: 'pending',
    agent_id: null,
    progress: 0,
    result: null,
    error_info: null,
    task_type: input.task_type,
    task_tags: input.task_tags,
    cli_session_id: input.cli_session_id,
    createdMs: times.createdMs,
    deadlineMs: times.deadlineMs,
    queueEndMs: times.queueEndMs,
    waiting: false,
    assignees: [],
    delivery: null,
    reply: null,
    settledMs: null,
  };
}

/** Joins input and state to the wire's task: exactly the twelve fields of §2.1, in its order. */
export function describeTask(input: TaskInput, state: TaskState): TaskInfo {
  return {
    request_id: input.request_id,
    task_type: input.task_type,
    task_tags: input.task_tags,
    payload: input.payload,
    status: state.status,
    agent_id: state.agent_id,
    cli_session_id: input.cli_session_id,
    create_time: input.create_time,
    timeout: input.timeout,
    progress: state.progress,
    result: state.result,
    error_info: state.error_info,
  };
}

/** The wire's task as submit answers it, whatever became of it since: the fresh snapshot of §2.1. */
export function describeFreshTask(input: TaskInput): TaskInfo {
  return describeTask(input, createTaskState(input, { createdMs: 0, deadlineMs: 0, queueEndMs: null }));
}

/**
 * When somebody must look at an open task again: the earliest of deadline, queue end and next attempt;
 * null when it is settled.
 */
export function dueMs(state: TaskState): number | null {
  if (isSettled(state)) return null;
  const times = [state.deadlineMs];
  if (state.status === 'pending' && state.queueEndMs !== null) times.push(state.queueEndMs);
  if (state.delivery && state.delivery.nextMs !== null) times.push(state.delivery.nextMs);
  return Math.min(...times);
}
