-- The writes that the commits of one script make together at its end. A key that many commits share gets one
-- command, and an agent is read once and written once. `write_deferred` must run before anything else reads
-- these keys.

-- Commands with all their arguments: by command and key, and in the order of first use.
local deferred, order = {}, {}
-- By key and field: what to add.
local increments = {}
-- Fields of `meta` as this script found or set them, and those that it set. Nil until a commit needs them.
local counters, set_counters
-- By id: what commits need of an agent's record, and how many slots it holds.
local agents = {}
-- By the JSON of tags: whether a task with one of these tags waits.
local waiting = {}
-- By ref: the tasks that have operations since the last `write_deferred`.
local touched = {}

-- Adds arguments to the command on the key. `second` may be nil.
local function defer(command, key, first, second)
  local name = command .. ' ' .. key
  local args = deferred[name]
  if not args then
    args = { command, PREFIX .. key }
    deferred[name] = args
    order[#order + 1] = args
  end
  args[#args + 1] = first
  args[#args + 1] = second
end

local COUNTERS = { 'open', 'eventMs', 'eventNumber', 'grants', 'changes', 'step', 'succeeded' }

local function count(field)
  if not counters then
    counters, set_counters = {}, {}
    for index, value in ipairs(redis.call('HMGET', PREFIX .. 'meta', unpack(COUNTERS))) do
      counters[COUNTERS[index]] = tonumber(value or 0)
    end
  end
  return counters[field]
end

local function set_count(field, value)
  counters[field] = value
  set_counters[field] = digits(value)
end

local function add_to(field, number)
  set_count(field, count(field) + number)
  return counters[field]
end

-- Whether a task waits for one of the tags, which are JSON. `id` is the agent with these tags, if there is
-- one.
local function is_waited_for(tags, id)
  if waiting[tags] == nil then
    local keys = {}
    for index, tag in ipairs(decode_list(tags, 'the tags of agent:' .. (id or ''))) do
      keys[index] = PREFIX .. 'waiting:' .. tag
    end
    waiting[tags] = #keys > 0 and redis.call('EXISTS', unpack(keys)) > 0
  end
  return waiting[tags]
end

local function count_free_slots(agent)
  return agent.registration and math.max(0, agent.limit - agent.used_slots) or 0
end

local function find_agent(id)
  local agent = agents[id]
  if not agent then
    local stored = redis.call('HMGET', PREFIX .. 'agent:' .. id, 'reg', 'lim', 'tags')
    agent = { registration = stored[1], limit = tonumber(stored[2] or 0), tags = stored[3],
      used_slots = redis.call('ZCARD', PREFIX .. 'slots:' .. id) }
    agent.free_tags = count_free_slots(agent) > 0 and agent.tags
    agents[id] = agent
  end
  return agent
end

-- Numbers the change of an agent by one commit. The fields `..._before` say how the commit found the agent.
-- If the agent has more free slots now, or registered again and has a free slot, and a task waits for one of
-- its tags, then the agent becomes due.
local function note_agent_change(id)
  local agent = agents[id]
  if not agent.registration then
    return
  end
  agent.change_number = add_to('changes', 1)
  local free_slots = count_free_slots(agent)
  local may_take_more = free_slots > agent.free_before
    or (free_slots > 0 and agent.registration ~= agent.registration_before)
  if may_take_more and is_waited_for(agent.tags, id) then
    defer('ZADD', 'due', digits(now), 'agent:' .. id)
    defer('HDEL', 'leases', 'agent:' .. id)
    note_due(now)
  end
end

local function change_free_sets(command, tags, id)
  for _, tag in ipairs(decode_list(tags, 'the tags of agent:' .. id)) do
    redis.call(command, PREFIX .. 'free:' .. tag, id)
  end
end

-- An agent is in the free set of each of its tags exactly while it has a record and holds fewer slots than
-- its limit. `free_tags` are the tags of the sets that have the agent; false if none has.
local function write_agent_change(id, agent)
  if agent.change_number then
    defer('ZADD', 'changed', digits(agent.change_number), id)
  end
  if agent.is_granted and agent.registration then
    redis.call('HSET', PREFIX .. 'agent:' .. id, 'lg', digits(now))
  end
  local free_tags = count_free_slots(agent) > 0 and agent.tags
  if free_tags == agent.free_tags then
    return
  end
  if agent.free_tags then
    change_free_sets('SREM', agent.free_tags, id)
  end
  if free_tags then
    change_free_sets('SADD', free_tags, id)
  end
end

-- How many values Lua passes to a call or returns at most. The number is even because some commands take
-- pairs.
local VALUES_MAX = 4000

-- Writes the deferred commands, and keeps what was read. A command with very many arguments is sent as
-- several.
local function write_commands()
  for _, args in ipairs(order) do
    local last = #args
    if last <= VALUES_MAX then
      redis.call(unpack(args))
    else
      for from = 3, last, VALUES_MAX do
        redis.call(args[1], args[2], unpack(args, from, math.min(from + VALUES_MAX - 1, last)))
      end
    end
  end
  deferred, order = {}, {}
end

-- Writes everything deferred, and forgets what was read.
local function write_deferred()
  for id, agent in pairs(agents) do
    write_agent_change(id, agent)
  end
  for field, value in pairs(set_counters or {}) do
    defer('HSET', 'meta', field, value)
  end
  write_commands()
  for key, added in pairs(increments) do
    for field, number in pairs(added) do
      redis.call('HINCRBY', PREFIX .. key, field, number)
    end
  end
  increments, counters, set_counters = {}, nil, nil
  agents, waiting, touched = {}, {}, {}
end
