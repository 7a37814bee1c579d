/**
 * A map with a maximum number of entries. Setting one entry more makes the map forget the entry set least
 * recently. Reading an entry does not make it recent.
 *
 * A linked list keeps the order. A `Map` keeps it too, but finding its first key costs a step for each key
 * deleted before that one. An iterator kept open would hold every table of the `Map` since then.
 *
 * Each call costs a lookup and a few links, however many entries there are.
 */

export type BoundedMap<K, V> = {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
};

type Entry<K, V> = { readonly key: K; value: V; older: Entry<K, V> | null; newer: Entry<K, V> | null };

/** Creates an empty map. It calls `onForgotten` with each entry that it forgets to make room. */
export function createBoundedMap<K, V>(
  entriesMax: number,
  onForgotten: (key: K, value: V) => void = () => undefined,
): BoundedMap<K, V> {
  const entries = new Map<K, Entry<K, V>>();
  let oldest: Entry<K, V> | null = null;
  let newest: Entry<K, V> | null = null;

  function unlink(entry: Entry<K, V>): void {
    const { older, newer } = entry;
    if (older) older.newer = newer;
    else oldest = newer;
    if (newer) newer.older = older;
    else newest = older;
  }

  function append(entry: Entry<K, V>): void {
    entry.older = newest;
    entry.newer = null;
    if (newest) newest.newer = entry;
    else oldest = entry;
    newest = entry;
  }

  function forgetOldest(): void {
    const entry = oldest;
    if (!entry) return;
    unlink(entry);
    entries.delete(entry.key);
    onForgotten(entry.key, entry.value);
  }

  return {
    get: (key) => entries.get(key)?.value,
    set(key, value) {
      const known = entries.get(key);
      if (known) {
        known.value = value;
        if (known === newest) return;
        unlink(known);
        append(known);
        return;
      }
      if (entries.size >= entriesMax) forgetOldest();
      const entry: Entry<K, V> = { key, value, older: null, newer: null };
      entries.set(key, entry);
      append(entry);
    },
    delete(key) {
      const entry = entries.get(key);
      if (!entry) return;
      entries.delete(key);
      unlink(entry);
    },
  };
}
