/**
 * Collects the bytes of a request's body within a limit. A small one nearly always arrives in one chunk and
 * is taken as it is; any other is read as a stream:
 *
 *   request ──► first chunk ── the whole body ─────────────────────► bytes
 *                    ╰── there is more ──► CountedBody ──► koa-body ──╯
 *
 * `body-reserve` counts the memory of bodies and their time. A body begins as small or large by
 * what it declares, and becomes large when more than a small one's bytes have arrived.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { loadOnce } from '../../async/load-once.ts';
import { SMALL_LENGTH_MAX } from '../../domain/value-size.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CollectedBody } from '../answers.ts';
import { CallerGone } from '../problems.ts';
import { describeTooLarge } from './body.ts';
import { type ArrivalLimits, createArrivalClock, createBodyReserve, type OpenBody } from './body-reserve.ts';

export type BodyLimits = ArrivalLimits & {
  /** Bytes of one body. */
  readonly bodyBytesMax: number;
  /** Memory of all small bodies that are arriving or being handled. */
  readonly smallBodiesBytesMax: number;
  /** Memory of all large bodies that are arriving or being handled. */
  readonly largeBodiesBytesMax: number;
};

/** Collects a body as `ApiRequest.readBody` says. */
export type CollectBody = (req: IncomingMessage, declaredBytes: number | null) => Promise<CollectedBody>;

/** A body while it is read. */
type BodyUnderWay = { -readonly [Key in keyof OpenBody]: OpenBody[Key] };

/** Creates the collector. */
export function createBodyCollector({
  limits,
  clock,
}: {
  readonly limits: BodyLimits;
  readonly clock: Clock;
}): CollectBody {
  const small = createBodyReserve(limits.smallBodiesBytesMax, clock.monotonicMs);
  const large = createBodyReserve(limits.largeBodiesBytesMax, clock.monotonicMs);
  const arrivals = createArrivalClock(clock, limits);
  const parser = createParser(limits.bodyBytesMax);

  function describeCollected(body: OpenBody, bytes: Buffer): CollectedBody {
    const reserve = body.isLarge ? large : small;
    reserve.complete(body, bytes.length);
    return { bytes, isLarge: body.isLarge, release: () => reserve.release(body) };
  }

  async function collectParts(
    req: IncomingMessage,
    declaredBytes: number | null,
    body: BodyUnderWay,
  ): Promise<CollectedBody> {
    try {
      const parse = parser.loaded() ?? (await parser.loadFor(body, req));
      const counted = new CountedBody(req, (arrivedBytes) => {
        body.arrivedBytes = arrivedBytes;
        if (!body.isLarge && arrivedBytes > SMALL_LENGTH_MAX) {
          small.release(body);
          body.isLarge = true;
        }
        if (!body.isLarge && arrivedBytes === declaredBytes) small.complete(body, arrivedBytes);
        else (body.isLarge ? large : small).hold(body, arrivedBytes);
      });
      body.fail = (problem) => void counted.destroy(problem);
      return describeCollected(body, await parse(counted).finally(() => counted.destroy()));
    } catch (error) {
      (body.isLarge ? large : small).release(body);
      throw error;
    } finally {
      arrivals.remove(body);
    }
  }

  /**
   * Reads a body of this many bytes, at least one, which nearly always arrives in one chunk. Where there is
   * more to come nothing is lost: the request is paused, and all of it is still to be read.
   */
  function collectFirst(
    req: IncomingMessage,
    declaredBytes: number,
    body: BodyUnderWay,
  ): Promise<CollectedBody> {
    return new Promise((resolve, reject) => {
      const stop = (): void => void req.off('data', onData).off('error', onError);
      function onData(chunk: Buffer): void {
        stop();
        if (chunk.length === declaredBytes) {
          arrivals.remove(body);
          resolve(describeCollected(body, chunk));
          return;
        }
        req.pause();
        req.unshift(chunk);
        resolve(collectParts(req, declaredBytes, body));
      }
      function onError(): void {
        stop();
        arrivals.remove(body);
        reject(new CallerGone());
      }
      body.fail = (problem) => {
        stop();
        arrivals.remove(body);
        // If more arrives, it is discarded, so that the next request on the connection is read.
        req.resume();
        reject(problem);
      };
      req.on('data', onData).on('error', onError);
    });
  }

  return (req, declaredBytes) => {
    const body: BodyUnderWay = {
      startedMs: clock.monotonicMs(),
      arrivedBytes: 0,
      isLarge: (declaredBytes ?? 0) > SMALL_LENGTH_MAX,
      fail() {},
    };
    arrivals.add(body);
    return declaredBytes === null || body.isLarge
      ? collectParts(req, declaredBytes, body)
      : collectFirst(req, declaredBytes, body);
  };
}

type Parse = (body: CountedBody) => Promise<Buffer>;

/** koa-body, which is loaded when it is first needed: a third of all modules come with it, and 12 MB. */
function createParser(bodyBytesMax: number) {
  let parse: Parse | null = null;
  const load = loadOnce(() => loadParser(bodyBytesMax));

  return {
    loaded: () => parse,
    /** Loads it for a body that may fail meanwhile. */
    async loadFor(body: BodyUnderWay, req: IncomingMessage): Promise<Parse> {
      const failed = Promise.withResolvers<never>();
      body.fail = failed.reject;
      try {
        parse = await Promise.race([load(), failed.promise]);
        if (req.destroyed) throw new CallerGone();
        return parse;
      } catch (error) {
        // If more arrives, it is discarded, so that the next request on the connection is read.
        req.resume();
        throw error;
      }
    },
  };
}

/** koa-body as a collector of bytes; it holds no more than the limit. */
async function loadParser(bodyBytesMax: number): Promise<Parse> {
  const { koaBody } = await import('koa-body');
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
      throw isTooLarge ? describeTooLarge(bodyBytesMax) : error;
    }
    return request.body as Buffer;
  };
}

/** Shorter chunks are joined as they arrive: a chunk of one byte takes two hundred bytes of memory. */
const SHORT_CHUNK_BYTES = 4_096;
const BLOCK_BYTES_MIN = 1_024;
const BLOCK_BYTES_MAX = 16_384;

/**
 * A body that is being read, as a stream of its own that reports how many bytes have arrived. Its reader sees
 * neither the request nor its headers, and must destroy it at the end.
 */
class CountedBody extends Readable {
  /** None: a body parser has nothing to decide by them. */
  readonly headers = {};
  readonly #req: IncomingMessage;
  readonly #onArrival: (arrivedBytes: number) => void;
  #arrivedBytes = 0;
  /** Short chunks, one behind the other; null when there is none. */
  #block: Buffer | null = null;
  #blockBytes = 0;
  #nextBlockBytes = BLOCK_BYTES_MIN;

  /** Calls `onArrival` with the bytes that have arrived so far; the error that it throws ends the stream. */
  constructor(req: IncomingMessage, onArrival: (arrivedBytes: number) => void) {
    super({ emitClose: false, autoDestroy: false });
    this.#req = req;
    this.#onArrival = onArrival;
    req.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError);
    // Its reader stops listening once it has its result; an error after that must not end the process.
    this.on('error', () => {});
  }

  override _read(): void {
    this.#req.resume();
  }

  /** The rest of the body is discarded, so that the next request on the connection is read. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#req.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError).resume();
    done(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#arrivedBytes += chunk.length;
    try {
      this.#onArrival(this.#arrivedBytes);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (!this.#append(chunk)) this.#req.pause();
  };

  /** Returns whether the reader takes more. */
  #append(chunk: Buffer): boolean {
    if (chunk.length >= SHORT_CHUNK_BYTES) {
      this.#flush();
      return this.push(chunk);
    }
    if (this.#block !== null && this.#blockBytes + chunk.length > this.#block.length) this.#flush();
    if (this.#block === null) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(this.#nextBlockBytes, chunk.length));
      this.#nextBlockBytes = Math.min(this.#nextBlockBytes * 2, BLOCK_BYTES_MAX);
    }
    this.#blockBytes += chunk.copy(this.#block, this.#blockBytes);
    return true;
  }

  #flush(): void {
    if (this.#block === null) return;
    const block = this.#block.subarray(0, this.#blockBytes);
    this.#block = null;
    this.#blockBytes = 0;
    this.push(block);
  }

  readonly #onEnd = (): void => {
    this.#flush();
    this.push(null);
  };

  readonly #onError = (): void => void this.destroy(new CallerGone());
}
