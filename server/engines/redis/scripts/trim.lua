-- One slice of retention: tasks by their end, things with an end of their own, sessions with too many events. ARGV[3] for
-- how long tasks are kept, ARGV[4] how many events a session may have, ARGV[5] how many things may go. Answers: how many
-- went, and whether there are sessions that were not looked at.

local SESSIONS_A_SLICE = 100

local keep, events_max, left = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local limit = left

-- Whether a cursor is behind another.
local function is_later(cursor, other)
  local ms, number = string.match(cursor, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= other_ms then
    return tonumber(ms) > tonumber(other_ms)
  end
  return tonumber(number) > tonumber(other_number)
end

-- Readers learn by this mark that something is missing. They may still come with an old cursor when no event is left;
-- after another such time the session is forgotten altogether.
local function note_trimmed(session, cursor)
  local mark = redis.call('GET', P .. 'trimmed:' .. session)
  if not mark or is_later(cursor, mark) then
    redis.call('SET', P .. 'trimmed:' .. session, cursor)
  end
  if redis.call('XLEN', P .. 'feed:' .. session) == 0 then
    redis.call('DEL', P .. 'feed:' .. session)
    redis.call('ZADD', P .. 'fade', digits(now + keep), 's:' .. session)
  end
end

local function trim_task(id)
  local key = P .. 'task:' .. id
  local found = redis.call('HMGET', key, 'c', 'n', 'a', 'e')
  if found[1] then
    unlist_task(id, found[1], found[2], found[3])
  end
  if found[4] then
    redis.call('XDEL', P .. 'feed:' .. found[2], found[4])
    note_trimmed(found[2], found[4])
  end
  redis.call('DEL', key)
  redis.call('ZREM', P .. 'ended', id)
end

-- A key may have been used anew, a session may have got events again, since its end was set.
local function trim_faded(fading)
  local kind, name = string.sub(fading, 1, 2), string.sub(fading, 3)
  if kind == 'k:' then
    redis.call('DEL', P .. 'key:' .. name)
  elseif kind == 's:' then
    if redis.call('EXISTS', P .. 'feed:' .. name) == 0 then
      redis.call('DEL', P .. 'trimmed:' .. name)
    end
  else
    local colon = string.find(name, ':', 1, true)
    local length = tonumber(string.sub(name, 1, colon - 1))
    local agent = string.sub(name, colon + 1, colon + length)
    redis.call('ZREM', P .. 'unreported:' .. agent, string.sub(name, colon + length + 1))
  end
  redis.call('ZREM', P .. 'fade', fading)
end

local function trim_session(session)
  local key = P .. 'feed:' .. session
  local over = redis.call('XLEN', key) - events_max
  local going = math.min(over, left)
  if going <= 0 then
    return
  end
  local events = redis.call('XRANGE', key, '-', '+', 'COUNT', going)
  for _, event in ipairs(events) do
    redis.call('XDEL', key, event[1])
  end
  note_trimmed(session, events[#events][1])
  left = left - going
  if over > going then
    redis.call('SADD', P .. 'crowded', session)
  end
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'ended', '-inf', digits(now - keep), 'LIMIT', 0, left)) do
  trim_task(id)
  left = left - 1
end
for _, fading in ipairs(redis.call('ZRANGEBYSCORE', P .. 'fade', '-inf', digits(now), 'LIMIT', 0, left)) do
  trim_faded(fading)
  left = left - 1
end
if left > 0 then
  for _, session in ipairs(redis.call('SPOP', P .. 'crowded', SESSIONS_A_SLICE)) do
    if left > 0 then
      trim_session(session)
    else
      redis.call('SADD', P .. 'crowded', session)
    end
  end
end
return { limit - left, redis.call('EXISTS', P .. 'crowded') }
