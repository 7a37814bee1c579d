-- The operations that few commits have. `operations.lua` explains the table.
--
--   letter  arguments            checks                    effect
--   J       agent                -                         the next due entry is that of this agent
--   N       tags                 no agent is free          -
--   C       agent, time          no later contact          -
--   A       number, most         number of agents          -
--   K       key, value, keep     the key is absent         stores the idempotency key for that long
--   B       agent, revision, registration, limit, tags, record
--                                the agent's revision      stores the record
--   D       agent, revision      the agent's revision      removes the record
--   w p     tags                 -                         the task joins or leaves the waiting tasks
--   f       tags                 -                         counts a task that found no agent with them
--   y t     details, or none     -                         stores or removes the task's details
--   r       agent, member, keep  -                         lists the task as unreported for that long

-- Adds the task to the waiting tasks, or removes it. These sets are written at once, because later checks
-- read whether a task waits.
local function change_waiting(joins, tags)
  begin_step()
  local command = joins and { 'ZADD', '', 0, task.position } or { 'ZREM', '', task.position }
  command[2] = PREFIX .. 'waiting-tasks'
  redis.call(unpack(command))
  for _, tag in ipairs(cjson.decode(tags)) do
    command[2] = PREFIX .. 'waiting:' .. tag
    redis.call(unpack(command))
    if joins then
      redis.call('SADD', PREFIX .. 'waiting-tags', tag)
    elseif redis.call('EXISTS', command[2]) == 0 then
      redis.call('SREM', PREFIX .. 'waiting-tags', tag)
    end
  end
  -- What was read of the waiting tasks is outdated now.
  waiting = {}
end

local function write_agent(id, registration, limit, tags, record)
  local key, agent = PREFIX .. 'agent:' .. id, change_agent(id)
  if agent.registration ~= registration then
    redis.call('HSET', key, 'cm', digits(now), 'rm', digits(now))
    redis.call('HDEL', key, 'p', 'um')
  end
  redis.call('HSET', key, 'v', record, 'r', commit.revision, 'reg', registration, 'lim', limit, 'tags', tags)
  redis.call('ZADD', PREFIX .. 'agents', 0, id)
  redis.call('ZREM', PREFIX .. 'gone', id)
  agent.registration, agent.limit, agent.tags = registration, tonumber(limit), tags
  note_topic('agent:' .. id)
end

local function remove_agent(id)
  local agent = change_agent(id)
  redis.call('DEL', PREFIX .. 'agent:' .. id)
  redis.call('ZREM', PREFIX .. 'agents', id)
  if agent.registration then
    redis.call('ZREM', PREFIX .. 'changed', id)
    redis.call('ZADD', PREFIX .. 'gone', digits(add_to('changes', 1)), id)
    if redis.call('ZCARD', PREFIX .. 'gone') > REMOVED_AGENTS_MAX then
      local oldest = redis.call('ZPOPMIN', PREFIX .. 'gone')
      redis.call('HSET', PREFIX .. 'meta', 'forgotten', oldest[2])
    end
  end
  agent.registration, agent.is_granted, agent.change_number = nil, false, nil
  note_topic('agent:' .. id)
end

-- If several agents are free, Redis names any of them.
local function find_free_agent(tags)
  write_deferred()
  for _, tag in ipairs(cjson.decode(tags)) do
    local id = redis.call('SRANDMEMBER', PREFIX .. 'free:' .. tag)
    if id then
      return 'free_agent ' .. id
    end
  end
end

-- The moment when sweeping resumed counts as a contact of each agent.
local function check_contact(id, ms)
  local resumed = redis.call('HGET', PREFIX .. 'meta', 'resumed')
  local contact = redis.call('HGET', PREFIX .. 'agent:' .. id, 'cm')
  return math.max(tonumber(resumed or 0), tonumber(contact or 0)) > tonumber(ms) and 'contact' or nil
end

function check_rare(letter, at)
  if letter == byte('J') then
    write_deferred()
    commit.due_ref = 'agent:' .. ARGV[at]
  elseif letter == byte('N') then
    return find_free_agent(ARGV[at])
  elseif letter == byte('C') then
    return check_contact(ARGV[at], ARGV[at + 1])
  elseif letter == byte('A') then
    return redis.call('ZCARD', PREFIX .. 'agents') + ARGV[at] > tonumber(ARGV[at + 1]) and 'full' or nil
  elseif letter == byte('K') then
    local stored = redis.call('HMGET', PREFIX .. 'key:' .. ARGV[at], 'r', 'e')
    local is_kept = stored[1] and (not stored[2] or tonumber(stored[2]) > now)
    return compare_revision(is_kept and stored[1], 'absent')
  elseif letter == byte('B') or letter == byte('D') then
    return compare_revision(redis.call('HGET', PREFIX .. 'agent:' .. ARGV[at], 'r'), ARGV[at + 1])
  else
    return check_output(letter, at)
  end
end

function apply_rare(letter, at)
  if letter == byte('J') then
    commit.due_ref = 'agent:' .. ARGV[at]
  elseif letter == byte('w') or letter == byte('p') then
    change_waiting(letter == byte('w'), ARGV[at])
  elseif letter == byte('f') then
    count_tags(begin_step(), cjson.decode(ARGV[at]))
  elseif letter == byte('y') then
    set_field('p', ARGV[at])
  elseif letter == byte('t') then
    redis.call('HDEL', PREFIX .. task.ref, 'p')
  elseif letter == byte('r') then
    local agent_id, member = ARGV[at], ARGV[at + 1]
    redis.call('ZADD', PREFIX .. 'unreported:' .. agent_id, 0, member)
    redis.call('ZADD', PREFIX .. 'fade', digits(now + ARGV[at + 2]), 'u:' .. #agent_id .. ':' .. agent_id .. member)
  elseif letter == byte('K') then
    local key, expires = PREFIX .. 'key:' .. ARGV[at], digits(now + ARGV[at + 2])
    redis.call('HSET', key, 'v', ARGV[at + 1], 'r', commit.revision, 'e', expires)
    redis.call('ZADD', PREFIX .. 'fade', expires, 'k:' .. ARGV[at])
  elseif letter == byte('B') then
    write_agent(ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
  elseif letter == byte('D') then
    remove_agent(ARGV[at])
  elseif letter == byte('O') or letter == byte('W') then
    apply_output(at)
  end
end
