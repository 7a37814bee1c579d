/**
 * One push attempt, from its dispatch to its end, as the handler that undici drives:
 *
 *   waiting --onRequestStart--> writing --onRequestSent--> sent --status line--> responded --end--> over
 *      |                           |                         |                       |
 *      +-------------------------- failure, abort or timeout ------------------------+----------> over
 *
 * undici calls `onRequestStart` right before the first byte goes to a connected socket, and never for a
 * request that could not begin. So an attempt that fails while waiting was certainly not taken; one that
 * fails after it was written is unknown. An agent may respond late, but it must take the request: one that
 * takes its bytes more slowly than a least rate fails as unknown. The outcome is final with the status line;
 * the rest of the response is read only so that the connection can be used again. The outcome is resolved
 * once.
 */
import type { Dispatcher } from 'undici';
import type { Clock } from '../ports/clock.ts';
import type { PushOutcome } from '../ports/pusher.ts';
import type { PushLimits } from './limits.ts';
import {
  AttemptFailure,
  buildUnknown,
  buildUntaken,
  classifyResponse,
  describeFailure,
} from './response-outcome.ts';

/** The error when an attempt was abandoned while the agent could not have seen it. */
export const ABANDONED_EARLY = 'abandoned before anything was written';
const bodyTooLong = () => new AttemptFailure('the rest of the response is too long');
const TOO_MANY_INTERIM = 'too many interim responses';
/** Interim responses (1xx) that one attempt may send; with more it fails. */
const INTERIM_MAX = 100;

type AttemptDeps = {
  readonly limits: PushLimits;
  /** Abandons the attempt. */
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The time of this host, by which a date in `Retry-After` is read. */
  readonly wallMs: () => number;
  /** Called once, with the outcome. */
  readonly resolve: (outcome: PushOutcome) => void;
  /** Called when nothing of the request is left to send: it was written, or the attempt is over. */
  readonly onSent: () => void;
};

export function createAttempt(deps: AttemptDeps): Dispatcher.DispatchHandler {
  const { limits, signal, clock, wallMs, resolve, onSent } = deps;
  /** Null while the attempt is waiting: nothing has been written. */
  let controller: Dispatcher.DispatchController | null = null;
  let resolved = false;
  const timeLimit = createTimeLimit((error) => controller?.abort(error));
  let interim = 0;
  let bodyBytes = 0;
  let startedMs = 0;
  let sentBytes = 0;
  const { sendWithinMs, sendBytesPerSecond, responseWithinMs, bodyBytesMax } = limits;

  function finish(outcome: PushOutcome): void {
    if (resolved) return;
    resolved = true;
    signal.removeEventListener('abort', abandon);
    onSent();
    resolve(outcome);
  }

  /** While it waits, the outcome is certain at once; if a connection is being opened, it ends by itself. */
  function abandon(): void {
    if (controller) controller.abort(new AttemptFailure('abandoned before a response'));
    else finish(buildUntaken(ABANDONED_EARLY));
  }

  /** The time to take the request grows with what was taken of it. */
  function limitSending(): void {
    const withinMs = sendWithinMs + (sentBytes / sendBytesPerSecond) * 1_000;
    timeLimit.begin(startedMs + withinMs - clock.monotonicMs(), 'the agent does not read the request');
  }

  signal.addEventListener('abort', abandon, { once: true });
  return {
    onRequestStart(started) {
      // Abandoned in the meantime, or started a second time: nothing is written.
      if (resolved || controller) return started.abort(new AttemptFailure(ABANDONED_EARLY));
      controller = started;
      startedMs = clock.monotonicMs();
      limitSending();
    },
    onBodySent(part) {
      sentBytes += part.length;
      if (!resolved) limitSending();
    },
    onRequestSent() {
      onSent();
      if (resolved) return;
      const restMs = startedMs + responseWithinMs - clock.monotonicMs();
      timeLimit.begin(restMs, `no response within ${responseWithinMs / 1_000} s`);
    },
    onResponseStart(started, status, headers) {
      if (status < 200) {
        interim += 1;
        if (interim > INTERIM_MAX) started.abort(new AttemptFailure(TOO_MANY_INTERIM));
        return;
      }
      finish(classifyResponse(status, headers['retry-after'], wallMs()));
      timeLimit.begin(limits.bodyWithinMs, 'the rest of the response is late');
      if (Number(headers['content-length'] ?? 0) > bodyBytesMax) started.abort(bodyTooLong());
    },
    onResponseData(started, chunk) {
      bodyBytes += chunk.length;
      if (bodyBytes > bodyBytesMax) started.abort(bodyTooLong());
    },
    onResponseEnd() {
      timeLimit.end();
    },
    onResponseError(_started, error) {
      timeLimit.end();
      const text = describeFailure(error, controller !== null);
      finish(controller ? buildUnknown(text) : buildUntaken(text));
    },
  };
}

/** One time limit after the other: each takes the place of the one before. */
function createTimeLimit(abort: (error: AttemptFailure) => void) {
  let timer: NodeJS.Timeout | undefined;
  return {
    begin(ms: number, reason: string): void {
      clearTimeout(timer);
      timer = setTimeout(() => abort(new AttemptFailure(reason)), ms);
      timer.unref();
    },
    end: () => clearTimeout(timer),
  };
}
