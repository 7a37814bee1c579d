/**
 * The storage of `memory:`: a Keyv over a map whose keys are in order. Its rows are lost when the process
 * ends. It needs no SQLite and no thread, nor anything else of Node: so it works when there is none, as in a
 * browser.
 */
import type { Keyv } from 'keyv';
import BTreeModule from 'sorted-btree';
import { isLargeText } from '../../../domain/value-size.ts';
import { createAdapter, type WritableRows, writeHere } from './keyv-adapter.ts';
import { openKeyv, type Row } from './ordered-storage.ts';

const BTree = BTreeModule.default;

/** A text is kept as UTF-8 if it is large: outside of the heap, whose limit is lower than the machine's. */
type Kept = string | Uint8Array;

/** Creates rows that stay when the stores over them are closed. Returns the function that opens them. */
export function keepInMemory(): () => Promise<Keyv<string>> {
  const rows = createOrderedRows();
  return async () => openKeyv(createAdapter(rows, writeHere(rows)));
}

function createOrderedRows(): WritableRows {
  const rows = new BTree<string, Kept>();
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const keep = (text: string): Kept => (isLargeText(text) ? encoder.encode(text) : text);
  const read = (kept: Kept): string => (typeof kept === 'string' ? kept : decoder.decode(kept));
  const readRow = ([key, kept]: readonly [string, Kept]): Row => [key, read(kept)];

  return {
    get(key) {
      const kept = rows.get(key);
      return kept === undefined ? undefined : read(kept);
    },
    scan(from, to, limit, reverse) {
      const found: Row[] = [];
      for (const row of reverse ? rows.entriesReversed(to, undefined, true) : rows.entries(from)) {
        const isOutside = reverse ? row[0] < from : row[0] >= to;
        if (isOutside || found.length >= limit) break;
        found.push(readRow(row));
      }
      return found;
    },
    apply(sets, deletes) {
      for (const [key, text] of sets) rows.set(key, keep(text));
      for (const key of deletes) rows.delete(key);
    },
    close: () => undefined,
  };
}
