/**
 * The types of the gateway's HTTP contract, under the names that the SDK uses; fields keep their names of the
 * wire. The fields of a task in each state are more precise here than in the generated schemas: for example,
 * only a task with the status `success` has a `result` that is not null. So is the kind of thing that an id
 * names (`id-kinds.ts`).
 */
import type { components } from '@task-gateway/contract';
import type { AgentId, RequestId, WithIds } from './id-kinds.ts';

export type { AgentId, EventId, RequestId, SessionId } from './id-kinds.ts';

type Schemas = WithIds<components['schemas']>;
type Responses = components['responses'];

/**
 * An object that JSON can write, typed as you like, even by an interface. An array, a Map, a promise or a
 * function is not one.
 */
export type JsonObject = object & {
  readonly [Symbol.iterator]?: never;
  readonly [Symbol.toStringTag]?: never;
  readonly [Symbol.hasInstance]?: never;
};
/** An object whose content is unknown. */
export type FreeForm = Schemas['FreeForm'];
/** A result, typed as you like. If it has `reply` or `output`, these are texts. */
export type JsonResult = JsonObject & {
  readonly reply?: string | undefined;
  readonly output?: string | undefined;
};

/** A union of texts to which a later gateway may add others. */
type Known<Text extends string> = Text | (string & {});

/** The fields of a task in any state. */
type TaskInfo<Payload> = Omit<Schemas['TaskInfo'], 'payload' | 'result'> & {
  /** The payload as submitted. Nothing checks its type: it is the caller's claim. */
  readonly payload: Payload;
  /**
   * How the task ended, if it has: for example `failed` if its agent reported that, `timeout` if its time was
   * over. `getTask` and `runTask` set it. It is not enumerable, so that the task's JSON has only the fields
   * of the wire.
   */
  readonly outcome?: TaskOutcome;
};
/** The fields of a task when it has succeeded, in its record and in its event. */
type Success<Result> = { readonly status: 'success'; readonly result: Result; readonly error_info: null };
/** The fields of a task when it has failed, in its record and in its event. */
type Failure = { readonly status: 'failed'; readonly result: null; readonly error_info: string };

/** A task that has no agent yet. */
export type PendingTask<Payload = FreeForm> = TaskInfo<Payload> & {
  readonly status: 'pending';
  readonly agent_id: null;
  readonly result: null;
  readonly error_info: null;
};
/** A task that is assigned to an agent. */
export type RunningTask<Payload = FreeForm> = TaskInfo<Payload> & {
  readonly status: 'running';
  readonly agent_id: AgentId;
  readonly result: null;
  readonly error_info: null;
};
/** A task whose agent reported success. */
export type SuccessfulTask<Payload = FreeForm, Result = TaskResult> = TaskInfo<Payload> &
  Success<Result> & { readonly agent_id: AgentId };
/** A task that failed at its agent, was cancelled, timed out, found no agent, or lost its agent. */
export type FailedTask<Payload = FreeForm> = TaskInfo<Payload> &
  Failure & { readonly agent_id: AgentId | null };

/** A task as the gateway returns it. Its `status` determines what else it holds. */
export type Task<Payload = FreeForm, Result = TaskResult> =
  | PendingTask<Payload>
  | RunningTask<Payload>
  | SuccessfulTask<Payload, Result>
  | FailedTask<Payload>;
/** The state of a task: `pending`, `running`, `success` or `failed`. The last two are terminal. */
export type TaskStatus = Schemas['TaskStatus'];
/** The result of a task that succeeded. Keys other than `reply` and `output` pass through unchanged. */
export type TaskResult = Schemas['TaskResult'];
/** The body of a submission. The client adds the secret. */
export type TaskSubmission<Payload = FreeForm> = Omit<
  Schemas['TaskSubmission'],
  'auth' | 'payload' | 'task_tags'
> & {
  /** The tags to match: an agent qualifies if it has at least one of them. With `[]` no agent qualifies. */
  readonly task_tags: readonly string[];
  /** The input for the agent: any object that JSON can write. */
  readonly payload: Payload;
};
/**
 * The event of a task that reached a terminal state; there is no other kind of event. `status` determines the
 * other fields.
 */
export type TaskDone = Schemas['TaskDone'] & (Success<TaskResult> | Failure);
/** How a task ended. A later gateway may have more outcomes. */
export type TaskOutcome = Known<'success' | 'failed' | 'cancelled' | 'timeout' | 'no_agent' | 'agent_lost'>;
/** One thing that happened to a task. The last one of an ended task is its outcome. */
export type HistoryEntry = Schemas['HistoryEntry'];
/** Why an agent gets a task or does not. A later gateway may have more reasons. */
export type MatchReason = Known<
  'eligible' | 'no_shared_tag' | 'full' | 'draining' | 'offline' | 'refused_this_task' | 'has_this_task'
>;
/** An agent, and whether it qualifies. */
export type MatchAgent = Schemas['MatchAgent'] & { readonly reason: MatchReason };
/** Which agents qualify for a set of tags. */
export type TaskMatch = Omit<Schemas['TaskMatch'], 'agents'> & { readonly agents: MatchAgent[] };
/** One thing that helps, for programs; `hint` says the same for people. */
export type Remedy = Schemas['Remedy'];
/** A task explained: what happened to it, which agents qualify for it, and what to do. */
export type TaskExplanation = Omit<Schemas['TaskExplanation'], 'match'> & {
  readonly outcome: TaskOutcome | null;
  readonly match: TaskMatch | null;
};
/** Which agents qualify for tags, without a task. */
export type MatchPreview = Omit<Schemas['MatchPreview'], 'match'> & { readonly match: TaskMatch };
/** The tags for a preview of a match. The client adds the secret. */
export type MatchQuery = {
  /** The tags, as a task would have them. */
  readonly task_tags: readonly string[];
};
/** The response to a cancellation. */
export type CancelReceipt = Schemas['CancelReceipt'];

/** The tasks that an agent names when it registers, sends a heartbeat or claims. */
type CurrentTasks = {
  /** The tasks that the agent has accepted and not yet reported. Naming one acknowledges its assignment. */
  readonly request_ids?: readonly RequestId[];
};
/** The body of a registration. The client adds the secret. */
export type AgentRegistration = Omit<Schemas['AgentRegistration'], 'auth' | 'agent_tags' | 'request_ids'> &
  CurrentTasks & {
    /** The agent's abilities: it gets tasks that share at least one tag. */
    readonly agent_tags: readonly string[];
  };
/** The response to a registration: the agent's state, and how often it should send heartbeats. */
export type RegistrationReceipt = Schemas['RegistrationReceipt'];
/** The body of a heartbeat. The client adds the secret. */
export type AgentHeartbeat = Omit<Schemas['AgentHeartbeat'], 'auth' | 'request_ids'> & CurrentTasks;
/** The response to a heartbeat: the agent's state, and which of its tasks it should stop working on. */
export type HeartbeatReceipt = Schemas['HeartbeatReceipt'];
/** The body of a claim: an agent without a port asks for a task. The client adds the secret. */
export type TaskClaim = Omit<Schemas['TaskClaim'], 'auth' | 'request_ids'> & CurrentTasks;
/** The body of an agent's report on a task: progress, success or failure. The client adds the secret. */
export type TaskReport = Omit<Schemas['TaskReport'], 'auth' | 'result'> & {
  /** The result, on `success`; null or absent is stored as `{}`. On `failed` it is dropped. */
  readonly result?: JsonResult | null;
};
/** The response to a report. `accepted` says whether the report changed the task. */
export type ReportReceipt = Schemas['ReportReceipt'];
/** A field of an answer, and what a person may give there. */
export type AnswerField = Readonly<Omit<Schemas['AnswerField'], 'enum'>> & {
  readonly enum?: readonly string[];
};
/** The answers that a question takes: objects of at most 20 fields. */
export type AnswerSchema = {
  /** Always `object`. */
  readonly type: 'object';
  /** The fields by their names. */
  readonly properties: Readonly<Record<string, AnswerField>>;
  /** The names of the fields that an answer must have. */
  readonly required?: readonly string[];
};
/** A question of an agent. `key` names it within the task; without `schema` it takes any JSON value. */
export type Question = Readonly<Omit<Schemas['Question'], 'schema'>> & { readonly schema?: AnswerSchema };
/** The answer to the question of this key. */
export type QuestionAnswer = Schemas['QuestionAnswer'];
/** The response to an answer, once it is stored. */
export type AnswerReceipt = Schemas['AnswerReceipt'];
/** The body by which an agent asks for an answer. The client adds the secret. */
export type AnswerClaim = Omit<Schemas['AnswerClaim'], 'auth'>;
/** A piece that an agent writes: a text that is not empty, data that JSON can write, or a question. */
export type WrittenPiece =
  | { readonly text: string }
  | { readonly data: unknown }
  | { readonly question: Question };
/** The body of a write to a task's output. The client adds the secret. */
export type OutputWrite = Omit<Schemas['OutputWrite'], 'auth' | 'pieces'> & {
  /** The pieces, in their order: at most 100. */
  readonly pieces: readonly WrittenPiece[];
};
/** The response to a write. If `accepted` is false, the gateway takes nothing more from this writer. */
export type OutputReceipt = Schemas['OutputReceipt'];
/** Why no reader gets some pieces. A later gateway may have more reasons. */
export type MissingOutput = Known<'truncated' | 'removed'>;
/**
 * A piece of a task's output. `n` counts the task's pieces from 1; the other fields are those of the piece's
 * kind.
 */
type Piece<Own> = { readonly n: number } & Own & {
    readonly [Field in Exclude<
      'text' | 'data' | 'question' | 'answer' | 'reset' | 'end',
      keyof Own
    >]?: undefined;
  };
/** A text that the agent wrote. */
export type TextPiece = Piece<{ readonly text: string }>;
/** Data that the agent wrote. */
export type DataPiece = Piece<{ readonly data: unknown }>;
/** A question of the agent, which waits for an answer. */
export type QuestionPiece = Piece<{ readonly question: Question }>;
/** An answer: the question with its key is no longer open. */
export type AnswerPiece = Piece<{ readonly answer: QuestionAnswer }>;
/** The work began anew, at this agent. Drop the pieces before this one. */
export type ResetPiece = Piece<{ readonly reset: true; readonly agent_id: AgentId }>;
/** The end, one number above the last piece. It says how the task ended, and whether pieces are missing. */
export type OutputEnd = Piece<{
  readonly end: true;
  readonly status: 'success' | 'failed';
  readonly outcome: TaskOutcome;
  readonly missing: MissingOutput | null;
}>;
/** How an open task stands. It is no piece and has no number. */
export type OutputStatus = Omit<Piece<{ readonly status: TaskStatus; readonly progress: number }>, 'n'> & {
  readonly n?: undefined;
};
/** A piece of a task's output, or its end. */
export type OutputPiece = TextPiece | DataPiece | QuestionPiece | AnswerPiece | ResetPiece | OutputEnd;
/** The body of an unregistration. The client adds the secret. */
export type AgentDeparture = Omit<Schemas['AgentDeparture'], 'auth'>;
/** The response to an unregistration. */
export type DepartureReceipt = Schemas['DepartureReceipt'];

/**
 * The state of the gateway now: counts, who fails, tags, the oldest waiting tasks and problems. Times are
 * epoch seconds.
 */
export type GatewayOverview = Schemas['GatewayOverview'];
/** Demand and supply of one tag. */
export type TagDemand = Schemas['TagDemand'];
/** One thing that is wrong now, and what to do about it. */
export type OverviewProblem = Schemas['OverviewProblem'];
/** The tasks that failed in the last 15 minutes, by cause. */
export type RecentFailures = Schemas['RecentFailures'];
/** The tasks that failed at one agent, of one type, with one outcome and error. */
export type FailureGroup = Schemas['FailureGroup'];
/** A task in one row, without its whole payload and result. */
export type TaskRow = Schemas['TaskRow'];
/** A page of tasks as rows, newest first. `next_cursor` requests the next page. */
export type TaskPage = Schemas['TaskPage'];
/** How many tasks match, by status and by outcome. */
export type TaskCounts = Schemas['TaskCounts'];
/** Which tasks to cancel. */
export type CancelFilter = Schemas['CancelFilter'];
/**
 * A cancellation of many tasks, by either `filter` or `request_ids`. Tasks submitted at `created_before`
 * (epoch seconds) or later are left alone.
 */
export type TaskCancellation = Omit<Schemas['TaskCancellation'], 'dry_run' | 'request_ids'> & {
  readonly request_ids?: readonly RequestId[] | null;
  /** Only counts what would be cancelled. */
  readonly dry_run?: boolean;
};
/** The result of one call of a cancellation. `next_cursor` is null once all tasks have been looked at. */
export type CancellationReceipt = Schemas['CancellationReceipt'];
/** An agent in the administrator's list. */
export type ListedAgent = Schemas['Agent'];
/** All agents, or a page of them. `counts` covers all agents. */
export type AgentPage = Schemas['AgentPage'];
/** An agent with its tasks and the last pushes to it. */
export type AgentDetail = Schemas['AgentDetail'];
/** Whether an agent is drained. */
export type AgentDrain = Schemas['AgentDrain'];
/** A push to an agent, as the replica that responded has seen it. */
export type AgentPush = Schemas['AgentPush'];

/** One fault of a request: a JSON Pointer to the field, and what to send instead. */
export type FieldError = Schemas['FieldError'];

/** The body of an error response: problem details as RFC 9457 defines them. */
export type Problem = Responses[Exclude<
  keyof Responses,
  'OtherProblem'
>]['content']['application/problem+json'];
