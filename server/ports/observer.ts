/**
 * The port through which the gateway, the store, the pushes and the HTTP server report what has happened, for
 * the metrics and the log. They call a method once the effect holds, on hot paths. So each method returns at
 * once, never throws, and changes nothing of its arguments.
 */
import type { AgentRecord } from '../domain/agent.ts';
import type { TaskState } from '../domain/task.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Trigger } from '../domain/triggers.ts';
import type { Stored } from './batch.ts';
import type { PushOutcome } from './pusher.ts';

/** A committed step of a task, and its cause. */
export type TaskStep = {
  readonly request_id: string;
  readonly before: Stored<TaskState>;
  readonly after: TaskState;
  readonly trigger: Trigger;
};

/**
 * A change of an agent.
 *
 * - `replaced`: the agent registered shortly after a contact of the earlier registration.
 * - `back`: the agent was offline, and had a contact or registered.
 * - `outlived`: an earlier registration called unregister, which changed nothing.
 * - `drained`, `undrained`: the administrator did that.
 */
export type AgentChange =
  | 'registered'
  | 'replaced'
  | 'back'
  | 'offline'
  | 'unregistered'
  | 'outlived'
  | 'drained'
  | 'undrained';

/** The end of an attempt to push a task. Attempts that this process stopped are not reported. */
export type EndedPush = {
  readonly request_id: string;
  readonly agent_id: string | null;
  /** The trace that the push carried, if the task has one. */
  readonly trace?: TraceContext;
  readonly outcome: PushOutcome;
  readonly ms: number;
};

/** How a commit ended: applied, a conflict, or `unavailable` with an unknown effect. */
export type CommitEnd = 'applied' | 'conflict' | 'unavailable';

/** A request with its response, or a request whose caller left before the response. */
export type ServedRequest = {
  /** The operation of the contract; undefined for pages, probes and unknown paths. */
  readonly operation: string | undefined;
  readonly method: string;
  /** The path with names in place of its parameters, without query; undefined for an unknown path. */
  readonly path: string | undefined;
  /** Null when the caller left before the response. */
  readonly status: number | null;
  /** The code of the problem, if the response was a problem. */
  readonly code: string | undefined;
  /** From the request's headers until the response is ready, the wait of a long poll included. */
  readonly ms: number;
  /** Returns the address of the caller, as trusted proxies name it. */
  readonly peer: () => string;
};

export type Observer = {
  /** A submission is stored. An assignment in the same commit is reported as a step of its own. */
  noteSubmitted(request_id: string, state: TaskState, trace?: TraceContext): void;
  noteStep(step: TaskStep): void;
  noteAgent(change: AgentChange, record: AgentRecord): void;
  notePush(push: EndedPush): void;
  noteCommit(end: CommitEnd, ms: number): void;
  noteRequest(request: ServedRequest): void;
};
