-- Reads one value. ARGV[3] is its kind, ARGV[4] its id. Returns the value and its revision, or nothing.

local kind, id = ARGV[3], ARGV[4]
if kind == 'task' then
  return redis.call('HMGET', PREFIX .. 'task:' .. id, 's', 'r')
elseif kind == 'input' then
  return redis.call('HMGET', PREFIX .. 'task:' .. id, 'i', 'ir')
elseif kind == 'agent' then
  return redis.call('HMGET', PREFIX .. 'agent:' .. id, 'v', 'r')
end
local found = redis.call('HMGET', PREFIX .. 'key:' .. id, 'v', 'r', 'e')
if found[3] and tonumber(found[3]) <= now then
  return {}
end
return found
