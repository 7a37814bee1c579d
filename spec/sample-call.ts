/** The request of an operation's first example, taken from the document. */
import { isJson, type Json } from './document.ts';

const STREAM = 'text/event-stream';

/** A call with the values of its first example. */
export type SampleCall = {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  /** By the names in `path`. */
  readonly pathValues: Readonly<Record<string, unknown>>;
  readonly query: readonly (readonly [string, unknown])[];
  readonly headers: readonly (readonly [string, unknown])[];
  /** The body without `auth`; undefined if the operation has none. */
  readonly body: Json | undefined;
  /** The header that carries the secret; undefined if the body does. */
  readonly secret: 'Authorization' | 'X-Admin-Auth' | undefined;
  /**
   * Whether the response is an event stream. If it may also be JSON, the header `Accept` asks for the
   * stream.
   */
  readonly isStream: boolean;
};

/** Reads an operation's first example. Throws if it has a body but no example of one. */
export function readFirstExample(path: string, method: string, operation: Json): SampleCall {
  const operationId = String(operation.operationId);
  const parameters = listObjects(operation.parameters);
  const first = parameters.flatMap(({ examples }) => (isJson(examples) ? Object.keys(examples) : []))[0];
  const valuesIn = (location: string): readonly (readonly [string, unknown])[] =>
    parameters.flatMap((one) => {
      const example = one.in === location && isJson(one.examples) ? one.examples[first ?? ''] : undefined;
      return isJson(example) ? [[String(one.name), example.value] as const] : [];
    });
  const types = listTypes(operation.responses);
  const isStream = types.has(STREAM);
  const accept = isStream && types.has('application/json') ? [['Accept', STREAM] as const] : [];
  const body = readBody(operationId, operation.requestBody);
  const schemes = listObjects(operation.security).flatMap((one) => Object.keys(one));
  // Where the gateway's secret will do, the administrator's is an alternative.
  const isOfAdmin = schemes.length > 0 && schemes.every((scheme) => scheme === 'AdminAuth');
  const hasHeader = !body && schemes.includes('HeaderAuth');
  return {
    operationId,
    method,
    path,
    body,
    pathValues: Object.fromEntries(valuesIn('path')),
    query: valuesIn('query'),
    headers: [...accept, ...valuesIn('header')],
    secret: isOfAdmin ? 'X-Admin-Auth' : hasHeader ? 'Authorization' : undefined,
    isStream,
  };
}

/** Lists the media types of the successful response. */
function listTypes(responses: unknown): ReadonlySet<string> {
  const success = isJson(responses) ? responses['200'] : undefined;
  return new Set(isJson(success) && isJson(success.content) ? Object.keys(success.content) : []);
}

function readBody(operationId: string, requestBody: unknown): Json | undefined {
  if (!isJson(requestBody)) return undefined;
  const content = isJson(requestBody.content) ? requestBody.content['application/json'] : undefined;
  const value = isJson(content) ? firstValue(content.examples) : undefined;
  if (!isJson(value)) throw new Error(`${operationId} has a body and no example of it.`);
  const { auth: _, ...body } = value;
  return body;
}

function firstValue(examples: unknown): unknown {
  const [first] = isJson(examples) ? Object.values(examples) : [];
  return isJson(first) ? first.value : undefined;
}

function listObjects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}
