/** Whether a JSON value is large, found without rendering it. */

/** Values beyond about this many characters count as large: working on one takes about a millisecond. */
const LARGE_CHARS = 65_536;
/** About what a number, a literal or the quotes and commas of an item take. */
const ITEM_CHARS = 3;

/** Whether a value is large that has this text. */
export function isLargeText(text: string): boolean {
  return text.length > LARGE_CHARS;
}

/**
 * Whether the value, or bytes that were rendered of it, takes more than about 64 KiB. Looks at no more of it.
 */
export function isLargeValue(value: unknown): boolean {
  const unvisited: unknown[] = [value];
  let chars = 0;
  while (unvisited.length > 0 && chars <= LARGE_CHARS) {
    const next = unvisited.pop();
    if (typeof next === 'string') chars += next.length;
    if (ArrayBuffer.isView(next)) chars += next.byteLength;
    if (typeof next !== 'object' || next === null || ArrayBuffer.isView(next)) continue;
    const keys = Array.isArray(next) ? null : Object.keys(next);
    const items: readonly unknown[] = keys === null ? (next as readonly unknown[]) : Object.values(next);
    chars += items.length * ITEM_CHARS;
    if (chars > LARGE_CHARS) return true;
    for (const key of keys ?? []) chars += key.length;
    for (const item of items) unvisited.push(item);
  }
  return chars > LARGE_CHARS;
}
