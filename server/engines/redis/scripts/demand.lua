-- How many tasks are open and wait, and for what; ARGV[3] is how many tags at most. Returns the number of
-- open and of waiting tasks, the position of the oldest waiting one (empty without one), and the tags. A
-- replica of an earlier version neither adds to these sets nor removes from them: what it left behind is
-- removed here, and what it lets wait is not counted.

-- Tasks that are looked at for the oldest one that still waits.
local STALE_MAX = 100

local all = PREFIX .. 'waiting-tasks'

local function find_oldest()
  for _ = 1, STALE_MAX do
    local position = redis.call('ZRANGE', all, 0, 0)[1]
    if not position then
      break
    end
    local id = string.sub(position, string.find(position, '/', 1, true) + 1)
    local waiting = redis.call('HGET', PREFIX .. 'task:' .. id, 'w')
    if waiting and cjson.decode(waiting).place == position then
      return position
    end
    redis.call('ZREM', all, position)
  end
  return ''
end

local oldest = find_oldest()
local tags = {}
for _, tag in ipairs(redis.call('SRANDMEMBER', PREFIX .. 'waiting-tags', ARGV[3])) do
  if redis.call('EXISTS', PREFIX .. 'waiting:' .. tag) == 1 then
    tags[#tags + 1] = tag
  else
    redis.call('SREM', PREFIX .. 'waiting-tags', tag)
  end
end
return { tonumber(redis.call('HGET', PREFIX .. 'meta', 'open') or 0), redis.call('ZCARD', all), oldest, tags }
