-- Reads a value and its revision, unless the value is large. KEYS[1] is the key of the hash, ARGV[1] and
-- ARGV[2] are the fields of both, ARGV[3] is how many bytes a value may have. Returns both, or the bytes of a
-- larger value. Runs more often than any other script, so it comes without the prelude and the epoch: a value
-- that is found is right, and one that is missing is read again by `get`.

local bytes = redis.call('HSTRLEN', KEYS[1], ARGV[1])
if bytes > tonumber(ARGV[3]) then
  return bytes
end
return redis.call('HMGET', KEYS[1], ARGV[1], ARGV[2])
