-- Finds which tasks hold a slot of an agent. ARGV[3] is the agent; from ARGV[4] on come the tasks. Returns 1
-- or 0 for each task.

local found = {}
for index = 4, #ARGV do
  found[index - 3] = redis.call('ZSCORE', PREFIX .. 'slots:' .. ARGV[3], ARGV[index]) and 1 or 0
end
return found
