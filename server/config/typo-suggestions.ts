/** Variables that look like a setting and are none: most likely a slip, and silently without effect. */

/** A warning for each such name. */
export function suggestSettings(names: readonly string[], known: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    if (known.includes(name)) return [];
    const near = known.find((one) => isNear(name.toUpperCase(), one));
    return near === undefined ? [] : [`${name}: is no setting and has no effect; did you mean ${near}?`];
  });
}

/** One slip in a short name, two in a long one, or the name without its last word. */
function isNear(name: string, setting: string): boolean {
  const slips = setting.length < 8 ? 1 : 2;
  if (name.includes('_') && setting.startsWith(`${name}_`)) return true;
  return Math.abs(name.length - setting.length) <= slips && countSlips(name, setting) <= slips;
}

/** Levenshtein's distance. */
function countSlips(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, place) => place);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
