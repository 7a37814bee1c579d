/**
 * A bounded cache of values that are not part of the memory state but were written recently: settled tasks,
 * inputs, idempotency keys, the ends of feeds.
 *
 * Invariants
 * - A cached value equals what the file will hold once all commits decided so far are durable.
 * - A value that is not durable yet is never dropped: until then the file still has the value before it.
 * - Nothing is dropped while a read of the file is running that may have begun before the value was written.
 * - Beyond the bound the older half of the values is dropped, all at once: to drop one after the other from
 *   the front of a map costs time in what was dropped before.
 */
type CachedRow<T> = { readonly value: T; readonly seq: number };

export type RecentRows<T> = {
  /** The value as of the last decided commit; undefined when the file must be read. */
  get(key: string): T | undefined;
  /** Number of the commit that wrote it. */
  seqOf(key: string): number;
  /** Notes what a commit writes. `chars` is roughly the memory that the value takes, in characters. */
  note(key: string, value: T, seq: number, chars: number): void;
  /** Drops what is beyond the bound. Called when a read has ended: nothing is dropped meanwhile. */
  trim(): void;
};

/** How many reads of the file are running; while there are any, nothing is dropped. */
export type FileReads = { count: number };

/** The values that were noted in one period, by key. */
type Period<T> = { readonly rows: Map<string, CachedRow<T>>; chars: number; lastSeq: number };

/** Roughly what an entry takes in addition to its value, in characters. */
const OVERHEAD_CHARS = 200;

/** Creates an empty cache of at most about `charsMax` characters. */
export function createRecentRows<T>(
  charsMax: number,
  isDurable: (seq: number) => boolean,
  fileReads: FileReads,
): RecentRows<T> {
  let present = createPeriod<T>();
  let past = createPeriod<T>();

  /** A value of the present wins over one of the past, and is dropped after it. */
  const find = (key: string): CachedRow<T> | undefined => present.rows.get(key) ?? past.rows.get(key);

  function trim(): void {
    if (present.chars < charsMax / 2 || !isDurable(past.lastSeq) || fileReads.count > 0) return;
    past = present;
    present = createPeriod();
  }

  return {
    trim,
    get: (key) => find(key)?.value,
    seqOf: (key) => find(key)?.seq ?? 0,
    note(key, value, seq, chars) {
      present.rows.set(key, { value, seq });
      present.chars += chars + OVERHEAD_CHARS;
      present.lastSeq = seq;
      trim();
    },
  };
}

function createPeriod<T>(): Period<T> {
  return { rows: new Map(), chars: 0, lastSeq: 0 };
}
