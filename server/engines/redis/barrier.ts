/**
 * Holds answers back until replicas have what they rest on. All who were answered since the last round share the next:
 * one small write, and a wait until replicas have it, and with it everything that was written before, by whomever.
 */
import { StoreUnavailable } from '../../ports/store.ts';
import type { RedisClient } from './client.ts';

export type Barrier = {
  /** Resolves when replicas have all that was written before the call; throws `StoreUnavailable` when they have not. */
  pass(): Promise<void>;
};

/** A replica that does not have it by then is taken to be away. */
const REPLICA_WITHIN_MS = 2_000;

/** Creates it for a connection; `prefix` begins the key that is written. */
export function createBarrier(client: RedisClient, prefix: string): Barrier {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Sent together: until the wait is over, Redis reads nothing else of this connection.
    const [, acknowledged] = await Promise.all([
      client.send(['INCR', `${prefix}barrier`]),
      client.send(['WAIT', '1', String(REPLICA_WITHIN_MS)]),
    ]);
    if (Number(acknowledged) > 0) return;
    throw new StoreUnavailable(
      'No replica of Redis has acknowledged in time; whether the change lasts is unknown.',
    );
  }

  function start(): Promise<void> {
    const round = run().finally(() => {
      if (running === round) running = null;
    });
    running = round;
    return round;
  }

  return {
    pass() {
      if (!running) return start();
      next ??= running
        .catch(() => undefined)
        .then(() => {
          next = null;
          return start();
        });
      return next;
    },
  };
}

/** Passes everybody at once: what Redis answers is as durable as it will be. */
export const NO_BARRIER: Barrier = { pass: () => Promise.resolve() };
