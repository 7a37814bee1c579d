-- How many tasks are open and wait, and for what; ARGV[3] is how many tags at most. Returns the number of
-- open and of waiting tasks, the position of the oldest waiting one (empty without one), the number of
-- tags, and for each tag its name, how many tasks wait for it, and the position of the oldest of them.

local all, waiting_tags, tags = PREFIX .. 'waiting-tasks', PREFIX .. 'waiting-tags', {}
for index, tag in ipairs(redis.call('SRANDMEMBER', waiting_tags, ARGV[3])) do
  local waiting = PREFIX .. 'waiting:' .. tag
  tags[index] = { tag, redis.call('ZCARD', waiting), redis.call('ZRANGE', waiting, 0, 0)[1] }
end
local open = tonumber(redis.call('HGET', PREFIX .. 'meta', 'open') or 0)
local oldest = redis.call('ZRANGE', all, 0, 0)[1] or ''
return { open, redis.call('ZCARD', all), oldest, redis.call('SCARD', waiting_tags), tags }
