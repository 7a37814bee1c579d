/** Reads and walks any OpenAPI document as plain JSON. Nothing here depends on this contract. */

export type Json = { [key: string]: unknown };

/** Whether a value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object at a path of keys. Throws an error with the path if there is none. */
export function requireObject(document: Json, ...path: readonly string[]): Json {
  let value: unknown = document;
  for (const key of path) value = isJson(value) ? value[key] : undefined;
  if (!isJson(value)) throw new Error(`The document has no object at ${path.join(' > ')}.`);
  return value;
}

/** Yields every object in the document, the document itself first. */
export function* walkObjects(value: unknown): Generator<Json> {
  if (Array.isArray(value)) {
    for (const item of value) yield* walkObjects(item);
  } else if (isJson(value)) {
    yield value;
    for (const item of Object.values(value)) yield* walkObjects(item);
  }
}

/** Yields every operation under `paths`, in the document's order. */
export function* listOperations(
  document: Json,
): Generator<{ path: string; method: string; operation: Json }> {
  for (const [path, item] of Object.entries(requireObject(document, 'paths'))) {
    if (!isJson(item)) continue;
    for (const [method, operation] of Object.entries(item)) {
      if (isJson(operation) && 'operationId' in operation) yield { path, method, operation };
    }
  }
}

/**
 * Returns the parts of `components` that the paths and webhooks need, such as `schemas/TaskInfo`: those that
 * they refer to, directly or by others, and the security schemes of their operations.
 */
export function findReachableParts(document: Json): Set<string> {
  const components = requireObject(document, 'components');
  const reachable = new Set<string>();
  const unread: unknown[] = [document.paths, document.webhooks];
  const need = (kind: string, name: string): void => {
    if (reachable.has(`${kind}/${name}`)) return;
    reachable.add(`${kind}/${name}`);
    unread.push(requireObject(components, kind)[name]);
  };
  while (unread.length > 0) {
    for (const { $ref, security } of walkObjects(unread.pop())) {
      const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(String($ref)) ?? [];
      if (kind !== undefined && name !== undefined) need(kind, name);
      for (const scheme of Array.isArray(security) ? security.filter(isJson) : [])
        for (const key of Object.keys(scheme)) need('securitySchemes', key);
    }
  }
  return reachable;
}
