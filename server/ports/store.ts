/**
 * The store port: what the gateway needs of a store. Two engines implement it; one conformance suite tests
 * both.
 *
 * What every engine promises
 * 1. A commit is all or nothing. A conflict is a result. An outage throws `StoreUnavailable`; whether the
 *    commit was applied is then unknown.
 * 2. `commit()` resolves when the commit is durable, and no reader sees what is not durable: `get`, `list`,
 *    `getAgentStatus`, `touch`, `feed` and `watch` wait until the last commit that touched the value is
 *    durable. The listings and `findSlots` wait likewise. Two reads do not: `readAgentChanges`, because its
 *    data only ranks agents, and `getForCommit`, because only a commit rests on it.
 * 3. What one call has returned, every later call on any replica sees.
 * 4. A revision is the id of the commit that wrote the value, and is never reused.
 * 5. For each tag the engine keeps the set of agents with a free slot. A grant succeeds only while the agent
 *    has the registration that was matched and holds fewer slots than its limit.
 * 6. Due entries are taken with a lease. A commit that names a lease fails if the entry was re-timed since.
 * 7. The submitted input is written once, apart from the state. Memory holds only the states of open tasks.
 * 8. `nowMs()` is the only wall clock. While a gateway runs it advances as monotonic clocks do, whatever wall
 *    clocks do.
 * 9. Retention follows that clock, in bounded turns, and never scans everything.
 *
 * Stored names are frozen: the fields of the values in `Kinds` stand in databases that must stay readable.
 */
import type { AgentRecord, Contact } from '../domain/agent.ts';
import type { TaskInput, TaskState } from '../domain/task.ts';
import type { Caller } from './caller.ts';

/** The id of the commit that wrote a value. Compared for equality, never ordered. */
export type Revision = string;
/** A position in a session's feed, `<ms>-<n>`. It rises within the session and is never issued twice. */
export type Cursor = string;
/** Names the task or agent that a due entry or a watcher is about. */
export type Ref = `task:${string}` | `agent:${string}`;
/** Proof that a due entry was handed to this dispatcher. */
export type Lease = string;

/** The ref of a task. */
export function taskRef(request_id: string): Ref {
  return `task:${request_id}`;
}

/** The ref of an agent. */
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
};

/** A value with the revision it was read at. */
export type Stored<T> = { readonly value: T; readonly revision: Revision };

/** One write: the revision that the stored value must still have, and the new value; null removes it. */
export type Write = {
  [K in keyof Kinds]: {
    readonly kind: K;
    readonly id: string;
    readonly expect: Revision | 'absent' | 'any';
    readonly value: Kinds[K] | null;
    /** For keys: how long the value is kept, counted from the commit by the store's clock. */
    readonly keepMs?: number;
  };
}[keyof Kinds];

/**
 * Takes or releases an agent's slot for a task. Both are idempotent: a slot is held by (agent_id,
 * request_id).
 */
export type SlotChange =
  | {
      readonly op: 'grant';
      readonly agent_id: string;
      readonly request_id: string;
      readonly registration: string;
    }
  | { readonly op: 'release'; readonly agent_id: string; readonly request_id: string };

/** Joins or leaves the waiting tasks. The oldest task is offered first; leaving is idempotent. */
export type WaitChange = {
  readonly op: 'join' | 'leave';
  readonly request_id: string;
  readonly tags: readonly string[];
  readonly sinceMs: number;
};

/**
 * Re-times a due entry; null removes it. Both end its lease. `held` keeps the entry with the lease's holder
 * and hides it for another 1.5 s: the push that this commit allows runs under that lease. A named lease must
 * still be the entry's; with `isNew` there was no entry before, and it begins with the lease that the
 * committer names. `unlessHeld` leaves the entry alone while a lease hides it: its holder looks at it already.
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
   * An agent's record with another registration than before is a contact of the agent, in this commit; it
   * clears the outcome of the last push: that went to the endpoint before.
   */
  readonly writes: readonly Write[];
  readonly slots?: readonly SlotChange[];
  /** Conflict `free_agent` while an agent with one of these tags has a free slot: to abandon, to wait. */
  readonly noneFree?: readonly string[];
  /**
   * Conflict `waiting` while a task waits for an agent with one of these tags: a task that is assigned in the
   * commit that submits it must not overtake those that were there before it.
   */
  readonly noneWaiting?: readonly string[];
  /**
   * When an agent gets a free slot (release, registration, higher limit) and shares a tag with a waiting
   * task, the agent becomes due at once. The task's state has `waiting` too, so that a start can rebuild the
   * waiting tasks.
   */
  readonly wait?: WaitChange;
  readonly due?: readonly DueChange[];
  /** A `task_done` for the session's feed. This commit assigns its cursor. */
  readonly event?: { readonly session: string; readonly request_id: string };
  /** A task that settled without its agent's report. It is listed for that agent for ten minutes. */
  readonly unreported?: { readonly agent_id: string; readonly request_id: string };
  /**
   * Conflict `contact` when the agent had a contact after this store time, or sweeping resumed after it: what
   * was decided on the agent's silence is decided again.
   */
  readonly noContactAfter?: { readonly agent_id: string; readonly atMs: number };
  /** Conflict `full` when this commit would lead to more open tasks, or more agents, than this. */
  readonly atMost?: { readonly openTasks?: number; readonly agents?: number };
  /** Store time after which the commit must not be applied: its caller has a 503 by then. */
  readonly notAfterMs?: number;
  /** For whom it is made; see `get`. */
  readonly caller?: Caller;
};

/** What became of a commit. A conflict is a result, not an error: read again, decide again. */
export type CommitResult = { readonly ok: true; readonly revision: Revision } | CommitConflict;

/** Why a batch was not applied. */
export type CommitConflict =
  | { readonly ok: false; readonly conflict: 'revision' | 'slot' | 'lease' | 'waiting' | 'contact' | 'full' }
  | { readonly ok: false; readonly conflict: 'free_agent'; readonly agent_id: string };

/** An agent's record and what the engine counts for it. */
export type AgentStatus = {
  readonly record: AgentRecord;
  readonly revision: Revision;
  /** How many slots it holds: its running tasks. */
  readonly slots: number;
  /** Store time of its last grant, 0 before the first; not durable. */
  readonly lastGrantMs: number;
  readonly contact: Contact;
};

/**
 * One page of the agents that changed since a cursor, bounded in bytes. With `reset` it is the first page of
 * all agents, which replace every earlier copy.
 */
export type AgentChanges = {
  readonly reset: boolean;
  readonly changed: readonly AgentStatus[];
  /** Ids of agents whose record was removed. */
  readonly removed: readonly string[];
  /** Where the next page begins. */
  readonly cursor: string;
  /** Whether the next page has something now. */
  readonly more: boolean;
};

/**
 * The tasks that claims of an agent may hand out. The engine keeps them by what the states say
 * (`claimableFromMs()` in `domain/delivery.ts`), and changes them in the commit that writes a state.
 */
export type Claimable = {
  /** Those that may be handed out now, oldest assignment first. */
  readonly request_ids: readonly string[];
  /** Store time from which the next of the others may be handed out; null when there is no other. */
  readonly nextMs: number | null;
};

/** The listings: what each is asked for and what its items are. */
export type Lists = {
  /** The tasks that hold a slot of an agent, oldest grant first. */
  readonly slots: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
  /** Waiting tasks that share a tag, oldest first, each once. */
  readonly waiting: { ask: { readonly tags: readonly string[] }; item: { readonly request_id: string } };
  /** All agents by id, including unregistered ones that still have a record. */
  readonly agents: { ask: Record<never, never>; item: AgentStatus };
  /** Tasks, newest first by (createdMs, request_id). `position` continues the listing after this item. */
  readonly tasks: {
    ask: { readonly session?: string; readonly agent_id?: string };
    item: { readonly request_id: string; readonly position: string };
  };
  /** An agent's tasks that settled without its report in the last ten minutes, newest first. */
  readonly unreported: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
};

/**
 * One page of a listing. Passing `next` as `after` continues it; null: this is the last page. A page that is
 * not the last may be shorter than was asked for, because it is bounded in bytes.
 */
export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/**
 * An item of a feed. A first item with `gap` means that stored events were trimmed before the reader got
 * them.
 */
export type FeedItem =
  | { readonly gap: true }
  | { readonly gap: false; readonly cursor: Cursor; readonly request_id: string };

/**
 * A contact of an agent, or the outcome of a push. Of pushes only those are contacts that the agent took, or
 * did not take because it is busy; the others are a statistic.
 */
export type Touch =
  | { readonly by: 'beat' | 'call' }
  | {
      readonly by: 'push';
      readonly taken: boolean;
      /** The agent did not take it because it is busy: that is a contact too. */
      readonly busy?: boolean;
      readonly status: number | null;
      readonly error: string | null;
    };

/** How long settled tasks and their events are kept. */
export type Retention = {
  /** A task and its event, counted from when the task settled. */
  readonly keepTasksMs: number;
  /** Events of one session; beyond that the oldest are trimmed. */
  readonly sessionEventsMax: number;
};

/** Whether commits can succeed. The warning is what a person should set right although they can. */
export type Health =
  | { readonly ok: true; readonly warning?: string }
  | { readonly ok: false; readonly reason: string };

/** The port. Every method but `nowMs` and `close` may throw `StoreUnavailable`. */
export type Store = {
  /** Milliseconds since the Unix epoch by the store's clock. Never falls while the process runs. */
  nowMs(): number;
  /** Where reads and commits of large values wait for their turn, callers have turns. */
  get<K extends keyof Kinds>(kind: K, id: string, caller?: Caller): Promise<Stored<Kinds[K]> | undefined>;
  /**
   * A task as the next commit will be judged against it, which may not be durable yet: to decide a commit on,
   * never to be shown, and what it leads to is shown only after that commit. A refusal that rests on it is
   * decided again on a read by `get`.
   */
  getForCommit(request_id: string, caller?: Caller): Promise<Stored<TaskState> | undefined>;
  /** An agent's record and counts; undefined when it has no record. */
  getAgentStatus(agent_id: string): Promise<AgentStatus | undefined>;
  /**
   * Agents that changed (record, slots, load or contact statistics) since a cursor; null: all agents. Read on
   * from the cursor while there is more.
   */
  readAgentChanges(after: string | null): Promise<AgentChanges>;
  list<Q extends keyof Lists>(
    query: Q,
    ask: Lists[Q]['ask'],
    page: { readonly after?: string; readonly limit: number },
  ): Promise<Page<Lists[Q]['item']>>;
  /**
   * At most `limit` tasks that a claim of the agent may hand out now. Costs the same however many tasks the
   * agent holds. A commit that makes a task claimable at once notifies the agent's watchers.
   */
  listClaimable(agent_id: string, limit: number): Promise<Claimable>;
  /** Which of these tasks hold a slot of the agent. Reads no task, however large its result is. */
  findSlots(agent_id: string, request_ids: readonly string[]): Promise<ReadonlySet<string>>;
  commit(batch: Batch): Promise<CommitResult>;
  /**
   * Takes due entries, earliest first, and hides them from every other dispatcher for 1.5 s. When more are
   * due than `limit`, a fifth of those it takes are the ones that are due last, so that what just came does
   * not wait behind many entries of one caller that are due together. Calling it counts as sweeping.
   */
  takeDue(limit: number): Promise<readonly { readonly ref: Ref; readonly lease: Lease }[]>;
  /** Hides entries for another 1.5 s. An entry whose lease is not the named one is left alone. */
  renewLeases(held: readonly { readonly ref: Ref; readonly lease: Lease }[]): Promise<void>;
  /**
   * Records a contact and returns the agent's record; undefined when it has none. The contact is not durable,
   * and exact to a quarter of a second. The record is, and slots that are granted meanwhile are not waited
   * for.
   */
  touch(agent_id: string, touch: Touch): Promise<AgentRecord | undefined>;
  /**
   * Yields a session's stored events after a cursor, then live ones, with no gap and no repeat. A cursor that
   * is not stored in this session yields everything. Ends when the signal fires. Throws `FeedTrimmed` when
   * the events the reader needs next were trimmed.
   */
  feed(session: string, after: Cursor | null, signal: AbortSignal): AsyncIterable<FeedItem>;
  /**
   * Yields when something may have changed; the caller must look for itself. The first yield comes at once,
   * then one after every durable change, and one after notifications may have been lost. Ends when the signal
   * fires.
   */
  watch(topic: Ref | 'due', signal: AbortSignal): AsyncIterable<void>;
  /** Removes at most `limit` things that are past their retention; returns how many. */
  trim(retention: Retention, limit: number): Promise<number>;
  /** Whether commits can succeed now, and if not why. */
  health(): Health;
  /** Lets work under way finish, then releases everything. Idempotent. */
  close(): Promise<void>;
};

/** The store cannot reply. Whether a commit was applied is unknown. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The next events of a feed's reader were trimmed: it fell behind. It may read again from its cursor. */
export class FeedTrimmed extends Error {
  override readonly name = 'FeedTrimmed';
}
