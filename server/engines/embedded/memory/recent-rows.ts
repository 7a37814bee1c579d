/**
 * A bounded cache of values that are not part of the memory state but were written recently: settled tasks,
 * inputs, idempotency keys, the ends of feeds.
 *
 * Invariants
 * - A cached value equals what the file will hold once all commits decided so far are durable.
 * - A value that is not durable yet is never dropped: until then the file still has the value before it.
 * - Nothing is dropped while a read of the file is running that may have begun before the value was written.
 * - Beyond the bound the oldest values are dropped.
 */
type CachedRow<T> = { readonly value: T; readonly seq: number; readonly chars: number };

export type RecentRows<T> = {
  /** The value as of the last decided commit; undefined when the file must be read. */
  get(key: string): T | undefined;
  /** Number of the commit that wrote it. */
  seqOf(key: string): number;
  /** Notes what a commit writes. `chars` is roughly the memory that the value takes, in characters. */
  note(key: string, value: T, seq: number, chars: number): void;
};

/** How many reads of the file are running; while there are any, nothing is dropped. */
export type FileReads = { count: number };

/** Roughly what an entry takes in addition to its value, in characters. */
const OVERHEAD_CHARS = 200;

/** Creates an empty cache of at most about `charsMax` characters. */
export function createRecentRows<T>(
  charsMax: number,
  isDurable: (seq: number) => boolean,
  fileReads: FileReads,
): RecentRows<T> {
  const rows = new Map<string, CachedRow<T>>();
  let totalChars = 0;

  function dropOldest(): void {
    for (const [key, row] of rows) {
      if (totalChars <= charsMax || !isDurable(row.seq)) return;
      rows.delete(key);
      totalChars -= row.chars;
    }
  }

  return {
    get: (key) => rows.get(key)?.value,
    seqOf: (key) => rows.get(key)?.seq ?? 0,
    note(key, value, seq, chars) {
      const before = rows.get(key);
      if (before) {
        totalChars -= before.chars;
        rows.delete(key);
      }
      const row = { value, seq, chars: chars + OVERHEAD_CHARS };
      totalChars += row.chars;
      rows.set(key, row);
      if (totalChars > charsMax && fileReads.count === 0) dropOldest();
    },
  };
}
