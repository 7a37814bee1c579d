/**
 * Reads a request's body: bytes by koa-body, then strict UTF-8, then JSON. koa-body collects the bytes
 * without an encoding, because its JSON accepts a byte-order mark and replaces bytes that are not UTF-8.
 *
 * Bodies above 64 KiB share one budget. A body counts as many bytes as have arrived, whatever length it
 * announces. It counts until it is validated or, if it is stored as sent, until it is stored. Large bodies
 * are parsed one at a time, without a pause: 1 MiB takes up to 60 ms.
 */
import type { Context, Middleware } from 'koa';
import { koaBody } from 'koa-body';
import type { LargeWork } from '../../async/large-work.ts';
import { isObject } from '../../domain/json-value.ts';
import { SMALL_LENGTH_MAX } from '../../domain/value-size.ts';
import type { Clock } from '../../ports/clock.ts';
import { CallerGone, Problem } from '../problems.ts';

export type BodyLimits = {
  /** How many bytes all large bodies may take until they are handled. */
  readonly bodiesBytesMax: number;
  /** How long a large body may take before it must keep a minimum rate. */
  readonly largeBodyMs: number;
};

type Deps = { readonly limits: BodyLimits; readonly clock: Clock; readonly largeWork: LargeWork };

/** The minimum rate of a large body. */
const BYTES_PER_SECOND = 65_536;
const PACE_CHECK_MS = 1_000;

/**
 * Creates a function that makes the middleware for a largest body. The middleware throws a `Problem` (413,
 * 415, 408 or 503, or 400, checked in this order) or a `CallerGone`. It sets the value as `ctx.request.body`,
 * and in `ctx.state` whether the body is large, whether it may grow when it is written again, and
 * `releaseBody()`.
 */
export function createBodyReader({ limits, clock, largeWork }: Deps): (bytesMax: number) => Middleware {
  let openBytes = 0;

  /**
   * Counts the bytes of a body as they arrive. If there are too many or they are too slow, the read fails.
   */
  function countArrival({ req }: Context): { readonly isLarge: () => boolean; readonly end: () => void } {
    const startedMs = clock.monotonicMs();
    let arrivedBytes = 0;
    let heldBytes = 0;
    let isOver = false;

    async function requirePace(): Promise<void> {
      for (;;) {
        await clock.sleep(PACE_CHECK_MS);
        if (isOver || req.complete) return;
        const lateMs = clock.monotonicMs() - startedMs - limits.largeBodyMs;
        if (lateMs > (arrivedBytes / BYTES_PER_SECOND) * 1_000) return fail(tooSlow(limits.largeBodyMs));
      }
    }

    /** Makes koa-body give up, and drops what still arrives. */
    function fail(problem: Problem): void {
      isOver = true;
      req.emit('error', problem);
      req.resume();
    }

    req.on('data', (chunk: Buffer) => {
      arrivedBytes += chunk.length;
      if (arrivedBytes <= SMALL_LENGTH_MAX || isOver) return;
      if (heldBytes === 0 && !req.complete) void requirePace();
      openBytes += arrivedBytes - heldBytes;
      heldBytes = arrivedBytes;
      if (openBytes > limits.bodiesBytesMax) fail(tooMany());
    });
    return {
      isLarge: () => heldBytes > 0,
      end() {
        isOver = true;
        openBytes -= heldBytes;
        heldBytes = 0;
      },
    };
  }

  /**
   * One koa-body for each size: it examines its options when it is created, which takes longer than a call.
   */
  const collectors = new Map<number, Middleware>();
  function createCollector(bytesMax: number): Middleware {
    const collect = koaBody({
      json: false,
      urlencoded: false,
      textTypes: ['*/*'],
      textLimit: bytesMax,
      encoding: '',
      onError(error) {
        throw describeFailure(error, bytesMax);
      },
    });
    collectors.set(bytesMax, collect);
    return collect;
  }

  return (bytesMax) => {
    const collect = collectors.get(bytesMax) ?? createCollector(bytesMax);
    return async (ctx, next) => {
      requireReadable(ctx, bytesMax);
      const arrival = countArrival(ctx);
      ctx.state.releaseBody = arrival.end;
      try {
        await collect(ctx, async () => {
          ctx.state.isLarge = arrival.isLarge();
          if (arrival.isLarge()) await largeWork.run(() => parse(ctx, bytesMax));
          else parse(ctx, bytesMax);
          await next();
        });
      } finally {
        arrival.end();
        if (!ctx.req.readableEnded) ctx.req.resume();
      }
    };
  };
}

function describeFailure(error: Error & { readonly status?: number }, bytesMax: number): Error {
  if (error instanceof Problem) return error;
  return error.status === 413 ? describeTooLarge(bytesMax) : new CallerGone(error.message);
}

/**
 * Refuses by the headers alone, so that koa-body decides nothing by them. Compressed bodies are refused. A
 * body must be declared as JSON, so that the browser of a web page sends a preflight first.
 */
function requireReadable({ req: { headers } }: Context, bytesMax: number): void {
  const isChunked = headers['transfer-encoding'] !== undefined;
  const declaredBytes = isChunked ? null : Number(headers['content-length'] ?? 0);
  if (declaredBytes !== null && declaredBytes > bytesMax) throw describeTooLarge(bytesMax);
  if (!['', 'identity'].includes((headers['content-encoding'] ?? '').toLowerCase())) {
    throw new Problem(
      'unsupported_media_type',
      'Compressed bodies are not read. Send the body without Content-Encoding.',
    );
  }
  if (declaredBytes !== 0 && headers.origin !== undefined && !isJsonType(headers['content-type'])) {
    throw new Problem(
      'unsupported_media_type',
      'A request with an Origin must declare its body as JSON. Send it with Content-Type: application/json.',
    );
  }
  if (declaredBytes === 0) throw missingBody();
  headers['content-type'] = 'application/json';
  headers['content-encoding'] = 'identity';
}

function isJsonType(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * How much longer a body may become when it is written again. Numbers lose their exponent up to 1e21: `1e20`,
 * four characters, becomes twenty-one. Nothing else in JSON grows.
 */
const GROWTH_MAX = 21 / 4;
const EXPONENT = /\d[eE]/;

/** Replaces the bytes of the body by the parsed value. */
function parse({ request, state }: Context, bytesMax: number): void {
  const bytes: unknown = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) throw missingBody();
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformed('The body begins with a byte-order mark. Send it as UTF-8 without one.');
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('The body is not UTF-8. Send a JSON object as UTF-8 without a byte-order mark.');
  }
  state.mayGrow = bytes.length * GROWTH_MAX > bytesMax && EXPONENT.test(text);
  try {
    request.body = JSON.parse(text);
  } catch {
    throw malformed('The body is not JSON. Send a JSON object as UTF-8 without a byte-order mark.');
  }
}

/** Requires that a field, written again, is no longer than a body may be. */
export function requireStorable(body: unknown, field: string, bytesMax: number): void {
  const value = isObject(body) ? body[field] : undefined;
  if (value === undefined || Buffer.byteLength(JSON.stringify(value)) <= bytesMax) return;
  throw new Problem(
    'payload_too_large',
    `The field \`${field}\` takes more than ${bytesMax} bytes once its numbers are written without exponents (1e20 becomes 21 digits). Send such numbers as text, or fewer of them.`,
  );
}

export function describeTooLarge(bytesMax: number): Problem {
  return new Problem(
    'payload_too_large',
    `The body is larger than ${bytesMax} bytes. Keep large data elsewhere and send a reference to it.`,
  );
}

function tooMany(): Problem {
  return new Problem(
    'busy',
    'Too many large bodies are arriving right now. Send the request again after `Retry-After`.',
  );
}

function tooSlow(largeBodyMs: number): Problem {
  return new Problem(
    'request_timeout',
    `A body above 64 KiB must arrive at 64 KiB a second at least, after its first ${largeBodyMs / 1_000} seconds. Send it again over a faster connection, or send less.`,
  );
}

function missingBody(): Problem {
  return malformed('There is no body. Send a JSON object as UTF-8.');
}

function malformed(detail: string): Problem {
  return new Problem('malformed_body', detail);
}
