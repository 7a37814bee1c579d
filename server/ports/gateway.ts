/**
 * What the gateway offers to those who speak for clients and agents: one function per operation of the contract,
 * under the operation's own name. Whoever calls has already checked secrets, shapes and limits of single fields.
 * Every function may throw `GatewayError` (a "no" with a code), `StoreUnavailable` (a 503) and nothing else on purpose.
 */
import type { AgentState } from '../domain/agent.ts';
import type { JsonObject, TaskInfo, TaskStatus } from '../domain/task.ts';
import type { Cursor } from './store.ts';

/** What a client hands in (§4.1), defaults filled in, `auth` left out. */
export type Submission = {
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly payload: JsonObject;
  readonly cli_session_id: string;
  /** Seconds. */
  readonly timeout: number;
  /** Seconds from `create_time` the task may wait for an agent; absent: it does not wait. */
  readonly queue_timeout?: number;
};

/** An agent's registration (§4.5). */
export type Registration = {
  readonly agent_id: string;
  readonly endpoint: string;
  readonly agent_tags: readonly string[];
  readonly max_concurrent: number;
  readonly current_load: number;
  readonly request_ids?: readonly string[];
  /** Seconds of silence after which its running tasks fail. */
  readonly lost_after?: number;
};

export type RegisterAnswer = {
  readonly ok: true;
  readonly agent_id: string;
  readonly state: AgentState;
  readonly heartbeat_interval: number;
  readonly offline_after: number;
  readonly cancelled_request_ids: readonly string[];
};

/** A heartbeat (§4.6). The optional fields are left out by the caller when the beat carried no right secret. */
export type Heartbeat = {
  readonly agent_id: string;
  readonly current_load?: number;
  readonly request_ids?: readonly string[];
  readonly draining?: boolean;
};

export type HeartbeatAnswer = {
  readonly ok: true;
  readonly agent_id: string;
  readonly state: AgentState;
  readonly cancelled_request_ids: readonly string[];
};

export type Claim = {
  readonly agent_id: string;
  /** Seconds to wait for an assignment, 0 to 60. */
  readonly wait: number;
  readonly request_ids?: readonly string[];
};

/** An agent's result report (§4.7). */
export type Report = {
  readonly request_id: string;
  readonly agent_id: string;
  readonly status: 'success' | 'failed' | 'running';
  readonly progress?: number;
  readonly result?: JsonObject | null;
  readonly error_info?: string | null;
};

export type ReportAnswer = {
  readonly ok: true;
  readonly request_id: string;
  readonly status: TaskStatus;
  /** False when the task had ended before: nothing changed. */
  readonly accepted: boolean;
};

/** An agent as the administrator sees it (§4.9). */
export type AgentListing = {
  readonly agent_id: string;
  readonly endpoint: string;
  readonly agent_tags: readonly string[];
  readonly state: AgentState;
  readonly full: boolean;
  readonly eligible: boolean;
  readonly max_concurrent: number;
  readonly current_load: number;
  readonly running: number;
  readonly running_request_ids: readonly string[];
  /** Epoch seconds. */
  readonly registered_time: number;
  readonly last_contact_time: number;
  readonly push: { readonly last_status: number | null; readonly last_error: string | null };
};

export type TaskQuery = {
  readonly status?: TaskStatus;
  readonly type?: string;
  readonly tag?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly cursor?: string;
  readonly limit: number;
};

/** The event of §6: exactly its five fields. */
export type TaskDone = {
  readonly event: 'task_done';
  readonly request_id: string;
  readonly status: 'success' | 'failed';
  readonly result: JsonObject | null;
  readonly error_info: string | null;
};

export type StreamItem =
  | { readonly gap: true }
  | { readonly gap: false; readonly cursor: Cursor; readonly event: TaskDone };

/** Turns an item into the form its readers want; it must return the same for the same item. */
export type RenderItem<T> = (item: StreamItem) => T;

/** Every call takes the signal of its connection: a long wait ends when the caller leaves or the gateway drains. */
export type Gateway = {
  submitTask(submission: Submission, idempotencyKey?: string): Promise<TaskInfo>;
  /** With `waitMs` it answers when the task is terminal or the wait is over. */
  getTask(request_id: string, waitMs: number, signal: AbortSignal): Promise<TaskInfo>;
  cancelTask(request_id: string): Promise<{ readonly ok: true; readonly request_id: string }>;
  /**
   * Replays, then follows. Throws `FeedTrimmed` when the reader was too slow. Readers that pass the same
   * `render` share what it returned: an event is read and rendered once for all of them.
   */
  subscribeEvents<T>(
    session: string,
    after: Cursor | null,
    render: RenderItem<T>,
    signal: AbortSignal,
  ): AsyncIterable<T>;
  registerAgent(registration: Registration): Promise<RegisterAnswer>;
  heartbeatAgent(beat: Heartbeat): Promise<HeartbeatAnswer>;
  claimTask(claim: Claim, signal: AbortSignal): Promise<TaskInfo | null>;
  reportResult(report: Report): Promise<ReportAnswer>;
  unregisterAgent(agent_id: string): Promise<{ readonly ok: true; readonly agent_id: string }>;
  listAgents(): Promise<{ readonly agents: readonly AgentListing[]; readonly total: number }>;
  listTasks(
    query: TaskQuery,
  ): Promise<{ readonly tasks: readonly TaskInfo[]; readonly next_cursor: string | null }>;
  /** Whether calls can succeed now, and if not why. */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string };
};

/** The codes with which the gateway itself says no. Which status each becomes is known to http alone. */
export type GatewayCode =
  | 'task_not_found'
  | 'agent_not_found'
  | 'task_terminal'
  | 'agent_mismatch'
  | 'idempotency_conflict'
  | 'validation_failed'
  | 'busy';

/** A "no" of the gateway: a stable code and one sentence a person can act on. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: GatewayCode;
  constructor(code: GatewayCode, detail: string) {
    super(detail);
    this.code = code;
  }
}
