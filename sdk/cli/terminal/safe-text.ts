/**
 * Text from other people, made safe for a terminal: it must not move the cursor, set colours or the title,
 * use the clipboard, or reverse the direction of text. Text for people loses such characters. JSON has them
 * escaped, and so keeps its meaning.
 */

import { stripVTControlCharacters } from 'node:util';

const DIRECTIONS = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
/** Every control character (C0, DEL, C1) except the line break and the tab, and what sets a direction. */
const OBEYED = new RegExp(`(?![\\n\\t])\\p{Control}|[${DIRECTIONS}]`, 'gu');
const ESCAPE = '\u001b';
/** Matches a carriage return, or the beginning of an escape sequence, at the end. */
const UNFINISHED = new RegExp(`(?:\\r|${ESCAPE}(?:\\[[\\d;?]*|\\][^\\p{Control}]{0,256})?)$`, 'u');
/** Begins the line of a terminal anew. */
const OVERWRITE = `\r${ESCAPE}[K`;
const BREAKS = /[\r\n\t\u0085\u2028\u2029]+/g;
/**
 * Characters that `JSON.stringify` leaves as they are, although a terminal or a reader of lines obeys them.
 */
const UNESCAPED = new RegExp(`[\\u007f-\\u009f\\u2028\\u2029${DIRECTIONS}]`, 'g');

/**
 * Removes what a terminal obeys, and escape sequences as a whole. Line breaks and tabs stay if `keepLines` is
 * true; otherwise they become spaces, and the text is one line.
 */
export function cleanText(text: string, keepLines = false): string {
  const plain = stripVTControlCharacters(text);
  const flat = keepLines ? plain.replaceAll('\r\n', '\n') : plain.replaceAll(BREAKS, ' ');
  return flat.replaceAll(OBEYED, '');
}

/**
 * Cleans what a program wrote, for a terminal. A carriage return still overwrites its line, so that a
 * progress bar is one bar.
 */
export function cleanScreen(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\r');
  return lines.map((line) => cleanText(line, true)).join(OVERWRITE);
}

/** Splits off an end that means something only with what follows: an escape sequence, a carriage return. */
export function splitUnfinished(text: string): readonly [text: string, rest: string] {
  const at = text.search(UNFINISHED);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

/**
 * Returns the lines of a text as one line, with the last one first. The last line of a traceback says what
 * happened, and a narrow column shows only the beginning.
 */
export function putLastFirst(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim());
  const [last = '', ...before] = lines.filter((line) => line !== '').reverse();
  return before.length === 0 ? last : `${last} ← ${before.reverse().join(' ⏎ ')}`;
}

/** Indents all lines of a text but the first, so that none of them looks like a line of something else. */
export function indentLines(text: string): string {
  return text.replaceAll(/\r\n?|\n/g, '\n  ');
}

/** Renders a value as JSON in which everything that a terminal obeys is escaped (`\u009b`). */
export function stringifySafely(value: unknown, indent?: number): string {
  return escapeJson(JSON.stringify(value, null, indent) ?? 'null');
}

/** Escapes in a JSON text what a terminal obeys. Such characters stand only within its strings. */
export function escapeJson(json: string): string {
  return json.replaceAll(
    UNESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns any value of a response as text: a text as it is, anything else as JSON. */
export function describeValue(value: unknown): string {
  return typeof value === 'string' ? value : stringifySafely(value);
}
