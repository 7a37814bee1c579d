/**
 * Writes the requests of the SDK and reads the bodies of the responses: within a limit, because whatever is
 * at the address may send a gigabyte of zeros in a megabyte of gzip.
 */
import { ConnectionError, InvalidOptionError } from './errors.ts';

/** One request, without the address of the gateway. */
export type RequestParts = {
  /** Behind the gateway's address; encoded. */
  readonly path: string;
  /** The query's fields; those that are undefined or null are left out. */
  readonly query?: Readonly<Record<string, unknown>>;
  /** Sent with the request; a later record wins, whatever the case of its names. */
  readonly headers: readonly (Readonly<Record<string, string>> | undefined)[];
  /** With a body the request is a POST, unless `method` says otherwise. */
  readonly body?: unknown;
  readonly method?: 'POST';
};

/** More than any response of a gateway: its largest single one is about 8 MiB. */
const BODY_BYTES_MAX = 67_108_864;
/** A payload or a result nests at most 100 deep. Deeper values cost a parser far more than their size. */
const DEPTH_MAX = 250;

/**
 * Creates a function that builds the request, once for each attempt. Throws `InvalidOptionError` for what a
 * URL, a header or JSON can't carry; its message quotes no value, since that may be a secret.
 */
export function createRequestBuilder(baseUrl: string, parts: RequestParts): () => Request {
  const { path, query = {}, headers, body } = parts;
  const fields = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = fields.map(([name, value]) => `${name}=${encodeText(String(value))}`).join('&');
  const url = `${baseUrl}${path}${search && '?'}${search}`;
  const all = new Headers(body === undefined ? {} : { 'content-type': 'application/json' });
  for (const [name, value] of headers.flatMap((one) => Object.entries(one ?? {}))) {
    setHeader(all, name, value);
  }
  const method = parts.method ?? (body === undefined ? 'GET' : 'POST');
  const text = body === undefined ? null : writeJson(body);
  return () => new Request(url, { method, headers: all, body: text, redirect: 'manual' });
}

/** Returns a part of a path that stands for an id. A URL takes `.` and `..` for steps between folders. */
export function encodeId(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) {
    throw new InvalidOptionError('An id must be a text, and neither empty nor "." or "..".');
  }
  return encodeText(id);
}

function encodeText(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new InvalidOptionError('An id, a session or a filter holds half of a surrogate pair.');
  }
}

function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    throw new InvalidOptionError('A header of the options has a name or a value that HTTP can’t carry.');
  }
}

function writeJson(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw new InvalidOptionError('The request can’t be written as JSON.', { cause });
  }
}

/** Returns the whole body. Throws a `ConnectionError` (`response_too_large`) beyond the limit. */
export async function readBytes(response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > BODY_BYTES_MAX) {
      reader.cancel().catch(() => undefined);
      throw new ConnectionError(
        'response_too_large',
        'The response at this address is larger than any of a gateway. Check baseUrl.',
      );
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** Returns the JSON value in a body. Throws what `JSON.parse` throws, and for one that nests too deep. */
export function readJson(bytes: Uint8Array): unknown {
  requireDepth(bytes);
  return JSON.parse(new TextDecoder().decode(bytes));
}

function requireDepth(bytes: Uint8Array): void {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === 0x22) isInText = !isInText;
    else if (isInText) at += byte === 0x5c ? 1 : 0;
    else if (byte === 0x5b || byte === 0x7b) depth += 1;
    else if (byte === 0x5d || byte === 0x7d) depth -= 1;
    if (depth > DEPTH_MAX) throw new SyntaxError('too deep');
  }
}
