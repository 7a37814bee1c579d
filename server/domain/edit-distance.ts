/** How much two texts differ: for guessing what a person meant to write, such as `gpu` instead of `gup`. */

/**
 * The Levenshtein distance if it is at most `max`, else `Infinity`. The cost grows with the length of the
 * shorter text times `max`; it is less where the texts differ early.
 */
export function editDistance(left: string, right: string, max: number): number {
  const lengths = right.length - left.length;
  if (Math.abs(lengths) > max) return Number.POSITIVE_INFINITY;
  // A row holds only the cells at most `max` from the diagonal: cell `k` is column `i + k - max`.
  let row: readonly number[] = [];
  for (let i = 0; i <= left.length; i += 1) {
    const above = row;
    const next: number[] = [];
    let least = Number.POSITIVE_INFINITY;
    for (let k = 0; k <= 2 * max; k += 1) {
      const j = i + k - max;
      const cell = i === 0 ? j : readCell(above, next, k, left[i - 1] === right[j - 1]);
      next.push(j < 0 || j > right.length ? Number.POSITIVE_INFINITY : cell);
      least = Math.min(least, next[k] ?? least);
    }
    if (least > max) return Number.POSITIVE_INFINITY;
    row = next;
  }
  const distance = row[lengths + max] ?? Number.POSITIVE_INFINITY;
  return distance <= max ? distance : Number.POSITIVE_INFINITY;
}

function readCell(above: readonly number[], next: readonly number[], k: number, isEqual: boolean): number {
  const swap = (above[k] ?? Number.POSITIVE_INFINITY) + (isEqual ? 0 : 1);
  const remove = (above[k + 1] ?? Number.POSITIVE_INFINITY) + 1;
  const insert = (next[k - 1] ?? Number.POSITIVE_INFINITY) + 1;
  return Math.min(swap, remove, insert);
}
