-- Whether a batch may be applied to the store as it is. Looks, changes nothing.

local function revision_of(write)
  if write.kind == 'task' then
    return redis.call('HGET', P .. 'task:' .. write.id, 'r')
  elseif write.kind == 'input' then
    return redis.call('HGET', P .. 'task:' .. write.id, 'ir')
  elseif write.kind == 'agent' then
    return redis.call('HGET', P .. 'agent:' .. write.id, 'r')
  end
  local found = redis.call('HMGET', P .. 'key:' .. write.id, 'r', 'e')
  return found[1] and (not found[2] or tonumber(found[2]) > now) and found[1]
end

-- Grants of one batch count together; a slot that is held already costs nothing.
local function are_grantable(slots)
  local agents = {}
  for _, slot in ipairs(slots) do
    local agent = agents[slot.agent] or look_at(slot.agent)
    agents[slot.agent] = agent
    local is_held = redis.call('ZSCORE', P .. 'slots:' .. slot.agent, slot.task)
    if slot.op == 'release' then
      if is_held then
        agent.room = agent.room + 1
      end
    elseif not is_held then
      if agent.registration ~= slot.registration or agent.room <= 0 then
        return false
      end
      agent.room = agent.room - 1
    end
  end
  return true
end

local function find_free(tags)
  for _, tag in ipairs(tags) do
    local agent = redis.call('SRANDMEMBER', P .. 'free:' .. tag)
    if agent then
      return agent
    end
  end
end

-- Only what the batch adds is refused: what is there already may still end or change.
local function is_full(plan)
  local tasks, agents = 0, 0
  for _, write in ipairs(plan.writes) do
    if write.kind == 'task' then
      local is_open = redis.call('HGET', P .. 'task:' .. write.id, 'o') == '1'
      tasks = tasks + (write.open and 1 or 0) - (is_open and 1 or 0)
    elseif write.kind == 'agent' then
      local is_there = redis.call('EXISTS', P .. 'agent:' .. write.id) == 1
      agents = agents + (write.value and 1 or 0) - (is_there and 1 or 0)
    end
  end
  if tasks > 0 and plan.tasksMax then
    local open = tonumber(redis.call('HGET', P .. 'meta', 'open') or 0)
    if open + tasks > plan.tasksMax then
      return true
    end
  end
  return agents > 0 and plan.agentsMax and redis.call('ZCARD', P .. 'agents') + agents > plan.agentsMax
end

-- What is answered to a batch that is not to be applied: the first reason against it, or `ok` where it was applied
-- before and its caller, who lost the answer, asks again. nil: it may be applied.
local function judge(plan)
  if plan.notAfter and now > plan.notAfter then
    return { 'late' }
  end
  for _, write in ipairs(plan.writes) do
    local found = revision_of(write) or 'absent'
    if found == plan.revision then
      return { 'ok' }
    end
    if write.expect ~= 'any' and found ~= write.expect then
      return { 'revision' }
    end
  end
  for _, change in ipairs(plan.due) do
    if change.lease and redis.call('HGET', P .. 'leases', change.ref) ~= change.lease then
      return { 'lease' }
    end
  end
  if not are_grantable(plan.slots) then
    return { 'slot' }
  end
  local agent = find_free(plan.noneFree)
  if agent then
    return { 'free_agent', agent }
  end
  if is_full(plan) then
    return { 'full' }
  end
end
