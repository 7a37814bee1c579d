/**
 * What gateways of each format wrote into a Redis is opened by this one, as `stored-sqlite.test.ts` says of
 * files; and a store whose format a later gateway has raised is left by those that run on it.
 * `STORED=write npm test -- test/engines/stored-redis.test.ts` writes the file of the present format.
 * @module-tag redis
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import { FORMAT } from '../../server/engines/redis/connection/format.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Log } from '../../server/ports/log.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { connectTracked } from '../harness/redis-stores.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { createWorld, type World } from '../harness/world.ts';
import { until } from './store-under-test.ts';
import { type Client, readKeys, writeKeys } from './stored-keys.ts';
import {
  describeWorld,
  endWorld,
  FILLED_MS,
  fillWorld,
  readReadings,
  STORED_FOLDER,
  writeReadings,
} from './stored-world.ts';

const FILES = readdirSync(STORED_FOLDER)
  .filter((file) => /^redis-\d+\.txt$/.test(file))
  .sort();

let redis: RedisProcess;
let client: Client;
let prefixes = 0;
let worlds: World[] = [];
let logged: string[] = [];
const LOG: Log = { ...SILENT, error: (fields) => void logged.push(inspect(fields)) };

beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
  client = createClient({ url: redis.url });
  await client.connect();
});
afterAll(async () => {
  client.destroy();
  await redis.dispose();
});
afterEach(async () => {
  for (const { store } of worlds) await store.close();
  worlds = [];
  logged = [];
});

const namePrefix = (): string => {
  prefixes += 1;
  return `{stored-${prefixes}}:`;
};

async function openWorld(prefix: string, atMs = 0): Promise<World> {
  const clock = createFakeClock();
  await clock.advance(atMs);
  const address = parseRedisAddress(redis.url);
  if ('mistake' in address) throw new Error(address.mistake);
  const store = await openRedisStore({
    address,
    durability: 'memory',
    clock,
    log: LOG,
    prefix,
    testMs: createWallClock(clock),
    connect: connectTracked,
  });
  const world = createWorld(store, { clock });
  worlds.push(world);
  return world;
}

/** All keys, each in a line. What is a random name in each process has the same name here. */
async function writeLines(prefix: string): Promise<string> {
  const keys = await readKeys(client, prefix);
  const lines = [...keys].map((entry) => JSON.stringify(entry)).join('\n');
  const [, epoch = ''] = keys.get('epoch') as readonly [string, string];
  const [, process = ''] = /"r = ([\w-]{12})-1"/.exec(lines) ?? [];
  return `${lines.replaceAll(process, 'process').replaceAll(epoch, 'epoch')}\n`;
}

async function fill(): Promise<string> {
  const prefix = namePrefix();
  const world = await openWorld(prefix);
  await fillWorld(world);
  await world.store.close();
  return prefix;
}

async function restore(file: string): Promise<string> {
  const prefix = namePrefix();
  const lines = readFileSync(join(STORED_FOLDER, file), 'utf8').trimEnd().split('\n');
  await writeKeys(client, prefix, new Map(lines.map((line) => JSON.parse(line))));
  return prefix;
}

test('this gateway writes what the newest file holds', async () => {
  const prefix = await fill();
  const lines = await writeLines(prefix);
  const [, format] = /\["format",\["string","(\d+)"\]\]/.exec(lines) ?? [];
  const newest = join(STORED_FOLDER, `redis-${format}.txt`);
  const readings = await describeWorld(await openWorld(prefix, FILLED_MS));
  if (process.env.STORED === 'write') {
    writeFileSync(newest, lines);
    writeReadings(newest, readings);
  }
  expect(readings).toMatchObject(readReadings(newest));
  expect(lines).toBe(readFileSync(newest, 'utf8'));
});

test.each(FILES)('%s is opened, says the same, goes on, and leaves nothing behind', async (file) => {
  const prefix = await restore(file);
  const world = await openWorld(prefix, FILLED_MS);
  expect(await describeWorld(world)).toMatchObject(readReadings(file));
  await endWorld(world);
  await world.store.close();
  const left = [...(await readKeys(client, prefix)).keys()].filter(
    (key) => !/^(activity|no-agent):/.test(key),
  );
  expect(left).toEqual(['epoch', 'format', 'gone', 'meta']);
});

test('a later gateway has raised the format of a store; those that run on it stop, and say why', async () => {
  const prefix = await restore(FILES.at(-1) ?? '');
  const running = await openWorld(prefix, FILLED_MS);
  expect(await running.gateway.cancelTask('task-000012')).toMatchObject({ ok: true });
  const refused = `has format version ${FORMAT + 1}, this gateway reads version ${FORMAT}.`;
  await client.mSet({ [`${prefix}format`]: `${FORMAT + 1}`, [`${prefix}epoch`]: 'later' });
  await expect(running.gateway.cancelTask('task-000013')).rejects.toThrow(StoreUnavailable);
  await until('its log says why', async () => {
    await running.clock.advance(100);
    return logged.join('\n').includes(refused);
  });
  expect(running.store.health()).toMatchObject({ ok: false, outage: { kind: 'wrong_settings' } });
  const before = await readKeys(client, prefix);
  await expect(openWorld(prefix, FILLED_MS)).rejects.toThrow(refused);
  expect(await readKeys(client, prefix)).toEqual(before);
});

test('a store that has lost its epoch alone gets another, and goes on', async () => {
  const prefix = await restore(FILES.at(-1) ?? '');
  await client.del(`${prefix}epoch`);
  const world = await openWorld(prefix, FILLED_MS);
  expect(await world.gateway.cancelTask('task-000013')).toMatchObject({ ok: true });
  expect(await client.get(`${prefix}epoch`)).not.toBeNull();
});
