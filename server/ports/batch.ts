/**
 * The parts of a commit, and its result. A commit writes values, each with the revision that the stored value
 * must still have. It also changes slots, due entries and output, and adds an event.
 *
 * Stored names are frozen: databases that must stay readable have the fields of the values in `Kinds`.
 */
import type { AgentRecord } from '../domain/agent.ts';
import type { Ending, IndexChange } from '../domain/projection.ts';
import type { TaskDetails, TaskInput, TaskState } from '../domain/task.ts';
import { isNeeded, type OutputChange, type OutputConflict, type OutputHead } from './output.ts';

/** The id of the commit that wrote a value. Revisions are compared for equality alone; they have no order. */
export type Revision = string;
/** The task or agent that a due entry or a watcher is about. */
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

export type Kinds = {
  readonly input: TaskInput;
  readonly task: TaskState;
  readonly agent: AgentRecord;
  readonly key: KeyRecord;
  /** The part of a task beside its state. Its revision is that of the state. */
  readonly details: TaskDetails;
};

export type Stored<T> = { readonly value: T; readonly revision: Revision };

/** The write of a task, and what it changes beside the state. The gateway's `taskWrite()` builds it. */
export type TaskWrite = {
  readonly kind: 'task';
  readonly id: string;
  readonly expect: Revision | 'absent';
  readonly value: TaskState;
  /** How the task's entries in the indexes change from the expected state to this one. */
  readonly index: readonly IndexChange[];
  /** The details to store beside the state; null removes them. */
  readonly details?: TaskDetails | null;
  /** How the task ends, if this write settles it. */
  readonly ending?: Ending;
};

/**
 * One write: the revision that the stored value must still have, and the new value. Null removes an agent's
 * record; only retention removes the other kinds. An input and a key are written once.
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
      /** How long the key is kept after the commit, in store time. */
      readonly keepMs: number;
    };

/**
 * Grants or releases an agent's slot for a task. Both are idempotent, because (agent_id, request_id) holds
 * the slot. A grant is a conflict `slot` while the agent has another registration, even if the task already
 * holds the slot. So a step can say under which registration it was decided.
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
 * Changes the time of a due entry; null removes the entry. Both end its lease.
 *
 * - `lease`: the commit is a conflict `lease` unless the entry still has this lease.
 * - `held`: the holder keeps its lease, which hides the entry for another 1.5 s. The push allowed by this
 *   commit runs under the lease.
 * - `isNew`: there was no entry before; the new entry begins with the given lease.
 * - `unlessHeld`: an entry that a lease hides stays as it is, because the holder looks at it already.
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

/** The writes of one commit, applied together or not at all. */
export type Batch = {
  /**
   * Writing an agent's record with a new registration counts as a contact. It also clears the last push
   * outcome, which is about the earlier endpoint.
   */
  readonly writes: readonly Write[];
  /**
   * When an agent gets a free slot (release, registration, higher limit) and shares a tag with a waiting
   * task, the agent becomes due at once.
   */
  readonly slots?: readonly SlotChange[];
  /**
   * Conflict `free_agent` while an agent with one of these tags has a free slot: for commits that abandon a
   * task or let it wait.
   */
  readonly noneFree?: readonly string[];
  /**
   * Conflict `waiting` while a task waits for an agent with one of these tags. A commit that assigns a new
   * task names the tags of the agent here, so that the new task does not overtake waiting tasks.
   */
  readonly noneWaiting?: readonly string[];
  readonly due?: readonly DueChange[];
  /** A `task_done` for the session's feed. The commit assigns the event's cursor. */
  readonly event?: { readonly session: string; readonly request_id: string };
  /**
   * Conflict `contact` if the agent had a contact after this store time, or if sweeping resumed after it. The
   * caller had relied on the agent's silence, and then decides again.
   */
  readonly noContactAfter?: { readonly agent_id: string; readonly atMs: number };
  /** Conflict `full` if the commit would lead to more open tasks, or more agents, than this. */
  readonly atMost?: { readonly openTasks?: number; readonly agents?: number };
  /**
   * The change of a task's output, beside the write of its state. Its conflicts are those of `appendOutput`.
   * At the task's limit, pieces that are not needed are left out, and `isFull` of the result says so.
   */
  readonly output?: OutputChange;
  /** After this store time the commit must not be applied, because its caller already has a 503. */
  readonly notAfterMs?: number;
};

/**
 * How a commit ended. A conflict is a result, not an error: the caller reads again and decides again. For
 * example, when two calls cancel the same task, one commit is applied and the other is a conflict `revision`.
 */
export type CommitResult =
  | {
      readonly ok: true;
      readonly revision: Revision;
      /** How the output stands after the commit, if the batch changes the output. */
      readonly output?: OutputHead;
    }
  | CommitConflict;

export type CommitConflict =
  | {
      readonly ok: false;
      readonly conflict: 'revision' | 'slot' | 'lease' | 'waiting' | 'contact' | 'full';
    }
  | { readonly ok: false; readonly conflict: 'free_agent'; readonly agent_id: string }
  | OutputConflict;

/**
 * Whether a batch adds a task, an agent, or output that is not needed. Any other batch ends, frees or changes
 * something that is already stored.
 */
export function isAdmission({ writes, output }: Batch): boolean {
  if (output?.append && output.append.pieces.length > 0 && !isNeeded(output.append)) return true;
  return writes.some(({ expect, value }) => expect === 'absent' && value !== null);
}
