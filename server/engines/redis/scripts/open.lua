-- Opens the store, and creates it where there is none. ARGV[1] the epoch the caller knows, empty at its first
-- call; ARGV[3] the epoch of a new store; ARGV[4] the format that the caller writes and reads. Returns the
-- format of the store, the time, and the epoch; of another format only that, and changes
-- nothing.

local epoch = redis.call('GET', PREFIX .. 'epoch')
local format = redis.call('GET', PREFIX .. 'format') or '0'
if epoch and format ~= ARGV[4] then
  return { format }
end
if ARGV[1] ~= '' and epoch ~= ARGV[1] then
  return emptied_error()
end
if not epoch then
  epoch = ARGV[3]
  redis.call('MSET', PREFIX .. 'epoch', epoch, PREFIX .. 'format', ARGV[4])
end
redis.call('HSETNX', PREFIX .. 'meta', 'resumed', digits(now))
return { ARGV[4], digits(now), epoch }
