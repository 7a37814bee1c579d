/** The beginning of a text that may be long, for a row in a listing. Pure. */

/** In UTF-16 code units, as `length` counts. */
const PREVIEW_CHARS_MAX = 240;

/** Returns the beginning of a text, never cut within a code point. */
export function cutText(text: string, charsMax = PREVIEW_CHARS_MAX): string {
  if (text.length <= charsMax) return text;
  const last = text.charCodeAt(charsMax - 1);
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHighSurrogate ? charsMax - 1 : charsMax);
}

/**
 * Copies the beginning of a text, as `cutText()` cuts it. A mere slice would keep the whole text in memory.
 */
export function copyBeginning(text: string, charsMax = PREVIEW_CHARS_MAX): string {
  return Buffer.from(cutText(text, charsMax)).toString();
}
