/**
 * The engine's view of a Keyv: single values are read through Keyv itself; what Keyv can't do (several writes in one
 * transaction, reading a range of ordered keys) through two methods its adapter must have.
 *
 * Promises: values are text and are stored as they are; nothing is ever given an expiry, because Keyv judges that by
 * the wall clock; every failure of a read surfaces as `StoreUnavailable`, never as "absent".
 */
import { Keyv, type KeyvStorageAdapter } from 'keyv';
import { StoreUnavailable } from '../../../ports/store.ts';
import type { Range } from './row-keys.ts';

export type Row = readonly [key: string, value: string];

/** What an adapter needs beside Keyv's own storage interface. */
export type OrderedAdapter = {
  /** Writes and removes, all or nothing; resolves when durable. */
  apply(sets: ReadonlyMap<string, string>, deletes: ReadonlySet<string>): Promise<void>;
  /** At most `limit` rows from `from` (included) to `to` (excluded), in key order or from the end. */
  scan(from: string, to: string, limit: number, reverse?: boolean): Promise<readonly Row[]>;
};

/** A Keyv's storage interface without the event emitter it optionally is. */
export type StorageAdapter = OrderedAdapter &
  Pick<
    KeyvStorageAdapter,
    | 'capabilities'
    | 'get'
    | 'getMany'
    | 'has'
    | 'hasMany'
    | 'set'
    | 'setMany'
    | 'delete'
    | 'deleteMany'
    | 'clear'
    | 'disconnect'
  >;

/** The storage as the engine uses it. */
export type OrderedStorage = {
  get(key: string): Promise<string | undefined>;
  scan(range: Range, limit: number, reverse?: boolean): Promise<readonly Row[]>;
  apply(sets: ReadonlyMap<string, string>, deletes: ReadonlySet<string>): Promise<void>;
  disconnect(): Promise<void>;
};

/** Opens a Keyv over the adapter, set up the way the engine needs it. */
export function openKeyv(adapter: StorageAdapter): Keyv<string> {
  return new Keyv<string>({
    store: adapter,
    checkExpired: false,
    serialization: {
      stringify: (entry: unknown) => (entry as { value: string }).value,
      parse: <T>(text: string) => ({ value: text }) as T,
    },
  });
}

/** Takes a Keyv whose adapter orders its keys; refuses any other with one sentence. */
export function orderStorage(keyv: Keyv<string>): OrderedStorage {
  const adapter: unknown = keyv.store;
  if (!isOrdered(adapter)) {
    throw new Error(
      'The storage behind this Keyv has no apply(sets, deletes) and scan(from, to, limit, reverse): the embedded ' +
        'engine needs both. Use the sqlite: or memory: storage, or add the two methods to the adapter.',
    );
  }
  return {
    get: (key) => surface(() => keyv.get(key)),
    scan: ({ from, to }, limit, reverse) => surface(() => adapter.scan(from, to, limit, reverse)),
    apply: (sets, deletes) => adapter.apply(sets, deletes),
    disconnect: async () => void (await keyv.disconnect()),
  };
}

function isOrdered(adapter: unknown): adapter is OrderedAdapter {
  if (typeof adapter !== 'object' || adapter === null) return false;
  const { apply, scan } = adapter as Partial<OrderedAdapter>;
  return typeof apply === 'function' && typeof scan === 'function';
}

async function surface<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`The store could not read: ${reason}`, { cause: error });
  }
}
