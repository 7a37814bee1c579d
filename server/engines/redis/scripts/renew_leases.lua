-- Hides entries for another lease, each only if the named lease is still its own. ARGV[3] and on are ref,
-- lease, ref, lease … Returns the time until which they are hidden.

for index = 3, #ARGV, 2 do
  if redis.call('HGET', PREFIX .. 'leases', ARGV[index]) == ARGV[index + 1] then
    redis.call('ZADD', PREFIX .. 'due', digits(now + LEASE_MS), ARGV[index])
  end
end
return digits(now + LEASE_MS)
