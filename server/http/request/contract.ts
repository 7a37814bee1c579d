/**
 * The whole document, loaded once: its operations in the form that the server works with, and the
 * compiled validators of their requests. openapi-backend loads and compiles it; per request only those
 * validators run. To compile them takes longer than all else at the start, so that happens when an operation
 * is first used, or before, in `prepare()`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { operations } from '@task-gateway/contract';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Document, OpenAPIBackend } from 'openapi-backend';
import type { FieldError } from '../problems.ts';
import { buildBounds, emptyArrays, findTooLong, leaveOut } from './array-lengths.ts';
import { createErrorDescriber, mergeErrors, type Parameter } from './field-errors.ts';
import type { Schema } from './schema-words.ts';

export type OperationId = keyof operations;

/** Where an operation looks for a secret before it reads the body. */
type SecretLocation =
  /** The header `X-Admin-Auth`, always. */
  | 'admin'
  /** The query or the `Authorization` header, always. */
  | 'required'
  /** As `required`, but it may be absent: the body has it, or needs none. */
  | 'optional';

/** A parameter's decoded text; null when it is not percent-encoded UTF-8. */
type QueryValue = string | null;
/**
 * The query of a URL, parsed strictly: a value that can't be decoded differs from an absent one, and a
 * repeated parameter from a single one.
 */
export type Query = ReadonlyMap<string, readonly QueryValue[]>;

/** The parts of a request that are validated together, in the form that the compiled validators read. */
export type RequestParts = {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Record<string, unknown>;
  readonly header: IncomingHttpHeaders;
  readonly requestBody?: unknown;
};

export type Operation = {
  readonly operationId: OperationId;
  readonly method: string;
  /** The path as the router writes it: `/api/cli/tasks/:request_id`. */
  readonly path: string;
  readonly secret: SecretLocation;
  /** Whether the administrator's secret is accepted instead of the gateway secret. */
  readonly isAdminAccepted: boolean;
  /**
   * Whether the body must have the field `auth`; `unlessAdmin`: it may be absent beside the administrator's
   * secret; `undeclared`: it is ignored as any unknown field. Null when the operation has no body.
   */
  readonly body: {
    readonly auth: 'required' | 'optional' | 'unlessAdmin' | 'undeclared';
    /** Returns the fields that the document declares, of a body that is valid. */
    pickDeclared(body: unknown): Readonly<Record<string, unknown>>;
  } | null;
  /** Reads the declared query parameters, numbers as numbers; `errors` lists those that can't be read. */
  readQuery(query: Query): { query: Record<string, unknown>; errors: readonly FieldError[] };
  /** Returns everything that is wrong with a request, one entry for each place; empty when it is valid. */
  validate(parts: RequestParts): readonly FieldError[];
  /** Compiles what `validate` runs, if that has not been done: some milliseconds of work. */
  prepare(): void;
};

export type Contract = {
  readonly version: string;
  readonly operations: readonly Operation[];
};

/** Schemas of names, which must be well-formed Unicode; OpenAPI has no format for that. */
const NAME_SCHEMAS = ['Name', 'QuestionKey', 'RegistrationToken', 'RequestId', 'RequestIdEnd', 'SessionId'];

/** The part of the document that is changed. */
type WholeDocument = { readonly components: { readonly schemas: Readonly<Record<string, object>> } };

/** Loads the whole document, and keeps it. Rejects when it is not a valid OpenAPI document. */
export async function loadContract(document: unknown): Promise<Contract> {
  const { schemas } = (document as WholeDocument).components;
  for (const name of NAME_SCHEMAS) Object.assign(schemas[name] ?? {}, { format: 'well-formed' });
  const ajv = createAjv();
  const api = new OpenAPIBackend({
    definition: document as Document,
    quick: true,
    strict: true,
    // It creates one for each operation, which this one replaces.
    ajvOpts: { meta: false },
    customizeAjv: () => ajv,
  });
  await api.init();
  return {
    version: api.definition.info.version,
    operations: api.router.getOperations().map((operation) => {
      const operationId = operation.operationId as OperationId;
      return buildOperation(
        operationId,
        operation as unknown as DeclaredOperation,
        () => api.validator.getRequestValidatorsForOperation(operationId) ?? [],
      );
    }),
  };
}

/**
 * Creates the one validator of all schemas. It coerces no types and fills in no defaults. The schemas are
 * generated: to validate them too, the first call would compile the schema of schemas, 20 ms in one piece.
 */
export function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, strictNumbers: true, validateSchema: false });
  addFormats.default(ajv, ['int32', 'float', 'double', 'password']);
  // The format of ajv-formats accepts any integer, such as 1e300, which no reader of an int64 can hold.
  ajv.addFormat('int64', { type: 'number', validate: (value) => Math.abs(value) < 2 ** 63 });
  ajv.addFormat('well-formed', (text: string) => text.isWellFormed());
  return ajv;
}

/** The part of an operation that is read from the dereferenced document. */
type DeclaredOperation = {
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
  declared: DeclaredOperation,
  compile: () => readonly ValidateFunction[],
): Operation {
  const bodySchema = declared.requestBody?.content['application/json']?.schema;
  const queryParameters = declared.parameters.filter((parameter) => parameter.in === 'query');
  let compiled: readonly ValidateFunction[] | null = null;
  function prepare(): readonly ValidateFunction[] {
    // The last validator is that of the parameters; where any parameters are right it is not needed.
    compiled ??= declared.parameters.some(mayBeWrong) ? compile() : compile().slice(0, -1);
    return compiled;
  }
  const describeError = createErrorDescriber(declared.parameters, bodySchema);
  const bounds = buildBounds(bodySchema);
  return {
    operationId,
    method: declared.method,
    path: declared.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    secret: findSecret(declared.security),
    isAdminAccepted: listSchemes(declared.security).includes('AdminAuth'),
    body: bodySchema ? describeBody(bodySchema, declared.security) : null,
    readQuery: (query) => readDeclared(queryParameters, query),
    validate(parts) {
      const lengthErrors = findTooLong(bounds, parts.requestBody);
      const checked =
        lengthErrors.length === 0
          ? parts
          : { ...parts, requestBody: emptyArrays(parts.requestBody, lengthErrors) };
      const errors = prepare().flatMap((check) => (check(checked) ? [] : (check.errors ?? [])));
      if (errors.length === 0) return lengthErrors;
      return [...lengthErrors, ...leaveOut(lengthErrors, mergeErrors(errors, describeError))];
    },
    prepare: () => void prepare(),
  };
}

/** Whether a parameter has a rule: one that is any text or absent has none. */
function mayBeWrong({ required, schema }: Parameter): boolean {
  return required === true || schema.type !== 'string' || Object.keys(schema).length > 1;
}

function describeBody(schema: Schema, security: DeclaredOperation['security']): Operation['body'] {
  const names = Object.keys(schema.properties ?? {});
  const isAdminAccepted = listSchemes(security).includes('AdminAuth');
  const whereOptional = isAdminAccepted ? 'unlessAdmin' : 'optional';
  return {
    auth: isAuthRequired(schema) ? 'required' : names.includes('auth') ? whereOptional : 'undeclared',
    pickDeclared(body) {
      const sent = Object(body);
      const picked: Record<string, unknown> = {};
      for (const name of names) if (Object.hasOwn(sent, name)) picked[name] = sent[name];
      return picked;
    },
  };
}

function isAuthRequired(schema: Schema): boolean {
  return schema.required?.includes('auth') ?? false;
}

function listSchemes(security: DeclaredOperation['security']): readonly string[] {
  return security.flatMap((requirement) => Object.keys(requirement));
}

function findSecret(security: DeclaredOperation['security']): SecretLocation {
  if (!listSchemes(security).includes('QueryAuth')) return 'admin';
  return security.some((requirement) => Object.keys(requirement).length === 0) ? 'optional' : 'required';
}

const NO_QUERY: Query = new Map();

/** Parses `a=1&b=2`. A parameter whose name can't be decoded is left out. Never throws. */
export function parseQuery(text: string): Query {
  if (text === '') return NO_QUERY;
  const query = new Map<string, QueryValue[]>();
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    if (name === null) continue;
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const values = query.get(name);
    if (values) values.push(value);
    else query.set(name, [value]);
  }
  return query;
}

function decode(text: string): QueryValue {
  try {
    return decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text);
  } catch {
    return null;
  }
}

/** A number as JSON writes it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

function readDeclared(parameters: readonly Parameter[], rawQuery: Query): ReturnType<Operation['readQuery']> {
  const query: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const { name, schema } of parameters) {
    const values = rawQuery.get(name);
    if (!values) continue;
    const [text] = values;
    if (values.length > 1) errors.push({ pointer: `/${name}`, detail: 'must be sent once' });
    else if (typeof text !== 'string') {
      errors.push({ pointer: `/${name}`, detail: 'must be percent-encoded UTF-8' });
    } else {
      query[name] = readValue(schema, text);
    }
  }
  return { query, errors };
}

/** The value that a text stands for; the text itself where it stands for none of this type. */
function readValue({ type }: Schema, text: string): unknown {
  switch (type) {
    case 'number':
    case 'integer':
      return NUMBER.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : text;
    case 'array':
      return text.split(',');
    default:
      return text;
  }
}
