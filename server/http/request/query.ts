/**
 * The query of a URL, read strictly: what can't be decoded is told apart from what is absent, a repeated parameter
 * from a single one. Nothing here throws.
 */

/** A parameter's text; null when it is not percent-encoded UTF-8. */
export type QueryValue = string | null;
export type Query = ReadonlyMap<string, readonly QueryValue[]>;

const EMPTY: Query = new Map();

/** Reads `a=1&b=2`. A parameter whose very name can't be decoded is nobody's: it is left out. */
export function parseQuery(text: string): Query {
  if (text === '') return EMPTY;
  const query = new Map<string, QueryValue[]>();
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    if (name === null) continue;
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const known = query.get(name);
    if (known) known.push(value);
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
