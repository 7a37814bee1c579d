/**
 * Group commit: decided commits join the group that is written next. One group is written at a time; commits
 * that are decided meanwhile join the group behind it.
 *
 * The states of a group:
 *
 *    join() opens it
 *         │
 *         ▼
 *    ┌─────────┐ the group before it is durable; with none ┌─────────┐  on disk  ┌─────────┐
 *    │ joining │ ────────────────────────────────────────▶ │ writing │ ────────▶ │ durable │
 *    └─────────┘ before it, the event loop's tick is over  └─────────┘           └─────────┘
 *         │                                                     │
 *         │ the write before it                                 │ its write failed
 *         │ failed or took too long                             │ or took too long
 *         ▼                                                     ▼
 *    ┌───────────────────────────────────────────────────────────────┐
 *    │                           rejected                            │
 *    └───────────────────────────────────────────────────────────────┘
 *
 * A group that only appends to output also waits until a while after the last write began: its callers have
 * more to write soon, and an fsync serves all of them. Any other commit that joins it ends that wait.
 *
 * Promises: groups reach the disk in the order of their commits. When a write fails or takes longer than the
 * timeout, its group and the one behind it are rejected with `StoreUnavailable`, and no commit joins any
 * more: whether the write was applied is unknown, so the memory state may be ahead of the file and must be
 * discarded.
 */
import { messageOf } from '../../async/error-message.ts';
import type { Clock } from '../../ports/clock.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { createDiskWatch, type TimedWrite } from './disk-watch.ts';
import { outageKindOf } from './outage-kind.ts';
import type { HighWaterMark } from './storage/row-keys.ts';

/** The writes of commits that become durable together. A later write to a key replaces an earlier one. */
export type CommitGroup = {
  readonly sets: Map<string, string>;
  readonly deletes: Set<string>;
  /** Topics to notify when the group is durable. */
  readonly topics: Set<string>;
  /** The last cursor when the group issues one, or changes what is counted of tasks and output; else null. */
  highWaterMark: HighWaterMark | null;
};

/** Adds the write of a row to the group. */
export function putRow(group: CommitGroup, key: string, text: string): void {
  group.sets.set(key, text);
  if (group.deletes.size > 0) group.deletes.delete(key);
}

/** Adds the removal of a row to the group. */
export function removeRow(group: CommitGroup, key: string): void {
  group.sets.delete(key);
  group.deletes.add(key);
}

type PendingGroup = CommitGroup &
  TimedWrite & {
    readonly durable: PromiseWithResolvers<void>;
    /** Whether all its commits only append to output. */
    isOutputAlone: boolean;
    lastSeq: number;
  };

export type GroupCommit = {
  /**
   * Adds a commit: returns the group that takes its writes, and the commit's number. `isOutputAlone`: it only
   * appends to output.
   */
  join(isOutputAlone?: boolean): { readonly group: CommitGroup; readonly seq: number };
  isDurable(seq: number): boolean;
  /** Resolves when every commit up to this one is durable; rejects when that is unknown. */
  whenDurable(seq: number): Promise<void>;
  /** Number of the last commit that joined. */
  lastSeq(): number;
  /** Rejects all pending groups; no commit joins after it. */
  fail(error: unknown): void;
};

type Deps = {
  readonly clock: Clock;
  /** A group that is not on disk after this time has failed. */
  readonly timeoutMs: number;
  /** A group of output alone begins this long after the one before it, at the earliest. Default: at once. */
  readonly outputEveryMs?: number;
  /** Number of the last commit of earlier generations; all of those are durable or rejected. */
  readonly afterSeq: number;
  /** Ends the timer. */
  readonly closed: AbortSignal;
  write(group: CommitGroup): Promise<void>;
  onDurable(topics: ReadonlySet<string>): void;
  onFailed(error: StoreUnavailable): void;
};

/** Creates it without a group. */
export function createGroupCommit(deps: Deps): GroupCommit {
  let lastSeq = deps.afterSeq;
  let durableSeq = deps.afterSeq;
  let joining: PendingGroup | null = null;
  let writing: PendingGroup | null = null;
  let failure: StoreUnavailable | null = null;
  let lastWriteMs = Number.NEGATIVE_INFINITY;
  let isWaiting = false;
  const diskWatch = createDiskWatch({
    ...deps,
    currentWrite: () => (failure ? null : writing),
    openWrites: () => [writing, joining].filter((group) => group !== null),
    onTimeout: () => fail(new Error('the disk did not respond in time')),
  });

  function openGroup(): PendingGroup {
    const group = createPendingGroup(lastSeq, deps.clock.monotonicMs());
    joining = group;
    // The delay lets all commits of this tick of the event loop join, from every socket that was readable.
    if (!writing) setImmediate(writeNext);
    return group;
  }

  function writeNext(): void {
    if (writing || !joining || failure) return;
    const group = joining;
    const nowMs = deps.clock.monotonicMs();
    const pauseMs = lastWriteMs + (deps.outputEveryMs ?? 0) - nowMs;
    if (group.isOutputAlone && pauseMs > 0) {
      if (!isWaiting) void deps.clock.sleep(pauseMs, deps.closed).then(endWait);
      isWaiting = true;
      return;
    }
    lastWriteMs = nowMs;
    writing = group;
    joining = null;
    // A group that changed only the memory state needs no write.
    if (group.sets.size + group.deletes.size === 0) {
      finish(group);
      return;
    }
    diskWatch.start();
    deps.write(group).then(() => finish(group), fail);
  }

  function endWait(): void {
    isWaiting = false;
    writeNext();
  }

  function finish(group: PendingGroup): void {
    if (failure) return;
    durableSeq = group.lastSeq;
    writing = null;
    group.durable.resolve();
    deps.onDurable(group.topics);
    writeNext();
  }

  function fail(error: unknown): void {
    if (failure) return;
    failure = new StoreUnavailable(
      `The store could not write: ${messageOf(error)}. Whether the last changes were made is unknown.`,
      { kind: outageKindOf(error) },
    );
    writing?.durable.reject(failure);
    joining?.durable.reject(failure);
    deps.onFailed(failure);
  }

  return {
    join(isOutputAlone = false) {
      if (failure) throw failure;
      const group = joining ?? openGroup();
      group.isOutputAlone &&= isOutputAlone;
      if (isWaiting && !group.isOutputAlone) setImmediate(writeNext);
      lastSeq += 1;
      group.lastSeq = lastSeq;
      return { group, seq: lastSeq };
    },
    isDurable: (seq) => seq <= durableSeq,
    async whenDurable(seq) {
      if (seq <= durableSeq) return;
      if (failure) throw failure;
      await (writing && seq <= writing.lastSeq ? writing : joining)?.durable.promise;
    },
    lastSeq: () => lastSeq,
    fail,
  };
}

/** The commits of a generation that only reads: all before it are durable or rejected, and none joins. */
export function refuseCommits(afterSeq: number, outage: () => StoreUnavailable): GroupCommit {
  return {
    join() {
      throw outage();
    },
    isDurable: () => true,
    whenDurable: async () => undefined,
    lastSeq: () => afterSeq,
    fail: () => undefined,
  };
}

function createPendingGroup(lastSeq: number, openedMs: number): PendingGroup {
  const durable = Promise.withResolvers<void>();
  // Callers that wait get the rejection; without one, Node must not take it for an unhandled error.
  durable.promise.catch(() => undefined);
  return {
    sets: new Map(),
    deletes: new Set(),
    topics: new Set(),
    highWaterMark: null,
    durable,
    isOutputAlone: true,
    openedMs,
    lastSeq,
  };
}
