-- Reads one value. ARGV[3] its kind, ARGV[4] its id. Answers: value and revision, or nothing.

local kind, id = ARGV[3], ARGV[4]
if kind == 'task' then
  return redis.call('HMGET', P .. 'task:' .. id, 's', 'r')
elseif kind == 'input' then
  return redis.call('HMGET', P .. 'task:' .. id, 'i', 'ir')
elseif kind == 'agent' then
  return redis.call('HMGET', P .. 'agent:' .. id, 'v', 'r')
end
local found = redis.call('HMGET', P .. 'key:' .. id, 'v', 'r', 'e')
if found[3] and tonumber(found[3]) <= now then
  return {}
end
return found
