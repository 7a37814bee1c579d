-- The operations that a commit is made of (`commit/commit-operations.ts` writes them): each is a letter and
-- the number of its arguments. All that check do so first, in their order; then all take effect, in their
-- order. "The task" is that of the last T, and "the position" that of this task.
--
--   letter  arguments            checks                    effect
--   T       position             -                         what follows is about this task
--   I       input                that it has none          its input
--   U       revision, state      its revision              its state
--   N       session, assignees   -                         is listed: all, of the session, of each agent
--   A       assignees            -                         those that retention finds it by
--   P p     -                    -                         joins or leaves the pending tasks
--   R r     -                    -                         joins or leaves the running tasks
--   O o     -                    -                         one open task more, or less
--   Z z     set                  -                         adds the position to a set, or removes it
--   Y       set, member          -                         removes another member from a set
--   Q       agent, from, member  -                         is claimable from then on
--   S       outcome, took        -                         has ended
--   L       lease                that it is the entry's    -
--   D       time                 -                         the due entry is due then, and its lease ends
--   d       -                    -                         there is no due entry
--   u       time                 -                         as D, unless its lease hides it
--   H       -                    -                         the lease hides it for another while
--   h       lease                -                         a new one, hidden by this lease
--   G       agent, registration  its free slots            the task takes a slot of the agent
--   g       agent                -                         the task releases it
--   F       tags                 that no task waits        -
--   M       number, most         the open tasks            -
--   E       session              -                         the event of the task
--
-- and those of `rare_operations.lua`. Tags and assignees come as JSON.
--
-- Checks read the store, and what is deferred is not there yet. If a check reads it, it is written first:
--   T  if a commit before it wrote about the task: its lease, its due entry and its slots are deferred
--   J  the due entry of an agent, with its lease: any commit may have made it due
--   f  the free sets: any commit may have changed one
-- The others read what no effect defers (revisions, keys, waiting tasks, contacts, agents), or the number of
-- open tasks and the agents with their slots, which are counted in `counters` and `agents` at once.

-- Of the commit: its number in the script, its revision, and the agents that it has changed.
local commit_number, revision, changed_agents = 0, nil, nil
-- By argument: what a check found for the effect of the same operation.
local found = {}
-- The task that operations are about, the fields to write of it, and what `due` entry they are about.
local task, fields, ref, is_ref_of_task

local function write_fields()
  if task and #fields > 0 then
    redis.call('HSET', PREFIX .. task.ref, unpack(fields))
  end
end

local function set_field(name, value)
  local count = #fields
  fields[count + 1] = name
  fields[count + 2] = value
end

-- The revision of the task, or that of its input: read together, once for a commit.
local function revision_of(field)
  if not task.is_read then
    local revisions = redis.call('HMGET', PREFIX .. task.ref, 'r', 'ir')
    task.is_read, task.r, task.ir = true, revisions[1], revisions[2]
  end
  return task[field]
end

-- The result when another revision was expected; `ok` when the commit was applied before: its caller lost the
-- reply and sent it again.
local function compare_revision(stored, expected)
  stored = stored or 'absent'
  if stored == revision then
    return 'ok'
  end
  return stored ~= expected and 'revision' or nil
end

-- The agent, which this commit changes.
local function change_agent(id)
  local agent = find_agent(id)
  if agent.commit ~= commit_number then
    agent.commit, agent.free_before, agent.registration_before =
      commit_number, count_free_slots(agent), agent.registration
    changed_agents[#changed_agents + 1] = id
  end
  return agent
end

-- By agent: how many slots the checks of this commit have given, less those they have taken back.
local planned

-- How many slots of the agent are free to the next operation of this commit.
local function count_planned_slots(id, agent)
  return count_free_slots(agent) - (planned and planned[id] or 0)
end

local function plan_slot(id, number)
  planned = planned or {}
  planned[id] = (planned[id] or 0) + number
end

-- Whether the task holds a slot of the agent, if this commit has changed the agent before.
local function reads_slot(agent_id)
  write_commands()
  return redis.call('ZSCORE', PREFIX .. 'slots:' .. agent_id, task.id)
end

-- Changes of the due entry of another ref than the task are written at once: the checks have written what
-- was deferred before, and what this commit defers comes after.
local function change_due(command, key, first, second)
  if is_ref_of_task then
    defer(command, key, first, second)
  elseif second then
    redis.call(command, PREFIX .. key, first, second)
  else
    redis.call(command, PREFIX .. key, first)
  end
end

local function set_due(ms)
  change_due('ZADD', 'due', digits(ms), ref)
  note_due(ms)
end

local function begin_task(position, at)
  task = found[at]
  if not task then
    local id = string.sub(position, 16)
    task = { position = position, id = id, ref = 'task:' .. id }
    found[at] = task
  end
  ref, is_ref_of_task = task.ref, true
end

local CHECKS = {
  T = function(at)
    begin_task(ARGV[at], at)
    if touched[task.ref] then
      write_deferred()
    end
  end,
  I = function()
    return compare_revision(revision_of('ir'), 'absent')
  end,
  U = function(at)
    return compare_revision(revision_of('r'), ARGV[at])
  end,
  L = function(at)
    if redis.call('HGET', PREFIX .. 'leases', ref) ~= ARGV[at] then
      return 'lease'
    end
  end,
  G = function(at)
    local id = ARGV[at]
    local agent = find_agent(id)
    found[at] = redis.call('ZSCORE', PREFIX .. 'slots:' .. id, task.id)
    if not found[at] then
      if agent.registration ~= ARGV[at + 1] or count_planned_slots(id, agent) <= 0 then
        return 'slot'
      end
      plan_slot(id, 1)
    end
  end,
  g = function(at)
    local id = ARGV[at]
    found[at] = redis.call('ZSCORE', PREFIX .. 'slots:' .. id, task.id)
    if found[at] then
      plan_slot(id, -1)
    end
  end,
  F = function(at)
    return is_waited_for(ARGV[at]) and 'waiting' or nil
  end,
  M = function(at)
    return count('open') + ARGV[at] > tonumber(ARGV[at + 1]) and 'full' or nil
  end,
}

local EFFECTS = {
  T = function(at)
    write_fields()
    fields = {}
    begin_task(ARGV[at], at)
    touched[task.ref] = true
  end,
  I = function(at)
    set_field('i', ARGV[at])
    set_field('ir', revision)
  end,
  U = function(at)
    set_field('s', ARGV[at + 1])
    set_field('r', revision)
    note_state(task.id, revision, ARGV[at + 1])
    note_topic(task.ref)
  end,
  N = function(at)
    local session, assignees = ARGV[at], ARGV[at + 1]
    defer('ZADD', 'all', 0, task.position)
    defer('ZADD', 'by-session:' .. session, 0, task.position)
    if assignees ~= '[]' then
      for _, agent_id in ipairs(cjson.decode(assignees)) do
        defer('ZADD', 'by-agent:' .. agent_id, 0, task.position)
      end
    end
    set_field('c', digits(tonumber(string.sub(task.position, 1, 14))))
    set_field('n', session)
    set_field('a', assignees)
  end,
  A = function(at)
    set_field('a', ARGV[at])
  end,
  P = function()
    defer('ZADD', 'pending-tasks', 0, task.position)
  end,
  p = function()
    defer('ZREM', 'pending-tasks', task.position)
  end,
  R = function()
    defer('ZADD', 'running-tasks', 0, task.position)
  end,
  r = function()
    defer('ZREM', 'running-tasks', task.position)
  end,
  O = function()
    begin_step()
    add_to('open', 1)
    set_field('o', '1')
  end,
  o = function()
    begin_step()
    add_to('open', -1)
  end,
  Z = function(at)
    defer('ZADD', ARGV[at], 0, task.position)
  end,
  z = function(at)
    defer('ZREM', ARGV[at], task.position)
  end,
  Y = function(at)
    defer('ZREM', ARGV[at], ARGV[at + 1])
  end,
  Q = function(at)
    defer('ZADD', 'claimable:' .. ARGV[at], ARGV[at + 1], ARGV[at + 2])
    if ARGV[at + 1] == '0' then
      note_topic('agent:' .. ARGV[at])
    end
  end,
  S = function(at)
    set_field('o', ARGV[at])
    count_ended(ARGV[at], ARGV[at + 1])
    defer('ZADD', 'ended', digits(math.max(now, count('eventMs'))), task.id)
  end,
  D = function(at)
    set_due(tonumber(ARGV[at]))
    change_due('HDEL', 'leases', ref)
  end,
  d = function()
    change_due('ZREM', 'due', ref)
    change_due('HDEL', 'leases', ref)
  end,
  u = function(at)
    local is_hidden = redis.call('HEXISTS', PREFIX .. 'leases', ref) == 1
      and tonumber(redis.call('ZSCORE', PREFIX .. 'due', ref) or 0) > now
    if not is_hidden then
      set_due(tonumber(ARGV[at]))
      change_due('HDEL', 'leases', ref)
    end
  end,
  H = function()
    set_due(now + LEASE_MS)
  end,
  h = function(at)
    set_due(now + LEASE_MS)
    change_due('HSET', 'leases', ref, ARGV[at])
  end,
  G = function(at)
    local id, has_slot = ARGV[at], found[at]
    if find_agent(id).commit == commit_number then
      has_slot = reads_slot(id)
    end
    local agent = change_agent(id)
    agent.is_granted = true
    if not has_slot then
      agent.used_slots = agent.used_slots + 1
      defer('ZADD', 'slots:' .. id, digits(add_to('grants', 1)), task.id)
    end
    note_topic('agent:' .. id)
  end,
  g = function(at)
    local id, has_slot = ARGV[at], found[at]
    if find_agent(id).commit == commit_number then
      has_slot = reads_slot(id)
    end
    local agent = change_agent(id)
    if has_slot then
      agent.used_slots = agent.used_slots - 1
      defer('ZREM', 'slots:' .. id, task.id)
    end
    note_topic('agent:' .. id)
  end,
  -- The time of an event is never before that of an earlier one, so that feeds and retention agree.
  E = function(at)
    local session, ms = ARGV[at], math.max(now, count('eventMs'))
    set_count('eventNumber', counters.eventMs == ms and counters.eventNumber + 1 or 0)
    set_count('eventMs', ms)
    local cursor = digits(ms) .. '-' .. digits(counters.eventNumber)
    redis.call('XADD', PREFIX .. 'feed:' .. session, cursor, 't', task.id)
    defer('SADD', 'crowded', session)
    if #fields > 0 or redis.call('EXISTS', PREFIX .. task.ref) == 1 then
      set_field('e', cursor)
    end
    note_topic('feed:' .. session)
  end,
}
