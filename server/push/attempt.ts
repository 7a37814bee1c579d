/**
 * One push attempt, from its dispatch to its end, as the handler that undici drives:
 *
 *   waiting --onRequestStart--> writing --onRequestSent--> sent --status line--> responded --end--> over
 *      |                           |                         |                       |
 *      +-------------------------- failure, abort or timeout ------------------------+----------> over
 *
 * undici calls `onRequestStart` right before the first byte goes to a connected socket. So an attempt that
 * fails while it waits was certainly not taken; one that fails later is unknown. An agent may respond late,
 * but must take the bytes of the request at a minimum rate. The outcome is final with the status line, and
 * resolved once. The rest of the response is read only so that the connection can be used again.
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

/** The error of an attempt that was abandoned before the agent could see it. */
export const ABANDONED_EARLY = 'abandoned before anything was written';
const bodyTooLong = () => new AttemptFailure('the rest of the response is too long');
const TOO_MANY_INTERIM = 'too many interim responses';
/** How many interim responses (1xx) an attempt may get before it fails. */
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
  /** Called when no more bytes of the request will be sent: it was written, or the attempt is over. */
  readonly onSent: () => void;
};

export function createAttempt(deps: AttemptDeps): Dispatcher.DispatchHandler {
  const { limits, signal, clock, wallMs, resolve, onSent } = deps;
  /** Null while the attempt waits, so nothing has been written. */
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

  /**
   * Ends the attempt. If nothing was written, the outcome is certain at once; a connection that is being
   * opened ends by itself.
   */
  function abandon(): void {
    if (controller) controller.abort(new AttemptFailure('abandoned before a response'));
    else finish(buildUntaken(ABANDONED_EARLY));
  }

  /** Sets the time limit for sending, which grows with the bytes that the agent takes. */
  function limitSending(): void {
    const withinMs = sendWithinMs + (sentBytes / sendBytesPerSecond) * 1_000;
    timeLimit.begin(startedMs + withinMs - clock.monotonicMs(), 'the agent does not read the request');
  }

  signal.addEventListener('abort', abandon, { once: true });
  return {
    onRequestStart(started) {
      // The attempt was abandoned meanwhile, or is started a second time, so nothing is written.
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

/** Creates the timer of an attempt. Each new limit replaces the one before. */
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
