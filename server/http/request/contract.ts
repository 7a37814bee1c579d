/**
 * Loads the whole document once: the operations in the form that the server works with, and the validators of
 * their requests. openapi-backend loads the document and compiles the validators. A request runs only its
 * operation's validators. Compiling takes longer than all else at the start, so it is done when an operation
 * is first used, or by `prepare()`.
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
  /** In the header `X-Admin-Auth`, always. */
  | 'admin'
  /** In the query or the `Authorization` header, always. */
  | 'required'
  /** As `required`, but it may be absent: the body may have it, or need none. */
  | 'optional';

/** A parameter's decoded text; null if it is not percent-encoded UTF-8. */
type QueryValue = string | null;
/**
 * The query of a URL, parsed strictly: it tells a value that cannot be decoded from an absent one, and a
 * repeated parameter from a single one.
 */
export type Query = ReadonlyMap<string, readonly QueryValue[]>;

/** The parts of a request in the form that the compiled validators read. */
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
   * Whether the body must have the field `auth`. `unlessAdmin`: it may be absent if the administrator's
   * secret is sent. `undeclared`: it is ignored like any unknown field. Null if the operation has no body.
   */
  readonly body: {
    readonly auth: 'required' | 'optional' | 'unlessAdmin' | 'undeclared';
    /** Picks the declared fields of a valid body. */
    pickDeclared(body: unknown): Readonly<Record<string, unknown>>;
  } | null;
  /** Reads the declared query parameters, numbers as numbers; `errors` lists those that cannot be read. */
  readQuery(query: Query): { query: Record<string, unknown>; errors: readonly FieldError[] };
  /** Returns all errors of a request, one for each place; empty if the request is valid. */
  validate(parts: RequestParts): readonly FieldError[];
  /** Compiles the validators unless that has been done. Takes some milliseconds. */
  prepare(): void;
};

export type Contract = {
  readonly version: string;
  readonly operations: readonly Operation[];
};

/** Names must be well-formed Unicode. OpenAPI has no format for that. */
const WELL_FORMED = { format: 'well-formed' };
const NAME_SCHEMAS = ['Name', 'QuestionKey', 'RegistrationToken', 'RequestId', 'RequestIdEnd', 'SessionId'];

/** The part of the document that `loadContract` changes. */
type WholeDocument = {
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, object>> }>>;
  };
};

/** Loads the whole document, and changes it. Rejects if it is not a valid OpenAPI document. */
export async function loadContract(document: unknown): Promise<Contract> {
  const { schemas } = (document as WholeDocument).components;
  for (const name of NAME_SCHEMAS) Object.assign(schemas[name] ?? {}, WELL_FORMED);
  // This one has a default, so the document does not refer to `SessionId` there.
  Object.assign(schemas.TaskSubmission?.properties?.cli_session_id ?? {}, WELL_FORMED);
  const ajv = createAjv();
  const api = new OpenAPIBackend({
    definition: document as Document,
    quick: true,
    strict: true,
    // openapi-backend creates an Ajv with these options for each operation; `customizeAjv` replaces it.
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
 * Creates the one validator of all schemas. It coerces no types and fills in no defaults. The schemas are not
 * validated, because they are generated and the first call would compile the schema of schemas for 20 ms.
 */
export function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, strictNumbers: true, validateSchema: false });
  addFormats.default(ajv, ['int32', 'float', 'double', 'password']);
  // The `int64` of ajv-formats accepts any integer, even 1e300, which no reader of an int64 can hold.
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
    // The last validator is that of the parameters. It is not needed if no parameter can be wrong.
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

/** Whether a parameter can be wrong: an optional one of any text cannot. */
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

/** Parses `a=1&b=2`. A parameter whose name cannot be decoded is left out. Never throws. */
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

/** Reads a text as a value of the schema's type; returns the text itself if it is none. */
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
