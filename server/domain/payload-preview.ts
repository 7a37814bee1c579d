/** The beginning of a text that may be long, for a row in a listing. Pure. */

/** Longest preview, in characters as JavaScript counts them. */
const PREVIEW_CHARS_MAX = 240;

/** The first characters of a text; it is never cut within a code point. */
export function cutText(text: string): string {
  if (text.length <= PREVIEW_CHARS_MAX) return text;
  const last = text.charCodeAt(PREVIEW_CHARS_MAX - 1);
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHighSurrogate ? PREVIEW_CHARS_MAX - 1 : PREVIEW_CHARS_MAX);
}

/** The same as a text of its own: a part of a long text would keep all of that in memory. */
export function copyBeginning(text: string): string {
  return Buffer.from(cutText(text)).toString();
}
