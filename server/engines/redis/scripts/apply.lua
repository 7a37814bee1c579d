-- Applies a general batch whose preconditions hold. Nothing in here may fail: Redis does not undo what a
-- script has done.

local meta = PREFIX .. 'meta'

local function reschedule(change)
  if change.remove then
    redis.call('ZREM', PREFIX .. 'due', change.ref)
    redis.call('HDEL', PREFIX .. 'leases', change.ref)
    return
  end
  if change.unlessHeld and redis.call('HEXISTS', PREFIX .. 'leases', change.ref) == 1
    and tonumber(redis.call('ZSCORE', PREFIX .. 'due', change.ref) or 0) > now then
    return
  end
  local ms = change.held and now + LEASE_MS or change.atMs
  redis.call('ZADD', PREFIX .. 'due', digits(ms), change.ref)
  if change.newLease then
    redis.call('HSET', PREFIX .. 'leases', change.ref, change.newLease)
  elseif not change.held then
    redis.call('HDEL', PREFIX .. 'leases', change.ref)
  end
  note_due(ms)
end

-- The time of this commit's events: never before that of an earlier event, so that feeds and retention agree.
local function event_ms()
  return math.max(now, tonumber(redis.call('HGET', meta, 'eventMs') or 0))
end

local function write_task(write, value, revision)
  local key = PREFIX .. 'task:' .. write.id
  local found = redis.call('HMGET', key, 'r', 'o', 'c', 'n', 'a', 'q')
  local existed, was_open = found[1], found[2] == '1'
  local created = digits(write.createdMs)
  local outcome = write.open and '1' or write.outcome
  count_task(write.id, class_of(found[2], found[5]), class_of(outcome, write.assignees), created, write.took,
    write.noAgent)
  local keeps_listings = existed and found[3] == created and found[4] == write.session
    and found[5] == write.assignees
  if existed and not keeps_listings then
    unlist_task(write.id, found[3], found[4], found[5])
  end
  if not keeps_listings then
    list_task(write.id, created, write.session, write.assignees)
  end
  if was_open ~= (write.open or false) then
    redis.call('HINCRBY', meta, 'open', write.open and 1 or -1)
  end
  update_claimable(write.id, found[6], write.claimable)
  redis.call('HSET', key, 's', value, 'r', revision, 'o', outcome, 'c', created, 'n',
    write.session, 'a', write.assignees)
  note_state(write.id, revision, value)
  if not write.open then
    redis.call('ZADD', PREFIX .. 'ended', digits(event_ms()), write.id)
  end
end

local function write_agent(write, value, revision)
  local key = PREFIX .. 'agent:' .. write.id
  if not value then
    redis.call('DEL', key)
    redis.call('ZREM', PREFIX .. 'agents', write.id)
    return
  end
  if redis.call('HGET', key, 'reg') ~= write.registration then
    redis.call('HSET', key, 'cm', digits(now), 'rm', digits(now))
    redis.call('HDEL', key, 'p', 'um')
  end
  redis.call('HSET', key, 'v', value, 'r', revision, 'reg', write.registration, 'lim', digits(write.limit), 'tags',
    write.tags)
  redis.call('ZADD', PREFIX .. 'agents', 0, write.id)
end

local function write_input(write, value, revision)
  redis.call('HSET', PREFIX .. 'task:' .. write.id, 'i', value, 'ir', revision)
end

local function write_key(write, value, revision)
  local key = PREFIX .. 'key:' .. write.id
  local expires = digits(now + write.keepMs)
  redis.call('HSET', key, 'v', value, 'r', revision, 'e', expires)
  redis.call('ZADD', PREFIX .. 'fade', expires, 'k:' .. write.id)
end

local WRITERS = { task = write_task, agent = write_agent, input = write_input, key = write_key }

local function change_slot(slot)
  local key = PREFIX .. 'slots:' .. slot.agent_id
  if slot.op == 'release' then
    redis.call('ZREM', key, slot.request_id)
    return
  end
  if not redis.call('ZSCORE', key, slot.request_id) then
    redis.call('ZADD', key, redis.call('HINCRBY', meta, 'grants', 1), slot.request_id)
  end
  if redis.call('EXISTS', PREFIX .. 'agent:' .. slot.agent_id) == 1 then
    redis.call('HSET', PREFIX .. 'agent:' .. slot.agent_id, 'lg', digits(now))
  end
end

local function change_waiting(wait)
  local key = PREFIX .. 'task:' .. wait.request_id
  if wait.op == 'leave' then
    local waiting = redis.call('HGET', key, 'w')
    if waiting then
      remove_waiting(waiting)
      redis.call('HDEL', key, 'w')
    end
    return
  end
  local position = position_of(wait.sinceMs, wait.request_id)
  add_waiting(position, wait.tags)
  -- The stored name of the position is `place`.
  redis.call('HSET', key, 'w', cjson.encode({ place = position, tags = wait.tags }))
end

local function add_event(event)
  local ms = event_ms()
  local last = redis.call('HMGET', meta, 'eventMs', 'eventNumber')
  local number = last[1] == digits(ms) and tonumber(last[2]) + 1 or 0
  redis.call('HSET', meta, 'eventMs', digits(ms), 'eventNumber', digits(number))
  local cursor = digits(ms) .. '-' .. digits(number)
  redis.call('XADD', PREFIX .. 'feed:' .. event.session, cursor, 't', event.request_id)
  redis.call('SADD', PREFIX .. 'crowded', event.session)
  if redis.call('EXISTS', PREFIX .. 'task:' .. event.request_id) == 1 then
    redis.call('HSET', PREFIX .. 'task:' .. event.request_id, 'e', cursor)
  end
end

local function add_unreported(unreported)
  local agent_id = unreported.agent_id
  local position = position_of(now, unreported.request_id)
  redis.call('ZADD', PREFIX .. 'unreported:' .. agent_id, 0, position)
  local expiring = 'u:' .. #agent_id .. ':' .. agent_id .. position
  redis.call('ZADD', PREFIX .. 'fade', digits(now + UNREPORTED_MS), expiring)
end

-- `values` are what the writes name by index.
local function apply(batch, values)
  local agents_before = {}
  for _, id in ipairs(batch.agents) do
    agents_before[id] = read_agent(id)
  end
  for _, change in ipairs(batch.due) do
    reschedule(change)
  end
  for _, write in ipairs(batch.writes) do
    WRITERS[write.kind](write, write.valueIndex and values[write.valueIndex], batch.revision)
  end
  for _, slot in ipairs(batch.slots) do
    change_slot(slot)
  end
  if batch.wait then
    begin_step()
    change_waiting(batch.wait)
  end
  if batch.event then
    add_event(batch.event)
  end
  if batch.unreported then
    add_unreported(batch.unreported)
  end
  for _, id in ipairs(batch.agents) do
    if update_agent(id, agents_before[id]) then
      note_due(now)
    end
  end
  for _, topic in ipairs(batch.topics) do
    note_topic(topic)
  end
end
