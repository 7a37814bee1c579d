/**
 * A person changes the settings of a real Redis while gateways use it: within seconds they say so and use it
 * no more, until the settings are right again. Strangers read no text of Redis. Two stores in two databases
 * of one Redis do not hear each other.
 * @module-tag redis
 */
import { afterEach, describe, expect, test } from 'vitest';
import { parseRedisAddress } from '../../../server/engines/redis/client/address.ts';
import { openRedisStore } from '../../../server/engines/redis/open.ts';
import type { Store } from '../../../server/ports/store.ts';
import { createClock } from '../../../server/system/clock.ts';
import { get, submit } from '../../e2e/plain-calls.ts';
import { register as registerAgent, until } from '../../engines/store-under-test.ts';
import { startGateway } from '../../harness/gateway-process.ts';
import { REDIS_COMMANDS, type RedisProcess, startRedis } from '../../harness/redis-process.ts';
import { SILENT } from '../../harness/silent-log.ts';

const WAIT = { timeout: 60_000, interval: 50 };

describe.each(REDIS_COMMANDS)('on %s', (command) => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function launch(settings: readonly string[] = []): Promise<RedisProcess> {
    const redis = await startRedis(settings, command);
    closing.push(redis.dispose);
    return redis;
  }

  test('a gateway stops using it after a wrong CONFIG SET, and goes on after a right one', async () => {
    const redis = await launch();
    const gateway = await startGateway({ STORE: redis.url });
    closing.push(gateway.stop);
    const readReadiness = async () => {
      const response = await fetch(`${gateway.baseUrl}/readyz`);
      return [response.status, await response.text()] as const;
    };
    const id = await submit(gateway.baseUrl);
    for (const [wrong, right] of [
      ['maxmemory-policy allkeys-lru', 'maxmemory-policy noeviction'],
      ['appendfsync everysec', 'appendfsync always'],
      ['appendonly no', 'appendonly yes'],
    ]) {
      await redis.send(`CONFIG SET ${wrong}`);
      await expect.poll(async () => (await readReadiness())[0], WAIT).toBe(503);
      const [, text] = await readReadiness();
      expect(text).toContain('The store and the settings of the gateway do not fit together.');
      expect(text).not.toContain(String(redis.port));
      await expect.poll(gateway.output, WAIT).toContain(`set ${right}`);
      await expect(submit(gateway.baseUrl)).rejects.toThrow(/503.*store_unavailable/);
      await redis.send(`CONFIG SET ${right}`);
      await expect.poll(async () => (await readReadiness())[0], WAIT).toBe(200);
      expect((await get(gateway.baseUrl, `/api/cli/tasks/${id}`)).status).toBe(200);
      await submit(gateway.baseUrl);
    }
  });

  async function openStore(redis: RedisProcess, database: number): Promise<Store> {
    const address = parseRedisAddress(`${redis.url}/${database}`);
    if ('mistake' in address) throw new Error(address.mistake);
    const store = await openRedisStore({ address, durability: 'memory', clock: createClock(), log: SILENT });
    closing.push(store.close);
    return store;
  }

  /** Counts the notifications about an agent. */
  async function startCounting(store: Store): Promise<() => number> {
    const stop = new AbortController();
    let count = 0;
    const loop = (async () => {
      for await (const _notification of store.watch('agent:same', stop.signal)) count += 1;
    })();
    closing.push(() => {
      stop.abort();
      return loop;
    });
    await until('the first notification', () => count === 1);
    return () => count;
  }

  test('stores in two databases do not hear each other, and each hears itself', async () => {
    const redis = await launch(['--appendonly', 'no']);
    const stores = [await openStore(redis, 0), await openStore(redis, 1), await openStore(redis, 1)] as const;
    const counts = await Promise.all(stores.map(startCounting));
    await registerAgent(stores[0], 'same');
    await until('the first store heard itself', () => counts[0]?.() === 2);
    for (let n = 0; n < 3; n += 1) {
      const before = counts[2]?.() ?? 0;
      await registerAgent(stores[1], 'same');
      await until('the other store on database 1 heard it', () => (counts[2]?.() ?? 0) > before);
    }
    await registerAgent(stores[0], 'same');
    await until('the first store heard itself again', () => (counts[0]?.() ?? 0) >= 3);
    expect(counts.map((count) => count())).toEqual([3, 4, 4]);
  });
});
