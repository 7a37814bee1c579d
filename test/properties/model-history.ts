/** What a life has seen so far: what the invariants compare the present with. */
import type { TaskInfo } from '../../server/domain/task.ts';
import type { StreamItem } from '../../server/ports/gateway.ts';

export type Told = Extract<StreamItem, { gap: false }>;

/** A subscriber that stays; after a crash it resumes from its cursor. */
export type Patient = { readonly seen: Told[]; readonly leave: AbortController };

export type Past = {
  /** Every task whose submit was answered, in order. */
  readonly tasks: string[];
  readonly answered: Set<string>;
  /** What GET said of each task when it was first seen to have ended. */
  readonly settled: Map<string, TaskInfo>;
  readonly patients: Map<string, Patient>;
};
