-- How many tasks are stored, and for which tags some wait. ARGV[3] is how many tags at most, ARGV[4] and
-- on are the outcomes without success. Returns how many are pending, run and wait, how many settled ones
-- succeeded, how many ended in each of those ways, the position of the oldest waiting one (empty without
-- one), for each tag its name, how many tasks wait for it, and the position of the oldest of them, and how
-- many tasks wait for an answer.

local function count_of(set)
  return redis.call('ZCARD', PREFIX .. set)
end

local function oldest_of(set)
  return redis.call('ZRANGE', PREFIX .. set, 0, 0)[1] or ''
end

local others, tags = {}, {}
for index = 4, #ARGV do
  others[index - 3] = count_of('by-outcome:' .. ARGV[index])
end
for index, tag in ipairs(redis.call('SRANDMEMBER', PREFIX .. 'waiting-tags', ARGV[3])) do
  tags[index] = { tag, count_of('waiting:' .. tag), oldest_of('waiting:' .. tag) }
end
local succeeded = tonumber(redis.call('HGET', PREFIX .. 'meta', 'succeeded') or 0)
return { count_of('pending-tasks'), count_of('running-tasks'), count_of('waiting-tasks'), succeeded, others,
  oldest_of('waiting-tasks'), tags, count_of('waiting-for-answer') }
