/**
 * Reads a request's body: its bytes, then UTF-8, then JSON. One large body at a time is parsed, in one piece:
 * 1 MiB takes up to 60 ms, whatever is in it. Deep nesting does not use up the parser's stack.
 */
import type { LargeWork } from '../../async/large-work.ts';
import { isObject } from '../../domain/json-value.ts';
import type { ApiRequest, CollectedBody, RequestHeaders } from '../answers.ts';
import { Problem } from '../problems.ts';

/** A body that was read. */
export type BodyRead = {
  /** The parsed JSON. */
  readonly value: unknown;
  /** Whether parts of it may be longer when they are written again. */
  readonly mayGrow: boolean;
  /** Whether it is large: each pass over it is a piece of the large work. */
  readonly isLarge: boolean;
  /** Returns its memory to the reserve, once nothing holds its value. Idempotent. */
  readonly release: () => void;
};

/** The body of a request whose operation takes none. */
export const NO_BODY: BodyRead = { value: undefined, mayGrow: false, isLarge: false, release() {} };

/**
 * Reads a body. Rejects with a `Problem` (413, 415, 408 or 503, or 400, checked in this order) or with
 * `CallerGone`.
 */
export async function readJsonBody(
  request: ApiRequest,
  bodyBytesMax: number,
  largeWork: LargeWork,
): Promise<BodyRead> {
  const { headers } = request;
  const declaredBytes = readDeclaredBytes(headers);
  if (declaredBytes !== null && declaredBytes > bodyBytesMax) throw describeTooLarge(bodyBytesMax);
  requireReadableBody(headers, declaredBytes !== 0);
  if (declaredBytes === 0) throw missingBody();
  const collected = await request.readBody(declaredBytes);
  try {
    if (collected.bytes.length > bodyBytesMax) throw describeTooLarge(bodyBytesMax);
    if (!collected.isLarge) return parseBody(collected, bodyBytesMax);
    return await largeWork.run(() => parseBody(collected, bodyBytesMax));
  } catch (error) {
    collected.release();
    throw error;
  }
}

/** The length that the headers declare; null when the body is sent in chunks. */
function readDeclaredBytes(headers: RequestHeaders): number | null {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/**
 * A compressed body is refused; a web page's must be declared as JSON, so that the browser sends a
 * preflight first.
 */
function requireReadableBody(headers: RequestHeaders, hasBody: boolean): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && String(encoding).toLowerCase() !== 'identity') {
    throw new Problem(
      'unsupported_media_type',
      'Compressed bodies are not read. Send the body without Content-Encoding.',
    );
  }
  if (hasBody && headers.origin !== undefined && !isJsonType(headers['content-type'])) {
    throw new Problem(
      'unsupported_media_type',
      'A request with an Origin must declare its body as JSON. Send it with Content-Type: application/json.',
    );
  }
}

function isJsonType(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Numbers with an exponent are written without it up to 1e21: `1e20`, four characters, becomes twenty-one.
 * Nothing else that JSON can say is longer when it is written again.
 */
const GROWTH_MAX = 21 / 4;
const EXPONENT = /\d[eE]/;

function parseBody({ bytes, isLarge, release }: CollectedBody, bodyBytesMax: number): BodyRead {
  if (bytes.length === 0) throw missingBody();
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformed('The body begins with a byte-order mark. Send it as UTF-8 without one.');
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('The body is not UTF-8. Send a JSON object as UTF-8 without a byte-order mark.');
  }
  try {
    const mayGrow = bytes.length * GROWTH_MAX > bodyBytesMax && EXPONENT.test(text);
    return { value: JSON.parse(text), mayGrow, isLarge, release };
  } catch {
    throw malformed('The body is not JSON. Send a JSON object as UTF-8 without a byte-order mark.');
  }
}

/** Requires that a value is no longer than a body may be when it is written again. */
export function requireStorable(body: unknown, field: string, bytesMax: number): void {
  const value = isObject(body) ? body[field] : undefined;
  if (value === undefined || Buffer.byteLength(JSON.stringify(value)) <= bytesMax) return;
  throw new Problem(
    'payload_too_large',
    `The field \`${field}\` takes more than ${bytesMax} bytes once its numbers are written without exponents (1e20 becomes 21 digits). Send such numbers as text, or fewer of them.`,
  );
}

/** The problem of a body beyond the limit. */
export function describeTooLarge(bodyBytesMax: number): Problem {
  return new Problem(
    'payload_too_large',
    `The body is larger than ${bodyBytesMax} bytes. Keep large data elsewhere and send a reference to it.`,
  );
}

function missingBody(): Problem {
  return malformed('There is no body. Send a JSON object as UTF-8.');
}

function malformed(detail: string): Problem {
  return new Problem('malformed_body', detail);
}
