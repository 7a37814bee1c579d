-- The writes that flat commits of one script make together at its end, and the counts of any commit: keys
-- that many of them share get one command each, and an agent is read once and written once. `write_deferred`
-- must run before anything else reads these keys.

-- By command and key, in the order of their first use: the command with all its arguments.
local deferred, order = {}, {}
-- By key and field: what is added to it.
local increments = {}
-- Fields of `meta` as this script found them or set them, and those it set; nil until a commit needs them.
local counters, set_counters
-- By id: the record as far as commits need it, and how many slots it holds.
local agents = {}
-- By the JSON of some tags: whether a task with one of them waits.
local waiting = {}
-- The tasks that were committed since the last `write_deferred`.
local written_tasks = {}

-- Adds arguments to the command on the key; `second` may be nil.
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

-- Adds one to the field of the hash.
local function increment(key, field)
  local fields = increments[key] or {}
  increments[key] = fields
  fields[field] = (fields[field] or 0) + 1
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

-- Whether a task waits for one of the tags, which come as JSON.
local function is_waited_for(tags)
  if waiting[tags] == nil then
    local keys = {}
    for index, tag in ipairs(cjson.decode(tags)) do
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
    local found = redis.call('HMGET', PREFIX .. 'agent:' .. id, 'reg', 'lim', 'tags')
    agent = { registration = found[1], limit = tonumber(found[2] or 0), tags = found[3],
      used_slots = redis.call('ZCARD', PREFIX .. 'slots:' .. id) }
    agent.was_free = count_free_slots(agent) > 0
    agents[id] = agent
  end
  return agent
end

-- Notes a change of the agent, which had so many free slots before. Returns whether it became due: when it
-- came to have more while a task waits for one of its tags.
local function note_agent_change(id, agent, free_before)
  if not agent.registration then
    return false
  end
  agent.change_number = add_to('changes', 1)
  if count_free_slots(agent) <= free_before or not is_waited_for(agent.tags) then
    return false
  end
  defer('ZADD', 'due', digits(now), 'agent:' .. id)
  defer('HDEL', 'leases', 'agent:' .. id)
  return true
end

-- The free sets are touched only where an agent came to have its first free slot, or lost its last one.
local function write_agent_change(id, agent)
  defer('ZADD', 'changed', digits(agent.change_number), id)
  if agent.is_granted then
    redis.call('HSET', PREFIX .. 'agent:' .. id, 'lg', digits(now))
  end
  local is_free = count_free_slots(agent) > 0
  if is_free ~= agent.was_free then
    for _, tag in ipairs(cjson.decode(agent.tags)) do
      redis.call(is_free and 'SADD' or 'SREM', PREFIX .. 'free:' .. tag, id)
    end
  end
end

-- Writes what was deferred and forgets what was read.
local function write_deferred()
  for id, agent in pairs(agents) do
    if agent.change_number then
      write_agent_change(id, agent)
    end
  end
  for field, value in pairs(set_counters or {}) do
    defer('HSET', 'meta', field, value)
  end
  for _, args in ipairs(order) do
    redis.call(unpack(args))
  end
  for key, fields in pairs(increments) do
    for field, number in pairs(fields) do
      redis.call('HINCRBY', PREFIX .. key, field, number)
    end
  end
  deferred, order, increments, counters, set_counters = {}, {}, {}, nil, nil
  agents, waiting, written_tasks = {}, {}, {}
end
