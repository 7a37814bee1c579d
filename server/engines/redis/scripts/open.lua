-- Opens the store, and creates it where there is none. ARGV[1] the epoch the caller knows, empty at its first
-- call; ARGV[3] the epoch of a new store, or of one whose format is raised; ARGV[4] the format that the
-- caller writes, ARGV[5] the oldest that it reads. Returns the format of the store, what is known of the
-- clock, and the epoch; of a format that the caller does not read only that, and changes nothing.

local epoch = redis.call('GET', PREFIX .. 'epoch')
local format = tonumber(redis.call('GET', PREFIX .. 'format') or 0)
local written, oldest = tonumber(ARGV[4]), tonumber(ARGV[5])
if epoch and (format < oldest or format > written) then
  return { format }
end
if ARGV[1] ~= '' and epoch ~= ARGV[1] then
  return emptied_error()
end
if not epoch or format < written then
  epoch = ARGV[3]
  redis.call('MSET', PREFIX .. 'epoch', epoch, PREFIX .. 'format', written)
end
redis.call('HSETNX', PREFIX .. 'meta', 'resumed', digits(now))
return { written, clock_reading(), epoch }
