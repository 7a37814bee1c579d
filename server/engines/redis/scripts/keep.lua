-- Hides entries for another 1.5 s, each only if its lease is the named one. ARGV[3] and on: ref, lease, ref, lease …
-- Answers: the time until which they are hidden.

local LEASE_MS = 1500

for index = 3, #ARGV, 2 do
  if redis.call('HGET', P .. 'leases', ARGV[index]) == ARGV[index + 1] then
    redis.call('ZADD', P .. 'due', digits(now + LEASE_MS), ARGV[index])
  end
end
return digits(now + LEASE_MS)
