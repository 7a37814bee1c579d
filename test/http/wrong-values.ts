/**
 * Every way in which a request can violate its published schema, derived from the schema: each keyword is
 * broken at least once, each time with the pointer of the error. A keyword that nothing breaks is an error.
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

/** A value that breaks a keyword, as JSON; undefined leaves it out. */
export type Wrong = { readonly pointer: string; readonly keyword: string; readonly json: string | undefined };

export type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
};

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

/** Keywords that hold others, or ask for nothing by themselves. */
const SILENT = [
  ...['properties', 'items', '$ref', 'description', 'default', 'additionalProperties', 'example', 'examples'],
];
/** `password`, `double`: said to people and to generators; every value of the type has the format. */
const FORMATS: Readonly<Record<string, string>> = { int32: '2147483648', int64: '1e19' };
const SAMPLES: Readonly<Record<string, string>> = {
  string: '"60"',
  number: '1.5',
  boolean: 'true',
  null: 'null',
  array: '[]',
  object: '{}',
};

/** Every way to break the schema of the value at a pointer, keyword by keyword. */
export function breakSchema(given: Schema, pointer: string): readonly Wrong[] {
  const schema = resolve(given);
  const own = Object.keys(schema).flatMap((keyword) => breakKeyword(schema, keyword, pointer));
  const inner = [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
      breakSchema(one, `${pointer}/${name}`),
    ),
    ...(schema.items ? breakSchema(schema.items, `${pointer}/0`) : []),
    // What an alternative requires as a whole belongs to the choice; only what is inside of it counts here.
    ...(schema.anyOf ?? [])
      .flatMap((one) => breakSchema(one, pointer))
      .filter((one) => one.pointer !== pointer),
  ];
  return [...own, ...inner];
}

function breakKeyword(schema: Schema, keyword: string, pointer: string): readonly Wrong[] {
  const { type = '', minimum = 0, maximum = 0, exclusiveMinimum = 0, maxLength = 0, maxItems = 0 } = schema;
  const wrong = (...values: readonly string[]) => values.map((json) => ({ pointer, keyword, json }));
  switch (keyword) {
    case 'type':
      return wrong(
        ...listOthers([type]),
        ...(type === 'integer' ? ['1.5'] : []),
        ...(/integer|number/.test(type) ? ['1e400', '-1e400'] : []),
      );
    case 'anyOf':
      return wrong(...listOthers((schema.anyOf ?? []).map((one) => resolve(one).type ?? '')));
    case 'enum':
      return wrong('"none"');
    case 'minimum':
      return wrong(String(minimum - 1));
    case 'exclusiveMinimum':
      return wrong(String(exclusiveMinimum));
    case 'maximum':
      return wrong(String(maximum + 1));
    case 'minLength':
      return wrong('""');
    case 'maxLength':
      return wrong(JSON.stringify('😀'.repeat(maxLength + 1)), ...(maxLength === 256 ? ['"a\\ud83d"'] : []));
    case 'maxItems':
      return wrong(JSON.stringify(Array(maxItems + 1).fill(resolve(schema.items ?? {}).enum?.[0] ?? 'a')));
    case 'minItems':
      return wrong('[]');
    case 'pattern':
      return wrong('"ü"');
    case 'format':
      return FORMATS[schema.format ?? ''] === undefined ? [] : wrong(FORMATS[schema.format ?? ''] ?? '');
    case 'required':
      return (schema.required ?? []).map((name) => ({
        pointer: `${pointer}/${name}`,
        keyword,
        json: undefined,
      }));
    default:
      if (SILENT.includes(keyword)) return [];
      throw new Error(`The document has a keyword at ${pointer} that nothing here breaks: ${keyword}.`);
  }
}

/** A value of each type but these. */
function listOthers(types: readonly string[]): readonly string[] {
  const own = types.map((type) => type.replace('integer', 'number'));
  return Object.entries(SAMPLES).flatMap(([type, json]) => (own.includes(type) ? [] : [json]));
}

/** Stands in a body for what no serializer writes. */
const MARK = '@wrong@';
/** All that a question has: each part of it is broken beside the others. */
const QUESTION = { key: 'k', prompt: '?', schema: { type: 'object', properties: { a: { type: 'string' } } } };

/** The body, as JSON, with a wrong value at its pointer; what the way there lacks is made. */
export function putWrong(body: Readonly<Record<string, unknown>>, { pointer, json }: Wrong): string {
  const steps = pointer.split('/').slice(1);
  // A filter takes the place of the ids that a cancellation usually names.
  const base = steps[0] === 'filter' ? { ...body, request_ids: undefined } : body;
  const put = putAt(base, steps, json === undefined ? undefined : MARK);
  return JSON.stringify(put).replace(JSON.stringify(MARK), () => json ?? '');
}

function putAt(value: unknown, [step, ...rest]: readonly string[], wrong: unknown): unknown {
  if (step === undefined) return wrong;
  if (/^\d+$/.test(step))
    return [putAt(rest[0] === 'question' ? { question: QUESTION } : undefined, rest, wrong)];
  const object: Record<string, unknown> = { ...(value as Record<string, unknown> | undefined) };
  object[step] = putAt(object[step], rest, wrong);
  return object;
}
