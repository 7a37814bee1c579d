/**
 * Writing one event stream with back-pressure. Frames go to the socket in slices, and a write resolves only
 * when the reader's socket has taken the frame, so that the feed is read no faster than its reader reads.
 */
import type { ServerResponse } from 'node:http';
import type { FairScheduler, Quota } from './fair-scheduling.ts';

/** Bytes of a frame that are written at a time: the grain at which a slow reader's progress can be seen. */
const SLICE_BYTES = 16_384;

export type StreamWriter = {
  /** Aborts when the writer stops. */
  readonly signal: AbortSignal;
  /** Resolves when the next frame may be written, or at once after the writer has stopped. Never rejects. */
  write(frame: Buffer): Promise<void>;
  /** Writes nothing more, and resolves the write that waits for the reader. Idempotent. */
  stop(): void;
};

/** Creates the writer of one response. */
export function createStreamWriter(response: ServerResponse, scheduler: FairScheduler): StreamWriter {
  const stopped = new AbortController();
  const quota: Quota = { turn: 0, events: 0 };
  let stopWaiting: (() => void) | null = null;

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

  return {
    signal: stopped.signal,
    async write(frame) {
      for (let from = 0; from < frame.length && !stopped.signal.aborted; from += SLICE_BYTES) {
        const slice = frame.length <= SLICE_BYTES ? frame : frame.subarray(from, from + SLICE_BYTES);
        if (response.write(slice)) continue;
        await waitForDrain();
        // A fast reader's socket drains at once: without this, a large frame would be written in one turn.
        if (!stopped.signal.aborted) await scheduler.waitForTurn(quota);
      }
      if (scheduler.countEvent(quota)) await scheduler.waitForTurn(quota);
    },
    stop() {
      stopped.abort('stopped');
      stopWaiting?.();
    },
  };
}
