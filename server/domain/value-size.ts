/** Finds whether a JSON value is large without rendering it. Pure. */

/** A text of more characters or bytes is large: working on it takes about a millisecond. */
export const SMALL_LENGTH_MAX = 65_536;
/** About how many characters a number, a literal or the punctuation of an item takes. */
const ITEM_CHARS = 3;

function isLargeText(text: string): boolean {
  return text.length > SMALL_LENGTH_MAX;
}

/**
 * Whether the value, or its rendered bytes, takes more than about 64 KiB. Stops looking as soon as it does.
 */
export function isLargeValue(value: unknown): boolean {
  if (typeof value === 'string') return isLargeText(value);
  const unvisited: object[] = [];
  if (typeof value === 'object' && value !== null) unvisited.push(value);
  let chars = 0;
  for (let next = unvisited.pop(); next && chars <= SMALL_LENGTH_MAX; next = unvisited.pop()) {
    if (ArrayBuffer.isView(next)) {
      chars += next.byteLength;
      continue;
    }
    const keys = Array.isArray(next) ? null : Object.keys(next);
    const items: readonly unknown[] = keys === null ? (next as readonly unknown[]) : Object.values(next);
    chars += items.length * ITEM_CHARS;
    if (chars > SMALL_LENGTH_MAX) return true;
    for (const key of keys ?? []) chars += key.length;
    for (const item of items) {
      if (typeof item === 'string') chars += item.length;
      else if (typeof item === 'object' && item !== null) unvisited.push(item);
    }
  }
  return chars > SMALL_LENGTH_MAX;
}
