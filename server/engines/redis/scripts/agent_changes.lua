-- Reads the agents that changed or were removed, in the order of their change numbers. ARGV[3] is the number
-- after which changes are read, ARGV[4] the number after which removals are, ARGV[5] how many changes at
-- most. Returns when sweeping resumed, the last change number, the number up to which removals are forgotten,
-- how many changes were read, then each changed agent with its number, then the removed ones (only with the
-- last slice of changes).

local after, removed_after, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])
local meta = redis.call('HMGET', PREFIX .. 'meta', 'resumed', 'changes', 'forgotten')
local ids = redis.call('ZRANGEBYSCORE', PREFIX .. 'changed', '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
local changed = {}
for index = 1, #ids, 2 do
  local status = read_status(ids[index])
  if status then
    changed[#changed + 1] = { ids[index + 1], status }
  end
end
local removed = {}
if #ids / 2 < limit then
  removed = redis.call('ZRANGEBYSCORE', PREFIX .. 'gone', '(' .. removed_after, '+inf')
end
return { meta[1], meta[2] or '0', meta[3] or '0', #ids / 2, changed, removed }
