-- Notes a contact. ARGV[3] the agent, ARGV[4] by what, ARGV[5] of a push whether it was taken, ARGV[6] what became of it.
-- A ranking looks at pushes, so they alone count as a change of the agent. Answers how it stands then, as `standing`.

-- Every note is a write, which the disk is waited for, and says nothing that a note of a moment ago has not said.
local CONTACT_GRAIN_MS = 250

local id, by = ARGV[3], ARGV[4]
local key = P .. 'agent:' .. id
if redis.call('EXISTS', key) == 0 then
  return { false, false }
end
local noted = redis.call('HMGET', key, 'cm', 'p')
local is_contact = by ~= 'push' or ARGV[5] == '1'
local since = noted[1] and now - tonumber(noted[1])
local is_known = (by == 'call' or by == 'push') and since and since >= 0 and since < CONTACT_GRAIN_MS
if is_contact and not is_known then
  redis.call('HSET', key, 'cm', digits(now))
end
if by == 'beat' then
  local last = redis.call('HGET', key, 'bm')
  redis.call('HSET', key, 'bm', digits(now))
  if last then
    redis.call('HSET', key, 'bg', digits(now - tonumber(last)))
  end
elseif by == 'push' and noted[2] ~= ARGV[6] then
  redis.call('HSET', key, 'p', ARGV[6])
  note_change(id)
elseif by == 'register' then
  redis.call('HDEL', key, 'p')
  note_change(id)
end
return { redis.call('HGET', P .. 'meta', 'resumed'), describe(id) }
