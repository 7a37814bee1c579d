-- Which tasks hold a slot of an agent. ARGV[3] is the agent, ARGV[4] and on are the tasks. Returns 1 or 0 for
-- each.

local found = {}
for index = 4, #ARGV do
  found[index - 3] = redis.call('ZSCORE', PREFIX .. 'slots:' .. ARGV[3], ARGV[index]) and 1 or 0
end
return found
