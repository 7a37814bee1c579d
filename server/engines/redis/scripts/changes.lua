-- Agents that changed since a number, in the order of their changes. ARGV[3] the number, ARGV[4] the number from which on
-- those that went are told, ARGV[5] how many at most. Answers: since when sweeping goes on, the number of the last change,
-- the number below which those that went are forgotten, then changed agents with their numbers, then those that went.

local after, gone_after, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])
local meta = redis.call('HMGET', P .. 'meta', 'resumed', 'changes', 'forgotten')
local ids = redis.call('ZRANGEBYSCORE', P .. 'changed', '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
local changed = {}
for index = 1, #ids, 2 do
  local found = describe(ids[index])
  if found then
    changed[#changed + 1] = { ids[index + 1], found }
  end
end
local gone = {}
if #ids / 2 < limit then
  gone = redis.call('ZRANGEBYSCORE', P .. 'gone', '(' .. gone_after, '+inf')
end
return { meta[1], meta[2] or '0', meta[3] or '0', #ids / 2, changed, gone }
