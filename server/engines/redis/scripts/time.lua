-- The time of the store: TIME of Redis and an offset, within what the caller's monotonic clock allows.
-- ARGV[2] is `<earliest> <latest>`, empty from a caller that knows no time yet; tests pass the time itself.

local offset_ms = tonumber(redis.call('HGET', PREFIX .. 'meta', 'offset') or 0)
local redis_time = redis.call('TIME')
local redis_ms = redis_time[1] * 1000 + math.floor(redis_time[2] / 1000)
local earliest, latest = string.match(ARGV[2], '^(%d+) (%d+)$')
local now = tonumber(ARGV[2]) or redis_ms + offset_ms

local is_agreed = true
if earliest then
  earliest, latest = tonumber(earliest), tonumber(latest)
  is_agreed = now >= earliest - CLOCK_STEP_MS and now <= latest
  now = math.min(math.max(now, earliest), latest)
end

-- The clock as a caller must know it: TIME, the offset, its number, whether time was left out, when
-- a caller last swept (each that does agrees), and the latest time of a sweep or an event.
local function clock_reading()
  local found = redis.call('HMGET', PREFIX .. 'meta', 'offsetNumber', 'leftOut', 'swept', 'eventMs')
  local last_ms = math.max(tonumber(found[3] or 0), tonumber(found[4] or 0))
  local shared = { found[1] or '0', found[2] or '0', found[3] or '0' }
  return table.concat({ digits(redis_ms), digits(offset_ms), table.concat(shared, ' '), digits(last_ms) }, ' ')
end
