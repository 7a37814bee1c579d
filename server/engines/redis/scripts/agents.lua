-- Agents: how one stands, and what follows when its record or its slots change. An agent is in the free set of each of
-- its tags exactly while it has a record and holds fewer slots than its limit.

-- Agents remembered as gone; a reader that is further behind reads everything anew.
local GONE_MAX = 10000

local function look_at(id)
  local found = redis.call('HMGET', P .. 'agent:' .. id, 'reg', 'lim', 'tags')
  local held = redis.call('ZCARD', P .. 'slots:' .. id)
  if not found[1] then
    return { there = false, room = 0, tags = {} }
  end
  local room = math.max(0, tonumber(found[2]) - held)
  return { there = true, registration = found[1], room = room, tags = cjson.decode(found[3]) }
end

-- What of an agent is told: the record, then what is counted for it.
local function describe(id)
  local found = redis.call('HMGET', P .. 'agent:' .. id, 'v', 'r', 'lg', 'cm', 'bm', 'bg', 'p')
  if not found[1] then
    return false
  end
  found[8] = redis.call('ZCARD', P .. 'slots:' .. id)
  return found
end

local function note_change(id)
  local number = redis.call('HINCRBY', P .. 'meta', 'changes', 1)
  redis.call('ZADD', P .. 'changed', number, id)
  redis.call('ZREM', P .. 'gone', id)
end

local function note_gone(id)
  local number = redis.call('HINCRBY', P .. 'meta', 'changes', 1)
  redis.call('ZREM', P .. 'changed', id)
  redis.call('ZADD', P .. 'gone', number, id)
  if redis.call('ZCARD', P .. 'gone') > GONE_MAX then
    local oldest = redis.call('ZPOPMIN', P .. 'gone')
    redis.call('HSET', P .. 'meta', 'forgotten', oldest[2])
  end
end

local function is_awaited(tags)
  for _, tag in ipairs(tags) do
    if redis.call('EXISTS', P .. 'waiting:' .. tag) == 1 then
      return true
    end
  end
  return false
end

-- Brings free sets and changes up to date with how the agent stands now. Answers whether it became due: one that came
-- to have more room, or registered anew, is looked at at once if somebody waits for such a one.
local function follow_agent(id, before)
  local after = look_at(id)
  if before.room > 0 then
    for _, tag in ipairs(before.tags) do
      redis.call('SREM', P .. 'free:' .. tag, id)
    end
  end
  if after.room > 0 then
    for _, tag in ipairs(after.tags) do
      redis.call('SADD', P .. 'free:' .. tag, id)
    end
  end
  if not after.there then
    if before.there then
      note_gone(id)
    end
    return false
  end
  note_change(id)
  local is_news = after.room > before.room or (after.room > 0 and after.registration ~= before.registration)
  if not is_news or not is_awaited(after.tags) then
    return false
  end
  redis.call('ZADD', P .. 'due', digits(now), 'agent:' .. id)
  redis.call('HDEL', P .. 'leases', 'agent:' .. id)
  return true
end
