/**
 * Limits of a whole body that a schema can't express: how deep it nests, how many keys it has, how many
 * texts, arrays and objects, and that every number in it is finite (`1e400` parses to infinity). They bound
 * what each later pass over the value costs: 20 ms to render it, to hash it or to look through it.
 */
import type { FieldError } from '../problems.ts';

export type JsonLimits = {
  /** Objects and arrays inside one another, the body itself included. */
  readonly depthMax: number;
  /** Keys of all objects in the body together. */
  readonly keysMax: number;
  /**
   * Texts, arrays and objects in the body together, itself included, without the keys. Numbers, true, false
   * and null cost little: the size of a body bounds them.
   */
  readonly partsMax: number;
};

/** The message of each limit when a caller exceeds it. */
const describeExcess = {
  depth: (depthMax: number): string => `is nested too deep; the body may have ${depthMax} levels`,
  keys: (keysMax: number): string => `has too many keys; the body may have ${keysMax} in all`,
  parts: (partsMax: number): string =>
    `has too many texts, arrays and objects; the body may have ${partsMax} in all`,
};

/** The excess over a limit; the path is collected from the inside outwards. */
type Excess = { readonly path: string[]; readonly detail: string };
type Count = { keys: number; parts: number };

/** Returns the first value that exceeds a limit, if any. Never recurses deeper than the limit. */
export function findExcess(value: unknown, limits: JsonLimits): FieldError | undefined {
  const excess = findExcessInside(value, 1, limits, { keys: 0, parts: 0 });
  if (!excess) return undefined;
  return { pointer: toPointer(excess.path.reverse()), detail: excess.detail };
}

/** Characters of the longest pointer: keys may be as long as the body. */
const POINTER_CHARS_MAX = 1_024;

/** A JSON Pointer (RFC 6901). Where it would be too long, that of the nearest value around. */
export function toPointer(path: readonly (string | number)[]): string {
  let pointer = '';
  for (const key of path) {
    const longer = `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (longer.length > POINTER_CHARS_MAX) break;
    pointer = longer;
  }
  return pointer;
}

function findExcessInside(
  value: unknown,
  depth: number,
  limits: JsonLimits,
  count: Count,
): Excess | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : { path: [], detail: 'must be a finite number' };
  }
  const isText = typeof value === 'string';
  if (!isText && (typeof value !== 'object' || value === null)) return undefined;
  count.parts += 1;
  if (count.parts > limits.partsMax) {
    return { path: [], detail: describeExcess.parts(limits.partsMax) };
  }
  if (isText) return undefined;
  if (depth > limits.depthMax) {
    return { path: [], detail: describeExcess.depth(limits.depthMax) };
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const excess = findExcessInside(value[index], depth + 1, limits, count);
      if (excess) return addKey(String(index), excess);
    }
    return undefined;
  }
  // Half the time of `Object.entries`. An object of `JSON.parse` inherits none of the keys listed here.
  for (const key in value) {
    count.keys += 1;
    if (count.keys > limits.keysMax) {
      return { path: [], detail: describeExcess.keys(limits.keysMax) };
    }
    const excess = findExcessInside((value as Record<string, unknown>)[key], depth + 1, limits, count);
    if (excess) return addKey(key, excess);
  }
  return undefined;
}

function addKey(key: string, excess: Excess): Excess {
  excess.path.push(key);
  return excess;
}
