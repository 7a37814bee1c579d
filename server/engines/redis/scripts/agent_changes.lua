-- Reads one page of the agents that changed or were removed, in the order of their change numbers. Changes
-- after the number ARGV[3] are read, removals after the larger of ARGV[3] and ARGV[4], and at most ARGV[5] of
-- each. Returns when sweeping resumed, the last change number, the number up to which removals are forgotten,
-- the number up to which this page is complete, the changed agents (number, id, status), and the removed
-- agents. The page is the last one if it is complete up to the last change number.

local after, removed_after = tonumber(ARGV[3]), tonumber(ARGV[4])
local limit = tonumber(ARGV[5])
local meta = redis.call('HMGET', PREFIX .. 'meta', 'resumed', 'changes', 'forgotten')
local last = tonumber(meta[2] or '0')

local function read_after(key, number)
  return redis.call('ZRANGEBYSCORE', PREFIX .. key, '(' .. digits(number), '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
end

local removals = read_after('gone', math.max(after, removed_after))
local complete = #removals / 2 < limit and last or tonumber(removals[#removals])
local changes = read_after('changed', after)
if #changes / 2 == limit then
  complete = math.min(complete, tonumber(changes[#changes]))
end

local changed, bytes = {}, 0
for index = 1, #changes, 2 do
  local number = tonumber(changes[index + 1])
  if number > complete then
    break
  end
  if bytes > REPLY_BYTES then
    complete = tonumber(changes[index - 1])
    break
  end
  local status = read_status(changes[index])
  if status then
    bytes = bytes + #status[1]
    changed[#changed + 1] = { digits(number), changes[index], status }
  end
end
local removed = {}
for index = 1, #removals, 2 do
  if tonumber(removals[index + 1]) <= complete then
    removed[#removed + 1] = removals[index]
  end
end
return { meta[1], digits(last), meta[3] or '0', digits(complete), changed, removed }
