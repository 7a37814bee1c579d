/** The history of a model run: what the invariants compare the present with. */
import type { TaskInfo } from '../../server/domain/task.ts';
import type { StreamItem } from '../../server/ports/gateway.ts';

/** A stream item that carries an event. */
export type StreamedEvent = Extract<StreamItem, { gap: false }>;

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
  /** The events that the run's subscriber of each session has received, in order. */
  readonly received: ReadonlyMap<string, readonly StreamedEvent[]>;
};
