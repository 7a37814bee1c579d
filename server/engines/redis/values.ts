/**
 * Reads and writes of values, whichever size they have. Large values have a connection of their own, on which
 * only so many bytes are under way, so that no other call waits behind them and neither side holds many of
 * them in memory:
 *
 *    read     on the connection of the calls. Where the value is large, its size comes instead of it,
 *             and it is read in its turn on the bulk connection.
 *    commit   on the connection of the calls; with large values in its turn on the bulk connection.
 *
 * A turn that has not come in time rejects with `StoreUnavailable`, for its caller alone. In an outage every
 * turn comes at once and rejects. Reads of one value that wait for their turn share it, so a value that many
 * want is read for all of them together. Memory grows with the large commits that wait, up to
 * `WAITING_BYTES_MAX`.
 */
import { createByteBudget } from '../../async/byte-budget.ts';
import { createDeadlineSet, type DeadlineSet } from '../../async/deadline-set.ts';
import type { Clock } from '../../ports/clock.ts';
import { TIME_BUDGETS } from '../../ports/limits.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import type { Script } from './scripts.ts';

export type Values = {
  /** A value and its revision; nothing where it is missing, which must be read again by a script. */
  read(key: string, fields: readonly [value: string, revision: string]): Promise<readonly (string | null)[]>;
  /** Runs a script that writes values; it is sent again when its reply is lost. */
  write(script: Script, args: readonly string[]): Promise<Reply>;
};

/** A larger value is read and written on the bulk connection. */
const SMALL_BYTES_MAX = 64 * 2 ** 10;
/** No value is larger. */
const LARGEST = Number.MAX_SAFE_INTEGER;
/** A large read may wait this long for its turn: many callers may want large values at once. */
const READ_TURN_WITHIN_MS = 30_000;
/** Two of the largest values at a time. */
const BULK_BYTES_MAX = 8 * 2 ** 20;
/** Large commits that wait for their turn have at most this; beyond it they are refused at once. */
const WAITING_BYTES_MAX = 128 * 2 ** 20;

type Found = readonly (string | null)[];

/** Creates the reads and writes over both connections. */
export function createValues(deps: {
  readonly calls: Connection;
  readonly bulk: Connection;
  readonly clock: Clock;
}): Values {
  const { calls, bulk, clock } = deps;
  const budget = createByteBudget(BULK_BYTES_MAX);
  const onLate = (reject: (error: Error) => void): void =>
    reject(new StoreUnavailable('Too many large values are on their way.'));
  const reads = createDeadlineSet({ clock, withinMs: READ_TURN_WITHIN_MS, onLate });
  const writes = createDeadlineSet({ clock, withinMs: TIME_BUDGETS.storeWithinMs, onLate });
  const waitingReads = new Map<string, Promise<Found>>();
  let waitingBytes = 0;

  /** Waits for the turn and for the work. */
  async function takeTurn<T>(limit: DeadlineSet, bytes: number, work: () => Promise<T>): Promise<T> {
    const late = new AbortController();
    try {
      return await limit.run(budget.run(bytes, work, late.signal));
    } finally {
      late.abort('late');
    }
  }

  /** Joins a read of the same value that is not sent yet; one that was sent may be older than its caller. */
  function readInTurn(bytes: number, key: string, fields: readonly [string, string]): Promise<Found> {
    const name = `${key} ${fields[0]}`;
    const joined = waitingReads.get(name);
    if (joined) return joined;
    const reading = takeTurn(reads, bytes, async () => {
      waitingReads.delete(name);
      return (await bulk.read(key, fields, LARGEST)) as Found;
    }).finally(() => {
      if (waitingReads.get(name) === reading) waitingReads.delete(name);
    });
    waitingReads.set(name, reading);
    return reading;
  }

  return {
    async read(key, fields) {
      const found = await calls.read(key, fields, SMALL_BYTES_MAX);
      return typeof found === 'number' ? await readInTurn(found, key, fields) : found;
    },
    async write(script, args) {
      const bytes = args.reduce((sum, arg) => sum + arg.length, 0);
      if (bytes <= SMALL_BYTES_MAX) return await calls.callRepeatable(script, args);
      if (waitingBytes + bytes > WAITING_BYTES_MAX)
        throw new StoreUnavailable('Redis is slow: too many large values wait for it already.');
      waitingBytes += bytes;
      try {
        return await takeTurn(writes, bytes, () => bulk.callRepeatable(script, args));
      } finally {
        waitingBytes -= bytes;
      }
    },
  };
}
