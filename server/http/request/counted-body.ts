/**
 * The body of a request as a stream of its own that reports how many bytes have arrived. Its reader sees
 * neither the request nor its headers: those were checked before.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { CallerGone } from '../problems.ts';

/** Shorter chunks are joined as they arrive: a chunk of one byte takes two hundred bytes of memory. */
const SHORT_BYTES = 4_096;
const BLOCK_BYTES_MIN = 1_024;
const BLOCK_BYTES_MAX = 16_384;

/** A body that is being read. Its reader must destroy it at the end. */
export class CountedBody extends Readable {
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
    if (chunk.length >= SHORT_BYTES) {
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
