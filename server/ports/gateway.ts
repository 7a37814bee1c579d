/**
 * The gateway's interface for HTTP: one function for each operation of the contract, under the operation's
 * name. The caller has already checked secrets, shapes and the limits of single fields. Every function may
 * throw `GatewayError` (a refusal with a code) or `StoreUnavailable` (a 503); anything else is a defect.
 */
import type { AgentState } from '../domain/agent.ts';
import type { TaskOutcome } from '../domain/history-record.ts';
import type { ValueError, WrittenQuestion } from '../domain/question.ts';
import type { JsonObject, TaskInfo, TaskStatus } from '../domain/task.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { AdminCalls, DeepReadonly, Schemas } from './admin.ts';
import type { OutputPage } from './output.ts';
import type { Cursor, Health } from './store.ts';

/** A submission of a client, with defaults filled in and without `auth`. */
export type Submission = {
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly payload: JsonObject;
  readonly cli_session_id: string;
  /** Seconds. */
  readonly timeout: number;
  /** Seconds from `create_time` for which the task may wait for an agent; absent: it does not wait. */
  readonly queue_timeout?: number;
};

type RegisterResponse = DeepReadonly<Schemas['RegistrationReceipt']>;
type HeartbeatResponse = DeepReadonly<Schemas['HeartbeatReceipt']>;
type ReportResponse = DeepReadonly<Schemas['ReportReceipt']>;
type OutputReceipt = DeepReadonly<Schemas['OutputReceipt']>;
type TaskExplanation = DeepReadonly<Schemas['TaskExplanation']>;
/** The agent of a running task, or the one that was lost with it. */
export type TaskAgent = DeepReadonly<Schemas['TaskAgent']>;
type MatchPreview = DeepReadonly<Schemas['MatchPreview']>;
export type TaskDone = DeepReadonly<Schemas['TaskDone']>;

/** An agent's registration. */
export type Registration = {
  readonly agent_id: string;
  readonly endpoint: string;
  readonly agent_tags: readonly string[];
  readonly max_concurrent: number;
  readonly current_load: number;
  readonly request_ids?: readonly string[];
  /** Seconds without contact after which its running tasks fail. */
  readonly lost_after?: number;
};

/** A heartbeat. The caller leaves the optional fields out when the request carried no right secret. */
type Heartbeat = {
  readonly agent_id: string;
  readonly current_load?: number;
  readonly request_ids?: readonly string[];
  /** The registration that it was sent under: load and draining count only while it is the present one. */
  readonly registration?: string;
  readonly draining?: boolean;
};

/** A task as its client sees it, and how it ended; null while it is open. */
export type ReadTask = { readonly task: TaskInfo; readonly outcome: TaskOutcome | null };

type Claim = {
  readonly agent_id: string;
  /** Seconds to wait for an assignment, 0 to 60. */
  readonly wait: number;
  readonly request_ids?: readonly string[];
};

/** An agent's result report. */
export type Report = {
  readonly request_id: string;
  readonly agent_id: string;
  readonly status: 'success' | 'failed' | 'running';
  readonly progress?: number;
  readonly result?: JsonObject | null;
  readonly error_info?: string | null;
};

/** Pieces of an agent for the output of its task. */
export type OutputWrite = {
  readonly request_id: string;
  readonly agent_id: string;
  /** Chosen by the agent for its work on this task, another one after a restart. */
  readonly writer: string;
  /** How many pieces this writer has sent before. */
  readonly from: number;
  /** Each as its JSON text: an object with `text`, `data` or `question`. */
  readonly pieces: readonly string[];
  /** The questions among the pieces. */
  readonly questions?: readonly WrittenQuestion[];
};

/** An answer of a client. */
type TaskAnswer = { readonly request_id: string; readonly key: string; readonly answer: unknown };

/** An agent's claim of an answer. */
type AnswerClaim = {
  readonly agent_id: string;
  readonly request_id: string;
  readonly key: string;
  /** Seconds to wait for it, 0 to 60. */
  readonly wait: number;
};

/** A page of a task's output, and how the task stands. */
export type ReadOutput = Pick<OutputPage, 'pieces' | 'missing'> & {
  readonly status: TaskStatus;
  readonly progress: number;
  readonly outcome: TaskOutcome | null;
  /** The next `after`. */
  readonly last: number;
  /** Whether the task has settled and no piece follows. */
  readonly complete: boolean;
};

/** A part of a followed output. */
export type OutputItem =
  /** How the open task stands. */
  | Pick<TaskInfo, 'status' | 'progress'>
  | Pick<OutputPage, 'pieces'>
  /** The last one. */
  | (Pick<OutputPage, 'missing'> &
      Pick<TaskDone, 'status'> & { readonly n: number; readonly outcome: TaskOutcome });

export type StreamItem =
  | { readonly gap: true }
  | { readonly gap: false; readonly cursor: Cursor; readonly event: TaskDone };

/** Turns an item into the form its readers want. Returns the same for the same item. */
export type RenderItem<T> = (item: StreamItem) => T;

/** The signal of a call fires when its caller leaves or the gateway drains, and ends a long wait. */
export type Gateway = AdminCalls & {
  /** `trace` is kept with the task. It is no part of what is compared under an idempotency key. */
  submitTask(submission: Submission, idempotencyKey?: string, trace?: TraceContext): Promise<TaskInfo>;
  /** With `waitMs` it resolves when the task is terminal or the wait is over. */
  getTask(request_id: string, waitMs: number, signal: AbortSignal): Promise<ReadTask>;
  /** Explains a task: its history, which agents qualify for it, and what to do. Costs as much as a match. */
  explainTask(request_id: string): Promise<TaskExplanation>;
  /** The match of a task with these tags, without submitting one. */
  previewMatch(task_tags: readonly string[]): Promise<MatchPreview>;
  cancelTask(request_id: string): Promise<{ readonly ok: true; readonly request_id: string }>;
  /**
   * Yields stored events, then live ones. Throws `FeedTrimmed` when the reader was too slow. Readers that
   * pass the same `render` share what it returned: an event is read and rendered once for all of them.
   */
  subscribeEvents<T>(
    session: string,
    after: Cursor | null,
    render: RenderItem<T>,
    signal: AbortSignal,
  ): AsyncIterable<T>;
  registerAgent(registration: Registration): Promise<RegisterResponse>;
  heartbeatAgent(beat: Heartbeat): Promise<HeartbeatResponse>;
  /**
   * Before it resolves, and unless the signal has fired, it calls `onFound` with the agent's state, and with
   * the trace that the task was submitted in, if any.
   */
  claimTask(
    claim: Claim,
    signal: AbortSignal,
    onFound?: (found: { readonly state: AgentState; readonly trace?: TraceContext }) => void,
  ): Promise<TaskInfo | null>;
  reportResult(report: Report, trace?: TraceContext): Promise<ReportResponse>;
  /** Refuses a `from` beyond what the writer has stored, with the right number. */
  writeOutput(write: OutputWrite): Promise<OutputReceipt>;
  /** The first answer counts: the same one again is a success. */
  answerTask(
    answer: TaskAnswer,
  ): Promise<{ readonly ok: true; readonly request_id: string; readonly key: string }>;
  /** Null when the question has no answer within the wait. */
  claimAnswer(
    claim: AnswerClaim,
    signal: AbortSignal,
  ): Promise<{ readonly key: string; readonly answer: unknown } | null>;
  /** The pieces behind `after`; with `waitMs` it resolves when one is there or the task has settled. */
  readOutput(request_id: string, after: number, waitMs: number, signal: AbortSignal): Promise<ReadOutput>;
  /**
   * Follows the output behind number `after` to the end of the task: the function begins it. Null when the
   * reader has had the end. Readers of one task that are at the same piece get the same pieces, read once.
   */
  followOutput(
    request_id: string,
    after: number,
  ): Promise<((signal: AbortSignal) => AsyncIterable<OutputItem>) | null>;
  /** If the token is of another registration than the present one, it changes nothing. */
  unregisterAgent(
    agent_id: string,
    registration?: string,
  ): Promise<{ readonly ok: true; readonly agent_id: string }>;
  /** Whether calls can succeed now, and if not why. */
  health(): Health;
};

/** The codes of the gateway's own refusals. Only http knows which status each becomes. */
export type GatewayCode =
  | 'task_not_found'
  | 'agent_not_found'
  | 'task_terminal'
  | 'agent_mismatch'
  | 'not_asked'
  | 'idempotency_conflict'
  | 'validation_failed'
  | 'read_only'
  | 'busy';

/**
 * A refusal of the gateway: a stable code and one sentence a person can act on. A `validation_failed` also
 * has the JSON Pointer of the field that the sentence is about, or each thing that is wrong.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: GatewayCode;
  readonly errors: readonly ValueError[];
  constructor(code: GatewayCode, detail: string, where: string | readonly ValueError[] = '') {
    super(detail);
    this.code = code;
    this.errors = typeof where === 'string' ? [{ pointer: where, detail }] : where;
  }
}
