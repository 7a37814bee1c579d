/**
 * Stores of the Redis engine for the suites that run on every engine: one Redis a suite, started when it is first asked
 * for; each store has a name of its own in it. Nothing here is meant to last, so it writes nothing to the disk.
 */
import { afterAll } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/address.ts';
import { connectPrimary } from '../../server/engines/redis/client.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Store } from '../../server/ports/store.ts';
import { type FakeClock, trackOutside } from './fake-clock.ts';
import { type RedisProcess, startRedis } from './redis-process.ts';
import { SILENT, tellWallMs } from './silent-log.ts';

let running: Promise<RedisProcess> | null = null;
let names = 0;

afterAll(async () => {
  const redis = await running;
  running = null;
  await redis?.dispose();
});

/** What the keys of a store begin with that nobody else uses. */
export function nameRedisStore(): string {
  names += 1;
  return `{store-${names}}:`;
}

/** Opens a store by what its keys begin with: a fresh one, or what another was opened on before. */
export async function openRedisTestStore(clock: FakeClock, prefix = nameRedisStore()): Promise<Store> {
  running ??= startRedis(['--appendonly', 'no']);
  const { url } = await running;
  const address = parseRedisAddress(url);
  if ('mistake' in address) throw new Error(address.mistake);
  return await openRedisStore({
    address,
    durability: 'memory',
    clock,
    log: SILENT,
    prefix,
    testMs: tellWallMs(clock),
    connect: connectTracked,
  });
}

/** Time stands still while Redis is asked: it answers when it can, not when the test's clock says so. */
const connectTracked: typeof connectPrimary = async (address, options) => {
  const connection = await connectPrimary(address, options);
  return { ...connection, send: (command) => trackOutside(connection.send(command)) };
};
