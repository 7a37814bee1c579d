/**
 * The port through which the gateway, the store, the pushes and the HTTP server report what has happened, for
 * the metrics and the log. Each method is called once the effect holds, on hot paths: it returns at once,
 * never throws, and changes nothing of what it gets.
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
 * A change of an agent. `replaced`: it registered, though the registration before had a contact of late.
 * `back`: it was offline, and had a contact or registered. `outlived`: an earlier registration was to be
 * unregistered, which changed nothing. `drained`, `undrained`: by the administrator.
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

/** The end of an attempt to push a task. If this process stopped the attempt, it is not reported. */
export type EndedPush = {
  readonly request_id: string;
  readonly agent_id: string | null;
  /** The trace that the push carried, if the task has one. */
  readonly trace?: TraceContext;
  readonly outcome: PushOutcome;
  readonly ms: number;
};

/** How a commit ended: applied, refused because of a conflict, or with its effect unknown. */
export type CommitEnd = 'applied' | 'conflict' | 'unavailable';

/** A request with its response, or one whose caller left before it. */
export type ServedRequest = {
  /** The operation of the contract; undefined for pages, probes and unknown paths. */
  readonly operation: string | undefined;
  readonly method: string;
  /** The path with names in place of its parameters, without query; undefined for an unknown path. */
  readonly path: string | undefined;
  /** Null when the caller left before the response. */
  readonly status: number | null;
  /** The code of the problem, if the response was one. */
  readonly code: string | undefined;
  /** From its headers to its response being ready; what a long poll waits is part of it. */
  readonly ms: number;
  /** The address of the caller, as trusted proxies name it. */
  readonly peer: () => string;
};

export type Observer = {
  /** A submission is stored. Its assignment, where it is part of the same commit, is a step of its own. */
  noteSubmitted(request_id: string, state: TaskState, trace?: TraceContext): void;
  noteStep(step: TaskStep): void;
  noteAgent(change: AgentChange, record: AgentRecord): void;
  notePush(push: EndedPush): void;
  noteCommit(end: CommitEnd, ms: number): void;
  noteRequest(request: ServedRequest): void;
};
