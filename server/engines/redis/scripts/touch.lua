-- Notes a contact. ARGV[3] is the agent, ARGV[4] the kind of contact; of a push, ARGV[5] is whether it was
-- taken and ARGV[6] its outcome. Only pushes and registrations count as a change of the agent: ranking reads
-- no other statistic. Returns the same as `agent_status`.

-- Every note is a write, which may wait for the disk, and a second one within this time adds nothing.
local CONTACT_GRAIN_MS = 250

local id, kind = ARGV[3], ARGV[4]
local key = PREFIX .. 'agent:' .. id
if redis.call('EXISTS', key) == 0 then
  return { false, false }
end
local found = redis.call('HMGET', key, 'cm', 'p')
local is_contact = kind ~= 'push' or ARGV[5] == '1'
local since_ms = found[1] and now - tonumber(found[1])
local was_just_noted = (kind == 'call' or kind == 'push') and since_ms and since_ms >= 0
  and since_ms < CONTACT_GRAIN_MS
if is_contact and not was_just_noted then
  redis.call('HSET', key, 'cm', digits(now))
end
if kind == 'beat' then
  local last_beat = redis.call('HGET', key, 'bm')
  redis.call('HSET', key, 'bm', digits(now))
  if last_beat then
    redis.call('HSET', key, 'bg', digits(now - tonumber(last_beat)))
  end
elseif kind == 'push' and found[2] ~= ARGV[6] then
  redis.call('HSET', key, 'p', ARGV[6])
  record_change(id)
elseif kind == 'register' then
  redis.call('HDEL', key, 'p')
  record_change(id)
end
return { redis.call('HGET', PREFIX .. 'meta', 'resumed'), read_status(id) }
