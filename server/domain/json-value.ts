/**
 * Reading JSON values of any meaning: whether a value is an object, and the parts of a JSON Pointer. Pure.
 */

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Writes a name or index as a part of a JSON Pointer (RFC 6901). */
export function escapeToken(name: string | number): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Reads the name in a part of a JSON Pointer. */
export function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
