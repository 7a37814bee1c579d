/**
 * A task as the gateway keeps it: its input (written once) and its state (what changes). Everything here is
 * plain readonly data; `step.ts` is the only place that derives one state from another. Stored names are
 * frozen.
 */
import type { HistoryRecord } from './history-record.ts';
import type { MatchRecord } from './match-record.ts';
import type { QuestionContent, TaskQuestion } from './question.ts';
import type { TraceContext } from './trace-context.ts';

/**
 * Any JSON object; its keys pass through the gateway untouched, and nothing here looks at them: unless it is
 * short it is a `JsonText`.
 */
export type JsonObject = { readonly [key: string]: unknown };

export type TaskStatus = 'pending' | 'running' | 'success' | 'failed';

/** The task on the wire: exactly these twelve fields. */
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

/** The submitted task with its payload. Never changes after the commit that submits it. */
export type TaskInput = Pick<
  TaskInfo,
  'request_id' | 'task_type' | 'task_tags' | 'payload' | 'cli_session_id' | 'create_time' | 'timeout'
> & {
  /** The trace it was submitted in. Most tasks lack it. */
  readonly trace?: TraceContext;
};

/**
 * The delivery of a running task to its present agent. An attempt is unknown until the task is acknowledged
 * or the attempt is found to be untaken: `attempts > untaken` means that the agent may have the task. For
 * example, if two pushes began and the first found no connection, `attempts` is 2 and `untaken` 1: the agent
 * may have the task by the second.
 */
export type Delivery = {
  /** Store time of the assignment to the present agent. */
  readonly assignedMs: number;
  /** Pushes begun, or hand-outs to a pull agent, since that assignment. */
  readonly attempts: number;
  /** Attempts after which the agent certainly did not have the task. */
  readonly untaken: number;
  /** Store time at which the last attempt began; null before the first. */
  readonly attemptMs: number | null;
  readonly acknowledged: boolean;
  /**
   * Attempts up to this one are disowned: the agent registered again since and does not have the task, so
   * they are untaken.
   */
  readonly disowned: number;
  /** Store time at which the agent disowned them last; absent while it never did. */
  readonly disownedMs?: number;
  /** Store time at which the delivery is due again; null when it is acknowledged. */
  readonly nextMs: number | null;
  /**
   * Agents that responded busy to this task, each with the store time until which others are offered it
   * first.
   */
  readonly busy: readonly { readonly agent_id: string; readonly untilMs: number }[];
  /** Whether its agent fetches it with a claim. */
  readonly pull: boolean;
};

/** The state of a task. All times are milliseconds of the store's clock. */
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
  /** The task's one deadline, over pending and running: `timeout` as enforced. */
  readonly deadlineMs: number;
  /** Until when the task may wait for an agent; null: it does not wait. */
  readonly queueEndMs: number | null;
  /** Whether the task is among the waiting tasks, which are offered to an agent that gets a free slot. */
  readonly waiting: boolean;
  /** Every agent the task was ever assigned to, the present one included, each once. */
  readonly assignees: readonly string[];
  /** Present exactly while the task runs. */
  readonly delivery: Delivery | null;
  /** When the task entered its terminal state; null if it is open. */
  readonly settledMs: number | null;
  /** Bytes of the payload as JSON. */
  readonly payloadBytes: number;
  /** The beginning of the payload's JSON if the payload is kept as text; absent if it is short. */
  readonly payloadPreview?: string;
  /** Its history, oldest first; absent while it was only submitted. See `history.ts`. */
  readonly history?: readonly HistoryRecord[];
  /** How many entries were dropped from the middle of the history; absent if none was. */
  readonly historyDropped?: number;
  /** Whether an agent has reported a reply: the first is in the details until the task settles. */
  readonly hasReply?: true;
  /** Whether an agent has written output; absent: none has. */
  readonly hasOutput?: true;
  /** The questions of its agents, oldest first; absent if there are none. See `asking.ts`. */
  readonly questions?: readonly TaskQuestion[];
  /** Which agents the decision saw, if the task was abandoned. See `match-record.ts`. */
  readonly seenMatch?: MatchRecord;
};

/**
 * The part of a task that is stored beside its state. It may be large, so lists, heartbeats and most steps do
 * not read it. Stored names are frozen.
 */
export type TaskDetails = {
  /** The first reply that was reported while the task ran. */
  readonly reply?: string;
  /** The contents of its questions, in any order. */
  readonly questions?: readonly QuestionContent[];
};

export function hasDetails({ hasReply, questions }: TaskState): boolean {
  return hasReply === true || questions !== undefined;
}

/** Whether a task is settled: its status is terminal. */
export function isSettled({ status }: { readonly status: TaskStatus }): boolean {
  return status === 'success' || status === 'failed';
}

/** Whether a task may wait for an agent now: it is pending, and its queue timeout is not over. */
export function mayWait({ status, queueEndMs }: TaskState, nowMs: number): boolean {
  return status === 'pending' && queueEndMs !== null && queueEndMs > nowMs;
}

/**
 * Whether the agent may send progress and output of the task, and claim answers: of an open task its present
 * agent alone; of a settled one every assignee, to learn that the task is over.
 */
export function mayWrite(state: TaskState, agent_id: string): boolean {
  return isSettled(state) ? state.assignees.includes(agent_id) : state.agent_id === agent_id;
}

/**
 * Whether the present agent may have the task: it is acknowledged, or the outcome of an attempt is unknown.
 */
export function mayBeTaken(delivery: Delivery): boolean {
  return delivery.acknowledged || delivery.attempts > delivery.untaken;
}

/** The state of a new task: pending, without agent, progress, result and error. */
export function createTaskState(
  input: TaskInput,
  times: { createdMs: number; deadlineMs: number; queueEndMs: number | null },
  payloadBytes: number,
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
    settledMs: null,
    payloadBytes,
  };
}

/** Joins input and state to the task on the wire: its twelve fields, in the contract's order. */
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

/** The task as submit returns it, whatever became of it since: pending. */
export function describeFreshTask(input: TaskInput): TaskInfo {
  return describeTask(input, createTaskState(input, { createdMs: 0, deadlineMs: 0, queueEndMs: null }, 0));
}
