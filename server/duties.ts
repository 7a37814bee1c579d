/**
 * Drives the gateway's background duties on the real clock: takes what is due when the store hints or a quarter of a
 * second has passed, renews leases every 0.4 s, trims what is past its retention. An outage of the store is logged
 * once and waited out; nothing here ends but by `stop()`.
 */
import type { Duties } from './gateway/gateway.ts';
import type { Clock } from './ports/clock.ts';
import type { Log } from './ports/log.ts';
import { type Store, StoreUnavailable } from './ports/store.ts';

/** Without a hint, what is due is looked for this often; also what other replicas count as sweeping. */
const LOOK_EVERY_MS = 250;
const KEEP_EVERY_MS = 400;
const TRIM_EVERY_MS = 1_000;
const OUTAGE_PAUSE_MS = 250;

export type RunningDuties = {
  /** Ends all loops and waits for the turn under way. Twice is fine. */
  stop(): Promise<void>;
};

/** Starts the loops. */
export function startDuties(deps: { duties: Duties; store: Store; clock: Clock; log: Log }): RunningDuties {
  const { duties, store, clock, log } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let hint = Promise.withResolvers<void>();

  async function listen(): Promise<void> {
    while (!signal.aborted) {
      await untilOutage('watching for what is due', async () => {
        for await (const _hint of store.watch('due', signal)) hint.resolve();
      });
    }
  }

  async function dispatch(): Promise<void> {
    while (!signal.aborted) {
      hint = Promise.withResolvers<void>();
      const taken = (await untilOutage('taking what is due', () => duties.turn())) ?? 0;
      if (taken > 0) continue;
      await hint.promise;
    }
  }

  async function repeat(name: string, everyMs: number, duty: () => Promise<unknown>): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(everyMs, signal);
      if (!signal.aborted) await untilOutage(name, duty);
    }
  }

  let inOutage = false;

  /** An outage is told once when it begins and once when it is over; anything else is a fault of ours and told in full. */
  async function untilOutage<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work();
      if (inOutage) log.info({}, 'the store answers again');
      inOutage = false;
      return done;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, `${name} failed`);
      else if (!inOutage) log.error({ err: error }, `${name}: the store is not available`);
      inOutage ||= error instanceof StoreUnavailable;
      await clock.sleep(OUTAGE_PAUSE_MS, signal);
      return undefined;
    }
  }

  const loops = [
    listen(),
    dispatch(),
    repeat('looking for what is due', LOOK_EVERY_MS, async () => hint.resolve()),
    repeat('renewing leases', KEEP_EVERY_MS, () => duties.renewLeases()),
    repeat('trimming', TRIM_EVERY_MS, () => trimAll(duties, signal)),
  ];
  return {
    async stop() {
      stopping.abort('stopping');
      hint.resolve();
      await Promise.all(loops);
    },
  };
}

/** Bounded turns until nothing is past its time; other work gets its turn in between. */
async function trimAll(duties: Duties, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await duties.trim()) > 0) await new Promise((resolve) => setImmediate(resolve));
}
