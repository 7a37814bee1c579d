/** How many columns of a terminal a text takes, and texts made to fit; characters that belong together stay so. */
import { eastAsianWidth } from 'get-east-asian-width';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const ASCII = /^[\x20-\x7e]*$/;
const INVISIBLE = /^[\p{Control}\p{Format}\p{Mark}\p{Surrogate}\p{Default_Ignorable_Code_Point}]+$/u;
/** Drawn as a picture two columns wide: by itself, by a selector, or as a pair of regional letters. */
const PICTURE = /^\p{Emoji_Presentation}|\uFE0F|^\p{Regional_Indicator}{2}/u;
const ELLIPSIS = '…';

/** The columns a text takes; control characters take none. */
export function measureWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += measureGrapheme(segment);
  return width;
}

function measureGrapheme(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  if (PICTURE.test(grapheme)) return 2;
  return eastAsianWidth(grapheme.codePointAt(0) ?? 0x20);
}

/** The text with spaces behind it up to a width. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - measureWidth(text)));
}

/** The text, cut with an ellipsis where it is wider than that. */
export function truncate(text: string, width: number): string {
  if (measureWidth(text) <= width) return text;
  let cut = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += measureGrapheme(segment);
    if (used > width - 1) break;
    cut += segment;
  }
  return width < 1 ? '' : cut + ELLIPSIS;
}

/**
 * What others wrote, made harmless for a terminal: no control characters that could move the cursor, colour the
 * screen or reverse the text. Line breaks and tabs stay where `lines` is true and are spaces elsewhere.
 */
export function cleanText(text: string, lines = false): string {
  const flat = lines ? text.replaceAll('\r\n', '\n') : text.replaceAll(/[\r\n\t]+/g, ' ');
  return flat.replaceAll(/(?![\n\t])\p{Control}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
}
