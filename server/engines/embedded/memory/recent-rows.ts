/**
 * Values that are not part of the image but were written lately: settled tasks, inputs, keys, the ends of feeds.
 *
 * Invariants: a fact equals what the file will hold once all commits decided so far are durable. A fact that is not
 * durable yet is never dropped: until then the file would answer wrongly. Neither is one dropped while a read is under
 * way that may have begun before it was written. Beyond the bound the oldest go.
 */
type RecentRow<T> = { readonly value: T; readonly seq: number; readonly size: number };

export type RecentRows<T> = {
  /** The value as of the last decided commit; undefined when the file must be asked. */
  get(key: string): T | undefined;
  /** Number of the commit that wrote it. */
  seqOf(key: string): number;
  /** Notes what a commit writes. `size` is about the memory it takes, in characters. */
  note(key: string, value: T, seq: number, size: number): void;
};

/** Reads of the file that are under way; while there are any, nothing is forgotten. */
export type FileReads = { count: number };

/** What an entry takes beside its value, about, in characters. */
const OVERHEAD_CHARS = 200;

/** Creates an empty set of facts. */
export function createRecentRows<T>(
  sizeMax: number,
  isDurable: (seq: number) => boolean,
  reads: FileReads,
): RecentRows<T> {
  const rows = new Map<string, RecentRow<T>>();
  let size = 0;

  function makeRoom(): void {
    for (const [oldest, fact] of rows) {
      if (size <= sizeMax || !isDurable(fact.seq)) return;
      rows.delete(oldest);
      size -= fact.size;
    }
  }

  return {
    get: (key) => rows.get(key)?.value,
    seqOf: (key) => rows.get(key)?.seq ?? 0,
    note(key, value, seq, chars) {
      const old = rows.get(key);
      if (old) {
        size -= old.size;
        rows.delete(key);
      }
      const fact = { value, seq, size: chars + OVERHEAD_CHARS };
      size += fact.size;
      rows.set(key, fact);
      if (size > sizeMax && reads.count === 0) makeRoom();
    },
  };
}
