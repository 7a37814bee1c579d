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

/** A client's submission, with defaults filled in and without `auth`. */
export type Submission = {
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly payload: JsonObject;
  readonly cli_session_id: string;
  /** Seconds. */
  readonly timeout: number;
  /** How many seconds from `create_time` on the task may wait for an agent; absent: it does not wait. */
  readonly queue_timeout?: number;
};

type RegisterResponse = DeepReadonly<Schemas['RegistrationReceipt']>;
type HeartbeatResponse = DeepReadonly<Schemas['HeartbeatReceipt']>;
type ReportResponse = DeepReadonly<Schemas['ReportReceipt']>;
type OutputReceipt = DeepReadonly<Schemas['OutputReceipt']>;
type TaskExplanation = DeepReadonly<Schemas['TaskExplanation']>;
/** The agent of a running task, or the agent that was lost with a failed task. */
export type TaskAgent = DeepReadonly<Schemas['TaskAgent']>;
type MatchPreview = DeepReadonly<Schemas['MatchPreview']>;
export type TaskDone = DeepReadonly<Schemas['TaskDone']>;

export type Registration = {
  readonly agent_id: string;
  readonly endpoint: string;
  readonly agent_tags: readonly string[];
  readonly max_concurrent: number;
  readonly current_load: number;
  readonly request_ids?: readonly string[];
  /** After this many seconds without contact, the agent's running tasks fail. */
  readonly lost_after?: number;
};

/** A heartbeat. If the request carried no right secret, the caller leaves the optional fields out. */
type Heartbeat = {
  readonly agent_id: string;
  readonly current_load?: number;
  readonly request_ids?: readonly string[];
  /**
   * The registration under which the agent sent it. Load and draining count only while this is the present
   * registration.
   */
  readonly registration?: string;
  readonly draining?: boolean;
};

/** A task as its client sees it. `outcome` is how the task ended, null while it is open. */
export type ReadTask = { readonly task: TaskInfo; readonly outcome: TaskOutcome | null };

type Claim = {
  readonly agent_id: string;
  /** Seconds to wait for an assignment, 0 to 60. */
  readonly wait: number;
  readonly request_ids?: readonly string[];
};

export type Report = {
  readonly request_id: string;
  readonly agent_id: string;
  readonly status: 'success' | 'failed' | 'running';
  readonly progress?: number;
  readonly result?: JsonObject | null;
  readonly error_info?: string | null;
};

export type OutputWrite = {
  readonly request_id: string;
  readonly agent_id: string;
  /** The agent chooses this text when it begins to work on the task, and another text after a restart. */
  readonly writer: string;
  /** How many pieces this writer has sent before. */
  readonly from: number;
  /** Each piece is the JSON text of an object with `text`, `data` or `question`. */
  readonly pieces: readonly string[];
  readonly questions?: readonly WrittenQuestion[];
};

type TaskAnswer = { readonly request_id: string; readonly key: string; readonly answer: unknown };

type AnswerClaim = {
  readonly agent_id: string;
  readonly request_id: string;
  readonly key: string;
  /** Seconds to wait for the answer, 0 to 60. */
  readonly wait: number;
};

/** A page of a task's output, and how the task stands. */
export type ReadOutput = Pick<OutputPage, 'pieces' | 'missing'> & {
  readonly status: TaskStatus;
  readonly progress: number;
  readonly outcome: TaskOutcome | null;
  /** The `after` for the next page. */
  readonly last: number;
  /** Whether the task has settled and no further piece follows. */
  readonly complete: boolean;
};

export type OutputItem =
  /** How the open task stands. */
  | Pick<TaskInfo, 'status' | 'progress'>
  | Pick<OutputPage, 'pieces'>
  /** The last item. */
  | (Pick<OutputPage, 'missing'> &
      Pick<TaskDone, 'status'> & { readonly n: number; readonly outcome: TaskOutcome });

export type StreamItem =
  | { readonly gap: true }
  | { readonly gap: false; readonly cursor: Cursor; readonly event: TaskDone };

/** Turns an item into the form that its readers want. The same item must give the same result. */
export type RenderItem<T> = (item: StreamItem) => T;

/** The calls. A `signal` fires when the caller leaves or the gateway drains, and ends a long wait. */
export type Gateway = AdminCalls & {
  /** `trace` is kept with the task. The comparison under an idempotency key ignores it. */
  submitTask(submission: Submission, idempotencyKey?: string, trace?: TraceContext): Promise<TaskInfo>;
  /** Resolves when the task has settled or `waitMs` is over. */
  getTask(request_id: string, waitMs: number, signal: AbortSignal): Promise<ReadTask>;
  /**
   * Explains a task: its history, which agents qualify for the task, and what to do. Costs as much as a
   * match.
   */
  explainTask(request_id: string): Promise<TaskExplanation>;
  /** Says which agents would qualify for a task with these tags. */
  previewMatch(task_tags: readonly string[]): Promise<MatchPreview>;
  cancelTask(request_id: string): Promise<{ readonly ok: true; readonly request_id: string }>;
  /**
   * Yields stored events, then live events. Throws `FeedTrimmed` when the reader was too slow. An event is
   * read and rendered once for all readers that pass the same `render`.
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
   * Before the call resolves, it calls `onFound` with the agent's state and the trace of the submission, if
   * there is one. It does not call `onFound` once the signal has fired.
   */
  claimTask(
    claim: Claim,
    signal: AbortSignal,
    onFound?: (found: { readonly state: AgentState; readonly trace?: TraceContext }) => void,
  ): Promise<TaskInfo | null>;
  reportResult(report: Report, trace?: TraceContext): Promise<ReportResponse>;
  /** If `from` is beyond what the writer has stored, the refusal names the right number. */
  writeOutput(write: OutputWrite): Promise<OutputReceipt>;
  /** The first answer counts. Repeating the same answer is a success. */
  answerTask(
    answer: TaskAnswer,
  ): Promise<{ readonly ok: true; readonly request_id: string; readonly key: string }>;
  /** Resolves with null if the question gets no answer within the wait. */
  claimAnswer(
    claim: AnswerClaim,
    signal: AbortSignal,
  ): Promise<{ readonly key: string; readonly answer: unknown } | null>;
  /**
   * Reads the pieces behind `after`. Resolves when there is one, the task has settled, or `waitMs` is over.
   */
  readOutput(request_id: string, after: number, waitMs: number, signal: AbortSignal): Promise<ReadOutput>;
  /**
   * Returns a function that follows the output behind number `after` to the end of the task; null if the
   * reader has had the end. Readers of one task that are at the same piece share one read.
   */
  followOutput(
    request_id: string,
    after: number,
  ): Promise<((signal: AbortSignal) => AsyncIterable<OutputItem>) | null>;
  /** Changes nothing if `registration` is not the present one. */
  unregisterAgent(
    agent_id: string,
    registration?: string,
  ): Promise<{ readonly ok: true; readonly agent_id: string }>;
  health(): Health;
};

/** The codes of the gateway's own refusals. `http/` decides the status of each. */
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
 * A refusal of the gateway: a stable code and one sentence that a person can act on. A `validation_failed`
 * also has the JSON Pointer of the field that the sentence is about, or a list of all mistakes.
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
