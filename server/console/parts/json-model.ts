/**
 * A folded view of JSON: summaries, texts that are cut, children in pages. Pure. The value comes from an
 * agent or a client, so each part of it may be long.
 */
import { formatCount } from './format.ts';

/** A container that can be unfolded, or a value that is one text. */
export type JsonNode =
  | {
      readonly kind: 'container';
      readonly open: '{' | '[';
      readonly close: '}' | ']';
      /** For example, `3 keys` or `1 item`. */
      readonly summary: string;
      readonly size: number;
    }
  | { readonly kind: 'text'; readonly shown: string; readonly restLength: number }
  | { readonly kind: 'plain'; readonly text: string };
export type JsonChild = { readonly key: string | null; readonly value: unknown };

export const JSON_BYTES_MAX = 262_144;
const PAGE = 100;
const UNPAGED_MAX = 200;
const TEXT_MAX = 220;
const TEXT_SHOWN = 180;

export function describeJson(value: unknown): JsonNode {
  if (typeof value === 'string') return cutText(value);
  if (typeof value !== 'object' || value === null) return { kind: 'plain', text: String(value) };
  const isList = Array.isArray(value);
  const size = isList ? value.length : Object.keys(value).length;
  if (size === 0) return { kind: 'plain', text: isList ? '[]' : '{}' };
  return {
    kind: 'container',
    open: isList ? '[' : '{',
    close: isList ? ']' : '}',
    summary: formatCount(size, isList ? 'item' : 'key'),
    size,
  };
}

/**
 * Cuts a long text. Returns its beginning, written as JSON without quotes, and how many characters follow.
 */
function cutText(text: string): JsonNode {
  if (text.length <= TEXT_MAX) return { kind: 'text', shown: escapeText(text), restLength: 0 };
  let end = TEXT_SHOWN;
  const code = text.charCodeAt(end - 1);
  // Does not cut a surrogate pair in half.
  if (code >= 0xd800 && code <= 0xdbff) end += 1;
  return { kind: 'text', shown: escapeText(text.slice(0, end)), restLength: text.length - end };
}

/**
 * Writes a text as JSON does, without quotes. Characters that are invisible, or change the direction of what
 * follows, are written as their codes.
 */
export function escapeText(text: string): string {
  return escapeHidden(JSON.stringify(text).slice(1, -1));
}

/**
 * Writes a text in one row: line ends become blanks, and invisible or direction-changing characters their
 * codes.
 */
export function showText(text: string): string {
  return escapeHidden(text.replace(/\s+/g, ' '));
}

function escapeHidden(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns the children that `pages` pages show, and how many follow. Up to 200 children are one page. */
export function listChildren(
  value: object,
  pages: number,
): { readonly children: readonly JsonChild[]; readonly restCount: number } {
  const isList = Array.isArray(value);
  const keys = isList ? null : Object.keys(value);
  const size = isList ? value.length : (keys?.length ?? 0);
  const shownCount = size <= UNPAGED_MAX ? size : Math.min(pages * PAGE, size);
  const children = isList
    ? value.slice(0, shownCount).map((child: unknown) => ({ key: null, value: child }))
    : Object.entries(value)
        .slice(0, shownCount)
        .map(([key, child]: [string, unknown]) => ({ key, value: child }));
  return { children, restCount: size - shownCount };
}

/** The size of a value as compact JSON in UTF-8, in bytes. */
export function measureJson(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value) ?? '').length;
}

/**
 * Reads as many `key value` pairs as the beginning of a payload holds whole. The text may be cut anywhere.
 * Null if it cannot be read as an object.
 */
export function readPairs(
  preview: string,
): readonly { readonly key: string; readonly text: string }[] | null {
  const whole = parseObject(preview);
  const pairs = Object.entries(whole ?? parseObject(closeCut(preview)) ?? {});
  // An object that was cut within its first pair is not empty.
  if (whole === null && pairs.length === 0) return null;
  return pairs.map(([key, one]) => ({
    key,
    text: typeof one === 'string' ? one : JSON.stringify(one),
  }));
}

function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Closes the text, lists and objects that a cut left open. A key without its value is dropped. */
function closeCut(text: string): string {
  const open: string[] = [];
  let isText = false;
  let isEscaped = false;
  /** Where the last member of the outermost object began. */
  let memberAt = 1;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (isEscaped) isEscaped = false;
    else if (isText && character === '\\') isEscaped = true;
    else if (character === '"') isText = !isText;
    else if (isText) continue;
    else if (character === '{') open.push('}');
    else if (character === '[') open.push(']');
    else if (character === '}' || character === ']') open.pop();
    else if (character === ',' && open.length === 1) memberAt = index;
  }
  const cleaned = text.replace(/\\(u[0-9a-fA-F]{0,3})?$/, '');
  const closed = `${cleaned}${isText ? '…"' : ''}${open.toReversed().join('')}`;
  return parseObject(closed) === null ? `${text.slice(0, memberAt)}}` : closed;
}
