-- Takes what is due. ARGV[3] how many at most, ARGV[4] how the leases begin. Calling it is what sweeping means: the
-- contacts of agents are not taken as older than the moment it went on after a gap. Answers: the time, the time of the
-- next entry (empty: none), then each ref and its lease.

local LEASE_MS = 1500
local SWEEP_GAP_MS = 5000
-- Noted no more often than this: every note is a write.
local SWEEP_NOTE_MS = 1000

local limit, lease = tonumber(ARGV[3]), ARGV[4]
local swept = tonumber(redis.call('HGET', P .. 'meta', 'swept') or '')
if not swept or now - swept > SWEEP_GAP_MS then
  redis.call('HSET', P .. 'meta', 'resumed', digits(now))
end
if not swept or now - swept >= SWEEP_NOTE_MS then
  redis.call('HSET', P .. 'meta', 'swept', digits(now))
end

local taken = {}
for index, ref in ipairs(redis.call('ZRANGEBYSCORE', P .. 'due', '-inf', digits(now), 'LIMIT', 0, limit)) do
  local token = lease .. ':' .. index
  redis.call('ZADD', P .. 'due', digits(now + LEASE_MS), ref)
  redis.call('HSET', P .. 'leases', ref, token)
  taken[#taken + 1] = ref
  taken[#taken + 1] = token
end
local first = redis.call('ZRANGE', P .. 'due', 0, 0, 'WITHSCORES')
return { digits(now), first[2] or '', taken }
