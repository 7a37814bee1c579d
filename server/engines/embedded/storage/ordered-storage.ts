/**
 * The engine's view of a Keyv: single values are read through Keyv itself. Two methods of its adapter do what
 * Keyv can't do: several writes in one transaction, and reading a range of ordered keys.
 *
 * Promises
 * - Values are text and are stored as they are.
 * - No value gets an expiry time, because Keyv compares those with the wall clock.
 * - Every failed read rejects with `StoreUnavailable`; it never reads as "absent".
 */
import { Keyv, type KeyvStorageAdapter } from 'keyv';
import { messageOf } from '../../../async/error-message.ts';
import { StoreDamaged, StoreUnavailable } from '../../../ports/store.ts';
import type { Space } from '../disk-space.ts';
import { outageKindOf } from '../outage-kind.ts';
import { afterKey, type Range } from './row-keys.ts';

export type Row = readonly [key: string, value: string];

/** The methods of an adapter in addition to Keyv's own storage interface. */
type OrderedAdapter = {
  /** Writes and removes, all or nothing; resolves when durable. */
  apply(sets: ReadonlyMap<string, string>, deletes: ReadonlySet<string>): Promise<void>;
  /** At most `limit` rows from `from` (included) to `to` (excluded), in key order or in reverse. */
  scan(from: string, to: string, limit: number, reverse?: boolean): Promise<readonly Row[]>;
} & DiskAccess;

/** The additions of a storage on a disk. */
type DiskAccess = {
  /** Resolves with undefined where nothing is known of its disk. */
  readSpace?(): Promise<Space | undefined>;
  /** Whether what the storage needs beside its rows is kept short from now on. */
  keepLogShort?(isShort: boolean): void;
};

/** Keyv's storage interface without its optional event emitter. */
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
} & Required<DiskAccess>;

/** Opens a Keyv over the adapter, with the options that the engine needs. */
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

/** The engine's storage over a Keyv; throws when the Keyv's adapter lacks `apply` or `scan`. */
export function orderStorage(keyv: Keyv<string>): OrderedStorage {
  const adapter: unknown = keyv.store;
  if (!isOrdered(adapter)) {
    throw new Error(
      'The storage behind this Keyv has no apply(sets, deletes) and scan(from, to, limit, reverse): the embedded ' +
        'engine needs both. Use the sqlite: or memory: storage, or add the two methods to the adapter.',
    );
  }
  return {
    get: (key) => readOrThrow(() => keyv.get(key)),
    scan: ({ from, to }, limit, reverse) => readOrThrow(() => adapter.scan(from, to, limit, reverse)),
    apply: (sets, deletes) => adapter.apply(sets, deletes),
    readSpace: async () => await adapter.readSpace?.(),
    keepLogShort: (isShort) => adapter.keepLogShort?.(isShort),
    disconnect: async () => void (await keyv.disconnect()),
  };
}

function isOrdered(adapter: unknown): adapter is OrderedAdapter {
  if (typeof adapter !== 'object' || adapter === null) return false;
  const { apply, scan } = adapter as Partial<OrderedAdapter>;
  return typeof apply === 'function' && typeof scan === 'function';
}

async function readOrThrow<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreDamaged) throw error;
    const kind = outageKindOf(error);
    throw new StoreUnavailable(`The store could not read: ${messageOf(error)}`, { kind, cause: error });
  }
}

/** The error of a damaged row. */
export type DamagedRow = StoreDamaged & { readonly key: string };

/** Whether one row is damaged, and the others can be read. */
export function isDamagedRow(error: unknown): error is DamagedRow {
  return error instanceof StoreDamaged && error.key !== undefined;
}

/** As `scan`, without the rows that are damaged. */
export async function scanIntact(
  storage: Pick<OrderedStorage, 'scan'>,
  range: Range,
  limit: number,
  reverse: boolean,
): Promise<readonly Row[]> {
  try {
    return await storage.scan(range, limit, reverse);
  } catch (error) {
    // A damaged key may be no valid text: then the row stands on neither side of it.
    if (!isDamagedRow(error) || error.key === range.to || afterKey(error.key) === range.from) throw error;
    const sides = [
      { from: range.from, to: error.key },
      { from: afterKey(error.key), to: range.to },
    ];
    const rows: Row[] = [];
    for (const side of reverse ? sides.toReversed() : sides)
      if (rows.length < limit) rows.push(...(await scanIntact(storage, side, limit - rows.length, reverse)));
    return rows;
  }
}
