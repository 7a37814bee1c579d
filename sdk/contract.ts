/** The contract's types under the names the kit uses. Fields keep the names they have on the wire. */
import type { components } from '@task-gateway/contract';

type Schemas = components['schemas'];

/** A task as everybody sees it (§2.1). */
export type Task = Schemas['TaskInfo'];
/** `pending`, `running`, `success` or `failed` (§3). */
export type TaskStatus = Schemas['TaskStatus'];
/** What an agent's work came to (§2.2); keys beyond `reply` and `output` pass through untouched. */
export type TaskResult = Schemas['TaskResult'];
/** A task that ended well. */
export type SuccessfulTask = Task & { readonly status: 'success'; readonly result: TaskResult };
/** What a client hands in (§4.1); the client adds the secret. */
export type TaskSubmission = Omit<Schemas['TaskSubmission'], 'auth'>;
/** The one kind of event (§6). */
export type TaskDone = Schemas['TaskDone'];
export type CancelReceipt = Schemas['CancelReceipt'];

/** An agent's registration (§4.5); the client adds the secret. */
export type AgentRegistration = Omit<Schemas['AgentRegistration'], 'auth'>;
export type RegistrationReceipt = Schemas['RegistrationReceipt'];
/** A sign of life (§4.6); the client adds the secret. */
export type AgentHeartbeat = Omit<Schemas['AgentHeartbeat'], 'auth'>;
export type HeartbeatReceipt = Schemas['HeartbeatReceipt'];
/** How an agent behind a firewall asks for a task; the client adds the secret. */
export type TaskClaim = Omit<Schemas['TaskClaim'], 'auth'>;
/** What became of a task at its agent (§4.7); the client adds the secret. */
export type TaskReport = Omit<Schemas['TaskReport'], 'auth'>;
export type ReportReceipt = Schemas['ReportReceipt'];
/** Who leaves (§4.8); the client adds the secret. */
export type AgentDeparture = Omit<Schemas['AgentDeparture'], 'auth'>;
export type DepartureReceipt = Schemas['DepartureReceipt'];

/** An agent as the administrator sees it (§4.9). */
export type AgentListing = Schemas['AgentListing'];
export type AgentListings = Schemas['AgentListings'];
export type TaskPage = Schemas['TaskPage'];

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
