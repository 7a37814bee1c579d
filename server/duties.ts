/**
 * Runs the gateway's background duties on the real clock, in six loops that end only by `stop()`:
 *
 *   watch      wakes the dispatch loop at each notification of the store
 *   wake       wakes it every 250 ms too, with or without a notification
 *   dispatch   takes due entries until there are none, then waits to be woken
 *   renew      renews the leases of pushes in progress
 *   stop       stops pushes whose agents are gone, every second. It may take longer than a lease lasts, so
 *              `renew` is a loop of its own
 *   trim       removes what is past its retention, every second
 *
 * An error pauses its loop for 250 ms. The store reports its own outages. If a duty fails again and again
 * while the store reports none, this is logged once, and once when the duty succeeds again. Other errors are
 * defects and are logged each time.
 */
import { yieldToEventLoop } from './async/waiting.ts';
import type { Duties } from './gateway/gateway.ts';
import type { Clock } from './ports/clock.ts';
import { STORE_LIMITS } from './ports/limits.ts';
import type { Log } from './ports/log.ts';
import { type Store, StoreDamaged, StoreUnavailable } from './ports/store.ts';

/** Also the longest pause between two sweeps if a replica has nothing to do. */
const WAKE_EVERY_MS = 250;
const TRIM_EVERY_MS = 1_000;
const STOP_PUSHES_EVERY_MS = 1_000;
const PAUSE_AFTER_ERROR_MS = 250;
/** So many failures in a row are logged as an error. A call or two may fail just after the store is back. */
const UNSERVED_TIMES = 8;

export type RunningDuties = {
  /** Stops all loops. Resolves when the work in progress is finished. Idempotent. */
  stop(): Promise<void>;
};

export function startDuties(deps: { duties: Duties; store: Store; clock: Clock; log: Log }): RunningDuties {
  const { duties, store, clock, log } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let woken = Promise.withResolvers<void>();
  /** How often in a row each duty has failed for want of the store, although the store reported no outage. */
  const unserved = new Map<string, number>();

  async function watchStore(): Promise<void> {
    while (!signal.aborted) {
      await runOrPause('watching for due entries', async () => {
        for await (const _notification of store.watch('due', signal)) woken.resolve();
      });
    }
  }

  async function dispatch(): Promise<void> {
    while (!signal.aborted) {
      // Replaced before the pass, so that a notification during the pass is not lost.
      woken = Promise.withResolvers<void>();
      const taken = (await runOrPause('taking due entries', () => duties.runDuePass())) ?? 0;
      if (taken > 0) continue;
      await woken.promise;
    }
  }

  async function repeat(name: string, everyMs: number, work: () => Promise<unknown>): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(everyMs, signal);
      if (!signal.aborted) await runOrPause(name, work);
    }
  }

  /** Returns the result of `work`. After an error, logs it, pauses and returns undefined. */
  async function runOrPause<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      if ((unserved.get(name) ?? 0) >= UNSERVED_TIMES) log.info({}, `${name} succeeds again`);
      unserved.delete(name);
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable || error instanceof StoreDamaged) noteUnserved(name, error);
      else log.error({ err: error }, `${name} failed`);
      await clock.sleep(PAUSE_AFTER_ERROR_MS, signal);
      return undefined;
    }
  }

  function noteUnserved(name: string, error: StoreUnavailable | StoreDamaged): void {
    log.debug({ err: error }, `${name}: the store is not available`);
    if (!store.health().ok) return;
    const times = (unserved.get(name) ?? 0) + 1;
    unserved.set(name, times);
    if (times === UNSERVED_TIMES) log.error({ err: error }, `${name} fails, although the store is available`);
  }

  const loops = [
    watchStore(),
    dispatch(),
    repeat('waking the dispatch loop', WAKE_EVERY_MS, async () => woken.resolve()),
    repeat('renewing leases', STORE_LIMITS.renewLeaseEveryMs, () => duties.renewLeases()),
    repeat('stopping pushes', STOP_PUSHES_EVERY_MS, () => duties.stopMovablePushes()),
    repeat('trimming', TRIM_EVERY_MS, () => trimAll(duties, signal)),
  ];
  return {
    async stop() {
      stopping.abort('stopping');
      woken.resolve();
      await Promise.all(loops);
    },
  };
}

/** Trims in bounded steps until nothing is past its retention. Other work runs between the steps. */
async function trimAll(duties: Duties, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await duties.trim()) > 0) await yieldToEventLoop();
}
