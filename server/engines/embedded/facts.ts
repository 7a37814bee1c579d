/**
 * Values that are not part of the image but were written lately: settled tasks, inputs, keys, the ends of feeds.
 *
 * Invariants: a fact equals what the file will hold once all commits decided so far are durable. A fact that is not
 * durable yet is never dropped: until then the file would answer wrongly. Neither is one dropped while a read is under
 * way that may have begun before it was written. Beyond the bound the oldest go.
 */
type Fact<T> = { readonly value: T; readonly seq: number; readonly size: number };

export type Facts<T> = {
  /** The value as of the last decided commit; undefined when the file must be asked. */
  peek(key: string): T | undefined;
  /** Number of the commit that wrote it. */
  seqOf(key: string): number;
  /** Notes what a commit writes. `size` is about the memory it takes, in characters. */
  note(key: string, value: T, seq: number, size: number): void;
};

/** Reads of the file that are under way; while there are any, nothing is forgotten. */
export type Reads = { count: number };

/** What an entry takes beside its value, about, in characters. */
const OVERHEAD_CHARS = 200;

/** Creates an empty set of facts. */
export function createFacts<T>(sizeMax: number, isDurable: (seq: number) => boolean, reads: Reads): Facts<T> {
  const facts = new Map<string, Fact<T>>();
  let size = 0;

  function makeRoom(): void {
    for (const [oldest, fact] of facts) {
      if (size <= sizeMax || !isDurable(fact.seq)) return;
      facts.delete(oldest);
      size -= fact.size;
    }
  }

  return {
    peek: (key) => facts.get(key)?.value,
    seqOf: (key) => facts.get(key)?.seq ?? 0,
    note(key, value, seq, chars) {
      const old = facts.get(key);
      if (old) {
        size -= old.size;
        facts.delete(key);
      }
      const fact = { value, seq, size: chars + OVERHEAD_CHARS };
      size += fact.size;
      facts.set(key, fact);
      if (size > sizeMax && reads.count === 0) makeRoom();
    },
  };
}
