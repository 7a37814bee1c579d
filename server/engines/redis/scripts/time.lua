-- The time of the store: TIME of Redis. ARGV[2] is empty; tests pass the time itself.

local redis_time = redis.call('TIME')
local now = tonumber(ARGV[2]) or redis_time[1] * 1000 + math.floor(redis_time[2] / 1000)
