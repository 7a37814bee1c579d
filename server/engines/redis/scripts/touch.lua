-- Notes a contact of an agent. ARGV[3] is the agent, ARGV[4] the kind of contact. For a push, ARGV[5] says
-- whether the push is a contact, and ARGV[6] is its outcome; else both are empty. Only the outcome of a push
-- counts as a change of the agent, because ranking reads nothing else here. Returns the time of the agent's
-- last contact, its record and the record's revision; nothing without a record.

-- Every note is a write, which may wait for the disk. So a second contact within `CONTACT_GRAIN_MS` is not
-- noted.

local function note_contact(id, kind, is_contact)
  local key = PREFIX .. 'agent:' .. id
  local found = redis.call('HMGET', key, 'cm', 'bm', 'rm')
  local since_ms = found[1] and now - tonumber(found[1])
  local was_just_noted = kind ~= 'beat' and since_ms and since_ms >= 0 and since_ms < CONTACT_GRAIN_MS
  if is_contact and not was_just_noted then
    redis.call('HSET', key, 'cm', digits(now))
  end
  if kind == 'beat' then
    redis.call('HSET', key, 'bm', digits(now))
    if found[2] or found[3] then
      local resumed = redis.call('HGET', PREFIX .. 'meta', 'resumed')
      local from = math.max(tonumber(found[2] or 0), tonumber(found[3] or 0), tonumber(resumed or 0))
      redis.call('HSET', key, 'bg', digits(now - from))
    end
  end
end

local function note_push(id, is_contact, outcome)
  local key = PREFIX .. 'agent:' .. id
  if is_contact then
    redis.call('HDEL', key, 'um')
  else
    redis.call('HSETNX', key, 'um', digits(now))
  end
  if redis.call('HGET', key, 'p') ~= outcome then
    redis.call('HSET', key, 'p', outcome)
    record_change(id)
  end
end

local id, kind, is_contact, outcome = ARGV[3], ARGV[4], ARGV[5] ~= '0', ARGV[6]
if redis.call('EXISTS', PREFIX .. 'agent:' .. id) == 0 then
  return {}
end
note_contact(id, kind, is_contact)
if kind == 'push' then
  note_push(id, is_contact, outcome)
end
return redis.call('HMGET', PREFIX .. 'agent:' .. id, 'cm', 'v', 'r')
