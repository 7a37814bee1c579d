/**
 * Whether the gateway responds to an agent. It learns of every failed call and of every response. It emits a
 * notice as soon as there is no response, then one a minute, and one when there is a response again. An
 * outage that begins within ten seconds after another counts as the same one, however often a connection
 * flaps.
 */
import { type Clock, readMonotonicMs } from '../clock.ts';
import { ApiError, ConnectionError, type TaskGatewayError, TimeoutError } from '../errors.ts';
import type { LogEvent } from './log-events.ts';

export type GatewayContact = {
  /** Learns from a notice whether a call has failed or had a response. */
  follow: LogEvent;
  /** Notes that the gateway has responded. */
  reach(): void;
  /** Emits a notice if the first response takes long; ends when the signal fires. */
  awaitFirst(signal: AbortSignal): Promise<void>;
};

const REPEAT_EVERY_MS = 60_000;
const CALM_MS = 10_000;
/** How long the first response may take before a notice says so. */
const FIRST_RESPONSE_MS = 1_500;
/** The statuses of a proxy that can't reach the gateway behind it. */
const PROXY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

/** Creates the contact with the gateway at this address; it emits `unreachable` and `reached`. */
export function createGatewayContact(baseUrl: string, clock: Clock, emit: LogEvent): GatewayContact {
  let sinceMs: number | undefined;
  let saidMs = Number.NEGATIVE_INFINITY;
  let reachedMs = Number.NEGATIVE_INFINITY;
  let isSaid = false;
  let isReached = false;

  /** If the gateway itself has responded, there is no outage. */
  function fail(error: unknown): void {
    if (!isOutage(error)) return;
    const nowMs = readMonotonicMs(clock);
    if (sinceMs === undefined && nowMs - reachedMs >= CALM_MS) saidMs = Number.NEGATIVE_INFINITY;
    sinceMs ??= nowMs;
    if (nowMs - saidMs < REPEAT_EVERY_MS) return;
    saidMs = nowMs;
    isSaid = true;
    emit({ kind: 'unreachable', seconds: Math.round((nowMs - sinceMs) / 1_000), error });
  }

  function reach(): void {
    // The notice of the first registration already says that the gateway is there.
    const isBack = isSaid && isReached;
    const nowMs = readMonotonicMs(clock);
    const seconds = Math.round((nowMs - (sinceMs ?? nowMs)) / 1_000);
    if (sinceMs !== undefined || !isReached) reachedMs = nowMs;
    isReached = true;
    isSaid = false;
    sinceMs = undefined;
    if (isBack) emit({ kind: 'reached', seconds });
  }

  return {
    reach,
    follow(notice) {
      // An agent that could not unregister does not try again, and the failure has a notice of its own.
      if (notice.kind === 'failure' && notice.during !== 'unregister') fail(notice.error);
      else if (notice.kind === 'taken' || notice.kind === 'reported') reach();
    },
    async awaitFirst(signal) {
      await clock.sleep(FIRST_RESPONSE_MS, signal);
      if (signal.aborted || isReached || sinceMs !== undefined) return;
      fail(new ConnectionError('connection_failed', `There is no response from ${baseUrl} yet`));
    },
  };
}

/** Whether a call failed because no gateway responded: nothing did, or only a proxy in front of it. */
export function isOutage(error: unknown): error is TaskGatewayError {
  if (error instanceof ApiError) return error.problem === undefined && PROXY_STATUSES.has(error.status);
  return (
    error instanceof TimeoutError || (error instanceof ConnectionError && error.code === 'connection_failed')
  );
}
