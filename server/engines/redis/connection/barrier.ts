/**
 * Holds replies back until replicas have what they rest on. All replies since the last round share the next
 * one: a small write, and a wait until a replica has it, and with it everything that any process wrote
 * before.
 */
import { StoreUnavailable } from '../../../ports/store.ts';
import type { RedisClient } from '../client/client.ts';
import { runScript, scripts } from '../scripts.ts';

export type Barrier = {
  /**
   * Resolves when a replica has all that was written before the call; rejects with `StoreUnavailable`
   * otherwise.
   */
  pass(): Promise<void>;
};

/** A replica that takes longer counts as missing. */
const REPLICA_WITHIN_MS = 2_000;

/**
 * Creates one for a connection; `prefix` is what the names of all keys begin with. `onPassedAgain` is called
 * when one is passed after one was not: readers that were notified meanwhile could not read.
 */
export function createBarrier(client: RedisClient, prefix: string, onPassedAgain: () => void): Barrier {
  let hasFailed = false;
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Sent together, because Redis reads nothing else from this connection until the wait is over.
    const [, acknowledged] = await Promise.all([
      runScript(client, scripts.barrier, ['1', prefix]),
      client.send(['WAIT', '1', String(REPLICA_WITHIN_MS)]),
    ]);
    if (Number(acknowledged) > 0) {
      if (hasFailed) onPassedAgain();
      hasFailed = false;
      return;
    }
    hasFailed = true;
    throw new StoreUnavailable(
      'No replica of Redis has acknowledged in time; whether the change will last is unknown.',
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

/** Holds nothing back: what Redis replies is as durable as it will be. */
export const NO_BARRIER: Barrier = { pass: () => Promise.resolve() };
