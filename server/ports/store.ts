/**
 * The store port: the calls of the gateway to a store. Two engines implement it for the service, and the
 * plain store for the simulator and the tests; one conformance suite tests all three.
 *
 * What every engine promises
 * 1. A commit is all or nothing. A conflict is a result. An outage throws `StoreUnavailable`; whether the
 *    commit was applied is then unknown.
 * 2. `commit()` resolves when the commit is durable, and a reader sees what is durable: until then the value
 *    before, or it waits. These reads may be ahead: `readAgentChanges`, because its data only ranks agents,
 *    `getForCommit`, because only a commit rests on it, and the figures `readCounts` and `readActivity`.
 * 3. Every later call on any replica sees what one call has returned.
 * 4. A revision is the id of the commit that wrote the value, and is never reused.
 * 5. For each tag the engine keeps the set of agents with a free slot. A grant succeeds only while the agent
 *    has the registration that was matched, and the task holds a slot of it or the agent has a free one.
 * 6. Due entries are taken with a lease. If a commit names a lease, it fails when the entry was re-timed
 *    since.
 * 7. The submitted input is written once, apart from the state.
 * 8. `nowMs()` is the time of all that is stored. In one process it advances as the monotonic clock does,
 *    whatever wall clocks do; of several it is that of their store. Stamps of events and endings never fall.
 * 9. Retention follows that clock, in bounded passes, and never scans everything.
 * 10. A piece of output is stored once under one number, which is never used again. No number is missing
 *    between two that are shown, and a task that settled gets no more.
 */
import type { ActivityStep } from '../domain/activity.ts';
import type { AgentRecord, Contact } from '../domain/agent.ts';
import type { EndedTask } from '../domain/ended-task.ts';
import type { TaskOutcome } from '../domain/history-record.ts';
import type { TaskState } from '../domain/task.ts';
import type { OpenClass, TaskCounts } from '../domain/task-counts.ts';
import type { Batch, CommitResult, Kinds, Lease, Ref, Revision, Stored } from './batch.ts';
import type { OutputAppend, OutputConflict, OutputHead, OutputPage } from './output.ts';
import type { StoreUnavailable } from './store-failures.ts';

export {
  agentRef,
  type Batch,
  type CommitConflict,
  type CommitResult,
  type DueChange,
  isAdmission,
  type Kinds,
  type Lease,
  type Ref,
  type Revision,
  type SlotChange,
  type Stored,
  type TaskWrite,
  taskRef,
  type Write,
} from './batch.ts';
export {
  FeedTrimmed,
  type OutageKind,
  StoreDamaged,
  StoreRefused,
  StoreUnavailable,
} from './store-failures.ts';

/** A position in a session's feed, `<ms>-<n>`. It rises within the session and is never issued twice. */
export type Cursor = string;

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

/**
 * Which tasks a listing has: all, or the tasks of a session, the tasks ever assigned to an agent, the open
 * tasks, or the tasks with one of these endings. At most one of these four is given. Each costs as much as
 * the page, however many tasks there are.
 */
export type TasksAsk = {
  readonly session?: string;
  readonly agent_id?: string;
  /** All open tasks, or the pending, the running or the waiting ones. */
  readonly open?: true | OpenClass | 'waiting';
  /** Tasks that settled without success. */
  readonly outcome?: Exclude<TaskOutcome, 'success'>;
  /** Only tasks created at this time (whole milliseconds) or later. */
  readonly fromMs?: number;
  /** Only tasks created before this time (whole milliseconds). */
  readonly toMs?: number;
};

/** The listings: what each is asked for and what its items are. */
export type Lists = {
  /** The tasks that hold a slot of an agent, oldest grant first. */
  readonly slots: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
  /** Waiting tasks that share a tag, oldest first, each once; without `tags` all waiting tasks. */
  readonly waiting: { ask: { readonly tags?: readonly string[] }; item: { readonly request_id: string } };
  /** Tasks that wait for an answer, the one that has waited longest first; `position` as that of `tasks`. */
  readonly waitingForAnswer: {
    ask: Record<never, never>;
    item: { readonly request_id: string; readonly position: string };
  };
  /**
   * Tasks, newest first by (createdMs, request_id). `position` continues the listing after this item, and
   * every other listing of tasks too: positions compare as texts.
   */
  readonly tasks: { ask: TasksAsk; item: { readonly request_id: string; readonly position: string } };
  /** An agent's tasks that settled without its report in the last ten minutes, newest first. */
  readonly unreported: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
};

/**
 * One page of a listing. Passing `next` as `after` continues it; null: this is the last page. A page may be
 * shorter than was asked for although more follow, because it is bounded in bytes: for example, when its
 * tasks have large results.
 */
export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/**
 * An item of a feed. A first item with `gap` means that stored events were trimmed before the reader got
 * them. `state` is there, until the next item is asked for, where the store has read the task already.
 */
export type FeedItem =
  | { readonly gap: true }
  | {
      readonly gap: false;
      readonly cursor: Cursor;
      readonly request_id: string;
      readonly state?: TaskState | undefined;
    };

/**
 * A contact of an agent, or the outcome of a push, which is a contact only if the agent took it or is too
 * busy. A claim that hands out tasks counts as a push that was taken, and a missed one as one that was not.
 */
export type Touch =
  | { readonly by: 'beat' }
  | { readonly by: 'call'; readonly mayBeLate?: true }
  | {
      readonly by: 'push';
      readonly mayBeLate?: true;
      readonly taken: boolean;
      /** The agent did not take it because it is busy: this is a contact too. */
      readonly busy?: boolean;
      readonly status: number | null;
      readonly error: string | null;
    };

/** For what the waiting tasks wait, and since when. */
export type Demand = {
  /** Store time at which the oldest of the waiting tasks was submitted; null when none waits. */
  readonly oldestWaitingMs: number | null;
  /**
   * Tags that waiting tasks ask for, each once; which ones, where there are more than was asked for, is
   * open.
   */
  readonly tags: readonly TagDemand[];
};

/** The tasks that wait for a tag. */
export type TagDemand = {
  readonly tag: string;
  readonly waiting: number;
  /** Store time at which the oldest of these tasks was submitted. */
  readonly oldestMs: number;
};

/** How long settled tasks and their events are kept. */
export type Retention = {
  /** A task and its event, counted from when the task settled. */
  readonly keepTasksMs: number;
  /** Events of one session; beyond that the oldest are trimmed. */
  readonly sessionEventsMax: number;
  /** Bytes of all output; beyond, settled tasks lose theirs, the one that settled first first. */
  readonly outputBytesMax: number;
};

/**
 * Whether commits can succeed; `outage` is what they fail with. The warning is what a person should set right
 * although they succeed. `isNearlyFull`: the disk takes no new tasks, agents and output. `isReadable`:
 * nothing is written, and what is stored is read as before.
 */
export type Health =
  | { readonly ok: true; readonly warning?: string; readonly isNearlyFull?: true }
  | { readonly ok: false; readonly outage: StoreUnavailable; readonly isReadable?: true };

/** The port. All but `nowMs` and `close` may throw `StoreUnavailable`, reads of values `StoreDamaged`. */
export type Store = {
  /** Milliseconds since the Unix epoch by the store's clock. */
  nowMs(): number;
  /** Values above 64 KiB are read one at a time. */
  get<K extends keyof Kinds>(kind: K, id: string): Promise<Stored<Kinds[K]> | undefined>;
  /**
   * A task as this process knows it: its state may be old, or not durable yet. It is read to decide a commit
   * and is never shown. A commit that rests on an old state is a conflict, and a refusal is decided again on
   * a read by `get`. It spares Redis a read for most commits.
   */
  getForCommit(request_id: string): Promise<Stored<TaskState> | undefined>;
  /** An agent's record and counts; undefined when it has none. One that is damaged is removed on Redis. */
  getAgentStatus(agent_id: string): Promise<AgentStatus | undefined>;
  /**
   * Agents that changed (record, slots, load; on some engines contact) since a cursor; null: all agents. Read
   * on from the cursor while there is more.
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
  /**
   * How many tasks are stored, by class, and the demand, of at most `tagsMax` tags. They are counted with
   * each commit, so a reading costs the same however many tasks there are. They are shared by all replicas,
   * and may be ahead of what is durable by the commits under way.
   */
  readCounts(tagsMax: number): Promise<TaskCounts & Demand>;
  /**
   * The activity in each of the last 30 steps of 30 s, oldest first. Counted and read as the counts are;
   * after a crash the present step may be missing.
   */
  readActivity(): Promise<readonly ActivityStep[]>;
  /**
   * The tasks that ended last and are still stored, newest first by (endedMs, request_id): 500 at most. Each
   * commit that ends one keeps it, so a reading costs the same however many tasks there are.
   */
  readEnded(): Promise<readonly EndedTask[]>;
  /** Which of these tasks hold a slot of the agent. Reads no task, however large its result is. */
  findSlots(agent_id: string, request_ids: readonly string[]): Promise<ReadonlySet<string>>;
  commit(batch: Batch): Promise<CommitResult>;
  /**
   * Appends to the output of an open task, in the same group as the commits, without a change of its state;
   * durable when it resolves. Throws `StoreRefused` while the store takes no new tasks, and while all output
   * together has reached its limit and that of settled tasks is still being removed.
   */
  appendOutput(append: OutputAppend): Promise<({ readonly ok: true } & OutputHead) | OutputConflict>;
  /**
   * The pieces of a task's output behind number `after`: at most `limit` of them, fewer where they are large.
   * Nothing that is not durable is shown.
   */
  readOutput(request_id: string, after: number, limit: number): Promise<OutputPage>;
  /**
   * Takes due entries, earliest first, and hides them from every other dispatcher for 1.5 s. When more are
   * due than `limit`, it takes a fifth of them from the latest, so that an entry that just came does not wait
   * behind many that one caller made due together. Calling it counts as sweeping.
   */
  takeDue(limit: number): Promise<readonly { readonly ref: Ref; readonly lease: Lease }[]>;
  /** Hides entries for another 1.5 s. An entry whose lease is not the named one is left alone. */
  renewLeases(held: readonly { readonly ref: Ref; readonly lease: Lease }[]): Promise<void>;
  /**
   * Records a contact and returns the agent's record; undefined when it has none. The contact is not durable,
   * and exact to a quarter of a second. The record is durable, but the call does not wait for slots granted
   * meanwhile. A caller gives `mayBeLate` if it decides nothing on the record: when the agent had a contact
   * less than a quarter of a second ago, the record may be the one of then, and the outcome of the push may
   * be recorded by as much later.
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
   * then one after every durable change, and one after notifications may have been lost. `output:ID` fires
   * for the task's state and its output. Ends when the signal fires.
   */
  watch(topic: Ref | 'due' | `output:${string}`, signal: AbortSignal): AsyncIterable<void>;
  /** Removes at most `limit` things past their retention; returns how many. */
  trim(retention: Retention, limit: number): Promise<number>;
  /** Whether commits can succeed now, and if not why. */
  health(): Health;
  /** Lets work under way finish, then releases everything. Idempotent. */
  close(): Promise<void>;
};
