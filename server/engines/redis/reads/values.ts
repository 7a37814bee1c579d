/**
 * Reads and writes of values of any size. At most 2 MiB of large values are under way, so that other calls
 * wait only briefly behind them and neither side holds many of them in memory:
 *
 *    read     all reads of a tick of the event loop together. If the value is large, its size comes instead
 *             of it, and it is read when all before it are.
 *    commit   at once; with large values when all before it are made.
 *
 * If a read waits too long, or a commit before it was sent, it rejects with `StoreRefused`. In an outage each
 * is sent at once and rejects. If several callers wait for one value, one read serves them all. Memory grows
 * with the large commits that wait, up to `WAITING_BYTES_MAX`.
 */
import { createByteBudget, type SizedWork } from '../../../async/byte-budget.ts';
import { createDeadlineSet, type DeadlineSet } from '../../../async/deadline-set.ts';
import { SMALL_LENGTH_MAX } from '../../../domain/value-size.ts';
import type { Clock } from '../../../ports/clock.ts';
import { TIME_BUDGETS } from '../../../ports/limits.ts';
import { type Kinds, StoreRefused, StoreUnavailable } from '../../../ports/store.ts';
import { createSingleValues, type ReadValue, type StoredText } from '../../single-values.ts';
import type { Reply } from '../client/client.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';
import { createCallBatches } from './call-batches.ts';

/** Undefined if nothing is stored. */
type Found = StoredText | undefined;

/** A read before it is sent, and how many wait for it. */
type SharedRead = { readonly start: () => Promise<Found>; callers: number };

/** Sends large values. */
type LargeWrite<T> = { readonly bytes: number; send(): Promise<T> };

export type Values = {
  read(kind: keyof Kinds, id: string): Promise<Found>;
  /** The same of a short value; undefined if it is longer. */
  readShort(kind: keyof Kinds, id: string): Promise<Found>;
  /** The reply of the reads' script about the status of an agent. */
  readStatus(agent_id: string): Promise<Reply>;
  /**
   * Writes large values of this many bytes when there is room. If the reply is lost, `write` is sent again.
   */
  writeLarge<T>(write: LargeWrite<T>): Promise<T>;
};

/** A reader that stands still may keep some values up to this length. */
const SHORT_CHARS_MAX = 2_048;
/** As in `scripts/reads.lua`: what the key of a value begins with, and the fields of it and its revision. */
const PLACES = {
  task: ['task:', 's', 'r'],
  input: ['task:', 'i', 'ir'],
  agent: ['agent:', 'v', 'r'],
  key: ['key:', 'v', 'r'],
  details: ['task:', 'p', 'r'],
} as const satisfies Readonly<Record<keyof Kinds, readonly string[]>>;
/** A large read may wait this long: many callers may want large values at once. */
const READ_WITHIN_MS = 30_000;
/** Two of the largest values at a time: other calls wait this long for the connection. */
const LARGE_BYTES_MAX = 2 * 2 ** 20;
/** Large commits may wait with at most this; if one exceeds it, it is refused at once. */
const WAITING_BYTES_MAX = 128 * 2 ** 20;
const TOO_MANY = 'Too many large values are on their way.';

/** Creates the reads and writes over the connection. */
export function createValues(deps: {
  readonly connection: Connection;
  readonly clock: Clock;
  /** The names of all keys begin with this. */
  readonly prefix: string;
}): Values {
  const { connection, clock, prefix } = deps;
  const budget = createByteBudget(LARGE_BYTES_MAX);
  const onLate = (reject: (error: Error) => void): void => reject(new StoreRefused(TOO_MANY));
  const reads = createDeadlineSet({ clock, withinMs: READ_WITHIN_MS, onLate });
  const writes = createDeadlineSet({
    clock,
    withinMs: TIME_BUDGETS.storeWithinMs,
    onLate: (reject) => reject(new StoreUnavailable('Redis has not replied in time.')),
  });
  const { batches, readSmall, readLarge } = createReads(connection, prefix);
  const waitingReads = new Map<string, SharedRead>();
  let waitingBytes = 0;

  /** Waits until there is room, and for the work. */
  async function runWithin<T>(limit: DeadlineSet, work: SizedWork<T>): Promise<T> {
    const late = new AbortController();
    try {
      return await limit.run(budget.run(work, late.signal));
    } finally {
      late.abort('late');
    }
  }

  /** Joins a read of the same value before it is sent: afterwards its reply may be older than this caller. */
  async function readWithin(bytes: number, kind: keyof Kinds, id: string): Promise<Found> {
    const name = `${kind} ${id}`;
    const shared = waitingReads.get(name) ?? createSharedRead(name, () => readLarge(kind, id));
    shared.callers += 1;
    try {
      return await runWithin(reads, { bytes, start: shared.start });
    } finally {
      shared.callers -= 1;
      if (shared.callers === 0 && waitingReads.get(name) === shared) waitingReads.delete(name);
    }
  }

  /** A read for several callers: it is sent once. */
  function createSharedRead(name: string, read: () => Promise<Found>): SharedRead {
    let reading: Promise<Found> | null = null;
    const start = (): Promise<Found> => {
      if (!reading) waitingReads.delete(name);
      reading ??= read();
      return reading;
    };
    const shared = { start, callers: 0 };
    waitingReads.set(name, shared);
    return shared;
  }

  return {
    async read(kind, id) {
      connection.requireUp();
      const found = await readSmall(kind, id);
      return typeof found === 'number' ? await readWithin(found, kind, id) : found;
    },
    async readShort(kind, id) {
      connection.requireUp();
      const found = await readSmall(kind, id);
      return typeof found === 'object' && found.json.length <= SHORT_CHARS_MAX ? found : undefined;
    },
    async readStatus(agent_id) {
      connection.requireUp();
      return await batches.run(['status', agent_id]);
    },
    async writeLarge({ bytes, send }) {
      if (waitingBytes + bytes > WAITING_BYTES_MAX)
        throw new StoreRefused('Redis is slow: too many large values wait for it already.');
      waitingBytes += bytes;
      let isSent = false;
      const start = () => {
        isSent = true;
        return send();
      };
      try {
        return await runWithin(writes, { bytes, start });
      } catch (error) {
        throw isSent ? error : new StoreRefused(TOO_MANY, { cause: error });
      } finally {
        waitingBytes -= bytes;
      }
    },
  };
}

/** The reads by the script, and of one large value. */
function createReads(connection: Connection, prefix: string) {
  const batches = createCallBatches(
    async (args) =>
      (await connection.call(scripts.reads, [String(SMALL_LENGTH_MAX), ...args])) as readonly Reply[],
  );
  /** Reads a value, or its size if it is large. */
  const readSmall = createSingleValues(async (kind, id) => parseReply(await batches.run([kind, id])));
  /**
   * Reads a large value. Without a script: Lua would look at every byte while Redis serves no other call. But
   * if nothing is found, a script must say whether the store is still the same.
   */
  const readLarge: ReadValue<StoredText> = createSingleValues(async (kind, id) => {
    const [key, ...fields] = PLACES[kind];
    const reply = await connection.read(['HMGET', `${prefix}${key}${id}`, ...fields]);
    const [json, revision] = reply as readonly Reply[];
    if (typeof json === 'string' && typeof revision === 'string') return { revision, json };
    const found = await readSmall(kind, id);
    return typeof found === 'number' ? await readLarge(kind, id) : found;
  });
  return { batches, readSmall, readLarge };
}

/** A reply of the reads' script: a value, its size if it is large, or nothing. */
function parseReply(reply: Reply | undefined): StoredText | number | undefined {
  if (typeof reply === 'number') return reply;
  const [json, revision] = reply as readonly string[];
  return json === undefined ? undefined : { revision: revision ?? '', json };
}
