-- Runs one slice of retention. It removes old settled tasks, expired entries, output above its limit, and
-- events of sessions with too many. ARGV[3] is how long settled tasks are kept, ARGV[4] how many events a
-- session may have, ARGV[5] how many things may be removed, ARGV[6] how many bytes all output may have.
-- Returns how many things were removed, whether some sessions were not checked, and the names of damaged
-- entries.

local SESSIONS_PER_SLICE = 100

local keep_ms, events_max, limit = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local remaining = limit
-- How many removed tasks had succeeded.
local succeeded = 0

local function is_later(cursor, other)
  local ms, number = string.match(cursor, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= other_ms then
    return tonumber(ms) > tonumber(other_ms)
  end
  return tonumber(number) > tonumber(other_number)
end

-- Raises the session's high-water mark, by which readers learn that events are missing. A reader may come
-- with an old cursor when no event is left. So the mark of an empty session is kept for the retention time of
-- tasks.
local function note_trimmed(session, cursor)
  local high_water_mark = redis.call('GET', PREFIX .. 'trimmed:' .. session)
  if not high_water_mark or is_later(cursor, high_water_mark) then
    redis.call('SET', PREFIX .. 'trimmed:' .. session, cursor)
  end
  if redis.call('XLEN', PREFIX .. 'feed:' .. session) == 0 then
    redis.call('DEL', PREFIX .. 'feed:' .. session)
    redis.call('ZADD', PREFIX .. 'fade', digits(now + keep_ms), 's:' .. session)
  end
end

-- Removes the entries that `domain/projection.ts` says a settled task has.
local function unlist_task(id, created, session, assignees, outcome)
  local position = position_of(created, id)
  redis.call('ZREM', PREFIX .. 'all', position)
  redis.call('ZREM', PREFIX .. 'by-session:' .. session, position)
  for _, agent_id in ipairs(decode_list(assignees, 'task:' .. id)) do
    redis.call('ZREM', PREFIX .. 'by-agent:' .. agent_id, position)
  end
  if outcome == 'success' then
    succeeded = succeeded + 1
  else
    redis.call('ZREM', PREFIX .. 'by-outcome:' .. outcome, position)
  end
end

-- Removes the output of a settled task. Returns its bytes and the new `w`. If `w` is damaged or gone, it
-- returns 0 and nil: the bytes are unknown and still count.
local function remove_output(id, output)
  local next, last, bytes, writer = string.match(output or '', '^(%d+) (%d+) (%d+) %S (.*)$')
  redis.call('UNLINK', PREFIX .. 'output:' .. id)
  redis.call('ZREM', PREFIX .. 'ended-output', id)
  if not next then
    damaged[#damaged + 1] = 'the output of task:' .. id
    return 0, nil
  end
  redis.call('HINCRBY', PREFIX .. 'meta', 'outputBytes', digits(0 - bytes))
  return tonumber(bytes), table.concat({ next, last, 0, 'r', writer }, ' ')
end

-- The tasks that settled first lose their output first.
local function trim_output(bytes_max)
  local stored = redis.call('HMGET', PREFIX .. 'meta', 'outputBytes', 'outputBytesMax')
  if stored[2] ~= bytes_max then
    redis.call('HSET', PREFIX .. 'meta', 'outputBytesMax', bytes_max)
  end
  local bytes = tonumber(stored[1] or 0)
  while remaining > 0 and bytes > bytes_max * OUTPUT_FILLED_SHARE_MAX do
    local id = redis.call('ZRANGE', PREFIX .. 'ended-output', 0, 0)[1]
    if not id then
      return
    end
    local removed, output = remove_output(id, redis.call('HGET', PREFIX .. 'task:' .. id, 'w'))
    if output then
      redis.call('HSET', PREFIX .. 'task:' .. id, 'w', output)
    end
    bytes, remaining = bytes - removed, remaining - 1
  end
end

local function trim_task(id)
  local key = PREFIX .. 'task:' .. id
  local found = redis.call('HMGET', key, 'c', 'n', 'a', 'e', 'o', 'w')
  if found[1] then
    unlist_task(id, found[1], found[2], found[3], found[5])
  end
  if found[4] then
    redis.call('XDEL', PREFIX .. 'feed:' .. found[2], found[4])
    note_trimmed(found[2], found[4])
  end
  if found[6] then
    remove_output(id, found[6])
  end
  redis.call('DEL', key)
  redis.call('ZREM', PREFIX .. 'ended', id)
end

-- Drops the oldest of the last ended tasks if they are no longer stored.
local function trim_ended()
  local key = PREFIX .. 'last-ended'
  local oldest = redis.call('LINDEX', key, -1)
  while oldest
    and redis.call('EXISTS', PREFIX .. 'task:' .. (decode_list(oldest, 'last-ended')[1] or '')) == 0 do
    redis.call('RPOP', key)
    oldest = redis.call('LINDEX', key, -1)
  end
end

-- `expired` is a member of the expiry index. A session may have events again by now.
local function trim_expired(expired)
  local kind, name = string.sub(expired, 1, 2), string.sub(expired, 3)
  if kind == 'k:' then
    redis.call('DEL', PREFIX .. 'key:' .. name)
  elseif kind == 's:' then
    if redis.call('EXISTS', PREFIX .. 'feed:' .. name) == 0 then
      redis.call('DEL', PREFIX .. 'trimmed:' .. name)
    end
  else
    local length, rest = string.match(name, '^(%d+):(.*)$')
    if length then
      redis.call('ZREM', PREFIX .. 'unreported:' .. string.sub(rest, 1, length), string.sub(rest, length + 1))
    end
  end
  redis.call('ZREM', PREFIX .. 'fade', expired)
end

local function trim_session(session)
  local key = PREFIX .. 'feed:' .. session
  local excess = redis.call('XLEN', key) - events_max
  local count = math.min(excess, remaining)
  if count <= 0 then
    return
  end
  local events = redis.call('XRANGE', key, '-', '+', 'COUNT', count)
  for _, event in ipairs(events) do
    redis.call('XDEL', key, event[1])
  end
  note_trimmed(session, events[#events][1])
  remaining = remaining - count
  if excess > count then
    redis.call('SADD', PREFIX .. 'crowded', session)
  end
end

local settled_before = digits(now - keep_ms)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', PREFIX .. 'ended', '-inf', settled_before, 'LIMIT', 0, remaining)) do
  trim_task(id)
  remaining = remaining - 1
end
if remaining < limit then
  trim_ended()
end
if succeeded > 0 then
  redis.call('HINCRBY', PREFIX .. 'meta', 'succeeded', -succeeded)
end
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', PREFIX .. 'fade', '-inf', digits(now), 'LIMIT', 0, remaining)) do
  trim_expired(expired)
  remaining = remaining - 1
end
trim_output(ARGV[6])
if remaining > 0 then
  for _, session in ipairs(redis.call('SPOP', PREFIX .. 'crowded', SESSIONS_PER_SLICE)) do
    if remaining > 0 then
      trim_session(session)
    else
      redis.call('SADD', PREFIX .. 'crowded', session)
    end
  end
end
return { limit - remaining, redis.call('EXISTS', PREFIX .. 'crowded'), damaged }
