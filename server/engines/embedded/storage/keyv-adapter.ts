/**
 * Keyv's storage interface over rows in order, with `apply` and `scan` in addition: the rows of a connection
 * to SQLite, or of memory. Writes go to a given writer: the same connection, or a thread that owns the file.
 * Expiry times are refused: the engine keeps its own.
 */
import { keyvStorageCapability } from 'keyv';
import { yieldToEventLoop } from '../../../async/waiting.ts';
import { isLargeText } from '../../../domain/value-size.ts';
import type { Row, StorageAdapter } from './ordered-storage.ts';

/** Reads rows. It throws when a row is damaged or cannot be read. */
export type Rows = {
  get(key: string): string | undefined;
  /** At most `limit` rows from `from` (included) to `to` (excluded), in key order or in reverse. */
  scan(from: string, to: string, limit: number, reverse: boolean): readonly Row[];
  /** Idempotent. */
  close(): void;
};

/** Rows that are written when the call returns. */
export type WritableRows = Rows & {
  /** All or nothing. */
  apply(sets: Iterable<Row>, deletes: Iterable<string>): void;
};

/** Writes rows, here or elsewhere. */
export type Writer = {
  /** All or nothing; resolves when it is durable. */
  apply(sets: ReadonlyMap<string, string>, deletes: ReadonlySet<string>): Promise<void>;
  /** Whether the log is kept short from the next group on. */
  keepLogShort?(isShort: boolean): void;
  close(): Promise<void>;
};

const NO_KEYS: ReadonlySet<string> = new Set();

/**
 * Creates the adapter over what reads and what writes. For a file each is a connection. The one that is
 * closed last moves the log into the database. After a failed write this must not be the writer's: what the
 * log seems to hold may not be on disk. The reader's connection is read-only and leaves the log as it is.
 */
export function createAdapter(reader: Rows, writer: Writer): StorageAdapter {
  let hasFailed = false;
  const apply: Writer['apply'] = async (sets, deletes) => {
    try {
      await writer.apply(sets, deletes);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  // At most one large row is read in a tick of the event loop: read side by side, many would hold it up.
  let isTickUsed = false;
  const get = async (key: string): Promise<string | undefined> => {
    while (isTickUsed) await yieldToEventLoop();
    const text = reader.get(key);
    if (text !== undefined && isLargeText(text)) {
      isTickUsed = true;
      setImmediate(() => {
        isTickUsed = false;
      });
    }
    return text;
  };
  const has = async (key: string): Promise<boolean> => reader.get(key) !== undefined;
  const removeAll = async (keys: readonly string[]): Promise<boolean[]> => {
    const found = await Promise.all(keys.map(has));
    await apply(new Map(), new Set(keys));
    return found;
  };
  const setAll = async (entries: readonly { key: string; value: unknown; expires?: number }[]) => {
    if (entries.some(({ expires }) => expires !== undefined)) {
      throw new Error('This storage keeps no expiry times: write without a ttl.');
    }
    await apply(new Map(entries.map(({ key, value }) => [key, String(value)])), NO_KEYS);
    return entries.map(() => true);
  };

  const adapter: StorageAdapter = {
    get: get as StorageAdapter['get'],
    has,
    getMany: (async (keys: string[]) => await Promise.all(keys.map(get))) as StorageAdapter['getMany'],
    hasMany: async (keys) => await Promise.all(keys.map(has)),
    set: async (key, value, expires) => {
      await setAll([{ key, value, ...(expires !== undefined && { expires }) }]);
      return true;
    },
    setMany: setAll,
    delete: async (key) => (await removeAll([key]))[0] ?? false,
    deleteMany: removeAll,
    async clear() {
      const rows = reader.scan('', '\u{10ffff}', Number.MAX_SAFE_INTEGER, false);
      await apply(new Map(), new Set(rows.map(([key]) => key)));
    },
    async disconnect() {
      if (!hasFailed) reader.close();
      await writer.close();
      reader.close();
    },
    apply,
    keepLogShort: (isShort) => writer.keepLogShort?.(isShort),
    scan: async (from, to, limit, reverse = false) => reader.scan(from, to, limit, reverse),
  };
  adapter.capabilities = keyvStorageCapability(adapter);
  return adapter;
}

/** A writer over rows of this thread: they are written when `apply` returns. */
export function writeHere(rows: WritableRows): Writer {
  return {
    apply: async (sets, deletes) => rows.apply(sets, deletes),
    close: async () => rows.close(),
  };
}
