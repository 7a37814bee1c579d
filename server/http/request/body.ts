/**
 * Reads a request's body: as bytes within a limit, then as UTF-8, then as JSON. Every body takes the same
 * path:
 *
 *   request ──► CountedBody ──► koa-body ──► bytes ──► UTF-8 ──► JSON
 *
 * `CountedBody` counts the bytes as they arrive, and a pool bounds what all bodies being read hold together.
 * A body first reserves what a small one needs, and what a large one needs only once it has really grown:
 * callers that announce much and send little hold up no other caller.
 *
 * Measured with a body of 300 bytes, this path takes about 5 µs of CPU more than collecting the chunks by
 * hand, of the 85 µs that a submission takes in `http/`; one of 1 MB takes no more.
 */
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { Problem } from '../problems.ts';
import { createBodyPool } from './body-pool.ts';
import { CountedBody } from './counted-body.ts';

/** Bodies up to this many bytes are small. */
const SMALL_BYTES = 65_536;

export type ReadBody = (ctx: Pick<Context, 'req'>) => Promise<unknown>;

export type BodyLimits = {
  /** Bytes of one body. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are being read at a time. */
  readonly bodiesBytesMax: number;
};

/**
 * Creates the reader, which resolves with the parsed JSON. It rejects with a `Problem` (413, 415, 503 or 400,
 * checked in this order) or with `CallerGone`.
 */
export function createBodyReader({ bodyBytesMax, bodiesBytesMax }: BodyLimits): ReadBody {
  const pool = createBodyPool(bodiesBytesMax);
  const collect = createCollector(bodyBytesMax);
  const smallBytes = Math.min(SMALL_BYTES, bodyBytesMax);

  return async ({ req }) => {
    const declaredBytes = readDeclaredBytes(req);
    if (declaredBytes !== null && declaredBytes > bodyBytesMax) throw tooLarge(bodyBytesMax);
    requireReadableBody(req, declaredBytes !== 0);
    if (declaredBytes === 0) return parseBody(Buffer.alloc(0));
    // A body of undeclared length may grow to the limit.
    const wholeBytes = declaredBytes ?? bodyBytesMax;
    const reservation = pool.open();
    reservation.growTo(Math.min(wholeBytes, smallBytes));
    const body = new CountedBody(req, (arrivedBytes) => {
      if (arrivedBytes > smallBytes) reservation.growTo(wholeBytes);
    });
    try {
      return parseBody(await collect(body));
    } finally {
      body.destroy();
      reservation.release();
    }
  };
}

/** The length that the headers declare; null when the body is sent in chunks. */
function readDeclaredBytes({ headers }: IncomingMessage): number | null {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/** koa-body as a collector of bytes; it holds no more than the limit. */
function createCollector(bodyBytesMax: number): (body: CountedBody) => Promise<Buffer> {
  // Without an encoding the text parser returns the bytes as they came.
  const read = koaBody({ json: false, urlencoded: false, encoding: '', textLimit: bodyBytesMax });
  return async (body) => {
    const request: { body?: unknown } = {};
    // The part of a context that koa-body uses, with the counted body in place of the request.
    const ctx = { method: 'POST', is: () => 'text/plain', req: body, request };
    try {
      await read(ctx as unknown as Context, async () => {});
    } catch (error) {
      const isTooLarge = error instanceof Error && 'status' in error && error.status === 413;
      throw isTooLarge ? tooLarge(bodyBytesMax) : error;
    }
    return request.body as Buffer;
  };
}

function tooLarge(bodyBytesMax: number): Problem {
  return new Problem(
    'payload_too_large',
    `The body is larger than ${bodyBytesMax} bytes. Keep large data elsewhere and send a reference to it.`,
  );
}

/**
 * A compressed body is refused; a web page's must be declared as JSON, so that the browser sends a preflight
 * first.
 */
function requireReadableBody({ headers }: IncomingMessage, hasBody: boolean): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
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

function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) throw malformed('There is no body. Send a JSON object as UTF-8.');
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
    return JSON.parse(text);
  } catch {
    throw malformed('The body is not JSON. Send a JSON object as UTF-8 without a byte-order mark.');
  }
}

function malformed(detail: string): Problem {
  return new Problem('malformed_body', detail);
}
