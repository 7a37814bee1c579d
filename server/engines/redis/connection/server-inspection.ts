/**
 * Looks at the server while it is in use, because a person may change its settings: does the connection of
 * the notifications reply, is memory left, may keys be evicted, is the durability still kept? A sweep starts
 * a look beside its own call if the last look was at least a second ago.
 *
 * A server that may evict keys, or no longer keeps its durability, is given up: the store is out until the
 * setting is right again. While its memory is nearly full, the store takes no new tasks, agents and output,
 * so that what ends tasks or frees memory always has room. It takes them again within a second after memory
 * is free.
 */
import { messageOf } from '../../../async/error-message.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { StoreRefused } from '../../../ports/store.ts';
import { type Durability, parseInfo, requireNoEviction, validateSettings } from '../client/durability.ts';
import type { Connection } from './connection.ts';
import type { Opened } from './connection-state.ts';

export type Inspection = {
  /** Looks if a look is due. Resolves when the look is over. Never rejects. */
  update(): Promise<void>;
  /** Throws `StoreRefused` while the memory of Redis is nearly full. */
  requireMemory(): void;
};

const LOOK_EVERY_MS = 1_000;
/** The share of `maxmemory` that new tasks, agents and output may fill. */
const MEMORY_SHARE_MAX = 0.9;

export function createInspection(deps: {
  readonly connection: Connection;
  readonly durability: Durability;
  readonly clock: Clock;
  readonly log: Log;
}): Inspection {
  const { connection, durability, clock, log } = deps;
  let lookedMs = clock.monotonicMs() - LOOK_EVERY_MS;
  let isNearlyFull = false;

  async function look({ client, notifications }: Opened): Promise<void> {
    const [reply] = await Promise.all([client.send(['INFO', 'memory']), notifications.send(['PING'])]);
    const info = parseInfo(reply);
    requireNoEviction(client.peer, info);
    noteMemory(info);
    await validateSettings(client, durability);
  }

  function noteMemory(info: ReadonlyMap<string, string>): void {
    const readBytes = (field: string): number => Number(info.get(field) ?? 0);
    const maxBytes = readBytes('maxmemory');
    const usedBytes = readBytes('used_memory') - readBytes('mem_not_counted_for_evict');
    const wasNearlyFull = isNearlyFull;
    isNearlyFull = maxBytes > 0 && usedBytes > MEMORY_SHARE_MAX * maxBytes;
    const fields = { usedBytes, maxBytes };
    if (isNearlyFull && !wasNearlyFull)
      log.error(fields, 'the memory of Redis is nearly full: new tasks, agents and output are refused');
    if (!isNearlyFull && wasNearlyFull)
      log.info(fields, 'the memory of Redis is free again: new tasks, agents and output are accepted');
  }

  return {
    async update() {
      if (clock.monotonicMs() - lookedMs < LOOK_EVERY_MS) return;
      lookedMs = clock.monotonicMs();
      await connection.inspect(look).catch((error: unknown) => {
        log.debug({ reason: messageOf(error) }, 'Redis could not be inspected');
      });
    },
    requireMemory() {
      if (!isNearlyFull) return;
      throw new StoreRefused(
        'The memory of the store is nearly full: it takes no new tasks, agents and output now.',
      );
    },
  };
}
