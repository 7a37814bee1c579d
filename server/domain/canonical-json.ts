/** JSON compared by value: the order of keys makes no difference. Pure. */

/**
 * Renders JSON so that equal values have the same text. The format is frozen, because stored fingerprints are
 * made of this text. The limit on bodies bounds the depth, so recursion is safe.
 */
export function writeCanonical(value: unknown): string {
  return JSON.stringify(sortKeys(value));
}

export function isSameJson(one: unknown, other: unknown): boolean {
  const [text, otherText] = [JSON.stringify(one), JSON.stringify(other)];
  if (text === otherText) return true;
  // Equal values have texts of the same length, whatever the order of their keys.
  return text?.length === otherText?.length && writeCanonical(one) === writeCanonical(other);
}

/**
 * Turns an object into its sorted entries under one empty key. So an array never looks like an object, and a
 * key such as `__proto__` has no effect.
 */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { '': entries.map(([key, inner]) => [key, sortKeys(inner)]) };
}
