/**
 * The tags that agents have, to name the one that is most like a tag which none of them has: `gpu` for
 * `gpu2` or `GPU`.
 *
 * Cost of a look: at most `COMPARED_MAX` short comparisons, however many tags there are; beyond that many
 * only the nearest in alphabetical order are compared. What was found is remembered until the tags change.
 */
import BTreeModule from 'sorted-btree';
import { editDistance } from '../domain/edit-distance.ts';

const BTree = BTreeModule.default;

export type SimilarTags = {
  add(tag: string): void;
  remove(tag: string): void;
  clear(): void;
  /** The tag most like this one; undefined when none is like it. */
  find(tag: string): string | undefined;
};

/** Tags that are compared with one, half of them before it and half behind. */
const COMPARED_MAX = 500;
/** Longer tags are found only where their folded forms are equal. */
const COMPARED_CHARS_MAX = 64;
/** Results that are remembered. */
const REMEMBERED_MAX = 1_000;
/** The first characters of a tag count as like it from this length on: `gpu` is like `gpu-a100`. */
const PREFIX_CHARS_MIN = 3;

/** Creates it without tags. */
export function createSimilarTags(): SimilarTags {
  /** By their folded form, so that tags that differ in case alone stand together. */
  const sorted = new BTree<string, string>();
  const found = new Map<string, string | undefined>();

  function change(): void {
    if (found.size > 0) found.clear();
  }

  function* near(key: string): Generator<string> {
    let left = COMPARED_MAX;
    for (const [, tag] of sorted.entries(key)) {
      yield tag;
      left -= 1;
      if (left === COMPARED_MAX / 2) break;
    }
    for (const [, tag] of sorted.entriesReversed(key)) {
      yield tag;
      left -= 1;
      if (left <= 0) break;
    }
  }

  function look(wanted: string): string | undefined {
    let best: string | undefined;
    let bestDifference = Number.POSITIVE_INFINITY;
    for (const tag of near(toKey(wanted))) {
      const difference = compareTags(wanted, tag);
      if (difference >= bestDifference) continue;
      best = tag;
      bestDifference = difference;
    }
    return best;
  }

  return {
    add(tag) {
      sorted.set(toKey(tag), tag);
      change();
    },
    remove(tag) {
      sorted.delete(toKey(tag));
      change();
    },
    clear() {
      sorted.clear();
      change();
    },
    find(tag) {
      if (found.has(tag)) return found.get(tag);
      const best = look(tag);
      const [oldest] = found.keys();
      if (found.size >= REMEMBERED_MAX && oldest !== undefined) found.delete(oldest);
      found.set(tag, best);
      return best;
    },
  };
}

/** The tag without case and separators. */
function fold(tag: string): string {
  return tag.toLowerCase().replaceAll(/[\s._:/-]+/g, '');
}

function toKey(tag: string): string {
  return `${fold(tag)}\n${tag}`;
}

/** How much two tags differ: 0 for none but case and separators; infinite when they are not alike. */
function compareTags(wanted: string, tag: string): number {
  const [a, b] = [fold(wanted), fold(tag)];
  if (a === b) return 0;
  const [shorter, longer] = a.length <= b.length ? [a, b] : [b, a];
  if (longer.length > COMPARED_CHARS_MAX) return Number.POSITIVE_INFINITY;
  const errorsMax = shorter.length < 3 ? 0 : longer.length < 8 ? 1 : 2;
  if (longer.length - shorter.length <= errorsMax) {
    const distance = editDistance(a, b);
    if (distance <= errorsMax) return distance;
  }
  const isPrefix = shorter.length >= PREFIX_CHARS_MIN && longer.startsWith(shorter);
  return isPrefix ? errorsMax + longer.length - shorter.length : Number.POSITIVE_INFINITY;
}
