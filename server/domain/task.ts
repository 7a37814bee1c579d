/**
 * A task as the gateway keeps it: its input, written once, and its state, which changes. Everything here is
 * plain readonly data. Only `step.ts` derives one state from another. Stored names are frozen.
 */
import type { HistoryRecord } from './history-record.ts';
import type { MatchRecord } from './match-record.ts';
import type { QuestionContent, TaskQuestion } from './question.ts';
import type { TraceContext } from './trace-context.ts';

/** Any JSON object. The gateway passes its keys on untouched. An object that is not short is a `JsonText`. */
export type JsonObject = { readonly [key: string]: unknown };

export type TaskStatus = 'pending' | 'running' | 'success' | 'failed';

/** The task on the wire, with exactly these twelve fields. */
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
  /** Seconds, echoed as the client sent them. */
  readonly timeout: number;
  readonly progress: number;
  readonly result: JsonObject | null;
  readonly error_info: string | null;
};

/** The submitted task with its payload. It never changes after the commit that submits it. */
export type TaskInput = Pick<
  TaskInfo,
  'request_id' | 'task_type' | 'task_tags' | 'payload' | 'cli_session_id' | 'create_time' | 'timeout'
> & {
  /** The trace in which the task was submitted, if there is one. */
  readonly trace?: TraceContext;
};

/**
 * The delivery of a running task to its present agent. An attempt is unknown until the task is acknowledged
 * or the attempt turns out untaken. So `attempts > untaken` means that the agent may have the task. For
 * example, if two pushes began and the first found no connection, `attempts` is 2 and `untaken` 1: the second
 * may have reached the agent.
 */
export type Delivery = {
  /** The store time of the assignment to the present agent. */
  readonly assignedMs: number;
  /** Pushes begun, or hand-outs to a pull agent, since that assignment. */
  readonly attempts: number;
  /** Attempts after which the agent certainly did not have the task. */
  readonly untaken: number;
  /** The store time at which the last attempt began; null before the first. */
  readonly attemptMs: number | null;
  readonly acknowledged: boolean;
  /**
   * The number of the last disowned attempt: after it the agent registered again without the task. All
   * attempts up to this number are untaken.
   */
  readonly disowned: number;
  /** The store time at which the agent last disowned the task; absent if it never did. */
  readonly disownedMs?: number;
  /** The store time at which the delivery is due again; null once the task is acknowledged. */
  readonly nextMs: number | null;
  /**
   * Agents that responded busy to this task, each with the store time until which the task is offered to
   * others first.
   */
  readonly busy: readonly { readonly agent_id: string; readonly untilMs: number }[];
  /** Whether the agent fetches the task with a claim. */
  readonly pull: boolean;
};

/** The state of a task. All times are store time. */
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
  /** When the task's `timeout` ends, or the gateway's own limit. Both count from the submission. */
  readonly deadlineMs: number;
  /** Until when the task may wait for an agent; null: not at all. */
  readonly queueEndMs: number | null;
  /** Whether the task is among the waiting tasks, which are offered to an agent that gets a free slot. */
  readonly waiting: boolean;
  /** Every agent that the task was assigned to, each once; the present agent is the last. */
  readonly assignees: readonly string[];
  /** Set exactly while the task runs. */
  readonly delivery: Delivery | null;
  /** When the task settled; null while it is open. */
  readonly settledMs: number | null;
  readonly payloadBytes: number;
  /** The beginning of the payload's JSON; absent if the payload is short. */
  readonly payloadPreview?: string;
  /** The history, oldest entry first; absent before the first step after the submission. See `history.ts`. */
  readonly history?: readonly HistoryRecord[];
  /** How many entries were dropped from the middle of the history; absent if none. */
  readonly historyDropped?: number;
  /** Set once an agent has reported a reply. The first reply is in the details until the task settles. */
  readonly hasReply?: true;
  /** Set once an agent has written output. */
  readonly hasOutput?: true;
  /** The questions of the task's agents, oldest first; absent if there are none. See `asking.ts`. */
  readonly questions?: readonly TaskQuestion[];
  /** If the task was abandoned, the agents that the decision saw. See `match-record.ts`. */
  readonly seenMatch?: MatchRecord;
};

/**
 * The part of a task that is stored beside its state. It may be large, so lists, heartbeats and most steps do
 * not read the details. Stored names are frozen.
 */
export type TaskDetails = {
  /** The first reply that was reported while the task ran. */
  readonly reply?: string;
  /** The contents of the task's questions, in any order. */
  readonly questions?: readonly QuestionContent[];
};

export function hasDetails({ hasReply, questions }: TaskState): boolean {
  return hasReply === true || questions !== undefined;
}

export function isSettled({ status }: { readonly status: TaskStatus }): boolean {
  return status === 'success' || status === 'failed';
}

/** Whether the task is pending and its queue timeout is not over. */
export function mayWait({ status, queueEndMs }: TaskState, nowMs: number): boolean {
  return status === 'pending' && queueEndMs !== null && queueEndMs > nowMs;
}

/**
 * Whether the agent may send progress and output of the task, and claim answers. Only the present agent of an
 * open task may. Every assignee of a settled task may, to learn that the task is over.
 */
export function mayWrite(state: TaskState, agent_id: string): boolean {
  return isSettled(state) ? state.assignees.includes(agent_id) : state.agent_id === agent_id;
}

/**
 * Whether the present agent may have the task: the task is acknowledged, or the outcome of an attempt is
 * unknown.
 */
export function mayBeTaken(delivery: Delivery): boolean {
  return delivery.acknowledged || delivery.attempts > delivery.untaken;
}

/** Creates the state of a pending task without agent, progress, result and error. */
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

/** Describes the task on the wire, with its fields in the contract's order. */
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

/** The task as submit returns it: pending, whatever has become of the task since. */
export function describeFreshTask(input: TaskInput): TaskInfo {
  return describeTask(input, createTaskState(input, { createdMs: 0, deadlineMs: 0, queueEndMs: null }, 0));
}
