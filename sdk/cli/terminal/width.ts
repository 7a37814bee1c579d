/**
 * Measures how many terminal columns a text takes, and fits texts into columns without splitting a character.
 */
import { eastAsianWidth } from 'get-east-asian-width';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const ASCII = /^[\x20-\x7e]*$/;
const INVISIBLE = /^[\p{Control}\p{Format}\p{Mark}\p{Surrogate}\p{Default_Ignorable_Code_Point}]+$/u;
/**
 * Matches what is two columns wide: emoji by default or by a variation selector, and flags (pairs of regional
 * letters).
 */
const EMOJI = /^\p{Emoji_Presentation}|\uFE0F|^\p{Regional_Indicator}{2}/u;
const ELLIPSIS = '…';

/** Returns the number of columns a text takes; control characters take none. */
export function measureWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += measureGrapheme(segment);
  return width;
}

function measureGrapheme(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  if (EMOJI.test(grapheme)) return 2;
  return eastAsianWidth(grapheme.codePointAt(0) ?? 0x20);
}

/** Returns the text, followed by as many spaces as it needs to reach the width in columns. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - measureWidth(text)));
}

/**
 * Returns the text. If it is wider than `width` columns, cuts it and ends it with an ellipsis. However long
 * the text is, looks only at what it returns.
 */
export function truncate(text: string, width: number): string {
  if (ASCII.test(text)) {
    if (text.length <= width) return text;
    return width < 1 ? '' : text.slice(0, width - 1) + ELLIPSIS;
  }
  let used = 0;
  let cutAt = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    used += measureGrapheme(segment);
    if (used > width) return width < 1 ? '' : text.slice(0, cutAt) + ELLIPSIS;
    if (used < width) cutAt = index + segment.length;
  }
  return text;
}
