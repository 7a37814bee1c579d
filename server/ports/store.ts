/**
 * The store port: what the gateway asks of a store. Two engines keep it, one conformance suite judges both.
 *
 * Promises an engine makes
 * 1. A commit is all or nothing. Conflict is an answer; an outage is `StoreUnavailable`, its outcome unknown.
 * 2. `commit()` resolves when it is durable, and nobody is shown what is not: `get`, `list`, `standing`, `touch`, `feed`
 *    and `watch` hold a value back until the last commit that touched it is durable. `changes` does not: it only ranks.
 * 3. What one call was answered, every later call on any replica sees.
 * 4. A revision is the id of the commit that wrote the value and is never reused.
 * 5. For each tag the engine keeps the agents that may take one more. A grant holds only while the agent's
 *    registration is the one that was matched and it holds fewer slots than its limit.
 * 6. What is due is taken with a lease; a commit that names a lease fails if the entry was re-timed since.
 * 7. What was submitted is written once and apart; open tasks in memory are the small state only.
 * 8. `nowMs()` is the only wall clock.
 * 9. Retention follows that clock, in bounded turns, never by scanning all.
 */
import type { AgentRecord, Contact } from '../domain/agent.ts';
import type { TaskInput, TaskState } from '../domain/task.ts';

/** The id of the commit that wrote a value. Compared for equality, never ordered. */
export type Revision = string;
/** A position in a session's feed, `<ms>-<n>`, rising within the session and never issued twice. */
export type Cursor = string;
/** Names what a due entry or a watcher is about. */
export type Ref = `task:${string}` | `agent:${string}`;
/** Proof that a due entry was handed to this replica. */
export type Lease = string;

/** What was first sent under an idempotency key. */
export type KeyRecord = {
  readonly request_id: string;
  readonly fingerprint: string;
  /** Epoch seconds, as first answered. */
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

/** One write: the revision the value must still have, and the value, or null to remove it. */
export type Write = {
  [K in keyof Kinds]: {
    readonly kind: K;
    readonly id: string;
    readonly expect: Revision | 'absent' | 'any';
    readonly value: Kinds[K] | null;
    /** For keys: how long the value is kept, from the commit, by the store's clock. */
    readonly keepMs?: number;
  };
}[keyof Kinds];

/** A slot of an agent, held by (agent, request_id): granting or releasing twice is harmless. */
export type SlotChange =
  | {
      readonly op: 'grant';
      readonly agent_id: string;
      readonly request_id: string;
      readonly registration: string;
    }
  | { readonly op: 'release'; readonly agent_id: string; readonly request_id: string };

/** Joining needs the task's tags and its age (oldest waiters come first); leaving twice is harmless. */
export type WaitChange = {
  readonly op: 'join' | 'leave';
  readonly request_id: string;
  readonly tags: readonly string[];
  readonly sinceMs: number;
};

/**
 * Re-times a due entry; null removes it, and either ends its lease. `held` leaves it with the lease's holder, hidden
 * for another 1.5 s: the push that this commit allows runs under it. A named lease must still be the entry's.
 * `unlessHeld` leaves the entry as it is while its lease hides it: somebody looks at it already.
 */
export type DueChange =
  | { readonly ref: Ref; readonly atMs: number; readonly unlessHeld: true; readonly lease?: never }
  | {
      readonly ref: Ref;
      readonly atMs: number | null;
      readonly lease?: Lease;
      readonly unlessHeld?: never;
    }
  | { readonly ref: Ref; readonly atMs: 'held'; readonly lease: Lease; readonly unlessHeld?: never };

/** The writes of one transition: applied together or not at all. */
export type Batch = {
  readonly writes: readonly Write[];
  readonly slots?: readonly SlotChange[];
  /** Refused, naming an agent, while an agent with one of these tags could take one more: with abandon and wait. */
  readonly noneFree?: readonly string[];
  /**
   * Whenever an agent comes to have more room (release, register, limit raised) and a waiter shares a tag with it, the
   * agent becomes due at once. The task's state says `waiting` too, so that a start can rebuild the waiters.
   */
  readonly wait?: WaitChange;
  readonly due?: readonly DueChange[];
  /** A `task_done` for the session's feed; its cursor is assigned in this commit. */
  readonly event?: { readonly session: string; readonly request_id: string };
  /** A task that ended without its agent's report, to be told to that agent for ten minutes. */
  readonly unreported?: { readonly agent_id: string; readonly request_id: string };
  /** Refused as `full` when this commit would lead to more open tasks, or more agents, than this. */
  readonly atMost?: { readonly openTasks?: number; readonly agents?: number };
  /** Store time after which the commit must not be applied: its caller was told 503 by then. */
  readonly notAfterMs?: number;
};

/** What became of a commit. Conflict is an answer: read again, decide again. */
export type CommitResult =
  | { readonly ok: true; readonly revision: Revision }
  | { readonly ok: false; readonly conflict: 'revision' | 'slot' | 'lease' | 'full' }
  | { readonly ok: false; readonly conflict: 'free_agent'; readonly agent_id: string };

/** An agent as it stands: its record and what the engine counts for it. */
export type AgentStatus = {
  readonly record: AgentRecord;
  readonly revision: Revision;
  /** Slots it holds: its tracked tasks. */
  readonly slots: number;
  /** Store time of its last grant, 0 before the first; not durable. */
  readonly lastGrantMs: number;
  readonly contact: Contact;
};

/** Agents that changed since a cursor; with `reset` the list is complete and replaces every earlier one. */
export type AgentChanges = {
  readonly reset: boolean;
  readonly changed: readonly AgentStatus[];
  readonly removed: readonly string[];
  readonly cursor: string;
};

/** The listings: what is asked and what an item is. */
export type Lists = {
  /** The tasks that hold a slot of an agent, oldest grant first. */
  readonly slots: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
  /** Waiting tasks that share a tag, oldest first, each once. */
  readonly waiting: { ask: { readonly tags: readonly string[] }; item: { readonly request_id: string } };
  /** All agents by id, the unregistered ones that still have a record included. */
  readonly agents: { ask: Record<never, never>; item: AgentStatus };
  /** Tasks, newest first by (createdMs, request_id). `place` continues a listing after this item. */
  readonly tasks: {
    ask: { readonly session?: string; readonly agent_id?: string };
    item: { readonly request_id: string; readonly position: string };
  };
  /** Tasks of an agent that ended without its report, in the last ten minutes, newest first. */
  readonly unreported: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
};

/** `next` continues the listing as `after`; null: there is no more. */
export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/** What a feed yields: first, perhaps, word that stored events were trimmed away before the reader got them. */
export type FeedItem =
  | { readonly gap: true }
  | { readonly gap: false; readonly cursor: Cursor; readonly request_id: string };

/**
 * What touches an agent's contact. A push that was not acknowledged is no contact, only a statistic; a registration
 * forgets the last push, because it says where the next one goes.
 */
export type Touch =
  | { readonly by: 'beat' | 'call' | 'register' }
  | {
      readonly by: 'push';
      readonly taken: boolean;
      readonly status: number | null;
      readonly error: string | null;
    };

/** How long ended things are kept. */
export type Retention = {
  /** A task and its event, from its end. */
  readonly keepTasksMs: number;
  /** Events of one session; beyond that the oldest go. */
  readonly sessionEventsMax: number;
};

/** The port. Every method but `nowMs` and `close` may throw `StoreUnavailable`. */
export type Store = {
  /** Milliseconds since the Unix epoch by the store's clock; never falls while the process lives. */
  nowMs(): number;
  get<K extends keyof Kinds>(kind: K, id: string): Promise<Stored<Kinds[K]> | undefined>;
  /** An agent's record and counts; undefined when it has no record. */
  getAgentStatus(agent_id: string): Promise<AgentStatus | undefined>;
  /** Agents that changed (record, slots, load or contact statistics) since a cursor; null asks for all. */
  readAgentChanges(after: string | null): Promise<AgentChanges>;
  list<Q extends keyof Lists>(
    query: Q,
    ask: Lists[Q]['ask'],
    page: { readonly after?: string; readonly limit: number },
  ): Promise<Page<Lists[Q]['item']>>;
  commit(batch: Batch): Promise<CommitResult>;
  /** Takes what is due, hidden from everybody else for 1.5 s. Calling it is what "sweeping" means. */
  takeDue(limit: number): Promise<readonly { readonly ref: Ref; readonly lease: Lease }[]>;
  /** Hides entries this replica holds for another 1.5 s. A ref whose lease is not the named one is left alone. */
  renewLeases(held: readonly { readonly ref: Ref; readonly lease: Lease }[]): Promise<void>;
  /**
   * Notes a contact, not durable and to a quarter of a second, and tells how the agent stands then; undefined when it has
   * no record.
   */
  touch(agent_id: string, touch: Touch): Promise<AgentStatus | undefined>;
  /**
   * A session's stored events after a cursor, then live ones: no gap, no repeat. A cursor that is not stored in this
   * session gets everything. Ends when the signal fires; throws `FeedTrimmed` when the reader's place is trimmed away.
   */
  feed(session: string, after: Cursor | null, signal: AbortSignal): AsyncIterable<FeedItem>;
  /**
   * Hints that something changed: look, don't trust. The first comes at once, then after every change and once after
   * any deafness. Never rests on a change that is not durable. Ends when the signal fires.
   */
  watch(topic: Ref | 'due', signal: AbortSignal): AsyncIterable<void>;
  /** Removes at most `limit` things that are past their retention; says how many went. */
  trim(retention: Retention, limit: number): Promise<number>;
  /** Whether commits can succeed now, and if not why. */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string };
  /** Lets what is under way finish, then lets go of everything. Twice is fine. */
  close(): Promise<void>;
};

/** The store cannot answer. Whether a commit was applied is unknown. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** A feed's reader was so slow that its place was trimmed away; it may read again from its cursor. */
export class FeedTrimmed extends Error {
  override readonly name = 'FeedTrimmed';
}
