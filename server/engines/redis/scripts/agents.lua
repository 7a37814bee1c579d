-- The status of agents, and the list of changed agents.

-- A reply with many agents ends when their records have more bytes than this. One record may have 100 KB.
local REPLY_BYTES = 1048576

-- Returns an agent's status: the fields of its record, those of its contact, and its number of slots. False
-- without a record.
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
