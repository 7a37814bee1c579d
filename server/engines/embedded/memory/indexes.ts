/**
 * The tasks' indexes in memory, those of open tasks: for each part of an index its keys in order. A change
 * costs the logarithm of the keys of the part, and so does each key in a listing.
 */
import BTreeModule from 'sorted-btree';
import type { IndexEntry } from '../../../domain/projection.ts';

const BTree = BTreeModule.default;
type Keys = InstanceType<typeof BTree<string, undefined>>;

/** The indexes in memory; the others are rows. */
const IN_MEMORY = ['open', 'waiting', 'waiting-for', 'waiting-for-answer', 'claimable'] as const;
export type MemoryIndex = (typeof IN_MEMORY)[number];

/** Keys after one and below another, both excluded; undefined: from the first, to the last. */
export type KeyRange = { readonly after: string | undefined; readonly below: string | undefined };

export type Indexes = {
  /** Idempotent. */
  add(index: MemoryIndex, of: string, key: string): void;
  /** Idempotent. */
  remove(index: MemoryIndex, of: string, key: string): void;
  size(index: MemoryIndex, of: string): number;
  /** The smallest key of a part; undefined when it has none. */
  first(index: MemoryIndex, of: string): string | undefined;
  /** Whether one of these parts has keys. */
  hasAny(index: MemoryIndex, parts: readonly string[]): boolean;
  countParts(index: MemoryIndex): number;
  /** At most this many of the parts with keys, each once. */
  listParts(index: MemoryIndex, limit: number): readonly string[];
  /** At most `limit` keys of these parts together, each once; ascending, or the greatest first. */
  list(
    index: MemoryIndex,
    parts: readonly string[],
    range: KeyRange,
    limit: number,
    order?: 'ascending' | 'descending',
  ): string[];
};

/** Whether the index is one of those in memory. */
export function isInMemory(index: IndexEntry['index']): index is MemoryIndex {
  return (IN_MEMORY as readonly string[]).includes(index);
}

/** Creates them empty. */
export function createIndexes(): Indexes {
  const indexes: Readonly<Record<MemoryIndex, Map<string, Keys>>> = {
    open: new Map(),
    waiting: new Map(),
    'waiting-for': new Map(),
    'waiting-for-answer': new Map(),
    claimable: new Map(),
  };
  return {
    add(index, of, key) {
      const parts = indexes[index];
      const keys = parts.get(of) ?? new BTree<string, undefined>();
      keys.set(key, undefined);
      if (keys.size === 1) parts.set(of, keys);
    },
    remove(index, of, key) {
      const keys = indexes[index].get(of);
      keys?.delete(key);
      if (keys?.size === 0) indexes[index].delete(of);
    },
    size: (index, of) => indexes[index].get(of)?.size ?? 0,
    first: (index, of) => indexes[index].get(of)?.minKey(),
    hasAny: (index, parts) => indexes[index].size > 0 && parts.some((of) => indexes[index].has(of)),
    countParts: (index) => indexes[index].size,
    listParts(index, limit) {
      const parts: string[] = [];
      for (const of of indexes[index].keys()) if (parts.push(of) >= limit) break;
      return parts;
    },
    list(index, parts, { after, below }, limit, order = 'ascending') {
      const sets = [...new Set(parts)].flatMap((of) => indexes[index].get(of) ?? []);
      const isDescending = order === 'descending';
      const isWithin = (key: string): boolean =>
        isDescending ? after === undefined || key > after : below === undefined || key < below;
      const keys: string[] = [];
      let key = findNext(sets, isDescending ? below : after, isDescending);
      while (key !== undefined && isWithin(key) && keys.length < limit) {
        keys.push(key);
        key = findNext(sets, key, isDescending);
      }
      return keys;
    },
  };
}

/** The key that follows in any of the sets; the first one after none. */
function findNext(sets: readonly Keys[], key: string | undefined, isDescending: boolean): string | undefined {
  let next: string | undefined;
  for (const keys of sets) {
    const found = isDescending ? keys.nextLowerKey(key) : keys.nextHigherKey(key);
    if (found !== undefined && (next === undefined || found < next !== isDescending)) next = found;
  }
  return next;
}
