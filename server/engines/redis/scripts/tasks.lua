-- Tasks: adding one to its listings and to the waiting tasks, removing it from them, and keeping it where
-- claims find it.

local function listings_of(session, assignees)
  local listings = { PREFIX .. 'all', PREFIX .. 'by-session:' .. session }
  for _, agent_id in ipairs(cjson.decode(assignees)) do
    listings[#listings + 1] = PREFIX .. 'by-agent:' .. agent_id
  end
  return listings
end

local function list_task(id, created, session, assignees)
  local position = position_of(created, id)
  for _, listing in ipairs(listings_of(session, assignees)) do
    redis.call('ZADD', listing, 0, position)
  end
end

local function unlist_task(id, created, session, assignees)
  local position = position_of(created, id)
  for _, listing in ipairs(listings_of(session, assignees)) do
    redis.call('ZREM', listing, position)
  end
end

-- The class of a task, by its fields `o` and `a`: `pending`, `running` or its outcome. Nil without a
-- task.
local function class_of(outcome, assignees)
  if outcome == '1' then
    return assignees == '[]' and 'pending' or 'running'
  end
  return outcome or nil
end

local function is_open(class)
  return class == 'pending' or class == 'running'
end

-- The sorted set that has the tasks of a class; nil where none does.
local function set_of(class)
  if not class or class == 'success' then
    return nil
  end
  return is_open(class) and class .. '-tasks' or 'by-outcome:' .. class
end

local function add_waiting(position, tags)
  redis.call('ZADD', PREFIX .. 'waiting-tasks', 0, position)
  for _, tag in ipairs(tags) do
    redis.call('ZADD', PREFIX .. 'waiting:' .. tag, 0, position)
    redis.call('SADD', PREFIX .. 'waiting-tags', tag)
  end
end

-- `encoded` is the field `w` of the task: its position among the waiting tasks, stored as `place`, and its
-- tags.
local function remove_waiting(encoded)
  local waiting = cjson.decode(encoded)
  redis.call('ZREM', PREFIX .. 'waiting-tasks', waiting.place)
  for _, tag in ipairs(waiting.tags) do
    redis.call('ZREM', PREFIX .. 'waiting:' .. tag, waiting.place)
    if redis.call('EXISTS', PREFIX .. 'waiting:' .. tag) == 0 then
      redis.call('SREM', PREFIX .. 'waiting-tags', tag)
    end
  end
end

-- `encoded` is the field `q` of the task: where a claim finds it.
local function remove_claimable(encoded)
  local claimable = cjson.decode(encoded)
  redis.call('ZREM', PREFIX .. 'claimable:' .. claimable.agent, claimable.position)
end

-- Puts the task where its new state says; `claimable` is nil when no claim may hand it out.
local function update_claimable(id, encoded, claimable)
  local key = PREFIX .. 'task:' .. id
  if encoded then
    remove_claimable(encoded)
  end
  if not claimable then
    if encoded then
      redis.call('HDEL', key, 'q')
    end
    return
  end
  local position = position_of(claimable.assignedMs, id)
  redis.call('ZADD', PREFIX .. 'claimable:' .. claimable.agent_id, digits(claimable.fromMs), position)
  redis.call('HSET', key, 'q', cjson.encode({ agent = claimable.agent_id, position = position }))
end
