/**
 * Holds replies back until a replica has the writes that they depend on. All replies since the last round
 * share the next round: a small write, and a wait until a replica has that write. The replica then also has
 * everything that any process wrote before.
 */
import { StoreUnavailable } from '../../../ports/store.ts';
import type { RedisClient } from '../client/client.ts';
import { runScript, scripts } from '../scripts.ts';

export type Barrier = {
  /**
   * Resolves when a replica has everything written before the call; otherwise rejects with
   * `StoreUnavailable`.
   */
  pass(): Promise<void>;
};

/** A replica that takes longer counts as missing. */
const REPLICA_WITHIN_MS = 2_000;

/**
 * Creates the barrier of a connection. All keys begin with `prefix`. `onPassedAgain` is called when a round
 * succeeds after a failed one, because readers that were notified meanwhile could not read.
 */
export function createBarrier(client: RedisClient, prefix: string, onPassedAgain: () => void): Barrier {
  let hasFailed = false;
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Both commands are sent at once, because Redis reads nothing else from this connection until the wait is
    // over.
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

/** Holds nothing back, for durabilities that a reply of Redis already has. */
export const NO_BARRIER: Barrier = { pass: () => Promise.resolve() };
