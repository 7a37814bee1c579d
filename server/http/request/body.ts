/**
 * Reads a request's body: its bytes, then UTF-8, then JSON. A large one is parsed when its caller is next, in
 * one piece: 1 MiB takes up to 60 ms, whatever is in it. If a body is nested deep, it takes no stack of the
 * parser's.
 */
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import type { LargeWork } from '../../async/large-work.ts';
import type { Clock } from '../../ports/clock.ts';
import { Problem } from '../problems.ts';
import type { RemoteAddresses } from '../remote-address.ts';
import { type BodyLimits, createBodyCollector, describeTooLarge } from './body-collector.ts';
import { CallerGone } from './counted-body.ts';

/** A body that was read. */
export type BodyRead = {
  /** The parsed JSON. */
  readonly value: unknown;
  /** Whether parts of it may be longer when they are written again. */
  readonly mayGrow: boolean;
  /** Whether it is large: each pass over it is a piece of the large work. */
  readonly isLarge: boolean;
  /** Returns its memory to the reserve, once nothing holds its value. Idempotent. */
  release(): void;
};

export type ReadBody = (ctx: Pick<Context, 'req'>) => Promise<BodyRead>;

export type BodyDeps = {
  readonly limits: BodyLimits;
  readonly clock: Clock;
  readonly addresses: RemoteAddresses;
  readonly largeWork: LargeWork;
};

/**
 * Creates the reader. It rejects with a `Problem` (413, 415, 408 or 503, or 400, checked in this order) or
 * with `CallerGone`.
 */
export function createBodyReader(deps: BodyDeps): ReadBody {
  const { limits, addresses, largeWork } = deps;
  const { bodyBytesMax } = limits;
  const collect = createBodyCollector(deps);

  return async ({ req }) => {
    const declaredBytes = readDeclaredBytes(req);
    if (declaredBytes !== null && declaredBytes > bodyBytesMax) throw describeTooLarge(bodyBytesMax);
    requireReadableBody(req, declaredBytes !== 0);
    if (declaredBytes === 0) throw missingBody();
    const { bytes, isLarge, release } = await collect(req, declaredBytes);
    const parse = () => ({ ...parseBody(bytes, bodyBytesMax), isLarge, release });
    try {
      if (!isLarge) return parse();
      if (req.socket.destroyed) throw new CallerGone();
      return await largeWork.run({ caller: addresses.callerOf(req), order: 'small' }, parse);
    } catch (error) {
      release();
      throw error;
    }
  };
}

/** The length that the headers declare; null when the body is sent in chunks. */
function readDeclaredBytes({ headers }: IncomingMessage): number | null {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/**
 * A compressed body is refused; a web page's must be declared as JSON, so that the browser sends a
 * preflight first.
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

/**
 * Numbers with an exponent are written without it up to 1e21: `1e20`, four characters, becomes twenty-one.
 * Nothing else that JSON can say is longer when it is written again.
 */
const GROWTH_MAX = 21 / 4;
const EXPONENT = /\d[eE]/;

function parseBody(bytes: Buffer, bodyBytesMax: number): Pick<BodyRead, 'value' | 'mayGrow'> {
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
    return { value: JSON.parse(text), mayGrow };
  } catch {
    throw malformed('The body is not JSON. Send a JSON object as UTF-8 without a byte-order mark.');
  }
}

function missingBody(): Problem {
  return malformed('There is no body. Send a JSON object as UTF-8.');
}

function malformed(detail: string): Problem {
  return new Problem('malformed_body', detail);
}
