/**
 * When a handler goes on after its task is over, it occupies a slot. The agent says so, and frees the slot
 * after a limit if it has one.
 */
import type { Clock } from '../clock.ts';
import type { RequestId } from '../contract.ts';
import { TaskGatewayError } from '../errors.ts';
import type { LogEvent } from './log-events.ts';

export type HandlerLimitDeps = {
  readonly clock: Clock;
  readonly logEvent: LogEvent;
  /** `Infinity` is no limit. */
  readonly handlerEndMs: number;
};

export type HandlerLimit = {
  /** Resolves when the limit is over; never, if there is none. */
  readonly expired: Promise<undefined>;
  /** Begins the limit, when the handler's task is over. */
  start(): void;
  /** Ends the limit, when the handler has ended or nothing waits for it any more. */
  stop(): void;
};

/** A handler that ends within this time is not logged. */
const LOG_AFTER_MS = 10_000;

/** Creates the limit of one handler, and does not start it. */
export function createHandlerLimit(deps: HandlerLimitDeps, request_id: RequestId): HandlerLimit {
  const { clock, logEvent, handlerEndMs } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const { promise, resolve } = createExpiry();

  function logOverdue(afterMs: number, consequence: string): void {
    const since = `The handler of task ${request_id} still runs ${afterMs / 1_000} s after its signal fired.`;
    const error = new TaskGatewayError('handler_still_runs', `${since} ${consequence}`);
    logEvent({ kind: 'failure', during: 'handler', error });
  }

  async function watch(): Promise<void> {
    const firstMs = Math.min(LOG_AFTER_MS, handlerEndMs);
    await clock.sleep(firstMs, signal);
    if (firstMs < handlerEndMs) {
      if (!signal.aborted) logOverdue(firstMs, 'It occupies a slot (handlerEndMs limits that).');
      if (handlerEndMs === Number.POSITIVE_INFINITY) return;
      await clock.sleep(handlerEndMs - firstMs, signal);
    }
    if (signal.aborted) return;
    logOverdue(handlerEndMs, 'Its slot is free from now on.');
    resolve();
  }

  return {
    expired: promise,
    start: () => void watch(),
    stop: () => stopping.abort(),
  };
}

function createExpiry(): { promise: Promise<undefined>; resolve: () => void } {
  let end: (value: undefined) => void = () => undefined;
  const promise = new Promise<undefined>((resolve) => {
    end = resolve;
  });
  return { promise, resolve: () => end(undefined) };
}
