/**
 * The first chunk of a request's body. A small body nearly always arrives in one, and then needs no stream
 * of its own.
 */
import type { IncomingMessage } from 'node:http';
import { CallerGone } from './counted-body.ts';

/** The reading of a first chunk. */
type FirstChunk = {
  /**
   * Resolves with the body when it is whole. Resolves with null when there is more to come: then nothing is
   * lost, the request is paused and all of it is still to be read. Rejects with `CallerGone`, or with what
   * `fail` was called with.
   */
  readonly bytes: Promise<Buffer | null>;
  /** Ends the reading. */
  fail(error: Error): void;
};

/** Begins to read a body of so many bytes: at least one. */
export function readFirstChunk(req: IncomingMessage, declaredBytes: number): FirstChunk {
  const { promise: bytes, resolve, reject } = Promise.withResolvers<Buffer | null>();

  function stop(): void {
    req.off('data', onData).off('error', onError);
  }

  function onData(chunk: Buffer): void {
    stop();
    if (chunk.length === declaredBytes) {
      resolve(chunk);
      return;
    }
    req.pause();
    req.unshift(chunk);
    resolve(null);
  }

  function onError(): void {
    stop();
    reject(new CallerGone());
  }

  req.on('data', onData).on('error', onError);
  return {
    bytes,
    fail(error) {
      stop();
      // If more arrives, it is discarded, so that the next request on the connection is read.
      req.resume();
      reject(error);
    },
  };
}
