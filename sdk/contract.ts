/**
 * The contract's types under the names the kit uses. Fields keep the names they have on the wire; what the contract
 * says in words alone is said here in types: what a task holds in each state, and which id is whose.
 */
import type { components } from '@task-gateway/contract';

type Schemas = components['schemas'];

/** A text that names one kind of thing. Any text may be given for it, except one that names another kind. */
type Id<Kind extends string> = string & { readonly __names?: Kind };

/** Names a task: made by the gateway, opaque. */
export type RequestId = Id<'task'>;
/** Names an agent: chosen by whoever runs it. */
export type AgentId = Id<'agent'>;
/** Names a session, whose events one subscriber gets (`cli_session_id`): chosen by the client. */
export type SessionId = Id<'session'>;
/** A place in a session's stream of events: made by the gateway, opaque. */
export type EventId = Id<'event'>;

/** What every task has, whatever its state (§2.1). */
type TaskInfo = Schemas['TaskInfo'] & { readonly request_id: RequestId; readonly cli_session_id: SessionId };
/** What a task that ended well holds, in its record and in its event. */
type Success = { readonly status: 'success'; readonly result: TaskResult; readonly error_info: null };
/** What a task that ended otherwise holds, in its record and in its event. */
type Failure = { readonly status: 'failed'; readonly result: null; readonly error_info: string };

/** A task that waits for an agent (§3). */
export type PendingTask = TaskInfo & {
  readonly status: 'pending';
  readonly agent_id: null;
  readonly result: null;
  readonly error_info: null;
};
/** A task that an agent has been given (§3). */
export type RunningTask = TaskInfo & {
  readonly status: 'running';
  readonly agent_id: AgentId;
  readonly result: null;
  readonly error_info: null;
};
/** A task that ended well (§3). */
export type SuccessfulTask = TaskInfo & Success & { readonly agent_id: AgentId };
/** A task that ended otherwise: it failed, was cancelled, timed out, or found no agent (§2.3). */
export type FailedTask = TaskInfo & Failure & { readonly agent_id: AgentId | null };

/** A task as everybody sees it (§2.1); its `status` says what else it holds. */
export type Task = PendingTask | RunningTask | SuccessfulTask | FailedTask;
/** `pending`, `running`, `success` or `failed` (§3). */
export type TaskStatus = Schemas['TaskStatus'];
/** What an agent's work came to (§2.2); keys beyond `reply` and `output` pass through untouched. */
export type TaskResult = Schemas['TaskResult'];
/** What a client hands in (§4.1); the client adds the secret. */
export type TaskSubmission = Omit<Schemas['TaskSubmission'], 'auth'>;
/** The one kind of event (§6): a task has ended. Its `status` says what else it holds. */
export type TaskDone = Schemas['TaskDone'] & { readonly request_id: RequestId } & (Success | Failure);
/** That a task was cancelled (§4.4). */
export type CancelReceipt = Schemas['CancelReceipt'];

/** An agent's registration (§4.5); the client adds the secret. */
export type AgentRegistration = Omit<Schemas['AgentRegistration'], 'auth'> & { readonly agent_id: AgentId };
/** How the gateway knows an agent that has registered, and what it asks of it. */
export type RegistrationReceipt = Schemas['RegistrationReceipt'];
/** A sign of life (§4.6); the client adds the secret. */
export type AgentHeartbeat = Omit<Schemas['AgentHeartbeat'], 'auth'> & { readonly agent_id: AgentId };
/** How the gateway knows an agent, and which of its tasks nobody wants done any more. */
export type HeartbeatReceipt = Schemas['HeartbeatReceipt'];
/** How an agent behind a firewall asks for a task; the client adds the secret. */
export type TaskClaim = Omit<Schemas['TaskClaim'], 'auth'> & { readonly agent_id: AgentId };
/** What became of a task at its agent (§4.7); the client adds the secret. */
export type TaskReport = Omit<Schemas['TaskReport'], 'auth'> & {
  readonly request_id: RequestId;
  readonly agent_id: AgentId;
};
/** That a report has come, and whether it changed anything (`accepted`). */
export type ReportReceipt = Schemas['ReportReceipt'];
/** Who leaves (§4.8); the client adds the secret. */
export type AgentDeparture = Omit<Schemas['AgentDeparture'], 'auth'> & { readonly agent_id: AgentId };
/** That an agent has left. */
export type DepartureReceipt = Schemas['DepartureReceipt'];

/** An agent as the administrator sees it (§4.9). */
export type AgentListing = Schemas['AgentListing'];
/** All agents, as the administrator sees them. */
export type AgentListings = Schemas['AgentListings'];
/** A page of tasks, newest first; `next_cursor` leads to the next one. */
export type TaskPage = Omit<Schemas['TaskPage'], 'tasks'> & { readonly tasks: Task[] };

/** One thing that is wrong in a request: a JSON Pointer and what to send instead. */
export type FieldError = Schemas['FieldError'];

/** The body of an error answer (§7, RFC 9457). */
export type Problem =
  | Schemas['BadRequest']
  | Schemas['Unauthorized']
  | Schemas['NotFound']
  | Schemas['PayloadTooLarge']
  | Schemas['UnsupportedMediaType']
  | Schemas['Unprocessable']
  | Schemas['TooManyRequests']
  | Schemas['InternalError']
  | Schemas['ServiceUnavailable'];
