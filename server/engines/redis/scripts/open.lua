-- Opens the store, and creates it where there is none. ARGV[1] the epoch the caller knows, empty at its first
-- call; ARGV[3] the epoch of a new store. Returns what is known of the clock, and the epoch.

local epoch = redis.call('GET', PREFIX .. 'epoch')
if ARGV[1] ~= '' and epoch ~= ARGV[1] then
  return emptied_error()
end
if not epoch then
  epoch = ARGV[3]
  redis.call('SET', PREFIX .. 'epoch', epoch)
end
redis.call('HSETNX', PREFIX .. 'meta', 'resumed', digits(now))
return { clock_reading(), epoch }
