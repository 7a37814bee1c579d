/**
 * Every way in which a request can violate its published schema, derived from the schema: each keyword is
 * broken at least once, each time with the pointer of the error.
 */

import { readDocument } from '../contract/document-check.ts';
import type { OperationId } from '../contract/usual-calls.ts';

/** The part of JSON Schema the document uses. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};

/** Keywords that require something, each of which is broken below. */
const BROKEN = new Set([
  ...[
    'type',
    'enum',
    'anyOf',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
  ],
  ...['pattern', 'required', 'properties', 'items', 'format', '$ref'],
]);
/** Keywords that require nothing. */
const SILENT = new Set(['description', 'default', 'example', 'examples', 'additionalProperties', 'title']);

/** A wrong value, as JSON text, and the pointer of its error. */
export type Wrong = { readonly what: string; readonly json: string; readonly pointer: string };

type Parameter = { readonly name: string; readonly in: string; readonly schema: Schema };

const document = readDocument() as unknown as {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId: OperationId;
            readonly parameters: readonly (Parameter | { readonly $ref: string })[];
            readonly requestBody?: {
              readonly content: { readonly 'application/json': { readonly schema: Schema } };
            };
          }
        >
      >
    >
  >;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
};

/** The operations of the document. */
export const operations = Object.values(document.paths)
  .flatMap((item) => Object.values(item))
  .map((operation) => ({ ...operation, parameters: operation.parameters.map(resolveParameter) }));
/** The operations with a body, and its schema. */
export const bodies = operations.flatMap(({ operationId, requestBody }) =>
  requestBody ? [{ operationId, schema: resolve(requestBody.content['application/json'].schema) }] : [],
);

/** A schema with its references resolved. */
export function resolve(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  const target = name === undefined ? undefined : document.components.schemas[name];
  return target ? { ...resolve(target), ...schema } : schema;
}

function resolveParameter(parameter: Parameter | { readonly $ref: string }): Parameter {
  if (!('$ref' in parameter)) return parameter;
  const shared = document.components.parameters[parameter.$ref.split('/').at(-1) ?? ''];
  if (!shared) throw new Error(`The document has no ${parameter.$ref}.`);
  return shared;
}

/** Keywords that are in neither list. */
export function unknownKeywords(schema: Schema): readonly string[] {
  const own = Object.keys(schema).filter((key) => !BROKEN.has(key) && !SILENT.has(key));
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items] : []),
  ];
  return [...own, ...inner.map(resolve).flatMap(unknownKeywords)];
}

const SAMPLES: Readonly<Record<string, string>> = {
  string: '"60"',
  number: '1.5',
  boolean: 'true',
  null: 'null',
  array: '[]',
  object: '{}',
};

/** Every way to break the schema of the value at a pointer. */
export function breakSchema(given: Schema, pointer: string): readonly Wrong[] {
  const schema = resolve(given);
  const wrong = (what: string, json: string, at = pointer): Wrong => ({
    what: `${at} ${what}`,
    json,
    pointer: at,
  });
  if (schema.anyOf) {
    const types = schema.anyOf.map((one) => resolve(one).type ?? '');
    const inner = schema.anyOf
      .flatMap((one) => breakSchema(one, pointer))
      .filter((one) => one.pointer !== pointer);
    return [...breakTypes(types, wrong), ...inner];
  }
  // Without a type any value is right.
  const types = schema.type === undefined ? Object.keys(SAMPLES) : [schema.type.replace('integer', 'number')];
  return [
    ...breakTypes(types, wrong),
    ...breakRange(schema, wrong),
    ...breakText(schema, wrong),
    ...breakInside(schema, pointer, wrong),
  ];
}

type MakeWrong = (what: string, json: string, at?: string) => Wrong;

function breakTypes(types: readonly string[], wrong: MakeWrong): readonly Wrong[] {
  return Object.entries(SAMPLES)
    .filter(([type]) => !types.includes(type))
    .map(([type, json]) => wrong(`of type ${type}`, json));
}

function breakRange(schema: Schema, wrong: MakeWrong): readonly Wrong[] {
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  return [
    ...(schema.minimum === undefined ? [] : [wrong('below its minimum', String(schema.minimum - 1))]),
    ...(schema.maximum === undefined ? [] : [wrong('above its maximum', String(schema.maximum + 1))]),
    ...(schema.exclusiveMinimum === undefined
      ? []
      : [wrong('at its bound', String(schema.exclusiveMinimum))]),
    ...(schema.type === 'integer' ? [wrong('with a fraction', '1.5')] : []),
    ...(schema.format === 'int32' ? [wrong('above 32 bits', '2147483648')] : []),
    ...(isNumber ? [wrong('that overflows', '1e400'), wrong('that underflows to minus', '-1e400')] : []),
  ];
}

function breakText(schema: Schema, wrong: MakeWrong): readonly Wrong[] {
  const isName = schema.type === 'string' && schema.maxLength === 256;
  return [
    ...(schema.enum && schema.type === 'string' ? [wrong('none of its words', '"none"')] : []),
    ...(schema.minLength === undefined ? [] : [wrong('too short', '""')]),
    ...(schema.maxLength === undefined
      ? []
      : [wrong('too long', JSON.stringify('😀'.repeat(schema.maxLength + 1)))]),
    ...(isName ? [wrong('with half a character', '"a\\ud83d"')] : []),
  ];
}

/** The only object that another one must have: the fields of an answer. */
const FIELDS = '{"a":{"type":"boolean"}}';

/** What an object must have beside a property, as JSON. */
function listRight(schema: Schema, except: string): readonly string[] {
  const required = (schema.required ?? []).filter((name) => name !== except);
  return required.map((name) => {
    const { type, enum: [word = 'a'] = [] } = resolve(schema.properties?.[name] ?? {});
    return `${JSON.stringify(name)}:${type === 'object' ? FIELDS : JSON.stringify(word)}`;
  });
}

function breakInside(schema: Schema, pointer: string, wrong: MakeWrong): readonly Wrong[] {
  const { items, minItems, maxItems } = schema;
  const item = items ? resolve(items) : {};
  const rightItem = JSON.stringify(item.type === 'object' ? { data: 1 } : (item.enum?.[0] ?? 'a'));
  const inItems = items ? breakSchema(items, `${pointer}/1`) : [];
  const inProperties = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    breakSchema(property, `${pointer}/${name}`).map((one) => ({
      ...one,
      json:
        pointer === ''
          ? one.json
          : `{${[...listRight(schema, name), `${JSON.stringify(name)}:${one.json}`]}}`,
    })),
  );
  return [
    ...(maxItems === undefined
      ? []
      : [wrong('with too many items', `[${Array(maxItems + 1).fill(rightItem)}]`)]),
    ...(minItems === undefined ? [] : [wrong('with too few items', '[]')]),
    ...inItems.map((one) => ({ ...one, json: `[${rightItem},${one.json}]` })),
    ...inProperties,
  ];
}
