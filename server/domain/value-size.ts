/** Whether a JSON value is large, found without rendering it. */

/** Values beyond about this many characters count as large: working on one takes about a millisecond. */
const LARGE_CHARS = 65_536;
/** About what a number, a literal or the quotes and commas of an item take. */
const ITEM_CHARS = 3;

/** Whether a value with this text is large. */
export function isLargeText(text: string): boolean {
  return text.length > LARGE_CHARS;
}

/**
 * Whether the value, or its rendered bytes, takes more than about 64 KiB. If it does, the rest is not looked
 * at.
 */
export function isLargeValue(value: unknown): boolean {
  if (typeof value === 'string') return isLargeText(value);
  const unvisited: object[] = [];
  if (typeof value === 'object' && value !== null) unvisited.push(value);
  let chars = 0;
  for (let next = unvisited.pop(); next && chars <= LARGE_CHARS; next = unvisited.pop()) {
    if (ArrayBuffer.isView(next)) {
      chars += next.byteLength;
      continue;
    }
    const keys = Array.isArray(next) ? null : Object.keys(next);
    const items: readonly unknown[] = keys === null ? (next as readonly unknown[]) : Object.values(next);
    chars += items.length * ITEM_CHARS;
    if (chars > LARGE_CHARS) return true;
    for (const key of keys ?? []) chars += key.length;
    for (const item of items) {
      if (typeof item === 'string') chars += item.length;
      else if (typeof item === 'object' && item !== null) unvisited.push(item);
    }
  }
  return chars > LARGE_CHARS;
}
