/**
 * The published document, loaded once: its operations in a form the server works with, and the compiled checks of
 * their requests. openapi-backend loads and compiles; nothing of it runs per request but those compiled checks.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { operations } from '@task-gateway/contract';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Document, OpenAPIBackend } from 'openapi-backend';
import type { FieldError } from '../problems.ts';
import { toPointer } from './json-limits.ts';
import type { Query } from './query.ts';
import { describeSchema, type Schema, schemaAt } from './schema-words.ts';

export type OperationId = keyof operations;

/** Where an operation looks for a secret before it reads the body (§5.2). */
export type SecretLocation =
  /** The header `X-Admin-Auth`, always. */
  | 'admin'
  /** The query or the `Authorization` header, always. */
  | 'required'
  /** As `required`, but none at all is fine too: the body has it. */
  | 'optional'
  /** The body alone; one in the query must be right all the same. */
  | 'body';

/** The parts of a request that are judged together, as the compiled checks want them. */
export type Parts = {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Record<string, unknown>;
  readonly header: Readonly<Record<string, string | string[] | undefined>>;
  readonly requestBody?: unknown;
};

export type Operation = {
  readonly operationId: OperationId;
  readonly method: string;
  /** The path as the router writes it, `/api/cli/tasks/:request_id`. */
  readonly path: string;
  readonly secret: SecretLocation;
  /** The body, if the operation has one, and what its field `auth` is. */
  readonly body: { readonly auth: 'required' | 'optional' } | null;
  /** Reads the declared query parameters, numbers as numbers; what is wrong with their form is said in the errors. */
  readQuery(query: Query): { query: Record<string, unknown>; errors: readonly FieldError[] };
  /** Everything that is wrong with a request, one entry for each place; empty when nothing is. */
  check(parts: Parts): readonly FieldError[];
};

export type Contract = {
  readonly version: string;
  readonly operations: readonly Operation[];
};

/** Schemas whose texts name something: they must be well-formed Unicode, which no format of OpenAPI says. */
const NAME_SCHEMAS = ['Name', 'RequestId', 'SessionId'];

type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
};

/** Loads the document. Throws when it is not what the server was built for. */
export async function loadContract(): Promise<Contract> {
  const path = fileURLToPath(import.meta.resolve('@task-gateway/contract/openapi.json'));
  const document = JSON.parse(readFileSync(path, 'utf8'));
  for (const name of NAME_SCHEMAS) document.components.schemas[name].format = 'well-formed';
  const ajv = createAjv();
  const api = new OpenAPIBackend({
    definition: document as Document,
    quick: true,
    strict: true,
    customizeAjv: () => ajv,
  });
  await api.init();
  api.validator.preCompileRequestValidators();
  return {
    version: api.definition.info.version,
    operations: api.router.getOperations().map((operation) => {
      const operationId = operation.operationId as OperationId;
      const validators = api.validator.getRequestValidatorsForOperation(operationId) ?? [];
      return buildOperation(operationId, operation as unknown as Declared, validators);
    }),
  };
}

/** One instance for everything. Nothing is coerced and nothing filled in; parameters arrive as what they mean. */
function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, strictNumbers: true });
  addFormats.default(ajv, ['int32', 'float', 'double', 'password']);
  // The format of the package is content with any integer, such as 1e300, which no reader of an int64 can hold.
  ajv.addFormat('int64', { type: 'number', validate: (value) => Math.abs(value) < 2 ** 63 });
  ajv.addFormat('well-formed', (text: string) => text.isWellFormed());
  return ajv;
}

/** An operation of the dereferenced document, as far as it is looked at. */
type Declared = {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>>;
  };
};

function buildOperation(
  operationId: OperationId,
  declared: Declared,
  validators: readonly ValidateFunction[],
): Operation {
  const bodySchema = declared.requestBody?.content['application/json']?.schema;
  const inQuery = declared.parameters.filter((one) => one.in === 'query');
  // The last check is the parameters'; without any it has nothing to say.
  const checks = declared.parameters.length > 0 ? validators : validators.slice(0, -1);
  const wordError = createWording(declared.parameters, bodySchema);
  return {
    operationId,
    method: declared.method,
    path: declared.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    secret: findSecret(declared.security),
    body: bodySchema ? { auth: bodySchema.required?.includes('auth') ? 'required' : 'optional' } : null,
    readQuery: (query) => readDeclared(inQuery, query),
    check(parts) {
      const tooLong = bodySchema ? findLongArrays(bodySchema, parts.requestBody) : [];
      if (tooLong.length > 0) return tooLong;
      const errors: ErrorObject[] = [];
      for (const check of checks) if (!check(parts)) errors.push(...(check.errors ?? []));
      return errors.length === 0 ? [] : mergeErrors(errors, wordError);
    },
  };
}

function findSecret(security: readonly Readonly<Record<string, unknown>>[]): SecretLocation {
  const schemes = security.flatMap((one) => Object.keys(one));
  if (schemes.includes('AdminAuth')) return 'admin';
  if (!schemes.includes('QueryAuth')) return 'body';
  return security.some((one) => Object.keys(one).length === 0) ? 'optional' : 'required';
}

/** A number as JSON writes it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

function readDeclared(declared: readonly Parameter[], given: Query): ReturnType<Operation['readQuery']> {
  const query: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const { name, schema } of declared) {
    const values = given.get(name);
    if (!values) continue;
    const [text] = values;
    if (values.length > 1) errors.push({ pointer: `/${name}`, detail: 'must be sent once' });
    else if (typeof text !== 'string') {
      errors.push({ pointer: `/${name}`, detail: 'must be percent-encoded UTF-8' });
    } else {
      const isNumber = schema.type === 'number' || schema.type === 'integer';
      query[name] = isNumber && NUMBER.test(text) ? Number(text) : text;
    }
  }
  return { query, errors };
}

/** Judged before the items, so that two million wrong items don't make two million errors. */
function findLongArrays(schema: Schema, body: unknown): readonly FieldError[] {
  if (typeof body !== 'object' || body === null) return [];
  const errors: FieldError[] = [];
  for (const [name, { maxItems }] of Object.entries(schema.properties ?? {})) {
    if (maxItems === undefined) continue;
    const value: unknown = Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined;
    if (Array.isArray(value) && value.length > maxItems) {
      errors.push({ pointer: toPointer([name]), detail: `must have at most ${maxItems} items` });
    }
  }
  return errors;
}

type WordError = (error: ErrorObject) => FieldError;

/** One entry a place. An outer place is left out when something inside it is named. */
function mergeErrors(errors: readonly ErrorObject[], wordError: WordError): readonly FieldError[] {
  const byPointer = new Map<string, FieldError>();
  for (const error of errors) {
    const worded = wordError(error);
    if (!byPointer.has(worded.pointer)) byPointer.set(worded.pointer, worded);
  }
  const pointers = [...byPointer.keys()];
  return [...byPointer.values()].filter(
    ({ pointer }) => !pointers.some((other) => other.startsWith(`${pointer}/`)),
  );
}

/** Words an error of the compiled checks: where it is in what the caller sent, and what belongs there. */
function createWording(parameters: readonly Parameter[], bodySchema: Schema | undefined): WordError {
  const names = new Map(parameters.map((one) => [one.name.toLowerCase(), one]));
  return ({ instancePath, keyword, params }) => {
    const [part, ...inside] = instancePath.split('/').slice(1).map(unescapeToken);
    const isMissing = keyword === 'required';
    const path = isMissing ? [...inside, String(params.missingProperty)] : inside;
    const parameter = part === 'requestBody' ? undefined : names.get(String(path[0]).toLowerCase());
    const schema = part === 'requestBody' ? schemaAt(bodySchema, path) : parameter?.schema;
    const pointer = parameter ? `/${parameter.name}` : toPointer(path);
    const wanted = schema ? describeSchema(schema) : 'what the document says';
    if (isMissing) return { pointer, detail: `is missing; send ${wanted}` };
    if (keyword === 'format' && params.format === 'well-formed') {
      return { pointer, detail: 'must be well-formed Unicode, without lone surrogates' };
    }
    const bound = keyword === 'format' && params.format === 'int64' ? ', and below 2^63' : '';
    return { pointer, detail: `must be ${wanted}${bound}` };
  };
}

function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
