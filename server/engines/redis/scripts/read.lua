-- Reads one value. ARGV[3] is how many bytes it may have, ARGV[4] its kind and ARGV[5] its id. Returns the
-- value and its revision; nothing if there is no value; only its size if the value is larger. For the kind
-- `status` it returns when sweeping resumed, and the status of the agent.

-- By kind: the beginning of the key (the rest is the id), and the fields of the value and its revision.
local FIELDS = { task = { 'task:', 's', 'r' }, input = { 'task:', 'i', 'ir' }, agent = { 'agent:', 'v', 'r' },
  key = { 'key:', 'v', 'r', 'e' }, details = { 'task:', 'p', 'r' } }

local bytes_max, kind, id = tonumber(ARGV[3]), ARGV[4], ARGV[5]
if kind == 'status' then
  return { redis.call('HGET', PREFIX .. 'meta', 'resumed'), read_status(id) }
end

local fields = FIELDS[kind]
local key = PREFIX .. fields[1] .. id
-- The size is read first, because Lua looks at every byte of a text that it gets.
local size = redis.call('HSTRLEN', key, fields[2])
if size > bytes_max then
  return size
end
local found = redis.call('HMGET', key, unpack(fields, 2))
if not found[1] or (found[3] and tonumber(found[3]) <= now) then
  return {}
end
return { found[1], found[2] }
