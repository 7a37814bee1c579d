/**
 * Writing one response with back-pressure. If a text is larger than a slice, it goes to the socket in slices,
 * and a write resolves only when the reader's socket has taken it: so a feed is read no faster than its
 * reader reads, and what a reader leaves unread is counted.
 */
import type { ServerResponse } from 'node:http';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { UnreadBytes } from './unread-bytes.ts';

/** Bytes that are written at a time: the grain at which a slow reader's progress can be seen. */
export const SLICE_BYTES = 16_384;
/** After this many writes everything else goes on. */
const WRITES_PER_TICK = 8;

export type ResponseWriter = {
  /** Aborts when the writer stops. */
  readonly signal: AbortSignal;
  /** Resolves when more may be written, or at once after the writer has stopped. Never rejects. */
  write(bytes: Buffer): Promise<void>;
  /** Whether a part of a write has gone to the socket and the rest has not: nothing else may come between. */
  isWithin(): boolean;
  /** Writes nothing more, and resolves the write that waits for the reader. Idempotent. */
  stop(): void;
};

/** The writers of all responses share this. */
export type WriterDeps = {
  readonly unread: UnreadBytes;
};

/** Creates the writer of one response; it stops when the response closes. */
export function createResponseWriter(response: ServerResponse, { unread }: WriterDeps): ResponseWriter {
  const stopped = new AbortController();
  let writes = 0;
  let stopWaiting: (() => void) | null = null;
  let isWithin = false;

  /** Resolves when the reader has taken what was written, or the writer has stopped. */
  function waitForDrain(): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        response.off('drain', finish);
        stopWaiting = null;
        resolve();
      };
      stopWaiting = finish;
      response.on('drain', finish);
    });
  }

  /** Writes the last slice; resolves when the reader has taken all of it, or the writer has stopped. */
  function writeLast(slice: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        stopWaiting = null;
        resolve();
      };
      stopWaiting = finish;
      response.write(slice, finish);
    });
  }

  /** The writes of one tick of the event loop leave this process in one piece. */
  function writeAtOnce(bytes: Buffer): boolean {
    const { socket } = response;
    if (socket && socket.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    return response.write(bytes);
  }

  async function writeSlices(bytes: Buffer): Promise<void> {
    const lastFrom = Math.floor((bytes.length - 1) / SLICE_BYTES) * SLICE_BYTES;
    for (let from = 0; from < lastFrom; from += SLICE_BYTES) {
      if (stopped.signal.aborted) return;
      if (response.write(bytes.subarray(from, from + SLICE_BYTES))) continue;
      await waitForDrain();
      unread.noteProgress(response);
      // A fast reader's socket drains at once: without this, a large value would be written in one tick.
      if (!stopped.signal.aborted) await yieldToEventLoop();
    }
    if (!stopped.signal.aborted) await writeLast(bytes.subarray(lastFrom));
  }

  function stop(): void {
    if (stopped.signal.aborted) return;
    stopped.abort('stopped');
    unread.release(response);
    stopWaiting?.();
  }

  response.on('close', stop);
  return {
    signal: stopped.signal,
    isWithin: () => isWithin,
    async write(bytes) {
      if (bytes.length > SLICE_BYTES) {
        if (stopped.signal.aborted) return;
        unread.hold(response, bytes);
        isWithin = true;
        await writeSlices(bytes);
        // If it was stopped, the rest is missing for ever.
        isWithin = stopped.signal.aborted;
        unread.release(response);
      } else if (!stopped.signal.aborted && !writeAtOnce(bytes)) await waitForDrain();
      writes += 1;
      // A fast reader's replay never waits for anything by itself.
      if (writes % WRITES_PER_TICK === 0) await yieldToEventLoop();
    },
    stop,
  };
}
