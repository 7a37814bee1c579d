/**
 * The engine's lives, one after the other.
 *
 * Modes: present (a life) → out (none: the first write whose fate is unknown ended it; every call throws
 * `StoreUnavailable` at once while the file is opened anew with growing pauses) → present, when a rebuild has read the
 * image and written the mark. Closed from either, for good.
 */
import type { Keyv } from 'keyv';
import { waitAtMost, yieldToEventLoop } from '../../async/waiting.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { type Store, StoreUnavailable } from '../../ports/store.ts';
import { createGeneration, type Generation, readState, writeHighWaterMark } from './generation.ts';
import { createGroupCommit } from './group-commit.ts';
import { type OrderedStorage, orderStorage } from './sqlite/ordered-storage.ts';
import { HIGH_WATER_MARK_KEY, type HighWaterMark } from './sqlite/row-keys.ts';

/** Opens the storage, each time anew; what it opened before has been disconnected by then. */
export type OpenStorage = () => Promise<Keyv<string>>;

export type GenerationsDeps = {
  readonly openStorage: OpenStorage;
  readonly clock: Clock;
  readonly log: Log;
  /** After so long without an answer of the storage it counts as out. */
  readonly answerWithinMs: number;
  nowMs(): number;
  /** Commits that concern these topics have become durable. */
  onDurable(topics: ReadonlySet<string>): void;
  /** A new life follows an outage: whoever waits for something looks again. */
  onBack(): void;
};

export type Generations = {
  /** The present life; throws `StoreUnavailable` when there is none. */
  current(): Generation;
  currentOrNull(): Generation | null;
  health: Store['health'];
  /** Lets what was decided become durable, calls this, and lets go of the storage. Twice is fine. */
  close(onFlushed: () => void): Promise<void>;
};

const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 1_000;
const LEAVE_WITHIN_MS = 1_000;

/** Begins the first life; rejects with one sentence when the storage can't be used. */
export async function createGenerations(deps: GenerationsDeps): Promise<Generations> {
  const { clock, log } = deps;
  const closing = new AbortController();
  const closed = new AbortController();
  let generation: Generation | null = null;
  let outReason = 'The store is starting.';
  let pastSeq = 0;
  let recovering: Promise<void> = Promise.resolve();
  let shutting: Promise<void> | null = null;

  async function begin(): Promise<Generation> {
    const storage = orderStorage(await deps.openStorage());
    try {
      const image = await readState(storage, deps.nowMs());
      await probe(deps, storage, image.highWaterMark);
      const groups = createGroupCommit({
        clock,
        answerWithinMs: deps.answerWithinMs,
        closed: closed.signal,
        afterSeq: pastSeq,
        write({ sets, deletes, highWaterMark }) {
          if (highWaterMark) sets.set(HIGH_WATER_MARK_KEY, writeHighWaterMark(highWaterMark));
          return storage.apply(sets, deletes);
        },
        onDurable: deps.onDurable,
        onFailed: end,
      });
      return createGeneration(image, storage, groups);
    } catch (error) {
      await storage.disconnect().catch(() => undefined);
      throw error;
    }
  }

  function end(error: StoreUnavailable): void {
    const ended = generation;
    if (!ended) return;
    generation = null;
    outReason = error.message;
    pastSeq = ended.commits.lastSeq();
    if (closing.signal.aborted) {
      recovering = ended.storage.disconnect();
      return;
    }
    log.error({ err: error }, 'the store is out; the file is opened anew');
    recovering = recover(ended);
  }

  async function recover(ended: Generation): Promise<void> {
    await ended.storage.disconnect().catch(() => undefined);
    let pauseMs = PAUSE_FIRST_MS;
    while (!closing.signal.aborted) {
      try {
        generation = await begin();
        log.info({ run: generation.run }, 'the store is back');
        deps.onBack();
        return;
      } catch (error) {
        outReason = `The store is out: ${error instanceof Error ? error.message : String(error)}`;
        await clock.sleep(pauseMs, closing.signal);
        pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2);
      }
    }
  }

  /** A disk that is stuck is left to the operating system. */
  async function shut(onFlushed: () => void): Promise<void> {
    outReason = 'The store is closed.';
    closing.abort();
    if (generation) await flush(generation).catch(() => undefined);
    onFlushed();
    await waitAtMost(
      clock,
      LEAVE_WITHIN_MS,
      recovering.catch(() => undefined),
    );
    const last = generation;
    generation = null;
    if (last) await waitAtMost(clock, LEAVE_WITHIN_MS, last.storage.disconnect());
    closed.abort();
  }

  generation = await begin();
  const isOpen = (): boolean => generation !== null && !closing.signal.aborted;

  return {
    current() {
      if (generation && isOpen()) return generation;
      throw new StoreUnavailable(outReason);
    },
    currentOrNull: () => generation,
    health: () => (isOpen() ? { ok: true } : { ok: false, reason: outReason }),
    close(onFlushed) {
      shutting ??= shut(onFlushed);
      return shutting;
    },
  };
}

/** Waits for what is decided, and for what is about to be, because it still reads what it must know. */
async function flush({ commits, reads }: Generation): Promise<void> {
  do {
    await yieldToEventLoop();
    await commits.whenDurable(commits.lastSeq());
  } while (reads.count > 0);
}

/** The first write of a life notes its run; a disk that does not take it is not back yet. */
async function probe(
  deps: GenerationsDeps,
  storage: OrderedStorage,
  highWaterMark: HighWaterMark,
): Promise<void> {
  const written = storage.apply(
    new Map([[HIGH_WATER_MARK_KEY, writeHighWaterMark(highWaterMark)]]),
    new Set(),
  );
  const answer = await waitAtMost(deps.clock, deps.answerWithinMs, written);
  if (answer === 'late') throw new Error('the disk did not answer in time');
}
