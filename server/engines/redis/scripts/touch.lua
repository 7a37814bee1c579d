-- Notes a contact. ARGV[3] the agent, ARGV[4] by what, ARGV[5] of a push whether it was taken, ARGV[6] what became of it.
-- A ranking looks at pushes, so they alone count as a change of the agent. Answers how it stands then, as `standing`.

local id, by = ARGV[3], ARGV[4]
local key = P .. 'agent:' .. id
if redis.call('EXISTS', key) == 0 then
  return { false, false }
end
if by ~= 'push' or ARGV[5] == '1' then
  redis.call('HSET', key, 'cm', digits(now))
end
if by == 'beat' then
  local last = redis.call('HGET', key, 'bm')
  redis.call('HSET', key, 'bm', digits(now))
  if last then
    redis.call('HSET', key, 'bg', digits(now - tonumber(last)))
  end
elseif by == 'push' then
  redis.call('HSET', key, 'p', ARGV[6])
  note_change(id)
elseif by == 'register' then
  redis.call('HDEL', key, 'p')
  note_change(id)
end
return { redis.call('HGET', P .. 'meta', 'resumed'), describe(id) }
