/**
 * The rows of a group as one text, in which they reach the writer thread: keys and values one behind the
 * other, and how long each is. To copy one text between threads costs a fraction of copying each of them.
 */
import type { Row } from './ordered-storage.ts';

export type RowText = {
  readonly text: string;
  /** Of each row the length of its key, then that of its value; -1: the row is removed. */
  readonly lengths: Int32Array;
};

const REMOVED = -1;

/** Joins what is written and what is removed. */
export function joinRows(sets: ReadonlyMap<string, string>, deletes: ReadonlySet<string>): RowText {
  const lengths = new Int32Array(2 * (sets.size + deletes.size));
  let text = '';
  let count = 0;
  for (const [key, value] of sets) {
    text += key;
    text += value;
    lengths[count] = key.length;
    lengths[count + 1] = value.length;
    count += 2;
  }
  for (const key of deletes) {
    text += key;
    lengths[count] = key.length;
    lengths[count + 1] = REMOVED;
    count += 2;
  }
  return { text, lengths };
}

/** Takes them apart again, in the same order. */
export function splitRows({ text, lengths }: RowText): {
  readonly sets: readonly Row[];
  readonly deletes: readonly string[];
} {
  const sets: Row[] = [];
  const deletes: string[] = [];
  let from = 0;
  for (let index = 0; index < lengths.length; index += 2) {
    const valueFrom = from + (lengths[index] ?? 0);
    const valueLength = lengths[index + 1] ?? REMOVED;
    const key = text.slice(from, valueFrom);
    from = valueFrom + Math.max(0, valueLength);
    if (valueLength === REMOVED) deletes.push(key);
    else sets.push([key, text.slice(valueFrom, from)]);
  }
  return { sets, deletes };
}
