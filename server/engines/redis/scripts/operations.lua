-- The operations that a commit is made of (`commit/commit-arguments.ts` writes them): each is a letter and
-- the number of its arguments. All capitals check first, in their order: such a check finds a conflict, or
-- reads what the effect needs. Then all operations take effect, in their order. "The task" is that of the
-- last T, and "the position" that of this task. For example, `T1U2` writes the next state of a task, if its
-- revision is the expected one.
--
--   letter  arguments            checks                    effect
--   T       position             -                         what follows is about this task
--   I       input                that it has none          its input
--   U       revision, state      its revision              its state
--   L       lease                that it is the entry's    -
--   G       agent, registration  both; its free slots      the task takes a slot, unless it holds one
--   R       agent                whether it holds one      the task releases it
--   F       tags                 that no task waits        -
--   M       number, most         the open tasks            -
--   n       session, assignees   -                         is listed: all, of the session, of each agent
--   a       assignees            -                         those that retention finds it by
--   o x     set                  -                         becomes open and joins this set, or the reverse
--   z       set                  -                         adds the position to a set
--   v       set, member          -                         removes a member from a set
--   q       agent, from, member  -                         is claimable from then on
--   s       outcome, took, end   -                         has ended, and is one of those that ended last
--   d       time                 -                         the due entry is due then, and its lease ends
--   k       -                    -                         there is no due entry
--   u       time                 -                         as d, unless its lease hides it
--   h       -                    -                         the lease hides it for another while
--   l       lease                -                         a new one, hidden by this lease
--   e       session              -                         the event of the task
--
-- and those of `rare_operations.lua` and `output_operations.lua`. Tags and assignees come as JSON.
--
-- Checks read the store, and what is deferred is not there yet. If a check reads it, it is written first:
--   T  if a commit before it wrote about the task: its lease, its due entry and its slots are deferred
--   J  the due entry of an agent, with its lease: any commit may have made it due
--   N  the free sets: any commit may have changed one
-- The others read what no effect defers (revisions, keys, waiting tasks, contacts, agents), or the number of
-- open tasks and the agents with their slots, which are counted in `counters` and `agents` at once.
--
-- Nothing is kept from one script to the next, so each function that a script defines costs every script
-- time. That is why the operations are the branches of a few functions, those that most commits have first.

-- Letters come and are compared as bytes; that of a single letter is sent as its number (`scripts.ts`).
local byte = string.byte

-- The commit: its revision, the agents that it has changed, how many slots of each agent its checks have
-- planned to take (fewer than none: to release), and whose due entry its operations are about.
local commit
-- The task that operations are about: its position, its id, its ref, and the fields to write of it.
local task
-- By argument: what a check found for the effect of the same operation.
local found = {}
-- Those of `rare_operations.lua` and `output_operations.lua`.
local check_rare, apply_rare, check_output, apply_output, describe_output

local function write_fields()
  if task and #task.fields > 0 then
    redis.call('HSET', PREFIX .. task.ref, unpack(task.fields))
  end
end

local function set_field(name, value)
  local fields = task.fields
  local count = #fields
  fields[count + 1] = name
  fields[count + 2] = value
end

-- A field of the task: its revision, that of its input, its output, or its class. Read together, once for a
-- commit.
local function read_field(field)
  if not task.is_read then
    task.is_read = true
    task.r, task.ir, task.w, task.o = unpack(redis.call('HMGET', PREFIX .. task.ref, 'r', 'ir', 'w', 'o'))
  end
  return task[field]
end

-- The result when another revision was expected; `ok` when the commit was applied before: its caller lost the
-- reply and sent it again.
local function compare_revision(stored, expected)
  stored = stored or 'absent'
  if stored == commit.revision then
    return 'ok'
  end
  return stored ~= expected and 'revision' or nil
end

-- The agent, which this commit changes.
local function change_agent(id)
  local agent = find_agent(id)
  if agent.commit ~= commit then
    agent.commit, agent.free_before, agent.registration_before =
      commit, count_free_slots(agent), agent.registration
    commit.changed_agents[#commit.changed_agents + 1] = id
  end
  return agent
end

-- Whether the task holds a slot of the agent. The checks of a commit also count what it grants and releases,
-- so two grants of one commit do not take the same slot.
local function check_slot(letter, at)
  local id = ARGV[at]
  found[at] = redis.call('ZSCORE', PREFIX .. 'slots:' .. id, task.id)
  local is_grant = letter == byte('G')
  local agent = is_grant and find_agent(id)
  if agent and agent.registration ~= ARGV[at + 1] then
    return 'slot'
  elseif is_grant == (found[at] and true or false) then
    return
  end
  local planned = commit.planned_slots
  if agent and count_free_slots(agent) - (planned[id] or 0) <= 0 then
    return 'slot'
  end
  planned[id] = (planned[id] or 0) + (is_grant and 1 or -1)
end

local function change_slot(letter, at)
  local id, has_slot = ARGV[at], found[at]
  -- An operation of the same commit may have changed the slot since the checks.
  if find_agent(id).commit == commit then
    write_commands()
    has_slot = redis.call('ZSCORE', PREFIX .. 'slots:' .. id, task.id)
  end
  local is_grant = letter == byte('G')
  if is_grant and has_slot then
    return
  end
  local agent = change_agent(id)
  if is_grant then
    agent.is_granted = true
    agent.used_slots = agent.used_slots + 1
    defer('ZADD', 'slots:' .. id, digits(add_to('grants', 1)), task.id)
  elseif has_slot then
    agent.used_slots = agent.used_slots - 1
    defer('ZREM', 'slots:' .. id, task.id)
  end
  note_topic('agent:' .. id)
end

-- Changes of the due entry of an agent are written at once: the checks have written what was deferred before,
-- and what this commit defers comes after.
local function change_due(command, key, first, second)
  if task and commit.due_ref == task.ref then
    defer(command, key, first, second)
  elseif second then
    redis.call(command, PREFIX .. key, first, second)
  else
    redis.call(command, PREFIX .. key, first)
  end
end

local function change_due_entry(letter, at)
  local ref = commit.due_ref
  if letter == byte('k') then
    change_due('ZREM', 'due', ref)
    change_due('HDEL', 'leases', ref)
    return
  elseif letter == byte('u') and redis.call('HEXISTS', PREFIX .. 'leases', ref) == 1
    and tonumber(redis.call('ZSCORE', PREFIX .. 'due', ref) or 0) > now then
    return
  end
  local is_hidden = letter == byte('h') or letter == byte('l')
  local ms = is_hidden and now + LEASE_MS or tonumber(ARGV[at])
  change_due('ZADD', 'due', digits(ms), ref)
  if letter == byte('l') then
    change_due('HSET', 'leases', ref, ARGV[at])
  elseif not is_hidden then
    change_due('HDEL', 'leases', ref)
  end
  note_due(ms)
end

local function list_task(session, assignees)
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
end

-- The time of an event is never before that of an earlier one, so that feeds and retention agree.
local function add_event(session)
  local ms = math.max(now, count('eventMs'))
  set_count('eventNumber', counters.eventMs == ms and counters.eventNumber + 1 or 0)
  set_count('eventMs', ms)
  local cursor = digits(ms) .. '-' .. digits(counters.eventNumber)
  redis.call('XADD', PREFIX .. 'feed:' .. session, cursor, 't', task.id)
  defer('SADD', 'crowded', session)
  if #task.fields > 0 or redis.call('EXISTS', PREFIX .. task.ref) == 1 then
    set_field('e', cursor)
  end
  note_topic('feed:' .. session)
end

local function begin_task(at)
  task = found[at]
  if not task then
    local position = ARGV[at]
    local id = string.sub(position, 16)
    task = { position = position, id = id, ref = 'task:' .. id, fields = {} }
    found[at] = task
  end
  commit.due_ref = task.ref
end

-- The conflict that the operation of a capital finds.
local function check(letter, at)
  if letter == byte('T') then
    begin_task(at)
    if touched[task.ref] then
      write_deferred()
    end
  elseif letter == byte('U') then
    return compare_revision(read_field('r'), ARGV[at])
  elseif letter == byte('I') then
    return compare_revision(read_field('ir'), 'absent')
  elseif letter == byte('G') or letter == byte('R') then
    return check_slot(letter, at)
  elseif letter == byte('L') then
    return redis.call('HGET', PREFIX .. 'leases', commit.due_ref) ~= ARGV[at] and 'lease' or nil
  elseif letter == byte('F') then
    return is_waited_for(ARGV[at]) and 'waiting' or nil
  elseif letter == byte('M') then
    return count('open') + ARGV[at] > tonumber(ARGV[at + 1]) and 'full' or nil
  else
    return check_rare(letter, at)
  end
end

local function apply(letter, at)
  if letter == byte('T') then
    write_fields()
    begin_task(at)
    touched[task.ref] = true
  elseif letter == byte('U') then
    set_field('s', ARGV[at + 1])
    set_field('r', commit.revision)
    note_state(task.id, commit.revision, ARGV[at + 1])
    note_topic(task.ref)
  elseif letter == byte('o') then
    begin_step()
    add_to('open', 1)
    set_field('o', '1')
    defer('ZADD', ARGV[at], 0, task.position)
  elseif letter == byte('x') then
    begin_step()
    add_to('open', -1)
    defer('ZREM', ARGV[at], task.position)
  elseif letter == byte('G') or letter == byte('R') then
    change_slot(letter, at)
  elseif letter == byte('d') or letter == byte('k') or letter == byte('l') or letter == byte('h')
    or letter == byte('u') then
    change_due_entry(letter, at)
  elseif letter == byte('n') then
    list_task(ARGV[at], ARGV[at + 1])
  elseif letter == byte('I') then
    set_field('i', ARGV[at])
    set_field('ir', commit.revision)
  elseif letter == byte('s') then
    set_field('o', ARGV[at])
    count_ended(ARGV[at], ARGV[at + 1])
    note_ended(ARGV[at + 2])
    commit.ended_ms = digits(math.max(now, count('eventMs')))
    defer('ZADD', 'ended', commit.ended_ms, task.id)
    if read_field('w') then
      defer('ZADD', 'ended-output', commit.ended_ms, task.id)
    end
  elseif letter == byte('e') then
    add_event(ARGV[at])
  elseif letter == byte('q') then
    defer('ZADD', 'claimable:' .. ARGV[at], ARGV[at + 1], ARGV[at + 2])
    if ARGV[at + 1] == '0' then
      note_topic('agent:' .. ARGV[at])
    end
  elseif letter == byte('v') then
    defer('ZREM', ARGV[at], ARGV[at + 1])
  elseif letter == byte('z') then
    defer('ZADD', ARGV[at], 0, task.position)
  elseif letter == byte('a') then
    set_field('a', ARGV[at])
  else
    apply_rare(letter, at)
  end
end
