/**
 * One attempt from the dispatch to its end. Whether anything was written is decided by one fact: undici calls
 * `onRequestStart` right before the first byte goes to a connected socket, and never for a request it could not begin.
 * The attempt settles with the status line; what follows is read only so far that the connection can serve again.
 */
import type { Dispatcher } from 'undici';
import type { PushOutcome } from '../ports/pusher.ts';
import type { PushLimits } from './limits.ts';
import { AttemptFailure, describeFailure, readAnswer, unknown, untaken } from './outcome.ts';

/** What is said of an attempt that was given up while the agent could not have seen it. */
export const ABANDONED_EARLY = 'abandoned before anything was written';
/** Interim answers (1xx) one attempt may send before it counts as cut. */
const INTERIM_MAX = 100;

type AttemptDeps = {
  readonly limits: PushLimits;
  readonly signal: AbortSignal;
  /** Store time, to the moment. */
  readonly nowMs: () => number;
  readonly settle: (outcome: PushOutcome) => void;
  /** Called once, when the attempt holds no connection any more. */
  readonly leave: () => void;
};

/** One attempt as undici drives it: waiting, written, answered, over. It settles once and leaves once. */
export function createAttempt({
  limits,
  signal,
  nowMs,
  settle,
  leave,
}: AttemptDeps): Dispatcher.DispatchHandler {
  let controller: Dispatcher.DispatchController | null = null;
  let settled = false;
  let timer: NodeJS.Timeout | undefined;
  let interim = 0;
  let bodyBytes = 0;

  function end(outcome: PushOutcome): void {
    if (settled) return;
    settled = true;
    signal.removeEventListener('abort', abandon);
    settle(outcome);
  }

  /** Before anything is written the answer is certain at once; the connection under way ends by itself. */
  function abandon(): void {
    if (controller) controller.abort(new AttemptFailure('abandoned before an answer'));
    else end(untaken(ABANDONED_EARLY));
  }

  function cutAfter(ms: number, reason: string): void {
    clearTimeout(timer);
    timer = setTimeout(() => controller?.abort(new AttemptFailure(reason)), ms);
    timer.unref();
  }

  signal.addEventListener('abort', abandon, { once: true });
  return {
    onRequestStart(started) {
      // Abandoned meanwhile, or begun a second time: nothing is written.
      if (settled || controller) return started.abort(new AttemptFailure(ABANDONED_EARLY));
      controller = started;
      cutAfter(limits.answerWithinMs, `no answer within ${limits.answerWithinMs / 1_000} s`);
    },
    onResponseStart(started, status, headers) {
      if (status < 200) {
        interim += 1;
        if (interim > INTERIM_MAX) started.abort(new AttemptFailure('too many interim answers'));
        return;
      }
      end(readAnswer(status, headers['retry-after'], nowMs()));
      cutAfter(limits.bodyWithinMs, 'the rest of the answer is late');
      if (Number(headers['content-length'] ?? 0) > limits.bodyBytesMax) {
        started.abort(new AttemptFailure('the rest of the answer is long'));
      }
    },
    onResponseData(started, chunk) {
      bodyBytes += chunk.length;
      if (bodyBytes > limits.bodyBytesMax)
        started.abort(new AttemptFailure('the rest of the answer is long'));
    },
    onResponseEnd() {
      clearTimeout(timer);
      leave();
    },
    onResponseError(_started, error) {
      clearTimeout(timer);
      const text = describeFailure(error, controller !== null);
      end(controller ? unknown(text) : untaken(text));
      leave();
    },
  };
}
