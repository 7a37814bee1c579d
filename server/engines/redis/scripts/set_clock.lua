-- Sets the offset of the store's time to Redis' clock, unless another process has set it since the caller
-- looked. ARGV[3] is the number of the offset that the caller saw (empty: only look), ARGV[4] the new offset,
-- ARGV[5] whether time is left out. Returns what is known of the clock after it.

if ARGV[3] == '' or (redis.call('HGET', PREFIX .. 'meta', 'offsetNumber') or '0') ~= ARGV[3] then
  return clock_reading()
end
offset_ms = tonumber(ARGV[4])
redis.call('HSET', PREFIX .. 'meta', 'offset', ARGV[4], 'leftOut', ARGV[5])
redis.call('HINCRBY', PREFIX .. 'meta', 'offsetNumber', 1)
-- If a sweep was noted at a later time than now, it would hide the next ones; if sweeping resumed at such a
-- time, it would hide how long agents are silent.
local set_ms = redis_ms + offset_ms
for _, field in ipairs({ 'swept', 'resumed' }) do
  if tonumber(redis.call('HGET', PREFIX .. 'meta', field) or 0) > set_ms then
    redis.call('HSET', PREFIX .. 'meta', field, digits(set_ms))
  end
end
return clock_reading()
