/**
 * The tags of agents. When no agent has a tag, it names the most similar one: for example, `gpu` for `gpu2`
 * or `GPU`.
 *
 * Cost of a call: at most `COMPARED_MAX` short comparisons in all, however many tags are looked for and
 * however many there are. Each is compared with the nearest in alphabetical order.
 */
import BTreeModule from 'sorted-btree';
import { editDistance } from '../../../domain/edit-distance.ts';

const BTree = BTreeModule.default;

export type SimilarTags = {
  add(tag: string): void;
  remove(tag: string): void;
  /** The most similar tag for each of these, if there is one. */
  find(tags: readonly string[]): ReadonlyMap<string, string>;
};

/** So many tags are compared in one call, for all the tags it looks for. */
const COMPARED_MAX = 2_000;
/** Of these, the most that one tag is compared with, half of them before it and half behind. */
const COMPARED_EACH_MAX = 500;
/** Longer tags are found only where their folded forms are equal. */
const COMPARED_CHARS_MAX = 64;
/** The first characters of a tag count as like it from this length on: `gpu` is like `gpu-a100`. */
const PREFIX_CHARS_MIN = 3;

/** Creates it without tags. */
export function createSimilarTags(): SimilarTags {
  /** By their folded form, so that tags that differ in case alone stand together; with that form. */
  const sorted = new BTree<string, Folded>();

  function* near(key: string, max: number): Generator<Folded> {
    const half = Math.ceil(max / 2);
    let left = half;
    for (const [, folded] of sorted.entries(key)) {
      if (left === 0) break;
      left -= 1;
      yield folded;
    }
    left = half;
    for (const [, folded] of sorted.entriesReversed(key)) {
      if (left === 0) break;
      left -= 1;
      yield folded;
    }
  }

  function look(tag: string, max: number): string | undefined {
    const wanted = { tag, text: fold(tag) };
    let best: string | undefined;
    let bestDifference = Number.POSITIVE_INFINITY;
    for (const folded of near(toKey(wanted), max)) {
      const difference =
        folded.tag === tag ? Number.POSITIVE_INFINITY : compareTexts(wanted.text, folded.text);
      if (difference >= bestDifference) continue;
      best = folded.tag;
      bestDifference = difference;
    }
    return best;
  }

  return {
    add(tag) {
      const folded = { tag, text: fold(tag) };
      sorted.set(toKey(folded), folded);
    },
    remove: (tag) => void sorted.delete(toKey({ tag, text: fold(tag) })),
    find(tags) {
      const max = Math.min(COMPARED_EACH_MAX, Math.floor(COMPARED_MAX / Math.max(1, tags.length)));
      return new Map(
        tags.flatMap((tag) => {
          const best = look(tag, max);
          return best === undefined ? [] : [[tag, best] as const];
        }),
      );
    },
  };
}

/** A tag, and its text without case and separators. */
type Folded = { readonly tag: string; readonly text: string };

function fold(tag: string): string {
  return tag.toLowerCase().replaceAll(/[\s._:/-]+/g, '');
}

function toKey({ tag, text }: Folded): string {
  return `${text}\n${tag}`;
}

/** How much two folded tags differ: 0 for not at all; infinite when they are not alike. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const [shorter, longer] = a.length <= b.length ? [a, b] : [b, a];
  if (longer.length > COMPARED_CHARS_MAX) return Number.POSITIVE_INFINITY;
  const errorsMax = shorter.length < 3 ? 0 : longer.length < 8 ? 1 : 2;
  const distance = editDistance(shorter, longer, errorsMax);
  if (distance <= errorsMax) return distance;
  const isPrefix = shorter.length >= PREFIX_CHARS_MIN && longer.startsWith(shorter);
  return isPrefix ? errorsMax + longer.length - shorter.length : Number.POSITIVE_INFINITY;
}
