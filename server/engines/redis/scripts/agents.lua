-- Agents: their status, and the list of those that changed.

-- A reply with many agents ends when their records have more bytes than this: a record may have 100 KB.
local REPLY_BYTES = 1048576

-- The fields of an agent's status: those of its record, then its contact, then its number of slots. False
-- without one.
local function read_status(id)
  local status = redis.call('HMGET', PREFIX .. 'agent:' .. id, 'v', 'r', 'lg', 'cm', 'bm', 'bg', 'p', 'um')
  if not status[1] then
    return false
  end
  status[9] = redis.call('ZCARD', PREFIX .. 'slots:' .. id)
  return status
end

local function record_change(id)
  local number = redis.call('HINCRBY', PREFIX .. 'meta', 'changes', 1)
  redis.call('ZADD', PREFIX .. 'changed', number, id)
  redis.call('ZREM', PREFIX .. 'gone', id)
end
