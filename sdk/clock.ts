/** Time and chance as the kit uses them. Both are injected, so that a test owns them; the real ones live here. */

/** Waits, tells the time, and rolls the dice for jitter. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Resolves after the time, or at once when the signal fires; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
  chance(): number;
};

/** The longest time a timer holds; a longer one would fire at once. */
const TIMER_MAX_MS = 2_147_483_647;

/** The clock of the platform. A sleep of more than 24.8 days ends after 24.8 days. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  chance: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(Math.max(ms, 0), TIMER_MAX_MS));
      signal?.addEventListener('abort', end, { once: true });
    }),
};

/** A signal of its own that also fires when one of the given ones does. `release()` lets go of them. */
export type LinkedSignal = {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
};

/**
 * Links signals without leaving anything behind: a long-lived signal of the caller keeps no trace of the calls it was
 * given to once they have released it.
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
    const follow = (): void => abort(source.reason);
    source.addEventListener('abort', follow, { once: true });
    releases.push(() => source.removeEventListener('abort', follow));
  }
  return { signal: controller.signal, abort, release };
}
