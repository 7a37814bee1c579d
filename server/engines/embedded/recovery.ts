/**
 * The engine's generations, one after the other, and the recovery between them.
 *
 *                a write failed or took too long
 *   ┌─────────┐ ────────────────────────────────▶ ┌─────┐ ──┐ reopening failed:
 *   │ current │                                   │ out │   │ pause, then again
 *   └─────────┘ ◀──────────────────────────────── └─────┘ ◀─┘
 *     ▲  │       the storage is open, its state      │ │
 *     │  │       loaded, the run written             │ │ the same, but the disk
 *     │  │                                           │ │ does not take the run
 *     │  │    the disk takes writes   ┌───────────┐  │ │
 *     ╰──┼─────────────────────────── │ read-only │ ◀┼─╯
 *        │                            └───────────┘  │
 *        │                                  │ close()│
 *        └──────────────▶ closed ◀──────────┴────────┘
 *             close()                  close()
 *
 * - current: there is a generation, and calls work on it.
 * - out: there is none, and every call throws `StoreUnavailable` at once. The pauses between attempts grow.
 * - read-only: there is a generation that was opened from the file without its first write. Reads work on it,
 *   everything else throws; attempts go on.
 * - closed: for good.
 */
import { messageOf } from '../../async/error-message.ts';
import { waitAtMost, yieldToEventLoop } from '../../async/waiting.ts';
import { type Store, StoreUnavailable } from '../../ports/store.ts';
import { writeActivity } from './activity-rows.ts';
import { createDiskSpace, type DiskSpace, describeStage } from './disk-space.ts';
import type { Generation } from './generation.ts';
import { outageKindOf } from './outage-kind.ts';
import { FirstWriteFailed, requireWrites, type StartDeps, startGeneration } from './start-generation.ts';

export type { OpenStorage } from './start-generation.ts';

type GenerationsDeps = StartDeps & {
  /** A new generation follows an outage: every listener must look again. */
  onRecovered(): void;
};

export type Generations = {
  /** The current generation, which may be read-only; throws `StoreUnavailable` when there is none. */
  current(): Generation;
  currentOrNull(): Generation | null;
  /** The current generation; throws `StoreUnavailable` also when it is read-only. */
  writable(): Generation;
  /** When the earliest entry is due; undefined where none can be taken. */
  earliestDueMs(): number | undefined;
  readonly diskSpace: DiskSpace;
  health: Store['health'];
  /**
   * Waits until all decided commits are durable, calls `onFlushed`, and disconnects the storage. Idempotent.
   */
  close(onFlushed: () => void): Promise<void>;
};

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const DISCONNECT_TIMEOUT_MS = 1_000;

/** The generations of one storage share this. */
type Shared = GenerationsDeps & {
  generation: Generation | null;
  /** Why there is no generation that writes. */
  outage: StoreUnavailable;
  lastSeq: number;
  lastRun: number;
  recovery: Promise<void>;
  readonly diskSpace: DiskSpace;
  /** Fires when the close begins, and when it is over. */
  readonly closing: AbortController;
  readonly closed: AbortController;
};

/** Starts the first generation; rejects with an error that says what to do when the storage can't be used. */
export async function createGenerations(deps: GenerationsDeps): Promise<Generations> {
  const diskSpace = createDiskSpace({
    ...deps,
    read: async () => await shared.generation?.storage.readSpace(),
    onStage: (stage) => shared.generation?.storage.keepLogShort(stage > 0),
  });
  const shared: Shared = {
    ...deps,
    diskSpace,
    generation: null,
    outage: new StoreUnavailable('The store is starting.', { kind: 'starting' }),
    lastSeq: 0,
    lastRun: 0,
    recovery: Promise.resolve(),
    closing: new AbortController(),
    closed: new AbortController(),
  };
  const isOpen = (): boolean => shared.generation !== null && !shared.closing.signal.aborted;
  let closure: Promise<void> | null = null;
  await useGeneration(shared, await startNext(shared));

  return {
    diskSpace,
    current() {
      if (shared.generation && isOpen()) return shared.generation;
      throw shared.outage;
    },
    writable() {
      if (shared.generation && isOpen() && !shared.generation.isReadOnly) return shared.generation;
      throw shared.outage;
    },
    currentOrNull: () => shared.generation,
    earliestDueMs: () => (shared.generation?.isReadOnly ? undefined : shared.generation?.due.earliestMs()),
    health() {
      const { generation, outage } = shared;
      if (!isOpen()) return { ok: false, outage };
      if (generation?.isReadOnly) return { ok: false, outage, isReadable: true };
      const warning = describeStage(diskSpace.stage());
      return warning === undefined ? { ok: true } : { ok: true, warning, diskStage: diskSpace.stage() };
    },
    close(onFlushed) {
      closure ??= close(shared, onFlushed);
      return closure;
    },
  };
}

function startNext(shared: Shared): Promise<Generation> {
  const { lastSeq, lastRun, closed, diskSpace } = shared;
  return startGeneration(shared, {
    afterSeq: lastSeq,
    afterRun: lastRun,
    closed: closed.signal,
    noteWritten: diskSpace.noteWritten,
    onFailed: (error) => endGeneration(shared, error),
    outage: () => shared.outage,
  });
}

/** The storage of a generation begins with a long log, which is kept short if there is little space. */
async function useGeneration(shared: Shared, next: Generation): Promise<void> {
  await shared.diskSpace.update();
  next.storage.keepLogShort(shared.diskSpace.stage() > 0);
  // Last: from here on it may end at any time, and nothing of this outage may follow.
  shared.generation = next;
  shared.lastRun = next.run;
}

function endGeneration(shared: Shared, error: StoreUnavailable): void {
  const ended = shared.generation;
  if (!ended) return;
  shared.generation = null;
  shared.outage = error;
  shared.lastSeq = ended.commits.lastSeq();
  if (shared.closing.signal.aborted) {
    shared.recovery = ended.storage.disconnect();
    return;
  }
  shared.log.error({ err: error }, 'the store is out; the file is being reopened');
  shared.recovery = recover(shared, ended);
}

async function recover(shared: Shared, ended: Generation): Promise<void> {
  const { clock, log, closing } = shared;
  await ended.storage.disconnect().catch(() => undefined);
  let pauseMs = FIRST_PAUSE_MS;
  while (!closing.signal.aborted) {
    try {
      if (shared.generation) await requireWrites(shared, shared.generation);
      await replaceGeneration(shared, await startNext(shared));
      log.error({ run: shared.lastRun }, 'the store is back');
      return;
    } catch (error) {
      const kind = outageKindOf(error);
      shared.outage = new StoreUnavailable(`The store is out: ${messageOf(error)}`, { kind });
      if (error instanceof FirstWriteFailed) await readOn(shared, error.generation);
      await clock.sleep(pauseMs, closing.signal);
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    }
  }
}

async function replaceGeneration(shared: Shared, next: Generation): Promise<void> {
  const before = shared.generation;
  await useGeneration(shared, next);
  shared.onRecovered();
  // Reads that have begun end within this tick.
  await yieldToEventLoop();
  await before?.storage.disconnect().catch(() => undefined);
}

/** Reads go on from the first generation that was loaded in this outage. */
async function readOn(shared: Shared, next: Generation): Promise<void> {
  if (shared.generation) await next.storage.disconnect().catch(() => undefined);
  else await replaceGeneration(shared, next);
}

/** Does not wait for a stuck disk: the operating system releases its files when the process ends. */
async function close(shared: Shared, onFlushed: () => void): Promise<void> {
  const { clock, closing, closed, generation } = shared;
  shared.outage = new StoreUnavailable('The store is closed.', { kind: 'closed' });
  closing.abort();
  if (generation) await flush(generation).catch(() => undefined);
  onFlushed();
  const recovered = shared.recovery.catch(() => undefined);
  await waitAtMost(clock, DISCONNECT_TIMEOUT_MS, recovered);
  const last = shared.generation;
  shared.generation = null;
  if (last) await waitAtMost(clock, DISCONNECT_TIMEOUT_MS, last.storage.disconnect());
  closed.abort();
}

/**
 * Waits for all decided commits, and for those that still read the file before they are decided. Then what
 * happened in the present step is written too: no group follows that would write it.
 */
async function flush(generation: Generation): Promise<void> {
  const { commits, fileReads } = generation;
  do {
    await yieldToEventLoop();
    await commits.whenDurable(commits.lastSeq());
  } while (fileReads.count > 0);
  writeActivity(generation, Number.POSITIVE_INFINITY);
  await commits.whenDurable(commits.lastSeq());
}
