/**
 * Rewrites a gateway's document, without a change of meaning, in forms that generators of clients read
 * rightly. The published types are generated before that, so they stay as they are.
 */
import { isJson, type Json, listOperations, requireObject } from './document.ts';

/** A header, and the query parameter that can replace it. */
const HEADER = 'Last-Event-ID';
const SAME_IN_QUERY = 'last_event_id';

/** Returns the document in these forms. Throws if one of them is no longer needed. */
export function writeForGenerators(document: Json): Json {
  const written = structuredClone(document);
  describeHeaderInQuery(written);
  const schemas = requireObject(written, 'components', 'schemas');
  dropRepeatedFields(schemas);
  writeFieldsInFull(schemas);
  return nameJsonValues(written);
}

/**
 * Returns the document with a name for the schema of any JSON value, which is empty. Some generators accept
 * a schema without a type only if it is empty, and refuse a list of all six types. So a field that may be
 * any value refers to this schema, with its description beside the reference.
 */
export function nameJsonValues(document: Json): Json {
  const written = structuredClone(document);
  const schemas = requireObject(written, 'components', 'schemas');
  const fields = Object.values(schemas).flatMap((schema) =>
    isJson(schema) && isJson(schema.properties) ? Object.values(schema.properties).filter(isJson) : [],
  );
  const free = fields.filter((field) => Object.keys(field).every((key) => key === 'description'));
  if (free.length === 0) throw new Error('No field may be any JSON value.');
  for (const field of free) field.$ref = '#/components/schemas/JsonValue';
  schemas.JsonValue = {};
  return written;
}

/**
 * Leaves out the parameter for a header that a query parameter can replace: generators that drop the
 * punctuation of names would give both the same name. The description of the query parameter describes the
 * header.
 */
function describeHeaderInQuery(document: Json): void {
  let count = 0;
  for (const { operation } of listOperations(document)) {
    const parameters = Array.isArray(operation.parameters) ? operation.parameters.filter(isJson) : [];
    const same = parameters.find(({ name }) => name === SAME_IN_QUERY);
    if (!same) continue;
    if (!String(same.description).includes(`the header \`${HEADER}\``))
      throw new Error(`${SAME_IN_QUERY} does not describe the header ${HEADER}.`);
    operation.parameters = parameters.filter(({ name }) => name !== HEADER);
    count += parameters.length - parameters.filter(({ name }) => name !== HEADER).length;
  }
  if (count !== 1)
    throw new Error(`${count} operations have the header ${HEADER} beside the query, not one.`);
}

/**
 * Leaves out fields that a schema repeats unchanged from the schema that it extends: generators that merge
 * the two would write them twice. `required` still has them.
 */
function dropRepeatedFields(schemas: Json): void {
  let count = 0;
  for (const schema of Object.values(schemas).filter(isJson)) {
    const [base] = Array.isArray(schema.allOf) ? schema.allOf : [];
    if (!isJson(base) || !isJson(schema.properties)) continue;
    const name = String(base.$ref).replace('#/components/schemas/', '');
    const inherited = requireObject(schemas, name, 'properties');
    for (const [field, own] of Object.entries(schema.properties)) {
      if (writeWithoutText(own) !== writeWithoutText(inherited[field])) continue;
      delete schema.properties[field];
      count += 1;
    }
  }
  if (count === 0) throw new Error('No schema repeats a field of the schema that it extends.');
}

/**
 * Writes a field with a default without its reference, and a field of one number as an integer: a generator
 * for Java would write no value for the default, and for the number one that does not compile.
 */
function writeFieldsInFull(schemas: Json): void {
  const counts = { defaults: 0, statuses: 0 };
  for (const schema of Object.values(schemas).filter(isJson)) {
    const fields = isJson(schema.properties) ? Object.values(schema.properties).filter(isJson) : [];
    for (const field of fields) {
      if (typeof field.$ref === 'string' && field.default !== undefined) {
        const { $ref, ...own } = field;
        delete field.$ref;
        Object.assign(field, {
          ...requireObject(schemas, $ref.replace('#/components/schemas/', '')),
          ...own,
        });
        counts.defaults += 1;
      } else if (field.type === 'number' && Array.isArray(field.enum)) {
        const [status] = field.enum;
        Object.assign(field, { type: 'integer', format: 'int32', minimum: status, maximum: status });
        counts.statuses += 1;
      }
    }
  }
  if (counts.defaults === 0) throw new Error('No default stands beside a reference.');
  if (counts.statuses === 0) throw new Error('No field has one number.');
}

function writeWithoutText(schema: unknown): string {
  return JSON.stringify(isJson(schema) ? { ...schema, description: undefined } : schema);
}
