/** The history of a model run: what the invariants compare the present with. */
import type { TaskInfo } from '../../server/domain/task.ts';
import type { StreamItem } from '../../server/ports/gateway.ts';

/** A stream item that carries an event. */
export type StreamedEvent = Extract<StreamItem, { gap: false }>;

/** Names a question of a task. */
type QuestionName = { readonly request_id: string; readonly key: string };

export type ModelHistory = {
  /** Every task whose submit call returned, in order. */
  readonly tasks: string[];
  /** The same tasks as a set. */
  readonly submitted: Set<string>;
  /** The tokens that each agent's registrations were given, in order. */
  readonly registrations: Map<string, string[]>;
  /** The highest limit that each agent's state was ever written with, by its id. */
  readonly limits: Map<string, number>;
  /** Settled tasks, as `getTask` returned them when they were first seen to be settled. */
  readonly settled: Map<string, TaskInfo>;
  /** The pieces of each task's output, as JSON, whose write returned that they were stored, in order. */
  readonly written: Map<string, string[]>;
  /** How many pieces each task's output had when the task was first seen to be settled. */
  readonly ends: Map<string, number>;
  /** Every question whose write returned that it was stored, in order. */
  readonly asked: QuestionName[];
  /** Every answer that a call has given to a question, or got of it. */
  readonly answered: (QuestionName & { readonly answer: unknown })[];
  /** When the gateway last crashed, in the store's time; 0 before that. */
  crashedMs: number;
  /** The events that the run's subscriber of each session has received, in order. */
  readonly received: ReadonlyMap<string, readonly StreamedEvent[]>;
};
