/**
 * Whether an answer is one the published document allows: its status, media type, headers and body, the
 * frames of a stream included. Stricter than the document in one point: a body may hold no field that isn't
 * described.
 */
import { readFileSync } from 'node:fs';
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** An answer as it came, with the request it belongs to. */
export type Answer = {
  readonly method: string;
  /** As it was sent; a query is ignored. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  /** The whole body, of a stream what came of it. */
  readonly text: string;
};

export type DocumentedAnswer = { readonly operationId: string; readonly status: number };

export type DocumentCheck = {
  /** Every answer the document declares. */
  readonly documented: readonly DocumentedAnswer[];
  /** What is wrong with an answer, one sentence each; empty when it is as documented. */
  findDeviations(answer: Answer): readonly string[];
};

type Json = { readonly [key: string]: unknown };
type Header = { readonly required?: boolean; readonly schema: AnySchema };
type Declared = {
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Readonly<Record<string, { readonly schema: AnySchema }>>;
};
type Operation = { readonly operationId: string; readonly responses: Readonly<Record<string, Declared>> };

/** Headers of HTTP itself and of every answer, which no operation declares. */
const EVERYWHERE = new Set([
  ...['date', 'connection', 'keep-alive', 'content-length', 'content-type', 'transfer-encoding', 'vary'],
  ...['cache-control', 'referrer-policy', 'x-content-type-options', 'x-accel-buffering', 'www-authenticate'],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
]);

/** The document the server publishes as `/openapi.json`. */
export function readDocument(): Json {
  const url = import.meta.resolve('@task-gateway/contract/openapi.json');
  return JSON.parse(readFileSync(new URL(url), 'utf8'));
}

/** Compiles the checks of a document. */
export function createDocumentCheck(document: Json = readDocument()): DocumentCheck {
  const ajv = new Ajv2020({ strict: false, allErrors: true, strictNumbers: true });
  addFormats.default(ajv, ['int32', 'int64', 'double', 'password']);
  ajv.addSchema({ $id: 'document', ...resolveHeaders(closeObjects(document)) });
  const closed = ajv.getSchema('document')?.schema as Json;
  const operations = listOperations(closed);
  const compiled = new Map<string, ValidateFunction>();
  const compile = (...path: readonly string[]): ValidateFunction => {
    const $ref = `document#/${path.map(escapeToken).join('/')}`;
    const check = compiled.get($ref) ?? ajv.compile({ $ref });
    compiled.set($ref, check);
    return check;
  };
  const isEvent = compile('components', 'schemas', 'TaskDone');

  function findDeviations(answer: Answer): readonly string[] {
    const found = operations.find(
      ({ method, pattern }) => method === answer.method && pattern.test(pathOf(answer)),
    );
    if (!found) return [`${answer.method} ${pathOf(answer)} is no operation of the document`];
    const { operation, path, method } = found;
    const name = `${operation.operationId} ${answer.status}`;
    const status = String(answer.status);
    const declared = operation.responses[status];
    if (!declared) return [`${name}: the status is not documented`];
    const at = ['paths', path, method.toLowerCase(), 'responses', status];
    return [...judgeHeaders(declared, answer, at), ...judgeBody(declared, answer, at)].map(
      (fault) => `${name}: ${fault}`,
    );
  }

  function judgeHeaders(declared: Declared, { headers }: Answer, at: readonly string[]): readonly string[] {
    const faults: string[] = [];
    const known = Object.entries(declared.headers ?? {});
    for (const [name, { required, schema }] of known) {
      const text = headers.get(name);
      if (text === null) {
        if (required) faults.push(`the header ${name} is missing`);
      } else {
        const isNumber = typeof schema === 'object' && schema.type !== 'string';
        const check = compile(...at, 'headers', name, 'schema');
        if (!check(isNumber ? Number(text) : text)) faults.push(`the header ${name} is broken: ${text}`);
      }
    }
    const names = new Set(known.map(([name]) => name.toLowerCase()));
    for (const [name] of headers) {
      if (!names.has(name) && !EVERYWHERE.has(name)) faults.push(`the header ${name} is not documented`);
    }
    return faults;
  }

  function judgeBody(
    { content }: Declared,
    { headers, text }: Answer,
    at: readonly string[],
  ): readonly string[] {
    const type = headers.get('content-type')?.split(';')[0]?.trim();
    if (!content) return text === '' ? [] : ['there is a body where none is documented'];
    if (type === undefined || !Object.hasOwn(content, type))
      return [`the media type ${type} is not documented`];
    if (type === 'text/event-stream') return judgeFrames(text, isEvent);
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      return ['the body is not JSON'];
    }
    return describeErrors(compile(...at, 'content', type, 'schema'), body);
  }

  return {
    documented: operations.flatMap(({ operation: { operationId, responses } }) =>
      Object.keys(responses).map((status) => ({ operationId, status: Number(status) })),
    ),
    findDeviations,
  };
}

function describeErrors(check: ValidateFunction, value: unknown): readonly string[] {
  if (check(value)) return [];
  return (check.errors ?? []).map(({ instancePath, message, params }) => {
    return `the body is broken at "${instancePath}": ${message} ${JSON.stringify(params)}`;
  });
}

/** Frames of §6: comments, a time to come back, or an id and one line of data. The last may be cut off. */
function judgeFrames(text: string, isEvent: ValidateFunction): readonly string[] {
  const frames = text.split('\n\n');
  return frames.slice(0, -1).flatMap((frame) => {
    if (/^(:.*|retry: \d+)$/.test(frame)) return [];
    const data = /^id: [^\n]+\ndata: ([^\n]+)$/.exec(frame)?.[1];
    if (data === undefined) return [`the stream has a frame of another form: ${frame}`];
    return describeErrors(isEvent, JSON.parse(data));
  });
}

function pathOf({ path }: Answer): string {
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

/** Objects with described fields have no others. */
function closeObjects(value: unknown): Json {
  return mapObjects(value, (object) =>
    object.type === 'object' && 'properties' in object && !('additionalProperties' in object)
      ? { ...object, additionalProperties: false }
      : object,
  ) as Json;
}

/** References to headers are not schemas: they are put in their place. */
function resolveHeaders(document: Json): Json {
  const components = document.components as { readonly headers?: Readonly<Record<string, unknown>> };
  return mapObjects(document, (object) => {
    const name = /^#\/components\/headers\/(.+)$/.exec(String(object.$ref))?.[1];
    const header = name === undefined ? undefined : components.headers?.[name];
    return header === undefined ? object : (header as Json);
  }) as Json;
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
