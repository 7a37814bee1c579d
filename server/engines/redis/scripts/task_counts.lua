-- How many tasks are stored. ARGV[3] and on are the outcomes without success. Returns how many are open,
-- how many of these run and how many wait, how many are settled, how many of these succeeded, and how many
-- ended in each of those ways. A replica of an earlier version keeps none of these sets and numbers: where
-- they do not agree with what it keeps too, a part of what it left behind is looked for and removed.

-- Tasks of each set that are looked at.
local STALE_MAX = 100

local meta = PREFIX .. 'meta'

-- Removes tasks that are no longer of the class; returns how many.
local function remove_stale(class)
  local set, removed = PREFIX .. set_of(class), 0
  for _, position in ipairs(redis.call('ZRANDMEMBER', set, STALE_MAX)) do
    local id = string.sub(position, string.find(position, '/', 1, true) + 1)
    local found = redis.call('HMGET', PREFIX .. 'task:' .. id, 'o', 'a')
    if class_of(found[1], found[2]) ~= class then
      removed = removed + redis.call('ZREM', set, position)
    end
  end
  return removed
end

local function count_of(class)
  return redis.call('ZCARD', PREFIX .. set_of(class))
end

local function count_outcomes()
  local counts, sum = {}, 0
  for index = 3, #ARGV do
    counts[index - 2] = count_of(ARGV[index])
    sum = sum + counts[index - 2]
  end
  return counts, sum
end

local found = redis.call('HMGET', meta, 'open', 'succeeded')
local open, succeeded = tonumber(found[1] or 0), tonumber(found[2] or 0)
if count_of('pending') + count_of('running') > open then
  remove_stale('pending')
  remove_stale('running')
end
local ended = redis.call('ZCARD', PREFIX .. 'ended')
local counts, sum = count_outcomes()
if succeeded + sum > ended then
  local removed = 0
  for index = 3, #ARGV do
    removed = removed + remove_stale(ARGV[index])
  end
  counts, sum = count_outcomes()
  if removed == 0 then
    succeeded = math.max(0, ended - sum)
    redis.call('HSET', meta, 'succeeded', digits(succeeded))
  end
end
return { open, count_of('running'), redis.call('ZCARD', PREFIX .. 'waiting-tasks'), ended, succeeded, counts }
