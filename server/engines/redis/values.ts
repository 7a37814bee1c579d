/**
 * Reads and writes of values, whichever size they have. Large values have a connection of their own, on which
 * only so many bytes are under way, so that no other call waits behind them and neither side holds many of
 * them in memory:
 *
 *    read     on the connection of the calls. Where the value is large, its size comes instead of it,
 *             and it is read in its turn on the bulk connection.
 *    commit   on the connection of the calls; with large values in its turn on the bulk connection.
 *
 * A turn that has not come in time rejects with `StoreUnavailable`, for its caller alone. Memory grows with
 * the large commits that wait, up to `WAITING_BYTES_MAX`.
 */
import { createByteBudget } from '../../async/byte-budget.ts';
import { createDeadlineSet } from '../../async/deadline-set.ts';
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
/** Two of the largest values at a time. */
const BULK_BYTES_MAX = 8 * 2 ** 20;
/** Large commits that wait for their turn have at most this; beyond it they are refused at once. */
const WAITING_BYTES_MAX = 128 * 2 ** 20;

/** Creates the reads and writes over both connections. */
export function createValues(deps: {
  readonly calls: Connection;
  readonly bulk: Connection;
  readonly clock: Clock;
}): Values {
  const { calls, bulk, clock } = deps;
  const budget = createByteBudget(BULK_BYTES_MAX);
  const turns = createDeadlineSet({
    clock,
    withinMs: TIME_BUDGETS.storeWithinMs,
    onLate: (reject) => reject(new StoreUnavailable('Too many large values are on their way.')),
  });
  let waitingBytes = 0;

  /** Waits for the turn and for the work, no longer in all than for any other call. */
  async function takeTurn<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const late = new AbortController();
    try {
      return await turns.run(budget.run(bytes, work, late.signal));
    } finally {
      late.abort('late');
    }
  }

  return {
    async read(key, fields) {
      const found = await calls.read(key, fields, SMALL_BYTES_MAX);
      if (typeof found !== 'number') return found;
      const read = (): Promise<number | readonly (string | null)[]> => bulk.read(key, fields, LARGEST);
      return (await takeTurn(found, read)) as readonly (string | null)[];
    },
    async write(script, args) {
      const bytes = args.reduce((sum, arg) => sum + arg.length, 0);
      if (bytes <= SMALL_BYTES_MAX) return await calls.callRepeatable(script, args);
      if (waitingBytes + bytes > WAITING_BYTES_MAX)
        throw new StoreUnavailable('Redis is slow: too many large values wait for it already.');
      waitingBytes += bytes;
      try {
        return await takeTurn(bytes, () => bulk.callRepeatable(script, args));
      } finally {
        waitingBytes -= bytes;
      }
    },
  };
}

/** No value is larger. */
const LARGEST = Number.MAX_SAFE_INTEGER;
