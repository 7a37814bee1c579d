/** Reading and walking an OpenAPI document as plain JSON: nothing here knows this contract. */

export type Json = { [key: string]: unknown };

/** Whether a value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at a path of keys. Throws, naming the path, if there is none. */
export function objectAt(document: Json, ...path: readonly string[]): Json {
  let value: unknown = document;
  for (const key of path) value = isJson(value) ? value[key] : undefined;
  if (!isJson(value)) throw new Error(`The document has no object at ${path.join(' > ')}.`);
  return value;
}

/** Every object in the document, itself first. */
export function* walk(value: unknown): Generator<Json> {
  if (Array.isArray(value)) {
    for (const item of value) yield* walk(item);
  } else if (isJson(value)) {
    yield value;
    for (const item of Object.values(value)) yield* walk(item);
  }
}

/** Every operation under `paths`, in order. */
export function* listOperations(
  document: Json,
): Generator<{ path: string; method: string; operation: Json }> {
  for (const [path, item] of Object.entries(objectAt(document, 'paths'))) {
    if (!isJson(item)) continue;
    for (const [method, operation] of Object.entries(item)) {
      if (isJson(operation) && 'operationId' in operation) yield { path, method, operation };
    }
  }
}

/** The names of the schemas that can be reached from the paths and the schemas named to begin with. */
export function reachSchemas(document: Json, begin: readonly string[] = []): Set<string> {
  const schemas = objectAt(document, 'components', 'schemas');
  const reached = new Set(begin);
  const open: unknown[] = [document.paths, ...begin.map((name) => schemas[name])];
  while (open.length > 0) {
    for (const { $ref } of walk(open.pop())) {
      const name = typeof $ref === 'string' ? $ref.replace('#/components/schemas/', '') : undefined;
      if (name === undefined || reached.has(name)) continue;
      reached.add(name);
      open.push(schemas[name]);
    }
  }
  return reached;
}
