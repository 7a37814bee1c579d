-- Finds the tasks that a claim may hand out now. ARGV[3] is the agent, ARGV[4] how many tasks at most.
-- Returns the ids, oldest assignment first, and the time from which the next of the agent's other tasks may
-- be handed out (empty without one).

local agent_id, limit = ARGV[3], tonumber(ARGV[4])
local key = PREFIX .. 'claimable:' .. agent_id
local positions = redis.call('ZRANGEBYSCORE', key, 0, 0, 'LIMIT', 0, limit)
for _, position in ipairs(redis.call('ZRANGEBYSCORE', key, '(0', digits(now), 'LIMIT', 0, HANDED_OUT_MAX)) do
  positions[#positions + 1] = position
end
table.sort(positions)

local next_time = redis.call('ZRANGEBYSCORE', key, '(' .. digits(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local ids = {}
for index = 1, math.min(limit, #positions) do
  local position = positions[index]
  ids[index] = string.sub(position, string.find(position, '/', 1, true) + 1)
end
return { ids, next_time[2] or '' }
