-- Reads for several callers. ARGV[3] is how many bytes a value may have; from ARGV[4] on come pairs of a kind
-- and an id. Returns for each pair the value and its revision, or nothing; the bytes of a value that is
-- larger, or for which the reply has no room left; and for the kind `status` when sweeping resumed and the
-- status of the agent.

-- By kind: where the value and its revision are. The rest of the key is the id.
local FIELDS = { task = { 'task:', 's', 'r' }, input = { 'task:', 'i', 'ir' }, agent = { 'agent:', 'v', 'r' },
  key = { 'key:', 'v', 'r', 'e' }, details = { 'task:', 'p', 'r' } }

local bytes_max, bytes = tonumber(ARGV[3]), 0

local function read_value(kind, id)
  local fields = FIELDS[kind]
  local key = PREFIX .. fields[1] .. id
  -- Asked for first: Lua looks at every byte of a text that it gets.
  local size = redis.call('HSTRLEN', key, fields[2])
  if size > bytes_max or (bytes > 0 and bytes + size > REPLY_BYTES) then
    return size
  end
  local found = redis.call('HMGET', key, unpack(fields, 2))
  if not found[1] or (found[3] and tonumber(found[3]) <= now) then
    return {}
  end
  bytes = bytes + size
  return { found[1], found[2] }
end

local replies = {}
for index = 4, #ARGV, 2 do
  local kind, id = ARGV[index], ARGV[index + 1]
  if kind == 'status' then
    replies[#replies + 1] = { redis.call('HGET', PREFIX .. 'meta', 'resumed'), read_status(id) }
  else
    replies[#replies + 1] = read_value(kind, id)
  end
end
return replies
