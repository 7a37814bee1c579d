-- Opens the store, and creates it if there is none. ARGV[1] is the epoch that the caller knows (empty at its
-- first call), ARGV[3] the epoch for a new store, ARGV[4] the format that the caller writes and reads.
-- Returns the format of the store, the time and the epoch. A store of another format is not changed, and only
-- its format is returned.

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
