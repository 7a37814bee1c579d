-- Store time is TIME of Redis. ARGV[2] is empty, except that tests pass the time there.

local redis_time = redis.call('TIME')
local now = tonumber(ARGV[2]) or redis_time[1] * 1000 + math.floor(redis_time[2] / 1000)
