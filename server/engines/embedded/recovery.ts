/**
 * The engine's generations, one after the other, and the recovery between them.
 *
 *                a write failed or took too long
 *   ┌─────────┐ ────────────────────────────────▶ ┌─────┐ ──┐ reopening failed:
 *   │ current │                                   │ out │   │ pause, then again
 *   └─────────┘ ◀──────────────────────────────── └─────┘ ◀─┘
 *        │       the storage is open, its state      │
 *        │       loaded, the mark written            │
 *        │                                           │
 *        └──────────────▶ closed ◀───────────────────┘
 *             close()                  close()
 *
 * - current: there is a generation, and calls work on it.
 * - out: there is none, and every call throws `StoreUnavailable` at once. The pauses between attempts grow.
 * - closed: for good.
 */
import type { Keyv } from 'keyv';
import { messageOf } from '../../async/error-message.ts';
import { waitAtMost, yieldToEventLoop } from '../../async/waiting.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { type Store, StoreUnavailable } from '../../ports/store.ts';
import { writeActivity } from './activity-rows.ts';
import { createGeneration, type Generation } from './generation.ts';
import { createGroupCommit } from './group-commit.ts';
import { loadState } from './load-state.ts';
import { type OrderedStorage, orderStorage } from './sqlite/ordered-storage.ts';
import { HIGH_WATER_MARK_KEY, type MarkRow, writeMark } from './sqlite/row-keys.ts';

/**
 * Opens the storage. It is called for each generation, after the storage of the one before was disconnected.
 */
export type OpenStorage = () => Promise<Keyv<string>>;

type GenerationsDeps = {
  readonly openStorage: OpenStorage;
  readonly clock: Clock;
  readonly log: Log;
  /** A write that takes longer than this is an outage. */
  readonly timeoutMs: number;
  nowMs(): number;
  /** Commits that concern these topics have become durable. */
  onDurable(topics: ReadonlySet<string>): void;
  /** Whether the feed of a session is being read. */
  hasReaders(session: string): boolean;
  /** A new generation follows an outage: every listener must look again. */
  onRecovered(): void;
};

export type Generations = {
  /** The current generation; throws `StoreUnavailable` when there is none. */
  current(): Generation;
  currentOrNull(): Generation | null;
  health: Store['health'];
  /**
   * Waits until all decided commits are durable, calls `onFlushed`, and disconnects the storage. Idempotent.
   */
  close(onFlushed: () => void): Promise<void>;
};

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const DISCONNECT_TIMEOUT_MS = 1_000;

/** Starts the first generation; rejects with an error that says what to do when the storage can't be used. */
export async function createGenerations(deps: GenerationsDeps): Promise<Generations> {
  const { clock, log } = deps;
  const closing = new AbortController();
  const closed = new AbortController();
  let generation: Generation | null = null;
  let outReason = 'The store is starting.';
  let lastSeq = 0;
  let recovery: Promise<void> = Promise.resolve();
  let closure: Promise<void> | null = null;

  const startNext = (): Promise<Generation> => startGeneration(deps, lastSeq, closed.signal, endGeneration);
  const isOpen = (): boolean => generation !== null && !closing.signal.aborted;

  function endGeneration(error: StoreUnavailable): void {
    const ended = generation;
    if (!ended) return;
    generation = null;
    outReason = error.message;
    lastSeq = ended.commits.lastSeq();
    if (closing.signal.aborted) {
      recovery = ended.storage.disconnect();
      return;
    }
    log.error({ err: error }, 'the store is out; the file is being reopened');
    recovery = recover(ended);
  }

  async function recover(ended: Generation): Promise<void> {
    await ended.storage.disconnect().catch(() => undefined);
    let pauseMs = FIRST_PAUSE_MS;
    while (!closing.signal.aborted) {
      try {
        generation = await startNext();
        log.info({ run: generation.run }, 'the store is back');
        deps.onRecovered();
        return;
      } catch (error) {
        outReason = `The store is out: ${messageOf(error)}`;
        await clock.sleep(pauseMs, closing.signal);
        pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      }
    }
  }

  /** Does not wait for a stuck disk: the operating system releases its files when the process ends. */
  async function close(onFlushed: () => void): Promise<void> {
    outReason = 'The store is closed.';
    closing.abort();
    if (generation) {
      await flush(generation).catch((error: unknown) =>
        log.error(
          { err: error },
          'the last writes of the stop failed; what was acknowledged before is stored',
        ),
      );
    }
    onFlushed();
    const recovered = recovery.catch(() => undefined);
    await waitAtMost(clock, DISCONNECT_TIMEOUT_MS, recovered);
    const last = generation;
    generation = null;
    if (last) await waitAtMost(clock, DISCONNECT_TIMEOUT_MS, last.storage.disconnect());
    closed.abort();
  }

  generation = await startNext();

  return {
    current() {
      if (generation && isOpen()) return generation;
      throw new StoreUnavailable(outReason);
    },
    currentOrNull: () => generation,
    health: () => (isOpen() ? { ok: true } : { ok: false, reason: outReason }),
    close(onFlushed) {
      closure ??= close(onFlushed);
      return closure;
    },
  };
}

/**
 * Opens the storage, loads its state and writes the new run; disconnects the storage again when one of these
 * fails.
 */
async function startGeneration(
  deps: GenerationsDeps,
  afterSeq: number,
  closed: AbortSignal,
  onFailed: (error: StoreUnavailable) => void,
): Promise<Generation> {
  const { clock, timeoutMs, nowMs, onDurable } = deps;
  const storage = orderStorage(await deps.openStorage());
  try {
    const state = await loadState(storage, nowMs(), deps.log);
    const { settledCounts } = state;
    await writeRun(deps, storage, { ...state.highWaterMark, ...settledCounts.store() });
    const commits = createGroupCommit({
      clock,
      timeoutMs,
      closed,
      afterSeq,
      write({ sets, deletes, highWaterMark }) {
        // Called when no further commit can join: the counts are those of this group and all before it.
        if (highWaterMark)
          sets.set(HIGH_WATER_MARK_KEY, writeMark({ ...highWaterMark, ...settledCounts.store() }));
        return storage.apply(sets, deletes);
      },
      onDurable,
      onFailed,
    });
    return createGeneration(state, storage, commits, deps.hasReaders);
  } catch (error) {
    await storage.disconnect().catch(() => undefined);
    throw error;
  }
}

/** The first write of a generation stores its run. An outage is over only when the disk takes this write. */
async function writeRun(
  { clock, timeoutMs }: GenerationsDeps,
  storage: OrderedStorage,
  row: MarkRow,
): Promise<void> {
  const rows = new Map([[HIGH_WATER_MARK_KEY, writeMark(row)]]);
  const result = await waitAtMost(clock, timeoutMs, storage.apply(rows, new Set()));
  if (result === 'late') throw new Error('the disk did not respond in time');
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
