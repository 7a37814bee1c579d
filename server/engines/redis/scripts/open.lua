-- Opens the store: founds it where there is none, and says which it is. KEYS[1] opens the name of every key; ARGV[1] the epoch the caller
-- knows, empty at its first call; ARGV[2] the time, which tests alone hand in; ARGV[3] the epoch of a new store.
-- Answers: the time, the epoch.

local P = KEYS[1]
local now = ARGV[2]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local epoch = redis.call('GET', P .. 'epoch')
if ARGV[1] ~= '' and epoch ~= ARGV[1] then
  return redis.error_reply('EMPTIED it was emptied or replaced: what was accepted before is not in it; restore its data, or restart every gateway to begin anew')
end
if not epoch then
  epoch = ARGV[3]
  redis.call('SET', P .. 'epoch', epoch)
end
redis.call('HSETNX', P .. 'meta', 'resumed', now)
return { now, epoch }
