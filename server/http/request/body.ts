/**
 * Reading a request's body: bounded, as bytes, then as UTF-8, then as JSON. Nothing larger than the limit is ever
 * held, and all bodies being read together have a limit too. Every body begins as a small one, and only what has really
 * grown beyond that takes the room of a large one: slow senders who announce much and send little hold up nobody.
 * What is small is read here; every other goes through koa-body. Both answer the same.
 */
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { Problem } from '../problems.ts';

/** Bodies up to this many bytes are read here. */
const SMALL_BYTES = 65_536;

/** The caller went away while its body was being read: there is nobody to answer. */
export class CallerLeft extends Error {
  override readonly name = 'CallerLeft';
}

export type ReadBody = (ctx: Context) => Promise<unknown>;

export type BodyLimits = {
  /** Bytes of one body. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are being read at a time. */
  readonly bodiesBytesMax: number;
};

/** Creates the reader. It throws a `Problem`: 413, 415, 503 or 400, judged in this order. */
export function createBodyReader({ bodyBytesMax, bodiesBytesMax }: BodyLimits): ReadBody {
  let heldBytes = 0;
  const tooLarge = (): Problem =>
    new Problem(
      'payload_too_large',
      `The body is larger than ${bodyBytesMax} bytes. Keep large data elsewhere and send a reference to it.`,
    );
  const readAny = createLargeReader(bodyBytesMax, tooLarge);

  return async (ctx) => {
    const { req } = ctx;
    const { 'content-length': declared, 'transfer-encoding': transfer } = req.headers;
    const length = declared === undefined ? null : Number(declared);
    if (length !== null && length > bodyBytesMax) throw tooLarge();
    requireReadableBody(req, transfer !== undefined || (length ?? 0) > 0);
    if (transfer === undefined && (length ?? 0) === 0) return parseBody(Buffer.alloc(0));
    // What does not say how long it is may become as long as is allowed.
    const bytes = transfer === undefined && length !== null ? length : bodyBytesMax;
    let mineBytes = 0;
    const reserve = (wantedBytes: number): void => {
      if (heldBytes - mineBytes + wantedBytes > bodiesBytesMax) throw tooMany();
      heldBytes += wantedBytes - mineBytes;
      mineBytes = wantedBytes;
    };
    const startBytes = Math.min(SMALL_BYTES, bodyBytesMax);
    reserve(Math.min(bytes, startBytes));
    try {
      const small = await readStart(req, startBytes);
      if (small) return parseBody(small);
      reserve(bytes);
      return parseBody(await readAny(ctx));
    } finally {
      heldBytes -= mineBytes;
      // What was held back and is not wanted is read over, so that the next request behind it is seen.
      if (req.isPaused()) req.resume();
    }
  };
}

function tooMany(): Problem {
  return new Problem(
    'busy',
    'Too many large bodies arrive at this moment. Send it again after `Retry-After`.',
  );
}

/** A compressed body is not read; a web page's must say that it is JSON, so that the browser asks first. */
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
      'A request with an Origin must say what its body is. Send it with Content-Type: application/json.',
    );
  }
}

function isJsonType(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** The whole of a body that turns out to be small; undefined when more comes, with what was read put back. */
function readStart(req: IncomingMessage, startBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= startBytes) return;
      req.off('data', take).off('end', finish).off('error', fail).pause();
      req.unshift(Buffer.concat(chunks));
      resolve(undefined);
    };
    const finish = (): void => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks));
    };
    const fail = (): void => reject(new CallerLeft());
    req.on('data', take).on('end', finish).on('error', fail);
  });
}

/** koa-body as a reader of bytes: it holds no more than the limit, whatever the framing. */
function createLargeReader(bodyBytesMax: number, tooLarge: () => Problem): (ctx: Context) => Promise<Buffer> {
  const read = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['*/*'],
    encoding: 'binary',
    textLimit: bodyBytesMax,
  });
  return async (ctx) => {
    // It reads what has a type and an encoding it knows by their names; what the headers said was judged before.
    ctx.req.headers['content-type'] = 'text/plain';
    delete ctx.req.headers['content-encoding'];
    try {
      const reading = read(ctx, async () => {});
      // It was held back when it turned out to be large; whoever reads it now listens already.
      ctx.req.resume();
      await reading;
    } catch (error) {
      if (statusOf(error) === 413) throw tooLarge();
      throw new CallerLeft();
    }
    return Buffer.from(String(ctx.request.body), 'latin1');
  };
}

function statusOf(error: unknown): unknown {
  return error instanceof Error && 'status' in error ? error.status : undefined;
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
