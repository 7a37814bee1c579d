-- Takes due entries. ARGV[3] is how many of the earliest at most, ARGV[4] the beginning of the leases' names,
-- ARGV[5] how many of the latest at most, ARGV[6] when the caller began (empty if the call may be late). Each
-- call is a sweep. After a long pause, or a step of the clock, it notes when sweeping resumed, because no
-- agent's contact counts as older than that. A call that was on its way for long takes nothing: leases may
-- have run out because their holders could not renew them either. Returns the time, the time of the next
-- entry (empty without one), and each ref with its lease.

-- A sweep notes its time at most once in this time, because every note is a write.
local SWEEP_NOTE_MS = 1000

local lease_prefix = ARGV[4]
local swept = tonumber(redis.call('HGET', PREFIX .. 'meta', 'swept') or '')
if not swept or math.abs(now - swept) > SWEEP_GAP_MS then
  redis.call('HSET', PREFIX .. 'meta', 'resumed', digits(now))
end
if not swept or math.abs(now - swept) >= SWEEP_NOTE_MS then
  redis.call('HSET', PREFIX .. 'meta', 'swept', digits(now))
end

if ARGV[6] ~= '' and now - ARGV[6] >= LEASE_GAP_MS then
  return { digits(now), '', {} }
end

local taken = {}
local function take(ref)
  local lease = lease_prefix .. ':' .. (#taken / 2 + 1)
  redis.call('ZADD', PREFIX .. 'due', digits(now + LEASE_MS), ref)
  redis.call('HSET', PREFIX .. 'leases', ref, lease)
  taken[#taken + 1] = ref
  taken[#taken + 1] = lease
end
for _, ref in ipairs(redis.call('ZRANGEBYSCORE', PREFIX .. 'due', '-inf', digits(now), 'LIMIT', 0, ARGV[3])) do
  take(ref)
end
local latest = redis.call('ZREVRANGEBYSCORE', PREFIX .. 'due', digits(now), '-inf', 'LIMIT', 0, ARGV[5])
for index = #latest, 1, -1 do
  take(latest[index])
end
local next_due = redis.call('ZRANGE', PREFIX .. 'due', 0, 0, 'WITHSCORES')
return { digits(now), next_due[2] or '', taken }
