/**
 * The query of a URL, parsed strictly: a value that can't be decoded differs from an absent one, and a
 * repeated parameter from a single one. Nothing here throws.
 */

/** A parameter's decoded text; null when it is not percent-encoded UTF-8. */
type QueryValue = string | null;
export type Query = ReadonlyMap<string, readonly QueryValue[]>;

const EMPTY: Query = new Map();

/** Parses `a=1&b=2`. A parameter whose name can't be decoded is left out. */
export function parseQuery(text: string): Query {
  if (text === '') return EMPTY;
  const query = new Map<string, QueryValue[]>();
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    if (name === null) continue;
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const values = query.get(name);
    if (values) values.push(value);
    else query.set(name, [value]);
  }
  return query;
}

function decode(text: string): QueryValue {
  try {
    return decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text);
  } catch {
    return null;
  }
}
