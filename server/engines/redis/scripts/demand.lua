-- How many tasks are open and wait, and for what; ARGV[3] is how many tags at most. Returns the number of
-- open and of waiting tasks, the position of the oldest waiting one (empty without one), the number of
-- tags, and for each tag its name, how many tasks wait for it, and the position of the oldest of them. A
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
local waiting_tags, tags = PREFIX .. 'waiting-tags', {}
for _, tag in ipairs(redis.call('SRANDMEMBER', waiting_tags, ARGV[3])) do
  local first = redis.call('ZRANGE', PREFIX .. 'waiting:' .. tag, 0, 0)[1]
  if first then
    tags[#tags + 1] = { tag, redis.call('ZCARD', PREFIX .. 'waiting:' .. tag), first }
  else
    redis.call('SREM', waiting_tags, tag)
  end
end
local open = tonumber(redis.call('HGET', PREFIX .. 'meta', 'open') or 0)
return { open, redis.call('ZCARD', all), oldest, redis.call('SCARD', waiting_tags), tags }
