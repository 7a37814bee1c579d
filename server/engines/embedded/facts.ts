/**
 * Values that are not part of the image but were written or read lately: settled tasks, inputs, keys, the ends of
 * feeds. A commit is decided in one go, so what it must know of the file is brought here first.
 *
 * Invariants: a fact equals what the file will hold once all commits decided so far are durable. A fact that is not
 * durable yet is never dropped: until then the file would answer wrongly. Beyond its bound the oldest durable go.
 */
type Fact<T> = { readonly value: T; readonly seq: number; readonly size: number };

export type Facts<T> = {
  /** The value as of the last decided commit; undefined when it is not known here. */
  peek(key: string): T | undefined;
  /** Number of the commit that wrote it; 0 when it was read from the file. */
  seqOf(key: string): number;
  /** Notes what a commit writes. `size` is about the memory it takes, in characters. */
  note(key: string, value: T, seq: number, size: number): void;
  /** Brings facts from the file; what a commit writes meanwhile wins over what was read. */
  load(keys: readonly string[], read: () => Promise<readonly { value: T; size: number }[]>): Promise<void>;
};

/** What an entry takes beside its value, about. */
const OVERHEAD_CHARS = 200;

/** Creates an empty set of facts. */
export function createFacts<T>(sizeMax: number, isDurable: (seq: number) => boolean): Facts<T> {
  const facts = new Map<string, Fact<T>>();
  const loading = new Map<string, symbol>();
  let size = 0;

  function put(key: string, fact: Fact<T>): void {
    const old = facts.get(key);
    if (old) {
      size -= old.size;
      facts.delete(key);
    }
    size += fact.size;
    facts.set(key, fact);
    for (const [oldest, { seq, size: its }] of facts) {
      if (size <= sizeMax || !isDurable(seq) || oldest === key) break;
      facts.delete(oldest);
      size -= its;
    }
  }

  return {
    peek: (key) => facts.get(key)?.value,
    seqOf: (key) => facts.get(key)?.seq ?? 0,
    note(key, value, seq, chars) {
      if (loading.size > 0) loading.delete(key);
      put(key, { value, seq, size: chars + OVERHEAD_CHARS });
    },
    async load(keys, read) {
      const token = Symbol('load');
      for (const key of keys) loading.set(key, token);
      try {
        const found = await read();
        for (const [index, key] of keys.entries()) {
          const one = found[index];
          if (one === undefined || loading.get(key) !== token || facts.has(key)) continue;
          put(key, { value: one.value, seq: 0, size: one.size + OVERHEAD_CHARS });
        }
      } finally {
        for (const key of keys) if (loading.get(key) === token) loading.delete(key);
      }
    },
  };
}
