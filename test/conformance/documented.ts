/** What the published document says of each operation. Compares responses with it. */
import { readFileSync } from 'node:fs';
import { type Fields, isFields, listOf, printValue } from './findings.ts';

export const DOCUMENT: Fields = JSON.parse(
  readFileSync(new URL('../../generated/openapi/task-gateway.3.1.json', import.meta.url), 'utf8'),
);

export const OPERATIONS = Object.entries(DOCUMENT.paths as Fields).flatMap(([path, methods]) =>
  Object.entries(methods as Fields).map(([method, operation]) => ({
    call: `${method.toUpperCase()} ${path}`,
    pattern: new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    ...(operation as { readonly operationId: string; readonly responses: Fields } & Fields),
  })),
);

/** Returns what a reference refers to. */
export function resolve(value: unknown): Fields {
  const { $ref } = value as Fields;
  if (typeof $ref !== 'string') return value as Fields;
  const names = $ref.split('/').slice(1);
  return resolve(names.reduce<unknown>((part, name) => (part as Fields)[name], DOCUMENT));
}

/** How a response differs from what the document says of its operation. */
export type Mismatch = { readonly operationId: string; readonly text: string };

/** Compares a response, or a frame of a stream, with the document. `call` is its method and path. */
export function findMismatch(
  call: string,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  json: unknown,
): Mismatch | undefined {
  const operation = OPERATIONS.find(({ pattern }) => pattern.test(call));
  if (!operation) return undefined;
  const { operationId, responses } = operation;
  const response = resolve(responses[status] ?? responses.default);
  const say = (text: string): Mismatch => ({ operationId, text: `${call}: ${status}; ${text}.` });
  const named = Object.entries((response.headers ?? {}) as Fields);
  const [absent] = named.filter(([name, one]) => resolve(one).required === true && !headers.has(name));
  if (absent) return say(`the header ${absent[0]} is absent`);
  if (!isFields(response.content)) return undefined;
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  const media = response.content[type];
  if (!isFields(media)) return say(`the body is sent as "${type}"`);
  const schema = resolve(media.schema);
  if (schema.contentSchema !== undefined && json === undefined) return undefined;
  const found = compare(json, schema.contentSchema ?? schema, 'the body');
  return found === undefined ? undefined : say(found);
}

const IS: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isFields,
  array: Array.isArray,
  null: (value) => value === null,
  integer: Number.isInteger,
};

/** Says how a value violates its schema; undefined if it does not. */
function compare(value: unknown, schema: unknown, path: string): string | undefined {
  const { anyOf, oneOf, allOf, type, enum: values, required, properties, items } = resolve(schema);
  const is = typeof type === 'string' ? (IS[type] ?? ((one: unknown) => typeof one === type)) : () => true;
  const choices = [...listOf(anyOf), ...listOf(oneOf)];
  const isChoice = choices.length === 0 || choices.some((one) => compare(value, one, path) === undefined);
  if (!is(value) || !isChoice || (Array.isArray(values) && !values.includes(value)))
    return `${path} is ${printValue(value)}, which is not what it must be`;
  const inner = [
    ...listOf(allOf).map((part) => [value, part, path] as const),
    ...(isFields(value) ? listParts(value, required, properties, path) : []),
    ...(Array.isArray(value) && items ? value.map((item) => [item, items, `${path}[]`] as const) : []),
  ];
  for (const [one, its, where] of inner) {
    const found = compare(one, its, where);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Lists the fields of an object that are there or must be, each with its schema. */
function listParts(value: Fields, required: unknown, properties: unknown, path: string) {
  const names = Array.isArray(required) ? required.map(String) : [];
  return Object.entries(isFields(properties) ? properties : {})
    .filter(([name]) => name in value || names.includes(name))
    .map(([name, schema]) => [value[name], schema, `${path}.${name}`] as const);
}
