-- Agents: their status, and what follows when a record or its slots change. Invariant: an agent is in the
-- free set of each of its tags exactly while it has a record and holds fewer slots than its limit.

-- A reply with many agents ends once their records have more bytes than this: a record may have 100 KB.
local REPLY_BYTES = 1048576

local function read_agent(id)
  local found = redis.call('HMGET', PREFIX .. 'agent:' .. id, 'reg', 'lim', 'tags')
  local used_slots = redis.call('ZCARD', PREFIX .. 'slots:' .. id)
  if not found[1] then
    return { exists = false, free_slots = 0, tags = {} }
  end
  local free_slots = math.max(0, tonumber(found[2]) - used_slots)
  return { exists = true, registration = found[1], free_slots = free_slots, tags = cjson.decode(found[3]) }
end

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

local function record_removal(id)
  local number = redis.call('HINCRBY', PREFIX .. 'meta', 'changes', 1)
  redis.call('ZREM', PREFIX .. 'changed', id)
  redis.call('ZADD', PREFIX .. 'gone', number, id)
  if redis.call('ZCARD', PREFIX .. 'gone') > REMOVED_AGENTS_MAX then
    local oldest = redis.call('ZPOPMIN', PREFIX .. 'gone')
    redis.call('HSET', PREFIX .. 'meta', 'forgotten', oldest[2])
  end
end

local function has_waiting_task(tags)
  local keys = {}
  for index, tag in ipairs(tags) do
    keys[index] = PREFIX .. 'waiting:' .. tag
  end
  return #keys > 0 and redis.call('EXISTS', unpack(keys)) > 0
end

-- Brings the free sets and the list of changes up to date with an agent; `before` is what `read_agent`
-- returned before the commit. Returns whether the agent became due: when it came to have more free slots, or
-- registered again, while a task waits for one of its tags.
local function update_agent(id, before)
  local after = read_agent(id)
  if before.free_slots > 0 then
    for _, tag in ipairs(before.tags) do
      redis.call('SREM', PREFIX .. 'free:' .. tag, id)
    end
  end
  if after.free_slots > 0 then
    for _, tag in ipairs(after.tags) do
      redis.call('SADD', PREFIX .. 'free:' .. tag, id)
    end
  end
  if not after.exists then
    if before.exists then
      record_removal(id)
    end
    return false
  end
  record_change(id)
  local may_take_more = after.free_slots > before.free_slots
    or (after.free_slots > 0 and after.registration ~= before.registration)
  if not may_take_more or not has_waiting_task(after.tags) then
    return false
  end
  redis.call('ZADD', PREFIX .. 'due', digits(now), 'agent:' .. id)
  redis.call('HDEL', PREFIX .. 'leases', 'agent:' .. id)
  return true
end
