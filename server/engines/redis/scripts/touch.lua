-- Notes a contact. ARGV[3] is the agent, ARGV[4] the kind of contact; of a push, ARGV[5] is whether it is a
-- contact and ARGV[6] its outcome. Only pushes count as a change of the agent: ranking reads no other
-- statistic. Returns the same as `agent_status`.

-- Every note is a write, which may wait for the disk, and a second one within this time adds nothing.
local CONTACT_GRAIN_MS = 250

local id, kind = ARGV[3], ARGV[4]
local key = PREFIX .. 'agent:' .. id
if redis.call('EXISTS', key) == 0 then
  return { false, false }
end
local resumed = redis.call('HGET', PREFIX .. 'meta', 'resumed')
local found = redis.call('HMGET', key, 'cm', 'p', 'bm', 'rm')
local is_contact = kind ~= 'push' or ARGV[5] == '1'
local since_ms = found[1] and now - tonumber(found[1])
local was_just_noted = kind ~= 'beat' and since_ms and since_ms >= 0 and since_ms < CONTACT_GRAIN_MS
if is_contact and not was_just_noted then
  redis.call('HSET', key, 'cm', digits(now))
end
if kind == 'beat' then
  redis.call('HSET', key, 'bm', digits(now))
  if found[3] or found[4] then
    local from = math.max(tonumber(found[3] or 0), tonumber(found[4] or 0), tonumber(resumed or 0))
    redis.call('HSET', key, 'bg', digits(now - from))
  end
elseif kind == 'push' then
  if is_contact then
    redis.call('HDEL', key, 'um')
  else
    redis.call('HSETNX', key, 'um', digits(now))
  end
  if found[2] ~= ARGV[6] then
    redis.call('HSET', key, 'p', ARGV[6])
    record_change(id)
  end
end
return { resumed, read_status(id) }
