-- How many tasks are stored. ARGV[3] and on are the outcomes without success. Returns how many are open,
-- how many of these run and how many wait, how many settled ones succeeded, and how many ended in each of
-- those ways.

local function count_of(class)
  return redis.call('ZCARD', PREFIX .. set_of(class))
end

local counts = {}
for index = 3, #ARGV do
  counts[index - 2] = count_of(ARGV[index])
end
local succeeded = tonumber(redis.call('HGET', PREFIX .. 'meta', 'succeeded') or 0)
return { count_of('pending'), count_of('running'), redis.call('ZCARD', PREFIX .. 'waiting-tasks'), succeeded, counts }
