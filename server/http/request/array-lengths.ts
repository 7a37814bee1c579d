/**
 * The arrays of a body that are longer than they may be, wherever they stand in it. They are found before the
 * rest is validated, and the rest is validated without their items: two million wrong items would make two
 * million errors. For example, a question's `required` within a piece of output.
 */
import type { FieldError } from '../problems.ts';
import { unescapeToken } from './field-errors.ts';
import { toPointer } from './json-limits.ts';
import type { Schema } from './schema-words.ts';

/** The bounds of the arrays in a value: of itself, of its named parts, and of each other part. */
export type Bounds = {
  readonly maxItems: number | undefined;
  readonly named: ReadonlyMap<string, Bounds>;
  readonly each: Bounds | undefined;
};

/** The bounds of a schema, found once; undefined where it bounds no array. */
export function buildBounds(schema: Schema | boolean | undefined): Bounds | undefined {
  if (typeof schema !== 'object') return undefined;
  const variants = schema.anyOf ?? [schema];
  const named = new Map<string, Bounds>();
  for (const [name, property] of variants.flatMap((one) => Object.entries(one.properties ?? {}))) {
    const bounds = buildBounds(property);
    if (bounds) named.set(name, bounds);
  }
  const parts = variants.flatMap(({ items, additionalProperties }) => [items, additionalProperties]);
  const each = parts.map(buildBounds).find((bounds) => bounds !== undefined);
  const maxItems = variants.find((one) => one.maxItems !== undefined)?.maxItems;
  return named.size > 0 || each || maxItems !== undefined ? { maxItems, named, each } : undefined;
}

/** An error for each array that is too long. */
export function findTooLong(
  bounds: Bounds | undefined,
  value: unknown,
  path: readonly string[] = [],
): readonly FieldError[] {
  if (!bounds || typeof value !== 'object' || value === null) return [];
  const { maxItems, named, each } = bounds;
  if (Array.isArray(value) && maxItems !== undefined && value.length > maxItems)
    return [{ pointer: toPointer(path), detail: `must have at most ${maxItems} items` }];
  const names = each ? Object.keys(value) : [...named.keys()].filter((name) => Object.hasOwn(value, name));
  return names.flatMap((name) =>
    findTooLong(named.get(name) ?? each, Reflect.get(value, name), [...path, name]),
  );
}

/** The same body with each of these arrays empty, for the check of everything else. */
export function emptyArrays(body: unknown, lengthErrors: readonly FieldError[]): unknown {
  return lengthErrors.reduce<unknown>(
    (value, { pointer }) => emptyArrayAt(value, pointer.split('/').slice(1).map(unescapeToken)),
    body,
  );
}

function emptyArrayAt(value: unknown, [name, ...inside]: readonly string[]): unknown {
  if (name === undefined) return [];
  const part = emptyArrayAt(Object(value)[name], inside);
  return Array.isArray(value) ? value.with(Number(name), part) : { ...Object(value), [name]: part };
}

/** The errors that are not about one of these arrays: an empty one may be too short. */
export function leaveOut(
  lengthErrors: readonly FieldError[],
  errors: readonly FieldError[],
): readonly FieldError[] {
  const pointers = new Set(lengthErrors.map(({ pointer }) => pointer));
  return errors.filter(({ pointer }) => !pointers.has(pointer));
}
