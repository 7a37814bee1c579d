-- Renews leases: hides each entry that still has the named lease. From ARGV[3] on come ref, lease, ref, lease
-- … Returns the time until which the entries are hidden.

for index = 3, #ARGV, 2 do
  if redis.call('HGET', PREFIX .. 'leases', ARGV[index]) == ARGV[index + 1] then
    redis.call('ZADD', PREFIX .. 'due', digits(now + LEASE_MS), ARGV[index])
  end
end
return digits(now + LEASE_MS)
