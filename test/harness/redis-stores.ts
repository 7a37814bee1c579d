/**
 * Stores of the Redis engine for the suites that run on every engine. Each suite has one Redis, started when
 * it is first needed, and each store has its own key prefix in it. The data need not survive, so Redis writes
 * nothing to the disk.
 */
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import type { connectPrimary } from '../../server/engines/redis/client/client.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Store } from '../../server/ports/store.ts';
import { type FakeClock, trackOutside } from './fake-clock.ts';
import { createOrderedConnect } from './redis-order.ts';
import { type RedisProcess, startRedis } from './redis-process.ts';
import { createWallClock, SILENT } from './silent-log.ts';

let running: Promise<RedisProcess> | null = null;
let names = 0;

/** Ends the Redis, after a suite that opened stores in it. */
export async function endRedis(): Promise<void> {
  const redis = await running;
  running = null;
  await redis?.dispose();
}

/** Returns a key prefix that no other store uses. */
export function nameRedisStore(): string {
  names += 1;
  return `{store-${names}}:`;
}

/** Opens the store with this key prefix: by default a fresh one, or the data that an earlier store left. */
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
    testMs: createWallClock(clock),
    connect: connectTracked,
  });
}

const connectOrdered = createOrderedConnect();

/** The test's clock stands still while a command is under way, because Redis replies in real time. */
export const connectTracked: typeof connectPrimary = async (address, options) => {
  const client = await connectOrdered(address, options);
  return { ...client, send: (command) => trackOutside(client.send(command)) };
};
