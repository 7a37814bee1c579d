/**
 * Finds the most similar tag that agents have when no agent has the tag itself: for example, `gpu` for `gpu2`
 * or `GPU`.
 *
 * A call costs at most 250,000 steps of comparison, some milliseconds, however many tags there are.
 */
import { editDistance } from '../../../domain/edit-distance.ts';

/** Steps of one call, for all its tags together. Passing over a tag is one step. */
const STEPS_MAX = 250_000;
/** Longer tags are similar only if their folded forms are equal. */
const COMPARED_CHARS_MAX = 64;
/** From this length on, a tag is similar to tags that begin with it: `gpu` to `gpu-a100`. */
const PREFIX_CHARS_MIN = 3;

/** Finds the most similar known tag for each of `tags`. Tags without a similar one are left out. */
export function findSimilarTags(
  known: readonly FoldedTag[],
  tags: readonly string[],
): ReadonlyMap<string, string> {
  if (tags.length === 0) return new Map();
  const found = tags.map((tag) => [tag, findNearest(known, tag, STEPS_MAX / tags.length)] as const);
  return new Map(found.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}

/** A tag and its folded form, without case and separators. */
export type FoldedTag = { readonly tag: string; readonly text: string };

/** Folds a tag for the comparison. */
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

/** Compares two folded tags. A difference of 0 means equal, infinity not similar; `cost` is in steps. */
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
