/** What a store in Redis holds, key by key, to compare two stores. */
import type { createClient } from '@redis/client';

type Client = ReturnType<typeof createClient>;

/** Every key of a store without its prefix, as text that two equal keys share. */
export async function readKeys(client: Client, prefix: string): Promise<ReadonlyMap<string, unknown>> {
  const keys = (await client.keys(`${prefix}*`)).sort();
  const read = async (key: string): Promise<readonly [string, unknown]> => {
    const type = await client.type(key);
    return [key.slice(prefix.length), [type, await readKey(client, key, type)]];
  };
  return new Map(await Promise.all(keys.map(read)));
}

async function readKey(client: Client, key: string, type: string): Promise<unknown> {
  switch (type) {
    case 'hash':
      return Object.fromEntries(Object.entries(await client.hGetAll(key)).sort());
    case 'zset':
      return await client.zRangeWithScores(key, 0, -1);
    case 'set':
      return (await client.sMembers(key)).sort();
    case 'stream':
      return ((await client.xRange(key, '-', '+')) ?? []).map(({ id, message }) => [id, { ...message }]);
    default:
      return await client.get(key);
  }
}
