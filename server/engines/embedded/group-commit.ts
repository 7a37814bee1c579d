/**
 * Group commit: what is decided joins the group that is written next; one group is written at a time, and whatever is
 * decided meanwhile joins the one behind it.
 *
 * Promises: groups reach the disk in the order of their commits. When one fails, or is not on disk within the bound,
 * it and all behind it are rejected with `StoreUnavailable` and nothing is taken any more: whether it was applied is
 * unknown, so what memory holds is no longer to be trusted.
 */
import type { Clock } from '../../ports/clock.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import type { HighWaterMark } from './sqlite/row-keys.ts';

/** The writes of commits that become durable together. The later write to a key replaces the earlier. */
export type CommitGroup = {
  readonly sets: Map<string, string>;
  readonly deletes: Set<string>;
  /** Whom to wake when it is durable. */
  readonly topics: Set<string>;
  /** How far cursors have come with it; null: it gives none away. */
  highWaterMark: HighWaterMark | null;
};

type OpenGroup = CommitGroup & {
  readonly done: PromiseWithResolvers<void>;
  openedMs: number;
  lastSeq: number;
};

export type GroupCommit = {
  /** Adds a commit: returns the group its writes go to and the commit's number. */
  join(): { readonly group: CommitGroup; readonly seq: number };
  isDurable(seq: number): boolean;
  /** Resolves when everything up to this commit is durable; rejects when that can't be known. */
  whenDurable(seq: number): Promise<void>;
  /** The last commit that joined. */
  lastSeq(): number;
  /** Rejects whatever waits; nothing joins after it. */
  fail(reason: string): void;
};

type Deps = {
  readonly clock: Clock;
  readonly answerWithinMs: number;
  /** Number of the last commit of earlier lives; all of those are settled. */
  readonly afterSeq: number;
  /** Ends the watch over the disk. */
  readonly closed: AbortSignal;
  write(group: CommitGroup): Promise<void>;
  onDurable(topics: ReadonlySet<string>): void;
  onFailed(error: StoreUnavailable): void;
};

/** Waking so much later than asked for means that the whole process stood still. */
const PROCESS_STALL_MS = 500;

/** Creates it idle. */
export function createGroupCommit(deps: Deps): GroupCommit {
  const { clock } = deps;
  let seq = deps.afterSeq;
  let durableSeq = deps.afterSeq;
  let joining: OpenGroup | null = null;
  let writing: OpenGroup | null = null;
  let failure: StoreUnavailable | null = null;
  let watching = false;

  function open(): OpenGroup {
    const group: OpenGroup = {
      sets: new Map(),
      deletes: new Set(),
      topics: new Set(),
      highWaterMark: null,
      done: Promise.withResolvers(),
      openedMs: clock.monotonicMs(),
      lastSeq: seq,
    };
    // Whoever waits hears of a rejection; with nobody waiting there is nobody to hear it.
    group.done.promise.catch(() => undefined);
    joining = group;
    // Whatever is decided in this turn of the event loop, for all sockets that had something, joins.
    if (!writing) setImmediate(writeNext);
    return group;
  }

  function writeNext(): void {
    if (writing || !joining || failure) return;
    const group = joining;
    writing = group;
    joining = null;
    // What changed in memory alone needs no disk.
    if (group.sets.size + group.deletes.size === 0) {
      finish(group);
      return;
    }
    if (!watching) void watchDisk();
    deps.write(group).then(
      () => finish(group),
      (error: unknown) => fail(error instanceof Error ? error.message : String(error)),
    );
  }

  /** One timer at a time, however many groups: it sleeps to the end of the bound of whatever is being written. */
  async function watchDisk(): Promise<void> {
    watching = true;
    while (writing && !failure && !deps.closed.aborted) {
      const nowMs = clock.monotonicMs();
      const leftMs = writing.openedMs + deps.answerWithinMs - nowMs;
      if (leftMs <= 0) fail('the disk did not answer in time');
      else {
        await clock.sleep(leftMs, deps.closed);
        restartTimeout(clock.monotonicMs() - nowMs - leftMs);
      }
    }
    watching = false;
  }

  /** Who overslept was stopped, and the writer with it: the disk gets its whole time anew. */
  function restartTimeout(lateMs: number): void {
    if (lateMs < PROCESS_STALL_MS) return;
    for (const group of [writing, joining]) if (group) group.openedMs = clock.monotonicMs();
  }

  function finish(group: OpenGroup): void {
    if (failure) return;
    durableSeq = group.lastSeq;
    writing = null;
    group.done.resolve();
    deps.onDurable(group.topics);
    writeNext();
  }

  function fail(reason: string): void {
    if (failure) return;
    failure = new StoreUnavailable(
      `The store could not write: ${reason}. Whether the last changes were made is unknown.`,
    );
    writing?.done.reject(failure);
    joining?.done.reject(failure);
    deps.onFailed(failure);
  }

  return {
    join() {
      if (failure) throw failure;
      const group = joining ?? open();
      seq += 1;
      group.lastSeq = seq;
      return { group, seq };
    },
    isDurable: (one) => one <= durableSeq,
    async whenDurable(one) {
      if (one <= durableSeq) return;
      if (failure) throw failure;
      await (writing && one <= writing.lastSeq ? writing : joining)?.done.promise;
    },
    lastSeq: () => seq,
    fail,
  };
}
