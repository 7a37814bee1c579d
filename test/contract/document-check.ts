/**
 * Whether the published document allows a response: its status, media type, headers and body, the frames of a
 * stream included. Stricter than the document in two points: a body may hold no field that isn't described,
 * and no code that isn't listed for its operation and status.
 */
import { readFileSync } from 'node:fs';
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** A response as it was received, with the request it belongs to. */
export type ReceivedResponse = {
  readonly method: string;
  /** As it was sent; a query is ignored. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  /** The whole body; of a stream the part that was received. */
  readonly text: string;
};

type DocumentedResponse = {
  readonly operationId: string;
  readonly status: number;
  /** Those of an error; of a success there are none. */
  readonly codes: readonly string[];
};

export type DocumentCheck = {
  /** Every response that the document declares. */
  readonly documented: readonly DocumentedResponse[];
  /** What is wrong with a response, one sentence each; empty when the document allows it. */
  findDeviations(response: ReceivedResponse): readonly string[];
};

type Json = { readonly [key: string]: unknown };
type Header = { readonly required?: boolean; readonly schema: AnySchema };
type Declared = {
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Readonly<Record<string, { readonly schema: AnySchema }>>;
};
type Operation = { readonly operationId: string; readonly responses: Readonly<Record<string, Declared>> };

/** Headers of HTTP itself and of every response, which no operation declares. */
const EVERYWHERE = new Set([
  ...['date', 'connection', 'keep-alive', 'content-length', 'content-type', 'transfer-encoding', 'vary'],
  ...['cache-control', 'referrer-policy', 'x-content-type-options', 'x-accel-buffering', 'www-authenticate'],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
]);

/** The whole document, of which the server publishes two parts. */
export function readDocument(): Json {
  const url = import.meta.resolve('@task-gateway/contract/openapi.whole.json');
  return JSON.parse(readFileSync(new URL(url), 'utf8'));
}

/** Compiles the schemas of a document into a check. */
export function createDocumentCheck(document: Json = readDocument()): DocumentCheck {
  const closed = resolveParts(closeObjects(document), document);
  const ajv = createAjv(closed);
  const operations = listOperations(closed);
  const compiled = new Map<string, ValidateFunction>();
  const compile = (...path: readonly string[]): ValidateFunction => {
    const $ref = `document#/${path.map(escapeToken).join('/')}`;
    const check = compiled.get($ref) ?? ajv.compile({ $ref });
    compiled.set($ref, check);
    return check;
  };

  function findDeviations(response: ReceivedResponse): readonly string[] {
    const found = operations.find(
      ({ method, pattern }) => method === response.method && pattern.test(pathOf(response)),
    );
    if (!found) return [`${response.method} ${pathOf(response)} is no operation of the document`];
    const { operation, path, method } = found;
    const name = `${operation.operationId} ${response.status}`;
    const status = String(response.status);
    const declared = operation.responses[status];
    if (!declared) return [`${name}: the status is not documented`];
    const at = ['paths', path, method.toLowerCase(), 'responses', status];
    return [...validateHeaders(declared, response, at), ...validateBody(declared, response, at)].map(
      (deviation) => `${name}: ${deviation}`,
    );
  }

  function validateHeaders(
    declared: Declared,
    { headers }: ReceivedResponse,
    at: readonly string[],
  ): readonly string[] {
    const deviations: string[] = [];
    const documented = Object.entries(declared.headers ?? {});
    for (const [name, { required, schema }] of documented) {
      const text = headers.get(name);
      if (text === null) {
        if (required) deviations.push(`the header ${name} is missing`);
      } else {
        const isNumber = typeof schema === 'object' && /^(integer|number)$/.test(`${schema.type}`);
        const check = compile(...at, 'headers', name, 'schema');
        if (!check(isNumber ? Number(text) : text)) deviations.push(`the header ${name} is broken: ${text}`);
      }
    }
    const names = new Set(documented.map(([name]) => name.toLowerCase()));
    for (const [name] of headers) {
      if (!names.has(name) && !EVERYWHERE.has(name)) deviations.push(`the header ${name} is not documented`);
    }
    return deviations;
  }

  function validateBody(
    { content }: Declared,
    { headers, text }: ReceivedResponse,
    at: readonly string[],
  ): readonly string[] {
    const type = headers.get('content-type')?.split(';')[0]?.trim();
    if (!content) return text === '' ? [] : ['there is a body where none is documented'];
    if (type === undefined || !Object.hasOwn(content, type))
      return [`the media type ${type} is not documented`];
    if (type === 'text/event-stream') {
      const { $ref } = (content[type]?.schema ?? {}) as Json;
      return validateFrames(text, compile(...String($ref).split('/').slice(1), 'contentSchema'));
    }
    let body: unknown = text;
    try {
      if (type !== 'text/plain') body = JSON.parse(text);
    } catch {
      return ['the body is not JSON'];
    }
    return describeErrors(compile(...at, 'content', type, 'schema'), body);
  }

  return {
    documented: operations.flatMap(({ operation }) => listResponses(closed, operation)),
    findDeviations,
  };
}

/** The responses that an operation declares by their status, each with its codes. */
function listResponses(document: Json, { operationId, responses }: Operation): readonly DocumentedResponse[] {
  const declared = Object.entries(responses).filter(([status]) => status !== 'default');
  return declared.map(([status, { content }]) => ({
    operationId,
    status: Number(status),
    codes: listCodes(document, content?.['application/problem+json']?.schema),
  }));
}

/** A validator of the schemas in a document; their references begin with `document#`. */
function createAjv(document: Json): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, strictNumbers: true });
  addFormats.default(ajv, ['int32', 'int64', 'double', 'password']);
  ajv.addSchema({ $id: 'document', ...document });
  return ajv;
}

function describeErrors(check: ValidateFunction, value: unknown): readonly string[] {
  if (check(value)) return [];
  return (check.errors ?? []).map(({ instancePath, message, params }) => {
    return `the body is broken at "${instancePath}": ${message} ${JSON.stringify(params)}`;
  });
}

/**
 * Frames of §6: comments, a reconnect time, or an id and one line of data. How a task stands has no id. The
 * last frame may be incomplete.
 */
function validateFrames(text: string, isFrame: ValidateFunction): readonly string[] {
  const frames = text.split('\n\n');
  return frames.slice(0, -1).flatMap((frame) => {
    if (/^(:.*|retry: \d+)$/.test(frame)) return [];
    const [, id, data] = /^(?:id: ([^\n]+)\n)?data: ([^\n]+)$/.exec(frame) ?? [];
    const hasId = data !== undefined && /^\{"(n|event)":/.test(data);
    if (data === undefined || hasId !== (id !== undefined)) {
      return [`the stream has a frame of another form: ${frame}`];
    }
    return describeErrors(isFrame, JSON.parse(data));
  });
}

function pathOf({ path }: ReceivedResponse): string {
  return path.split('?')[0] ?? '';
}

function listOperations(document: Json): readonly {
  readonly path: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly operation: Operation;
}[] {
  return Object.entries(
    document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>,
  ).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      operation,
    })),
  );
}

/**
 * Objects with described fields have no others, and texts with known values no others. Where a schema is
 * composed of others, they are closed, and it adds nothing to them.
 */
function closeObjects(value: unknown): Json {
  return mapObjects(value, (object) => {
    const { anyOf } = object;
    if (Array.isArray(anyOf) && anyOf.some(isAnyText) && anyOf.some((one) => 'enum' in one)) {
      return { ...object, anyOf: anyOf.filter((one) => !isAnyText(one)) };
    }
    const isClosed = 'additionalProperties' in object || 'allOf' in object;
    return object.type === 'object' && 'properties' in object && !isClosed
      ? { ...object, additionalProperties: false }
      : object;
  }) as Json;
}

function isAnyText(schema: unknown): boolean {
  return JSON.stringify(schema) === '{"type":"string"}';
}

/** Replaces references to parts of a document that are not schemas by what they refer to. */
function resolveParts(value: unknown, document: unknown): Json {
  const components = (document as { readonly components: Readonly<Record<string, Json | undefined>> })
    .components;
  return mapObjects(value, (object) => {
    const [, kind = '', name = ''] =
      /^#\/components\/(headers|responses)\/(.+)$/.exec(String(object.$ref)) ?? [];
    const part = components[kind]?.[name];
    return part === undefined ? object : resolveParts(closeObjects(part), document);
  }) as Json;
}

/** The codes that a schema of problem details lists. */
function listCodes(document: Json, schema: AnySchema | undefined): readonly string[] {
  const name = String((schema as Json | undefined)?.$ref).replace('#/components/schemas/', '');
  const { schemas } = document.components as { readonly schemas: Readonly<Record<string, Json | undefined>> };
  const { code } = (schemas[name]?.properties ?? {}) as {
    readonly code?: { readonly anyOf?: readonly Json[] };
  };
  return (code?.anyOf ?? []).flatMap((one) => one.enum as string[]);
}

function mapObjects(value: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return change(
    Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapObjects(item, change)])),
  );
}

function escapeToken(token: string): string {
  return encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1'));
}
