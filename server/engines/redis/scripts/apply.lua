-- Applies a batch that was judged. Nothing in here may fail: what a script has done is not undone.

-- For how long a task that ended without its agent's report is told to that agent.
local UNREPORTED_MS = 600000
local LEASE_MS = 1500

local meta = P .. 'meta'

-- The earliest moment this commit makes anything due; nil: none.
local due_ms

local function note_due(ms)
  if not due_ms or ms < due_ms then
    due_ms = ms
  end
end

local function retime(change)
  if change.remove then
    redis.call('ZREM', P .. 'due', change.ref)
    redis.call('HDEL', P .. 'leases', change.ref)
    return
  end
  if change.unlessHeld and redis.call('HEXISTS', P .. 'leases', change.ref) == 1
    and tonumber(redis.call('ZSCORE', P .. 'due', change.ref) or 0) > now then
    return
  end
  local ms = change.held and now + LEASE_MS or change.at
  redis.call('ZADD', P .. 'due', digits(ms), change.ref)
  if not change.held then
    redis.call('HDEL', P .. 'leases', change.ref)
  end
  note_due(ms)
end

-- The moment this commit ends things: never before that of an earlier one, so that feeds and retention agree.
local function stamp()
  return math.max(now, tonumber(redis.call('HGET', meta, 'eventMs') or 0))
end

local function write_task(write, value, revision)
  local key = P .. 'task:' .. write.id
  local found = redis.call('HMGET', key, 'r', 'o', 'c', 'n', 'a', 'w')
  local was_there, was_open = found[1], found[2] == '1'
  local created = write.created and digits(write.created)
  local is_listed_alike = was_there and value and found[3] == created and found[4] == write.session
    and found[5] == write.assignees
  if was_there and not is_listed_alike then
    unlist_task(write.id, found[3], found[4], found[5])
  end
  if value and not is_listed_alike then
    list_task(write.id, created, write.session, write.assignees)
  end
  if was_open ~= (write.open or false) then
    redis.call('HINCRBY', meta, 'open', write.open and 1 or -1)
  end
  if found[6] and not write.open then
    leave_waiters(found[6])
    redis.call('HDEL', key, 'w')
  end
  if not value then
    redis.call('HDEL', key, 's', 'r', 'o', 'c', 'n', 'a', 'e')
    redis.call('ZREM', P .. 'ended', write.id)
    return
  end
  redis.call('HSET', key, 's', value, 'r', revision, 'o', write.open and '1' or '0', 'c', created, 'n',
    write.session, 'a', write.assignees)
  if not write.open then
    redis.call('ZADD', P .. 'ended', digits(stamp()), write.id)
  elseif was_there and not was_open then
    redis.call('ZREM', P .. 'ended', write.id)
  end
end

local function write_agent(write, value, revision)
  local key = P .. 'agent:' .. write.id
  if not value then
    redis.call('DEL', key)
    redis.call('ZREM', P .. 'agents', write.id)
    return
  end
  redis.call('HSET', key, 'v', value, 'r', revision, 'reg', write.registration, 'lim', digits(write.limit), 'tags',
    write.tags)
  redis.call('ZADD', P .. 'agents', 0, write.id)
end

local function write_input(write, value, revision)
  local key = P .. 'task:' .. write.id
  if value then
    redis.call('HSET', key, 'i', value, 'ir', revision)
  else
    redis.call('HDEL', key, 'i', 'ir')
  end
end

local function write_key(write, value, revision)
  local key = P .. 'key:' .. write.id
  redis.call('DEL', key)
  if not value then
    redis.call('ZREM', P .. 'fade', 'k:' .. write.id)
    return
  end
  redis.call('HSET', key, 'v', value, 'r', revision)
  if write.keep then
    redis.call('HSET', key, 'e', digits(now + write.keep))
    redis.call('ZADD', P .. 'fade', digits(now + write.keep), 'k:' .. write.id)
  end
end

local WRITERS = { task = write_task, agent = write_agent, input = write_input, key = write_key }

local function change_slot(slot)
  local key = P .. 'slots:' .. slot.agent
  if slot.op == 'release' then
    redis.call('ZREM', key, slot.task)
    return
  end
  if not redis.call('ZSCORE', key, slot.task) then
    redis.call('ZADD', key, redis.call('HINCRBY', meta, 'grants', 1), slot.task)
  end
  if redis.call('EXISTS', P .. 'agent:' .. slot.agent) == 1 then
    redis.call('HSET', P .. 'agent:' .. slot.agent, 'lg', digits(now))
  end
end

local function change_waiter(wait)
  local key = P .. 'task:' .. wait.task
  local waits = redis.call('HGET', key, 'w')
  if waits then
    leave_waiters(waits)
    redis.call('HDEL', key, 'w')
  end
  if wait.op == 'leave' or redis.call('EXISTS', key) == 0 then
    return
  end
  local place = place_of(wait.since, wait.task)
  for _, tag in ipairs(wait.tags) do
    redis.call('ZADD', P .. 'waiting:' .. tag, 0, place)
  end
  redis.call('HSET', key, 'w', cjson.encode({ place = place, tags = wait.tags }))
end

local function add_event(event)
  local ms = stamp()
  local mark = redis.call('HMGET', meta, 'eventMs', 'eventNumber')
  local number = mark[1] == digits(ms) and tonumber(mark[2]) + 1 or 0
  redis.call('HSET', meta, 'eventMs', digits(ms), 'eventNumber', digits(number))
  local cursor = digits(ms) .. '-' .. digits(number)
  redis.call('XADD', P .. 'feed:' .. event.session, cursor, 't', event.task)
  redis.call('SADD', P .. 'crowded', event.session)
  if redis.call('EXISTS', P .. 'task:' .. event.task) == 1 then
    redis.call('HSET', P .. 'task:' .. event.task, 'e', cursor)
  end
end

local function add_unreported(unreported)
  local place = place_of(now, unreported.task)
  redis.call('ZADD', P .. 'unreported:' .. unreported.agent, 0, place)
  local fading = 'u:' .. #unreported.agent .. ':' .. unreported.agent .. place
  redis.call('ZADD', P .. 'fade', digits(now + UNREPORTED_MS), fading)
end

local function apply(plan, values)
  local agents = {}
  for _, id in ipairs(plan.agents) do
    agents[id] = look_at(id)
  end
  for _, change in ipairs(plan.due) do
    retime(change)
  end
  for _, write in ipairs(plan.writes) do
    WRITERS[write.kind](write, write.value and values[write.value], plan.revision)
  end
  for _, slot in ipairs(plan.slots) do
    change_slot(slot)
  end
  if plan.wait then
    change_waiter(plan.wait)
  end
  if plan.event then
    add_event(plan.event)
  end
  if plan.unreported then
    add_unreported(plan.unreported)
  end
  for _, id in ipairs(plan.agents) do
    if follow_agent(id, agents[id]) then
      note_due(now)
    end
  end
  if due_ms or plan.topics ~= '[]' then
    redis.call('PUBLISH', P .. 'hints', (due_ms and digits(due_ms) or '') .. ' ' .. plan.by .. ' ' .. plan.topics)
  end
end
