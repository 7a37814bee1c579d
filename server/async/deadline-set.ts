/**
 * The calls under way, all with the same time limit. The call that began first is late first. So one sleeper
 * that watches the oldest call serves all calls, and a call needs no timer of its own.
 */
import type { Clock } from '../ports/clock.ts';
import { yieldToEventLoop } from './waiting.ts';

export type DeadlineSet = {
  /** Resolves or rejects as the work does, or rejects earlier with the error of `onLate` or `rejectAll`. */
  run<T>(work: Promise<T>): Promise<T>;
  /** Rejects every call under way. The work itself goes on. */
  rejectAll(error: Error): void;
  /** Resolves when every call now under way has resolved or rejected. */
  whenOver(): Promise<void>;
};

export type DeadlineSetOptions = {
  readonly clock: Clock;
  readonly withinMs: number;
  /**
   * How often the oldest call is checked. Without this option it is checked exactly when its time is over.
   */
  readonly checkEveryMs?: number;
  /** Called for each late call, oldest first. It must reject that call, or all calls. */
  readonly onLate: (reject: (error: Error) => void) => void;
  /** When the signal fires, the watching ends: from then on no call is late. */
  readonly signal?: AbortSignal;
};

type Call = {
  readonly untilMs: number;
  readonly result: Promise<unknown>;
  readonly reject: (error: Error) => void;
};

/**
 * If this process itself stood still, replies may have arrived unread. This many ticks are enough to read
 * them.
 */
const TICKS_TO_READ_REPLIES = 3;

export function createDeadlineSet(options: DeadlineSetOptions): DeadlineSet {
  const { clock, withinMs, checkEveryMs, onLate, signal } = options;
  const calls = new Set<Call>();
  let isWatching = false;
  const oldest = (): Call | undefined => calls.values().next().value;

  async function watch(): Promise<void> {
    if (isWatching) return;
    isWatching = true;
    for (let call = oldest(); call && !signal?.aborted; call = oldest()) {
      const remainingMs = call.untilMs - clock.monotonicMs();
      if (remainingMs > 0) await clock.sleep(checkEveryMs ?? remainingMs, signal);
      else await reportLate();
    }
    isWatching = false;
  }

  async function reportLate(): Promise<void> {
    for (let tick = 0; tick < TICKS_TO_READ_REPLIES; tick += 1) await yieldToEventLoop();
    for (const call of calls) {
      if (call.untilMs > clock.monotonicMs()) break;
      onLate(call.reject);
    }
  }

  return {
    run<T>(work: Promise<T>) {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const call: Call = {
        untilMs: clock.monotonicMs() + withinMs,
        result: promise,
        reject(error) {
          calls.delete(call);
          reject(error);
        },
      };
      calls.add(call);
      work.then(
        (value) => {
          calls.delete(call);
          resolve(value);
        },
        (error: unknown) => {
          calls.delete(call);
          reject(error);
        },
      );
      void watch();
      return promise;
    },
    rejectAll(error) {
      for (const call of calls) call.reject(error);
    },
    whenOver: async () =>
      void (await Promise.all([...calls].map(({ result }) => result.catch(() => undefined)))),
  };
}
