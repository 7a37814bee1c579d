-- Reads the activity in the last steps. Returns the time, how many tasks are open now, how many tasks wait
-- now, and then for each step, latest first: its time, its fields, and the tasks without an agent by tag.

local steps = {}
local last = math.floor(now / STEP_MS) * STEP_MS
for index = 1, STEPS_MAX do
  local at = digits(last - (index - 1) * STEP_MS)
  steps[index] = { at, redis.call('HGETALL', PREFIX .. 'activity:' .. at),
    redis.call('HGETALL', PREFIX .. 'no-agent:' .. at) }
end
local open = tonumber(redis.call('HGET', PREFIX .. 'meta', 'open') or 0)
return { digits(now), open, redis.call('ZCARD', PREFIX .. 'waiting-tasks'), steps }
