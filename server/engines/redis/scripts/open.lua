-- Opens the store, and creates it where there is none. ARGV[1] the epoch the caller knows, empty at its first
-- call; ARGV[3] the epoch of a new store, ARGV[4] the format that the caller reads. Returns the format of the
-- store, what is known of the clock, and the epoch; of another format only what it is, and changes nothing.

local epoch = redis.call('GET', PREFIX .. 'epoch')
if ARGV[1] ~= '' and epoch ~= ARGV[1] then
  return emptied_error()
end
if not epoch then
  epoch = ARGV[3]
  redis.call('MSET', PREFIX .. 'epoch', epoch, PREFIX .. 'format', ARGV[4])
end
local format = redis.call('GET', PREFIX .. 'format')
if format ~= ARGV[4] then
  return { format }
end
redis.call('HSETNX', PREFIX .. 'meta', 'resumed', digits(now))
return { format, clock_reading(), epoch }
