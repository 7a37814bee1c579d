/** The beginning of a text that may be long, for a row in a listing. Pure. */

/** Longest preview, in characters as JavaScript counts them. */
const PREVIEW_CHARS_MAX = 240;

/** The first characters of a text; it is never cut within a code point. */
export function cutText(text: string, charsMax = PREVIEW_CHARS_MAX): string {
  if (text.length <= charsMax) return text;
  const last = text.charCodeAt(charsMax - 1);
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHighSurrogate ? charsMax - 1 : charsMax);
}

/** The same as a text of its own: a part of a long text would keep all of that in memory. */
export function copyBeginning(text: string, charsMax = PREVIEW_CHARS_MAX): string {
  return Buffer.from(cutText(text, charsMax)).toString();
}
