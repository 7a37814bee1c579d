/**
 * Limits on a body as a whole that a schema can't say: how deep it nests, how many keys it has, and that every number
 * in it is finite (`1e400` parses to infinity).
 */
import type { FieldError } from '../problems.ts';

export type JsonLimits = {
  /** Objects and arrays inside one another, the body itself included. */
  readonly depthMax: number;
  /** Keys of all objects together. */
  readonly keysMax: number;
};

type Fault = { readonly path: string[]; readonly detail: string };
type Count = { keys: number };

/** The first thing that breaks a limit, or nothing. Never recurses deeper than the limit. */
export function findExcess(value: unknown, limits: JsonLimits): FieldError | undefined {
  const fault = look(value, 1, limits, { keys: 0 });
  if (!fault) return undefined;
  return { pointer: toPointer(fault.path.reverse()), detail: fault.detail };
}

/** A JSON Pointer (RFC 6901). */
export function toPointer(path: readonly (string | number)[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function look(value: unknown, depth: number, limits: JsonLimits, count: Count): Fault | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : { path: [], detail: 'must be a finite number' };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > limits.depthMax) {
    return { path: [], detail: `is nested too deep; the body may have ${limits.depthMax} levels` };
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const fault = look(value[index], depth + 1, limits, count);
      if (fault) return at(String(index), fault);
    }
    return undefined;
  }
  for (const [key, item] of Object.entries(value)) {
    count.keys += 1;
    if (count.keys > limits.keysMax) {
      return { path: [], detail: `has too many keys; the body may have ${limits.keysMax} in all` };
    }
    const fault = look(item, depth + 1, limits, count);
    if (fault) return at(key, fault);
  }
  return undefined;
}

function at(key: string, fault: Fault): Fault {
  fault.path.push(key);
  return fault;
}
