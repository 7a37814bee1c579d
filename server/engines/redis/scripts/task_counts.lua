-- How many tasks are stored. ARGV[3] and on are the outcomes without success. Returns how many are open,
-- how many of these run and how many wait, how many settled ones succeeded, and how many ended in each of
-- those ways.

local function count_of(set)
  return redis.call('ZCARD', PREFIX .. set)
end

local counts = {}
for index = 3, #ARGV do
  counts[index - 2] = count_of('by-outcome:' .. ARGV[index])
end
local succeeded = tonumber(redis.call('HGET', PREFIX .. 'meta', 'succeeded') or 0)
return { count_of('pending-tasks'), count_of('running-tasks'), count_of('waiting-tasks'), succeeded, counts }
