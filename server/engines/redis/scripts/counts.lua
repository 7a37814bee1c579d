-- Counts the stored tasks, and the tasks that wait for each tag. ARGV[3] is how many tags at most; from
-- ARGV[4] on come the outcomes without success. Returns how many tasks are pending, run, wait and succeeded;
-- how many have each of the given outcomes; the position of the oldest waiting task (empty without one); for
-- each tag its name, how many tasks wait for the tag and the position of the oldest; and how many tasks wait
-- for an answer.

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
