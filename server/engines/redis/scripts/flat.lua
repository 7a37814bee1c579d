-- A flat commit: one task, with its input where it is new, its due entry, a slot and its event. It has the
-- effects of the general commit (`preconditions.lua`, `apply.lua`), which takes every other batch, at a
-- fraction of its cost: nothing is parsed, and keys that several commits share are written once.
--
-- Its arguments, from `at` on (`flat-commit.ts` writes them; an empty text means that there is none):
--   0  words: not-after time, 1 while open or else the outcome, created, how the due entry changes (`none`,
--      `remove`, `at`, `unlessHeld`, `held` or `new`), due time, how the slot changes (`none`, `grant` or
--      `release`), most open tasks, from when on claims may hand it out, assigned, and the index of how long
--      it took; `-` where there is none
--   1  revision            5  session                        9  registration
--   2  id                  6  assignees as JSON             10  input
--   3  expected revision   7  lease                         11  session of the event
--   4  state               8  agent of slot and claims      12  tags for which no task may wait, as JSON
local FLAT_ARGUMENTS = 13
local FLAT_WORDS = '^(%S+) (%S+) (%S+) (%a+) (%S+) (%a+) (%S+) (%S+) (%S+) (%S+)$'

local function read_flat(at)
  local not_after, outcome, created, due, due_ms, slot, open_max, claim_ms, assigned, took =
    string.match(ARGV[at], FLAT_WORDS)
  return {
    not_after_ms = tonumber(not_after), open = outcome == '1', outcome = outcome, created = digits(tonumber(created)),
    due = due, due_ms = tonumber(due_ms), slot = slot, open_max = tonumber(open_max), claim_ms = tonumber(claim_ms),
    assigned_ms = tonumber(assigned), took = took,
    revision = ARGV[at + 1], id = ARGV[at + 2], expect = ARGV[at + 3], state = ARGV[at + 4], session = ARGV[at + 5],
    assignees = ARGV[at + 6], lease = ARGV[at + 7], agent_id = ARGV[at + 8], registration = ARGV[at + 9],
    input = ARGV[at + 10] ~= '' and ARGV[at + 10], event = ARGV[at + 11] ~= '' and ARGV[at + 11],
    none_waiting = ARGV[at + 12],
  }
end

-- The result of a commit that must not be applied; nil when it may be. `task` is what the store has of it.
local function find_flat_conflict(commit, task)
  if now > commit.not_after_ms then
    return 'late'
  end
  if commit.input and task.input_revision then
    return task.input_revision == commit.revision and 'ok' or 'revision'
  end
  local revision = task.revision or 'absent'
  if revision == commit.revision then
    return 'ok'
  elseif commit.expect ~= revision then
    return 'revision'
  end
  if commit.lease ~= '' and commit.due ~= 'new'
    and redis.call('HGET', PREFIX .. 'leases', 'task:' .. commit.id) ~= commit.lease then
    return 'lease'
  end
  if commit.slot ~= 'none' then
    task.has_slot = redis.call('ZSCORE', PREFIX .. 'slots:' .. commit.agent_id, commit.id)
  end
  if commit.slot == 'grant' and not task.has_slot then
    local agent = find_agent(commit.agent_id)
    if agent.registration ~= commit.registration or count_free_slots(agent) <= 0 then
      return 'slot'
    end
  end
  if commit.none_waiting ~= '' and is_waited_for(commit.none_waiting) then
    return 'waiting'
  end
  if commit.open_max and commit.open and not task.was_open and count('open') + 1 > commit.open_max then
    return 'full'
  end
end

local function change_flat_due(commit)
  local ref = 'task:' .. commit.id
  if commit.due == 'none' then
    return
  elseif commit.due == 'remove' then
    defer('ZREM', 'due', ref)
    defer('HDEL', 'leases', ref)
    return
  elseif commit.due == 'unlessHeld' and redis.call('HEXISTS', PREFIX .. 'leases', ref) == 1
    and tonumber(redis.call('ZSCORE', PREFIX .. 'due', ref) or 0) > now then
    return
  end
  local is_held = commit.due == 'held' or commit.due == 'new'
  local ms = is_held and now + LEASE_MS or commit.due_ms
  defer('ZADD', 'due', digits(ms), ref)
  if commit.due == 'new' then
    defer('HSET', 'leases', ref, commit.lease)
  elseif not is_held then
    defer('HDEL', 'leases', ref)
  end
  note_due(ms)
end

local function list_flat_task(commit, task)
  local position = position_of(commit.created, commit.id)
  local is_listed = task.revision
  if is_listed and (task.created ~= commit.created or task.session ~= commit.session) then
    unlist_task(commit.id, task.created, task.session, task.assignees)
    is_listed = false
  end
  local listed = {}
  if is_listed then
    for _, agent_id in ipairs(cjson.decode(task.assignees)) do
      listed[agent_id] = true
    end
  else
    defer('ZADD', 'all', 0, position)
    defer('ZADD', 'by-session:' .. commit.session, 0, position)
  end
  for _, agent_id in ipairs(cjson.decode(commit.assignees)) do
    if not listed[agent_id] then
      defer('ZADD', 'by-agent:' .. agent_id, 0, position)
    end
    listed[agent_id] = nil
  end
  for agent_id in pairs(listed) do
    defer('ZREM', 'by-agent:' .. agent_id, position)
  end
end

-- The cursor of the commit's event. Its time is never before that of an earlier event, so that feeds and
-- retention agree.
local function add_flat_event(commit)
  local ms = math.max(now, count('eventMs'))
  set_count('eventNumber', counters.eventMs == ms and counters.eventNumber + 1 or 0)
  set_count('eventMs', ms)
  local cursor = digits(ms) .. '-' .. digits(counters.eventNumber)
  redis.call('XADD', PREFIX .. 'feed:' .. commit.event, cursor, 't', commit.id)
  defer('SADD', 'crowded', commit.event)
  return cursor
end

local function write_flat_task(commit, task)
  local key = PREFIX .. 'task:' .. commit.id
  local existed = task.revision
  local fields = { 's', commit.state, 'r', commit.revision }
  local function set(field, value)
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  if commit.input then
    set('i', commit.input)
    set('ir', commit.revision)
  end
  if task.outcome ~= commit.outcome then
    set('o', commit.outcome)
  end
  count_task(commit.id, class_of(task.outcome, task.assignees), class_of(commit.outcome, commit.assignees),
    commit.created, commit.took)
  if not existed or task.created ~= commit.created or task.session ~= commit.session
    or task.assignees ~= commit.assignees then
    list_flat_task(commit, task)
    set('c', commit.created)
    set('n', commit.session)
    set('a', commit.assignees)
  end
  if commit.open ~= task.was_open then
    add_to('open', commit.open and 1 or -1)
  end
  local claimable = commit.claim_ms
    and { agent_id = commit.agent_id, fromMs = commit.claim_ms, assignedMs = commit.assigned_ms }
  update_claimable(commit.id, task.claimable, claimable)
  if not commit.open then
    defer('ZADD', 'ended', digits(math.max(now, count('eventMs'))), commit.id)
  end
  if commit.event then
    set('e', add_flat_event(commit))
  end
  redis.call('HSET', key, unpack(fields))
  note_state(commit.id, commit.revision, commit.state)
end

local function change_flat_slot(commit, task)
  if commit.slot == 'none' then
    return
  end
  local agent = find_agent(commit.agent_id)
  local free_before = count_free_slots(agent)
  if commit.slot == 'grant' then
    agent.is_granted = true
    if not task.has_slot then
      agent.used_slots = agent.used_slots + 1
      defer('ZADD', 'slots:' .. commit.agent_id, digits(add_to('grants', 1)), commit.id)
    end
  elseif task.has_slot then
    agent.used_slots = agent.used_slots - 1
    defer('ZREM', 'slots:' .. commit.agent_id, commit.id)
  end
  if note_agent_change(commit.agent_id, agent, free_before) then
    note_due(now)
  end
end

-- Checks and applies the flat commit at the argument; returns its result.
local function commit_flat(at)
  local commit = read_flat(at)
  if written_tasks[commit.id] then
    write_deferred()
  end
  local found = redis.call('HMGET', PREFIX .. 'task:' .. commit.id, 'r', 'o', 'c', 'n', 'a', 'q', 'ir')
  local task = { revision = found[1], was_open = found[2] == '1', outcome = found[2], created = found[3],
    session = found[4], assignees = found[5], claimable = found[6], input_revision = found[7] }
  local conflict = find_flat_conflict(commit, task)
  if conflict then
    return conflict
  end
  written_tasks[commit.id] = true
  change_flat_due(commit)
  write_flat_task(commit, task)
  change_flat_slot(commit, task)
  note_topic('task:' .. commit.id)
  if commit.slot ~= 'none' or commit.claim_ms == 0 then
    note_topic('agent:' .. commit.agent_id)
  end
  if commit.event then
    note_topic('feed:' .. commit.event)
  end
  return 'ok'
end
