/**
 * The parts of a commit: the values it writes with the revisions they must still have, the slots it grants or
 * releases, the due entries and the event; and its result.
 *
 * Stored names are frozen: the fields of the values in `Kinds` stand in databases that must stay readable.
 */
import type { AgentRecord } from '../domain/agent.ts';
import type { Ending, IndexChange } from '../domain/projection.ts';
import type { TaskDetails, TaskInput, TaskState } from '../domain/task.ts';
import { isNeeded, type OutputChange, type OutputConflict, type OutputHead } from './output.ts';

/** The id of the commit that wrote a value. Compared for equality, never ordered. */
export type Revision = string;
/** Names the task or agent that a due entry or a watcher is about. */
export type Ref = `task:${string}` | `agent:${string}`;
/** Proof that a due entry was handed to this dispatcher. */
export type Lease = string;

export function taskRef(request_id: string): Ref {
  return `task:${request_id}`;
}

export function agentRef(agent_id: string): Ref {
  return `agent:${agent_id}`;
}

/** The first submission under an idempotency key. */
type KeyRecord = {
  readonly request_id: string;
  readonly fingerprint: string;
  /** Epoch seconds, as in the first response. */
  readonly create_time: number;
};

/** The values a store keeps, by kind. */
export type Kinds = {
  readonly input: TaskInput;
  readonly task: TaskState;
  readonly agent: AgentRecord;
  readonly key: KeyRecord;
  /** The part of a task beside its state; its revision is that of the task. */
  readonly details: TaskDetails;
};

/** A value with the revision it was read at. */
export type Stored<T> = { readonly value: T; readonly revision: Revision };

/** The write of a task, and what it changes beside the state. `taskWrite()` of the gateway builds it. */
export type TaskWrite = {
  readonly kind: 'task';
  readonly id: string;
  readonly expect: Revision | 'absent';
  readonly value: TaskState;
  /** How the task's entries in the indexes change from the expected state to this one. */
  readonly index: readonly IndexChange[];
  /** The details to store beside the state; null removes them. */
  readonly details?: TaskDetails | null;
  /** How the task ends, where this write settles it. */
  readonly ending?: Ending;
};

/**
 * One write: the revision that the stored value must still have, and the new value. Null removes an agent's
 * record; the other kinds are removed by retention alone. An input and a key are written once.
 */
export type Write =
  | TaskWrite
  | {
      readonly kind: 'agent';
      readonly id: string;
      readonly expect: Revision | 'absent';
      readonly value: AgentRecord | null;
    }
  | { readonly kind: 'input'; readonly id: string; readonly expect: 'absent'; readonly value: TaskInput }
  | {
      readonly kind: 'key';
      readonly id: string;
      readonly expect: 'absent';
      readonly value: KeyRecord;
      /** How long the value is kept, counted from the commit by the store's clock. */
      readonly keepMs: number;
    };

/**
 * Takes or releases an agent's slot for a task. Both are idempotent: a slot is held by (agent_id,
 * request_id). A grant is a conflict `slot` while the agent has another registration, also when the task
 * holds the slot already: so a step can say under which registration it was decided.
 */
export type SlotChange =
  | {
      readonly op: 'grant';
      readonly agent_id: string;
      readonly request_id: string;
      readonly registration: string;
    }
  | { readonly op: 'release'; readonly agent_id: string; readonly request_id: string };

/**
 * Re-times a due entry; null removes it. Both end its lease. `held` keeps the entry with the lease's holder
 * and hides it for another 1.5 s: the push that this commit allows runs under that lease. A named lease must
 * still be the entry's; with `isNew` there was no entry before, and it begins with the lease that the
 * committer names. `unlessHeld` leaves the entry alone while a lease hides it: its holder looks at it
 * already.
 */
export type DueChange =
  | {
      readonly ref: Ref;
      readonly atMs: number;
      readonly unlessHeld: true;
      readonly lease?: never;
      readonly isNew?: never;
    }
  | {
      readonly ref: Ref;
      readonly atMs: number | null;
      readonly lease?: Lease;
      readonly unlessHeld?: never;
      readonly isNew?: never;
    }
  | {
      readonly ref: Ref;
      readonly atMs: 'held';
      readonly lease: Lease;
      readonly isNew?: true;
      readonly unlessHeld?: never;
    };

/** The writes of one commit: applied together or not at all. */
export type Batch = {
  /**
   * Writing an agent's record with a new registration counts as a contact. It also clears the last push
   * outcome, which belongs to the endpoint before.
   */
  readonly writes: readonly Write[];
  /**
   * When an agent gets a free slot (release, registration, higher limit) and shares a tag with a waiting
   * task, it becomes due at once.
   */
  readonly slots?: readonly SlotChange[];
  /** Conflict `free_agent` while an agent with one of these tags has a free slot: to abandon, to wait. */
  readonly noneFree?: readonly string[];
  /**
   * Conflict `waiting` while a task waits for an agent with one of these tags: those of the agent that the
   * commit assigns a task to. A task that does not wait itself must not overtake those that do.
   */
  readonly noneWaiting?: readonly string[];
  readonly due?: readonly DueChange[];
  /** A `task_done` for the session's feed. This commit assigns its cursor. */
  readonly event?: { readonly session: string; readonly request_id: string };
  /**
   * Conflict `contact` when the agent had a contact after this store time, or sweeping resumed after it: the
   * caller then decides again, because it had relied on the agent's silence.
   */
  readonly noContactAfter?: { readonly agent_id: string; readonly atMs: number };
  /**
   * Conflict `full` when this commit would lead to more open tasks, or more agents, than this.
   */
  readonly atMost?: { readonly openTasks?: number; readonly agents?: number };
  /**
   * The change of a task's output, beside the write of its state. Conflicts as `appendOutput` has them. At
   * the task's limit the pieces that are not needed are left out, and `isFull` says so.
   */
  readonly output?: OutputChange;
  /** Store time after which the commit must not be applied: its caller has a 503 by then. */
  readonly notAfterMs?: number;
};

/**
 * The end of a commit. A conflict is a result, not an error: the caller reads again and decides again. For
 * example, when two calls cancel the same task, one commit is applied and the other is a conflict `revision`.
 */
export type CommitResult =
  | {
      readonly ok: true;
      readonly revision: Revision;
      /** How the output stands behind the commit, if the batch changes it. */
      readonly output?: OutputHead;
    }
  | CommitConflict;

/** Why a batch was not applied. */
export type CommitConflict =
  | {
      readonly ok: false;
      readonly conflict: 'revision' | 'slot' | 'lease' | 'waiting' | 'contact' | 'full';
    }
  | { readonly ok: false; readonly conflict: 'free_agent'; readonly agent_id: string }
  | OutputConflict;

/**
 * Whether a batch adds a task, an agent, or output that is not needed; any other ends, frees, changes or asks
 * about what is there.
 */
export function isAdmission({ writes, output }: Batch): boolean {
  if (output?.append && output.append.pieces.length > 0 && !isNeeded(output.append)) return true;
  return writes.some(({ expect, value }) => expect === 'absent' && value !== null);
}
