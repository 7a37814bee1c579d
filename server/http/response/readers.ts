/**
 * Bounds the readers of responses. A reader that takes nothing for a time is disconnected. All that is ready
 * for readers has one budget: beyond it the reader is disconnected which has taken nothing for the longest
 * time, and never a new one refused. Cost: one entry for each response with more than 64 KiB ready.
 */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import { SMALL_LENGTH_MAX } from '../../domain/value-size.ts';

export type ReaderLimits = {
  /** Bytes of all responses and streams together. */
  readonly unreadBytesMax: number;
  /** A reader that takes nothing for this long is disconnected, or for as long again after it took a part. */
  readonly stallMs: number;
};

export type Readers = {
  /** Bounds the responses of all that stands behind it. */
  readonly bound: Middleware;
  /**
   * Counts this many bytes as ready for the reader of a response, in place of those before; the reader has
   * taken some of those.
   */
  hold(response: ServerResponse, bytes: number): void;
};

/** Creates it with nothing unread. `onCut` is called with the bytes of a reader that was disconnected. */
export function createReaders(limits: ReaderLimits, onCut: (unreadBytes: number) => void): Readers {
  /** Those that have taken nothing for the longest time come first. */
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
