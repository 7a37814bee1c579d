/**
 * The start of a generation: the storage is opened, its state loaded, its run written. Where the disk takes
 * no writes there is a generation nevertheless, which only reads.
 */
import type { Keyv } from 'keyv';
import { messageOf } from '../../async/error-message.ts';
import { waitAtMost } from '../../async/waiting.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { thresholdOf } from './disk-space.ts';
import { createGeneration, type Generation } from './generation.ts';
import { createGroupCommit, refuseCommits } from './group-commit.ts';
import { loadState } from './load-state.ts';
import { type OrderedStorage, orderStorage } from './storage/ordered-storage.ts';
import { HIGH_WATER_MARK_KEY, writeMark } from './storage/row-keys.ts';

/**
 * Opens the storage. It is called for each generation. The storage of the one before was disconnected, unless
 * that one only reads: then it is open until the new one has taken its place.
 */
export type OpenStorage = () => Promise<Keyv<string>>;

export type StartDeps = {
  readonly openStorage: OpenStorage;
  readonly clock: Clock;
  readonly log: Log;
  /** How long output waits for more of it, so that one write serves all; see `group-commit.ts`. */
  readonly outputEveryMs?: number;
  /** A write that takes longer than this is an outage. */
  readonly timeoutMs: number;
  nowMs(): number;
  /** Commits that concern these topics have become durable. */
  onDurable(topics: ReadonlySet<string>): void;
  /** Whether the feed of a session is being read. */
  hasReaders(session: string): boolean;
};

/**
 * After an outage a generation begins to write only if the disk has more room than this share of what the
 * second stage leaves.
 */
const ROOM_SHARE_MIN = 1 / 8;

/** The disk refused the first write of a generation; what was loaded can be read. */
export class FirstWriteFailed extends Error {
  readonly generation: Generation;
  constructor(cause: unknown, generation: Generation) {
    super(messageOf(cause), { cause });
    this.generation = generation;
  }
}

type StartOptions = {
  readonly afterSeq: number;
  /** The run of the generation before; 0 before the first. */
  readonly afterRun: number;
  readonly closed: AbortSignal;
  noteWritten(bytes: number): void;
  onFailed(error: StoreUnavailable): void;
  /** Why there is no generation that writes. */
  outage(): StoreUnavailable;
};

/**
 * Opens the storage, loads its state and writes the new run. Rejects with `FirstWriteFailed` when only the
 * last fails, and disconnects the storage again when anything else does.
 */
export async function startGeneration(deps: StartDeps, options: StartOptions): Promise<Generation> {
  const { clock, timeoutMs, outputEveryMs = 0, nowMs, onDurable, hasReaders } = deps;
  const storage = orderStorage(await deps.openStorage());
  try {
    const state = await loadState(storage, { nowMs: nowMs(), afterRun: options.afterRun, log: deps.log });
    const { settledCounts, outputs } = state;
    const row = { ...state.highWaterMark, ...settledCounts.store(), ...outputs.store() };
    const writeFirst = async (): Promise<void> => {
      if (options.afterRun > 0) await requireSpace(storage);
      await writeMarkInTime(deps, storage, writeMark(row));
    };
    await writeFirst().catch((error: unknown) => {
      if (error instanceof DiskLate) throw error;
      const refusing = refuseCommits(options.afterSeq, options.outage);
      throw new FirstWriteFailed(error, createGeneration(state, storage, refusing, hasReaders, true));
    });
    const commits = createGroupCommit({
      clock,
      timeoutMs,
      outputEveryMs,
      ...options,
      write({ sets, deletes, highWaterMark }) {
        // Called when no further commit can join: the counts are those of this group and all before it.
        if (highWaterMark) {
          const row = { ...highWaterMark, ...settledCounts.store(), ...outputs.store() };
          sets.set(HIGH_WATER_MARK_KEY, writeMark(row));
        }
        options.noteWritten(estimateBytes(sets));
        return storage.apply(sets, deletes);
      },
      onDurable,
    });
    return createGeneration(state, storage, commits, hasReaders);
  } catch (error) {
    if (!(error instanceof FirstWriteFailed)) await storage.disconnect().catch(() => undefined);
    throw error;
  }
}

/** A row is written to the log and to the database; short ones take a part of a page. */
const ROW_BYTES = 256;

function estimateBytes(sets: ReadonlyMap<string, string>): number {
  let chars = 0;
  for (const text of sets.values()) chars += text.length;
  return 2 * (chars + sets.size * ROW_BYTES);
}

class DiskLate extends Error {}

/** The first write of a generation stores its run. An outage is over only when the disk takes this write. */
async function writeMarkInTime(
  { clock, timeoutMs }: StartDeps,
  storage: OrderedStorage,
  text: string,
): Promise<void> {
  const rows = new Map([[HIGH_WATER_MARK_KEY, text]]);
  const result = await waitAtMost(clock, timeoutMs, storage.apply(rows, new Set()));
  if (result === 'late') throw new DiskLate('the disk did not respond in time');
}

/**
 * Beside a generation that reads on: rejects unless the disk takes the stored run once more. To load the
 * state for each attempt would take the time of the readers.
 */
export async function requireWrites(deps: StartDeps, { storage: readable }: Generation): Promise<void> {
  await requireSpace(readable);
  const storage = orderStorage(await deps.openStorage());
  try {
    const text = await storage.get(HIGH_WATER_MARK_KEY);
    if (text !== undefined) await writeMarkInTime(deps, storage, text);
  } finally {
    await storage.disconnect().catch(() => undefined);
  }
}

/** Rejects where the disk is full but for a few pages: a write or two might succeed, then none would. */
async function requireSpace(storage: OrderedStorage): Promise<void> {
  const space = await storage.readSpace().catch(() => undefined);
  if (space && space.freeBytes < thresholdOf(2, space) * ROOM_SHARE_MIN)
    throw new StoreUnavailable('the disk of the database is full', { kind: 'full' });
}
