/** The contents of a store in Redis, key by key, to compare two stores. */
import type { createClient } from '@redis/client';

type Client = ReturnType<typeof createClient>;

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
