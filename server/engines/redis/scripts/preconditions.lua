-- Whether a batch may be applied to the store. Only reads.

local function revision_of(write)
  if write.kind == 'task' then
    return redis.call('HGET', PREFIX .. 'task:' .. write.id, 'r')
  elseif write.kind == 'input' then
    return redis.call('HGET', PREFIX .. 'task:' .. write.id, 'ir')
  elseif write.kind == 'agent' then
    return redis.call('HGET', PREFIX .. 'agent:' .. write.id, 'r')
  end
  local found = redis.call('HMGET', PREFIX .. 'key:' .. write.id, 'r', 'e')
  return found[1] and (not found[2] or tonumber(found[2]) > now) and found[1]
end

-- Grants of one batch add up; a slot that the task holds already needs no free one.
local function can_grant(slots)
  local agents = {}
  for _, slot in ipairs(slots) do
    local agent = agents[slot.agent_id] or read_agent(slot.agent_id)
    agents[slot.agent_id] = agent
    local has_slot = redis.call('ZSCORE', PREFIX .. 'slots:' .. slot.agent_id, slot.request_id)
    if slot.op == 'release' then
      if has_slot then
        agent.free_slots = agent.free_slots + 1
      end
    elseif not has_slot then
      if agent.registration ~= slot.registration or agent.free_slots <= 0 then
        return false
      end
      agent.free_slots = agent.free_slots - 1
    end
  end
  return true
end

local function find_free_agent(tags)
  for _, tag in ipairs(tags) do
    local id = redis.call('SRANDMEMBER', PREFIX .. 'free:' .. tag)
    if id then
      return id
    end
  end
end

-- Whether an agent had a contact after a time, or sweeping resumed after it.
local function had_contact_after(silent)
  local resumed = redis.call('HGET', PREFIX .. 'meta', 'resumed')
  local contact = redis.call('HGET', PREFIX .. 'agent:' .. silent.agent_id, 'cm')
  return math.max(tonumber(resumed or 0), tonumber(contact or 0)) > silent.atMs
end

-- Whether the batch adds tasks or agents beyond its limits. One that adds none always passes.
local function exceeds_limits(batch)
  local added_tasks, added_agents = 0, 0
  for _, write in ipairs(batch.writes) do
    if write.kind == 'task' then
      local was_open = redis.call('HGET', PREFIX .. 'task:' .. write.id, 'o') == '1'
      added_tasks = added_tasks + (write.open and 1 or 0) - (was_open and 1 or 0)
    elseif write.kind == 'agent' then
      local existed = redis.call('EXISTS', PREFIX .. 'agent:' .. write.id) == 1
      added_agents = added_agents + (write.valueIndex and 1 or 0) - (existed and 1 or 0)
    end
  end
  if added_tasks > 0 and batch.openTasksMax then
    local open_tasks = tonumber(redis.call('HGET', PREFIX .. 'meta', 'open') or 0)
    if open_tasks + added_tasks > batch.openTasksMax then
      return true
    end
  end
  return added_agents > 0 and batch.agentsMax
    and redis.call('ZCARD', PREFIX .. 'agents') + added_agents > batch.agentsMax
end

-- The reply to a batch that must not be applied: the first conflict, or `ok` where it was applied before and
-- its caller, which lost the reply, sent it again. Returns nil when it may be applied.
local function find_conflict(batch)
  if batch.notAfterMs and now > batch.notAfterMs then
    return 'late'
  end
  for _, write in ipairs(batch.writes) do
    local revision = revision_of(write) or 'absent'
    if revision == batch.revision then
      return 'ok'
    end
    if revision ~= write.expect then
      return 'revision'
    end
  end
  for _, change in ipairs(batch.due) do
    if change.lease and redis.call('HGET', PREFIX .. 'leases', change.ref) ~= change.lease then
      return 'lease'
    end
  end
  if not can_grant(batch.slots) then
    return 'slot'
  end
  if has_waiting_task(batch.noneWaiting) then
    return 'waiting'
  end
  if batch.noContactAfter and had_contact_after(batch.noContactAfter) then
    return 'contact'
  end
  local free_agent = find_free_agent(batch.noneFree)
  if free_agent then
    return 'free_agent ' .. free_agent
  end
  if exceeds_limits(batch) then
    return 'full'
  end
end
