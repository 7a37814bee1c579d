-- The operations of which most scripts have none: defined only for a script that has one, because to define
-- them costs as much as to apply a few others. `operations.lua` explains the table.
--
--   letter  arguments            checks                    effect
--   J       agent                -                         the due entry that follows is that of this agent
--   W w     tags                 -                         joins or leaves the waiting tasks
--   s       tags                 -                         the task found no agent for them
--   V       agent, member, keep  -                         is listed as unreported for that long
--   f       tags                 that no agent is free     -
--   c       agent, time          no contact after it       -
--   m       number, most         the agents                -
--   K       key, value, keep     that there is none        the idempotency key, for that long
--   B       agent, revision, registration, limit, tags, record
--                                its revision              its record
--   b       agent, revision      its revision              removes its record

local function begin_agent(at)
  ref, is_ref_of_task = 'agent:' .. ARGV[at], false
end

local function check_agent(at)
  return compare_revision(redis.call('HGET', PREFIX .. 'agent:' .. ARGV[at], 'r'), ARGV[at + 1])
end

-- Written at once, unlike other sets: if it were deferred, a check would miss that a task waits.
local function join_waiting(at)
  begin_step()
  redis.call('ZADD', PREFIX .. 'waiting-tasks', 0, task.position)
  for _, tag in ipairs(cjson.decode(ARGV[at])) do
    redis.call('ZADD', PREFIX .. 'waiting:' .. tag, 0, task.position)
    redis.call('SADD', PREFIX .. 'waiting-tags', tag)
  end
  forget_waiting()
end

local function leave_waiting(at)
  begin_step()
  redis.call('ZREM', PREFIX .. 'waiting-tasks', task.position)
  for _, tag in ipairs(cjson.decode(ARGV[at])) do
    redis.call('ZREM', PREFIX .. 'waiting:' .. tag, task.position)
    if redis.call('EXISTS', PREFIX .. 'waiting:' .. tag) == 0 then
      redis.call('SREM', PREFIX .. 'waiting-tags', tag)
    end
  end
  forget_waiting()
end

local function write_agent(at)
  local id, registration, limit, tags = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local key, agent = PREFIX .. 'agent:' .. id, change_agent(id)
  if agent.registration ~= registration then
    redis.call('HSET', key, 'cm', digits(now), 'rm', digits(now))
    redis.call('HDEL', key, 'p', 'um')
  end
  redis.call('HSET', key, 'v', ARGV[at + 5], 'r', revision, 'reg', registration, 'lim', limit, 'tags', tags)
  redis.call('ZADD', PREFIX .. 'agents', 0, id)
  redis.call('ZREM', PREFIX .. 'gone', id)
  agent.registration, agent.limit, agent.tags = registration, tonumber(limit), tags
  note_topic('agent:' .. id)
end

local function remove_agent(at)
  local id = ARGV[at]
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

local function write_key(at)
  local key, expires = PREFIX .. 'key:' .. ARGV[at], digits(now + ARGV[at + 2])
  redis.call('HSET', key, 'v', ARGV[at + 1], 'r', revision, 'e', expires)
  redis.call('ZADD', PREFIX .. 'fade', expires, 'k:' .. ARGV[at])
end

local function check_key(at)
  local stored = redis.call('HMGET', PREFIX .. 'key:' .. ARGV[at], 'r', 'e')
  local is_kept = stored[1] and (not stored[2] or tonumber(stored[2]) > now)
  return compare_revision(is_kept and stored[1], 'absent')
end

-- If several agents are free, Redis chooses which is named.
local function find_free_agent(at)
  write_deferred()
  for _, tag in ipairs(cjson.decode(ARGV[at])) do
    local id = redis.call('SRANDMEMBER', PREFIX .. 'free:' .. tag)
    if id then
      return 'free_agent ' .. id
    end
  end
end

-- When sweeping resumed, each agent counts as one that had a contact.
local function check_contact(at)
  local resumed = redis.call('HGET', PREFIX .. 'meta', 'resumed')
  local contact = redis.call('HGET', PREFIX .. 'agent:' .. ARGV[at], 'cm')
  return math.max(tonumber(resumed or 0), tonumber(contact or 0)) > tonumber(ARGV[at + 1]) and 'contact' or nil
end

local function check_agents(at)
  return redis.call('ZCARD', PREFIX .. 'agents') + ARGV[at] > tonumber(ARGV[at + 1]) and 'full' or nil
end

local function list_unreported(at)
  local agent_id, member = ARGV[at], ARGV[at + 1]
  redis.call('ZADD', PREFIX .. 'unreported:' .. agent_id, 0, member)
  redis.call('ZADD', PREFIX .. 'fade', digits(now + ARGV[at + 2]), 'u:' .. #agent_id .. ':' .. agent_id .. member)
end

local function check_due_of_agent(at)
  write_deferred()
  begin_agent(at)
end

for letter, check in pairs({ J = check_due_of_agent, f = find_free_agent, c = check_contact, m = check_agents,
  K = check_key, B = check_agent, b = check_agent }) do
  CHECKS[letter] = check
end
for letter, effect in pairs({ J = begin_agent, W = join_waiting, w = leave_waiting, V = list_unreported,
  K = write_key, B = write_agent, b = remove_agent, s = function(at)
    count_tags(begin_step(), cjson.decode(ARGV[at]))
  end }) do
  EFFECTS[letter] = effect
end
