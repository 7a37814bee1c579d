/** Time, randomness and signals. Time and randomness are injected, so that tests control them. */
import { AbortError } from './errors.ts';

/** The source of time, delays and randomness. */
export type Clock = {
  /** Returns the milliseconds since the Unix epoch. */
  nowMs(): number;
  /**
   * Returns the milliseconds since any fixed moment, and never runs back, even when somebody sets the
   * system's time. Spans are measured with it; without it, with `nowMs`.
   */
  monotonicMs?(): number;
  /** Resolves after that time, or as soon as the signal fires. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Returns a random number in [0, 1), for jitter. */
  chance(): number;
};

/** The longest delay of a timer (24.8 days). With a longer one it would fire at once. */
const TIMER_MAX_MS = 2_147_483_647;

/**
 * The clock of the platform. It cuts a sleep of more than 24.8 days to 24.8 days, and a negative one to 0.
 */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  chance: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        release?.();
        resolve();
      };
      const timer = setTimeout(end, Math.min(Math.max(ms, 0), TIMER_MAX_MS));
      const release = signal && onAbort(signal, end);
    }),
};

/** Returns the time for measuring spans: it is not affected when somebody sets the system's time. */
export function readMonotonicMs(clock: Clock): number {
  return clock.monotonicMs?.() ?? clock.nowMs();
}

const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls the listener when the signal fires; returns a function that removes it. However many listeners there
 * are, the signal itself has one, for good: Node 20 warns of a leak when one signal has more than ten.
 */
function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const all = listenersOf.get(signal) ?? new Set();
  if (!listenersOf.has(signal)) {
    listenersOf.set(signal, all);
    signal.addEventListener('abort', () => {
      for (const one of [...all]) one();
    });
  }
  all.add(listener);
  return () => all.delete(listener);
}

/**
 * A signal that can be aborted itself, and also fires when one of its sources does. `release()` unlinks the
 * sources.
 */
export type LinkedSignal = {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
};

/**
 * Creates a signal linked to the given ones. Once released or aborted, it leaves no listener on its sources,
 * so a caller may pass one long-lived signal to any number of calls.
 */
export function linkSignals(...sources: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController();
  const releases: (() => void)[] = [];
  const release = (): void => {
    for (const one of releases.splice(0)) one();
  };
  const abort = (reason?: unknown): void => {
    release();
    controller.abort(reason);
  };
  for (const source of sources) {
    if (!source) continue;
    if (source.aborted) {
      abort(source.reason);
      break;
    }
    releases.push(onAbort(source, () => abort(source.reason)));
  }
  return { signal: controller.signal, abort, release };
}

/**
 * Does the work unless the signal has fired, and resolves to its result. When the signal fires first, it
 * rejects with an `AbortError` at once, whatever the work waits for.
 */
export async function untilAborted<T>(
  signal: AbortSignal | undefined,
  work: () => T | Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw new AbortError(signal.reason);
  let release: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    release = signal && onAbort(signal, () => reject(new AbortError(signal.reason)));
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    release?.();
  }
}
