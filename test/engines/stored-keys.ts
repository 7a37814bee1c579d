/** The contents of a store in Redis, key by key: to compare two stores, and to create one again. */
import type { createClient } from '@redis/client';

export type Client = ReturnType<typeof createClient>;

/** One command for all keys: a test compares thousands of stores. */
const READ_ALL = `
  local function read(key)
    local kind = redis.call('TYPE', key).ok
    if kind == 'zset' then
      return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    elseif kind == 'set' then
      local members = redis.call('SMEMBERS', key)
      table.sort(members)
      return members
    elseif kind == 'list' then
      return redis.call('LRANGE', key, 0, -1)
    elseif kind == 'stream' then
      return redis.call('XRANGE', key, '-', '+')
    elseif kind == 'hash' then
      local found, fields = redis.call('HGETALL', key), {}
      for index = 1, #found, 2 do
        fields[#fields + 1] = found[index] .. ' = ' .. found[index + 1]
      end
      table.sort(fields)
      return fields
    end
    return redis.call('GET', key)
  end
  local all = {}
  for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
    all[string.sub(key, #ARGV[1] + 1)] = { redis.call('TYPE', key).ok, read(key) }
  end
  return cjson.encode(all)`;

/** Every key of a store without its prefix, as text that two equal keys share. */
export async function readKeys(client: Client, prefix: string): Promise<ReadonlyMap<string, unknown>> {
  const all = JSON.parse(String(await client.eval(READ_ALL, { arguments: [prefix] }))) as object;
  return new Map(Object.entries(all).sort());
}

/** Creates keys as `readKeys()` has read them; none of them expires. */
export async function writeKeys(
  client: Client,
  prefix: string,
  keys: ReadonlyMap<string, unknown>,
): Promise<void> {
  for (const [name, [kind, value]] of keys as ReadonlyMap<string, [string, unknown]>)
    for (const command of commandsOf(prefix + name, kind, value as readonly string[]))
      await client.sendCommand([...command]);
}

function commandsOf(key: string, kind: string, value: readonly string[]): readonly (readonly string[])[] {
  switch (kind) {
    case 'hash':
      return value.map((field) => ['HSET', key, ...splitField(field)]);
    case 'set':
      return [['SADD', key, ...value]];
    case 'list':
      return [['RPUSH', key, ...value]];
    case 'zset':
      return value.flatMap((member, index) =>
        index % 2 ? [] : [['ZADD', key, value[index + 1] ?? '', member]],
      );
    case 'stream':
      return (value as unknown as readonly [string, readonly string[]][]).map(([id, fields]) => [
        'XADD',
        key,
        id,
        ...fields,
      ]);
    default:
      return [['SET', key, String(value)]];
  }
}

/** No name of a field has the sign between it and its value. */
function splitField(field: string): readonly [name: string, value: string] {
  const at = field.indexOf(' = ');
  return [field.slice(0, at), field.slice(at + 3)];
}
