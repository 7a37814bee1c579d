/**
 * When no agent has a tag, the most similar tag that agents have: for example, `gpu` for `gpu2` or `GPU`.
 *
 * Cost of a call: 250,000 steps of comparison at most, some milliseconds, however many tags are looked
 * for and however many there are.
 */
import { editDistance } from '../../../domain/edit-distance.ts';

/** Steps of one call, for all the tags it looks for; a tag that is passed over is one step. */
const STEPS_MAX = 250_000;
/** Longer tags are found only where their folded forms are equal. */
const COMPARED_CHARS_MAX = 64;
/** The first characters of a tag count as like it from this length on: `gpu` is like `gpu-a100`. */
const PREFIX_CHARS_MIN = 3;

/** Finds the most similar of the known tags for each of these, if there is one. */
export function findSimilarTags(
  known: readonly FoldedTag[],
  tags: readonly string[],
): ReadonlyMap<string, string> {
  if (tags.length === 0) return new Map();
  const found = tags.map((tag) => [tag, findNearest(known, tag, STEPS_MAX / tags.length)] as const);
  return new Map(found.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}

/** A tag, and its text without case and separators. */
export type FoldedTag = { readonly tag: string; readonly text: string };

/** The text of a tag by which it is compared. */
export function foldTag(tag: string): string {
  return tag.toLowerCase().replaceAll(/[\s._:/-]+/g, '');
}

function findNearest(texts: readonly FoldedTag[], tag: string, stepsMax: number): string | undefined {
  const wanted = foldTag(tag);
  let [best, bestDifference, steps]: [string | undefined, number, number] = [undefined, Infinity, 0];
  for (const one of texts) {
    if (steps > stepsMax) break;
    steps += 1;
    if (one.tag === tag) continue;
    const { difference, cost } = compareTexts(wanted, one.text);
    steps += cost;
    if (difference < bestDifference) [best, bestDifference] = [one.tag, difference];
  }
  return best;
}

const DIFFERENT = { difference: Infinity, cost: 0 };

/** How much two folded tags differ, and the steps it took. 0: not at all; infinite: they are not alike. */
function compareTexts(a: string, b: string): { readonly difference: number; readonly cost: number } {
  if (a === b) return { difference: 0, cost: 0 };
  const [shorter, longer] = a.length <= b.length ? [a, b] : [b, a];
  if (longer.length > COMPARED_CHARS_MAX) return DIFFERENT;
  const errorsMax = shorter.length < 3 ? 0 : longer.length < 8 ? 1 : 2;
  const surplus = longer.length - shorter.length;
  if (shorter.length >= PREFIX_CHARS_MIN && longer.startsWith(shorter))
    return { difference: surplus <= errorsMax ? surplus : errorsMax + surplus, cost: 0 };
  if (surplus > errorsMax || errorsMax === 0) return DIFFERENT;
  const distance = editDistance(shorter, longer, errorsMax);
  return {
    difference: distance <= errorsMax ? distance : Infinity,
    cost: shorter.length * (2 * errorsMax + 1),
  };
}
