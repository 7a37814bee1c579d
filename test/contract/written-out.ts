/**
 * A document with its shared parts written out where they are used, for a comparison that does not look into
 * them: parameters by reference, schemas that extend another, and texts with known values or any other.
 */
import { isJson, type Json, requireObject, walkObjects } from '../../spec/document.ts';

/**
 * Writes them out in place, and returns the document. Codes of errors were never a closed list to callers.
 */
export function writeOut(document: Json): Json {
  for (const object of [...walkObjects(document)]) {
    writeOutParameters(document, object);
    writeOutBase(document, object);
    writeOutOpenText(object);
  }
  for (const server of toList(document.servers).filter(isJson)) {
    dropText(server);
    if (isJson(server.variables)) for (const variable of Object.values(server.variables)) dropText(variable);
  }
  return document;
}

function writeOutParameters(document: Json, object: Json): void {
  if (!Array.isArray(object.parameters)) return;
  object.parameters = object.parameters.map((one) => dropText({ ...resolve(document, one) }));
}

/**
 * Drops what only describes: the comparison takes parameters and servers for different ones whose texts or
 * examples are, and these break no caller.
 */
function dropText(value: unknown): unknown {
  if (!isJson(value)) return value;
  delete value.description;
  delete value.examples;
  return value;
}

/** A schema that extends one other has its fields too; where both have a field, the narrower one counts. */
function writeOutBase(document: Json, object: Json): void {
  const { allOf } = object;
  if (!Array.isArray(allOf) || allOf.length !== 1 || !isJson(object.properties)) return;
  const base = resolve(document, allOf[0]);
  delete object.allOf;
  object.properties = { ...requireObject(base, 'properties'), ...object.properties };
  object.required = [...new Set([...toList(base.required), ...toList(object.required)])];
}

function writeOutOpenText(object: Json): void {
  const { code } = isJson(object.properties) ? object.properties : {};
  if (!isJson(code) || !isJson(object.properties) || !('detail' in object.properties)) return;
  object.properties.code = { type: 'string' };
}

function resolve(document: Json, value: unknown): Json {
  const holder = isJson(value) ? value : {};
  return typeof holder.$ref === 'string'
    ? requireObject(document, ...holder.$ref.split('/').slice(1))
    : holder;
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
