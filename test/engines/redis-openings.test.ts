/**
 * A connection to Redis is made ready in many steps. It is given up when Redis is silent, and not when its
 * steps together take long, as they do on a slow network or beside much other work.
 * @module-tag redis
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import { connectPrimary } from '../../server/engines/redis/client/client.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { until } from './store-under-test.ts';

/** Less than Redis may be silent; three steps of it are more. */
const STEP_MS = 900;
let redis: RedisProcess;
let proxy: TcpProxy;
let clock: FakeClock;

beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
});
afterAll(() => redis.dispose());
beforeEach(async () => {
  proxy = await startTcpProxy(redis.port);
  clock = createFakeClock();
});
afterEach(() => proxy.close());

/** Opens a store; `onReply` is called before each reply is passed on. */
async function open(onReply: (command: string | undefined) => unknown): Promise<Store> {
  const address = parseRedisAddress(`redis://127.0.0.1:${proxy.port}`);
  if ('mistake' in address) throw new Error(address.mistake);
  return await openRedisStore({
    address,
    durability: 'memory',
    clock,
    log: SILENT,
    prefix: '{openings}:',
    testMs: createWallClock(clock),
    async connect(to, options) {
      const client = await connectPrimary(to, options);
      return {
        ...client,
        async send(command) {
          const reply = await client.send(command);
          await onReply(command[0]);
          return reply;
        },
      };
    },
  });
}

describe('A connection that is being made ready', () => {
  test('is not given up while Redis replies, however long its steps take together', async () => {
    // Scripts are loaded together: one step.
    const opening = open((command) => command !== 'SCRIPT' && clock.advance(STEP_MS));
    let isOpen = false;
    void opening.then(() => {
      isOpen = true;
    });
    await until('the store is open', () => isOpen);
    const store = await opening;
    expect(store.health()).toEqual({ ok: true });
    // One for the calls, one for the notifications: each at the first attempt.
    expect(proxy.connections()).toBe(2);
    await store.close();
  });

  test('is given up when Redis has been silent for two seconds, and another is tried', async () => {
    let replies = 0;
    const opening = open(() => {
      replies += 1;
      if (replies === 1) proxy.hold();
    });
    await until('a step is without a reply', () => replies === 1 && proxy.isHolding());
    await clock.advance(1_999);
    expect(proxy.connections()).toBe(1);
    await clock.advance(1);
    proxy.release();
    const store = await clock.drive(opening);
    expect(proxy.connections()).toBe(3);
    await store.close();
  });
});
