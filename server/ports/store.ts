/**
 * The store port: the calls of the gateway to a store. Two engines implement it for the service, the plain
 * store for the simulator and the tests. One conformance suite tests all three.
 *
 * What every engine promises:
 * 1. A commit is all or nothing. A conflict is a result. An outage throws `StoreUnavailable`, and whether the
 *    commit was applied is unknown.
 * 2. `commit()` resolves when the commit is durable. Until then a reader gets the earlier value, or waits.
 *    Some reads may be ahead of what is durable: `readAgentChanges`, because its data only ranks agents,
 *    `getForCommit`, because only a commit rests on it, and the figures `readCounts` and `readActivity`.
 * 3. What one call has returned, every later call on any replica sees too.
 * 4. A revision is the id of the commit that wrote the value, and is never reused.
 * 5. For each tag the engine keeps the set of agents with a free slot. A grant succeeds only while the agent
 *    has the registration that was matched. It also needs a free slot, unless the task holds one already.
 * 6. Due entries are taken with a lease. A commit that names a lease fails if the entry got another time
 *    since.
 * 7. The submitted input is written once, apart from the state.
 * 8. `nowMs()` is the time of all stored times. With one process it advances as the monotonic clock does;
 *    several replicas use the clock of their store. Stamps of events and endings never fall.
 * 9. Retention uses that clock too, removes in bounded passes, and never scans everything.
 * 10. A piece of output is stored once under one number, which is never used again. Shown pieces have no
 *    missing number between them, and a settled task gets no more pieces.
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

/** A position in a session's feed, `<ms>-<n>`. Cursors rise within a session, and none is issued twice. */
export type Cursor = string;

export type AgentStatus = {
  readonly record: AgentRecord;
  readonly revision: Revision;
  /** How many slots the agent holds: one for each of its running tasks. */
  readonly slots: number;
  /** The store time of the agent's last grant, 0 before the first; not durable. */
  readonly lastGrantMs: number;
  readonly contact: Contact;
};

/**
 * One page of the agents that changed since a cursor, bounded in bytes. With `reset` this is the first page
 * of all agents: the reader drops what it had.
 */
export type AgentChanges = {
  readonly reset: boolean;
  readonly changed: readonly AgentStatus[];
  /** Ids of agents whose record was removed. */
  readonly removed: readonly string[];
  readonly cursor: string;
  /** Whether the next page has something now. */
  readonly more: boolean;
};

/**
 * The tasks that claims of an agent may hand out (`claimableFromMs()` in `domain/delivery.ts`). The commit
 * that writes a task's state changes them.
 */
export type Claimable = {
  /** Tasks that may be handed out now, oldest assignment first. */
  readonly request_ids: readonly string[];
  /** The store time from which the next of the other tasks may be handed out; null when there is no other. */
  readonly nextMs: number | null;
};

/**
 * Which tasks a listing has. At most one of `session`, `agent_id`, `open` and `outcome` is given; without any
 * the listing has all tasks. The cost depends on the page alone, however many tasks there are.
 */
export type TasksAsk = {
  readonly session?: string;
  readonly agent_id?: string;
  /** `true`: all open tasks. Otherwise only pending, running or waiting tasks. */
  readonly open?: true | OpenClass | 'waiting';
  /** Only tasks that settled with this outcome. */
  readonly outcome?: Exclude<TaskOutcome, 'success'>;
  /** Only tasks created at this time (whole milliseconds) or later. */
  readonly fromMs?: number;
  /** Only tasks created before this time (whole milliseconds). */
  readonly toMs?: number;
};

export type Lists = {
  /** The tasks that hold a slot of an agent, oldest grant first. */
  readonly slots: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
  /** Waiting tasks that share a tag, oldest first, each once; without `tags` all waiting tasks. */
  readonly waiting: { ask: { readonly tags?: readonly string[] }; item: { readonly request_id: string } };
  /** Tasks that wait for an answer, longest wait first. `position` is like that of `tasks`. */
  readonly waitingForAnswer: {
    ask: Record<never, never>;
    item: { readonly request_id: string; readonly position: string };
  };
  /**
   * Tasks, newest first by (createdMs, request_id). Any listing of tasks may continue after the `position` of
   * an item. Positions compare as texts.
   */
  readonly tasks: { ask: TasksAsk; item: { readonly request_id: string; readonly position: string } };
  /** An agent's tasks that settled without its report in the last ten minutes, newest first. */
  readonly unreported: { ask: { readonly agent_id: string }; item: { readonly request_id: string } };
};

/**
 * One page of a listing. Passing `next` as `after` continues the listing; null: this is the last page. A page
 * is bounded in bytes, so it may be shorter than `limit` although more items follow.
 */
export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/**
 * An item of a feed. A first item with `gap` means that stored events were trimmed before the reader got
 * them. `state` is set if the store has already read the task, and removed when the reader asks for the next
 * item.
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
 * A contact of an agent, or the outcome of a push. A push is a contact only if the agent took it or was too
 * busy for it. A claim that hands out tasks counts as a taken push, and a missed claim as a push not taken.
 */
export type Touch =
  | { readonly by: 'beat' }
  | { readonly by: 'call'; readonly mayBeLate?: true }
  | {
      readonly by: 'push';
      readonly mayBeLate?: true;
      readonly taken: boolean;
      readonly busy?: boolean;
      readonly status: number | null;
      readonly error: string | null;
    };

export type Demand = {
  /** The store time at which the oldest waiting task was submitted; null when no task waits. */
  readonly oldestWaitingMs: number | null;
  /**
   * Tags that waiting tasks ask for, each once. If there are more than `tagsMax`, any of them may be missing.
   */
  readonly tags: readonly TagDemand[];
};

export type TagDemand = {
  readonly tag: string;
  readonly waiting: number;
  /** The store time at which the oldest of these tasks was submitted. */
  readonly oldestMs: number;
};

export type Retention = {
  /** A task and its event, counted from when the task settled. */
  readonly keepTasksMs: number;
  /** How many events of one session are kept; the oldest beyond that are trimmed. */
  readonly sessionEventsMax: number;
  /**
   * How many bytes of output are kept in all. Beyond that, settled tasks lose their output in the order in
   * which they settled.
   */
  readonly outputBytesMax: number;
};

/**
 * Whether commits can succeed. Failing commits throw `outage`. A `warning` tells a person what to set right
 * although commits succeed. `isNearlyFull`: the disk takes no new tasks, agents and output. `isReadable`:
 * nothing is written, but reads go on.
 */
export type Health =
  | { readonly ok: true; readonly warning?: string; readonly isNearlyFull?: true }
  | { readonly ok: false; readonly outage: StoreUnavailable; readonly isReadable?: true };

/** The port. All but `nowMs` and `close` may throw `StoreUnavailable`, reads of values `StoreDamaged`. */
export type Store = {
  /** Returns store time: milliseconds since the Unix epoch by the store's clock. */
  nowMs(): number;
  /** Values above 64 KiB are read one at a time. */
  get<K extends keyof Kinds>(kind: K, id: string): Promise<Stored<Kinds[K]> | undefined>;
  /**
   * Returns a task as this process knows it, which spares Redis a read for most commits. The state may be
   * old, or not durable yet, so it serves only to decide a commit and is never shown. A commit that rests on
   * an old state is a conflict; a refusal must be decided again on what `get` returns.
   */
  getForCommit(request_id: string): Promise<Stored<TaskState> | undefined>;
  /**
   * Returns an agent's record and counts; undefined without a record. On Redis a damaged record is removed.
   */
  getAgentStatus(agent_id: string): Promise<AgentStatus | undefined>;
  /**
   * Returns agents that changed (record, slots, load; on some engines contact) since a cursor; null: all
   * agents. The caller reads on from the returned cursor while there is more.
   */
  readAgentChanges(after: string | null): Promise<AgentChanges>;
  list<Q extends keyof Lists>(
    query: Q,
    ask: Lists[Q]['ask'],
    page: { readonly after?: string; readonly limit: number },
  ): Promise<Page<Lists[Q]['item']>>;
  /**
   * Returns at most `limit` tasks that a claim of the agent may hand out now. The cost does not depend on how
   * many tasks the agent holds. A commit that makes a task claimable at once notifies the agent's watchers.
   */
  listClaimable(agent_id: string, limit: number): Promise<Claimable>;
  /**
   * Returns how many tasks are stored, by class, and the demand for at most `tagsMax` tags. Each commit
   * counts, so a reading costs the same however many tasks there are. All replicas share the counts. Commits
   * under way may be counted before they are durable.
   */
  readCounts(tagsMax: number): Promise<TaskCounts & Demand>;
  /**
   * Returns the activity in each of the last 30 steps of 30 s, oldest first, counted as for `readCounts`.
   * After a crash the present step may be missing.
   */
  readActivity(): Promise<readonly ActivityStep[]>;
  /**
   * Returns the tasks that ended last and are still stored, newest first by (endedMs, request_id): 500 at
   * most. A reading costs the same however many tasks there are.
   */
  readEnded(): Promise<readonly EndedTask[]>;
  /**
   * Returns which of these tasks hold a slot of the agent. It reads no task, so large results cost nothing.
   */
  findSlots(agent_id: string, request_ids: readonly string[]): Promise<ReadonlySet<string>>;
  commit(batch: Batch): Promise<CommitResult>;
  /**
   * Appends to the output of an open task, in the same group as the commits, without a change of the task's
   * state. The pieces are durable when the call resolves. Throws `StoreRefused` while the store takes no new
   * tasks. Throws it also while all output together is at its limit and output of settled tasks is still
   * being removed.
   */
  appendOutput(append: OutputAppend): Promise<({ readonly ok: true } & OutputHead) | OutputConflict>;
  /**
   * Returns the durable pieces of a task's output behind number `after`: at most `limit`, fewer if they are
   * large.
   */
  readOutput(request_id: string, after: number, limit: number): Promise<OutputPage>;
  /**
   * Takes due entries, earliest first, and hides them from every other dispatcher for 1.5 s. If more than
   * `limit` are due, a fifth of the taken entries come from the latest: a new entry need not wait behind many
   * entries that one caller made due together. Each call counts as sweeping.
   */
  takeDue(limit: number): Promise<readonly { readonly ref: Ref; readonly lease: Lease }[]>;
  /** Hides entries for another 1.5 s. An entry that has another lease by now is left alone. */
  renewLeases(held: readonly { readonly ref: Ref; readonly lease: Lease }[]): Promise<void>;
  /**
   * Records a contact and returns the agent's record; undefined without a record. The contact is not durable,
   * and exact to a quarter of a second. The record is durable, but the call does not wait for slots granted
   * meanwhile.
   *
   * A caller that decides nothing on the record gives `mayBeLate`. Then the engine may return the record as
   * it was at a contact less than a quarter of a second ago, and record the outcome of the push by as much
   * later.
   */
  touch(agent_id: string, touch: Touch): Promise<AgentRecord | undefined>;
  /**
   * Yields a session's stored events after a cursor, then live events, without gap or repeat. With a cursor
   * that is not stored in this session, it yields everything. It ends when the signal fires, and throws
   * `FeedTrimmed` when the reader's next events were trimmed.
   */
  feed(session: string, after: Cursor | null, signal: AbortSignal): AsyncIterable<FeedItem>;
  /**
   * Yields at once, then after every durable change of the topic, and whenever notifications may have been
   * lost. The caller must look for itself what changed. `output:ID` is about the task's state and its output.
   * Ends when the signal fires.
   */
  watch(topic: Ref | 'due' | `output:${string}`, signal: AbortSignal): AsyncIterable<void>;
  /** Removes at most `limit` things past their retention, and returns how many. */
  trim(retention: Retention, limit: number): Promise<number>;
  health(): Health;
  /** Lets work under way finish, then releases everything. Idempotent. */
  close(): Promise<void>;
};
