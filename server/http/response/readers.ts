/**
 * Bounds the readers of responses. A reader that takes nothing for a time is disconnected. All bytes that
 * wait for readers share one budget. When it is used up, the reader that has taken nothing for longest is
 * disconnected, and new readers are still accepted. Costs one entry for each response with more than 64 KiB
 * ready.
 */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import { SMALL_LENGTH_MAX } from '../../domain/value-size.ts';

export type ReaderLimits = {
  /** The budget for all responses and streams together. */
  readonly unreadBytesMax: number;
  /** After this long without taking anything, a reader is disconnected. */
  readonly stallMs: number;
};

export type Readers = {
  /** Bounds the responses of all middlewares behind it. */
  readonly bound: Middleware;
  /**
   * Sets how many bytes are ready for the reader of a response. Called when the reader has taken some bytes.
   */
  hold(response: ServerResponse, bytes: number): void;
};

/** Creates the bounds. `onCut` gets the unread bytes of a disconnected reader. */
export function createReaders(limits: ReaderLimits, onCut: (unreadBytes: number) => void): Readers {
  /** Ready bytes by response. The reader that has taken nothing for longest comes first. */
  const holdings = new Map<ServerResponse, number>();
  let totalBytes = 0;

  function release(response: ServerResponse): void {
    totalBytes -= holdings.get(response) ?? 0;
    holdings.delete(response);
  }

  function hold(response: ServerResponse, bytes: number): void {
    const isKnown = holdings.has(response);
    release(response);
    if (bytes <= SMALL_LENGTH_MAX || response.closed) return;
    holdings.set(response, bytes);
    totalBytes += bytes;
    if (!isKnown) response.once('close', () => release(response));
    for (const [reader, unreadBytes] of holdings) {
      if (totalBytes <= limits.unreadBytesMax) return;
      release(reader);
      reader.destroy();
      onCut(unreadBytes);
    }
  }

  return {
    hold,
    async bound(ctx, next) {
      await next();
      const { body, length = 0, res } = ctx;
      const isStream = body instanceof Readable;
      if (!isStream && length <= SMALL_LENGTH_MAX) return;
      res.setTimeout(limits.stallMs, () => res.destroy());
      if (!isStream) hold(res, length);
    },
  };
}
