-- The operations of a commit, which `commit/commit-arguments.ts` writes. Each is a letter and the number of
-- its arguments. First all capitals check, in their order: a check finds a conflict, or reads what the effect
-- needs. Then all operations take effect, in their order. "The task" is that of the last T, "the position"
-- that of this task. For example, `T1U2` writes the next state of a task if its revision is the expected one.
--
--   letter  arguments            checks                    effect
--   T       position             -                         the operations that follow are about this task
--   I       input                no input yet              stores the input
--   U       revision, state      the task's revision       stores the state
--   L       lease                the due entry's lease     -
--   G       agent, registration  registration; free slot   grants a slot, unless the task holds one
--   R       agent                whether a slot is held    releases the slot
--   F       tags                 no task waits for a tag   -
--   M       number, most         number of open tasks      -
--   n       session, assignees   -                         lists the task: all, by-session, by-agent
--   a       assignees            -                         stores the assignees, for retention
--   o x     set                  -                         the task is open and joins the set, or the reverse
--   z       set                  -                         adds the position to the set
--   v       set, member          -                         removes the member from the set
--   q       agent, from, member  -                         claims may hand the task out from then on
--   s       outcome, took, end   -                         the task has ended; keeps and counts how
--   d       time                 -                         sets the time of the due entry, ends its lease
--   k       -                    -                         removes the due entry
--   u       time                 -                         as d, unless a lease hides the entry
--   h       -                    -                         renews the lease of the due entry
--   l       lease                -                         adds a due entry with this lease
--   e       session              -                         adds the event of the task
--
-- Further operations are in `rare_operations.lua` and `output_operations.lua`. Tags and assignees are JSON.
--
-- Checks read the store, which does not have deferred writes yet. These checks read keys that may be
-- deferred, so everything deferred is written before them:
--   T  the due entry, lease and slots of the task, if an earlier commit had operations about the task
--   J  the due entry and lease of an agent, because any commit may have made the agent due
--   N  the free sets, because any commit may have changed one
-- The other checks read what no effect defers (revisions, keys, waiting tasks, contacts, the set of agents),
-- or what `counters` and `agents` count at once (open tasks, slots of agents).
--
-- Each run of a script defines its functions anew, which costs time. So the operations are branches of a few
-- functions, the most frequent operations first.

-- Letters are compared as bytes. `scripts.ts` replaces the byte of a letter by its number.
local byte = string.byte

-- The commit: its revision, the agents that it has changed, how many slots of each agent its checks plan to
-- take (negative: to release), and the ref whose due entry its operations are about.
local commit
-- The task that operations are about: its position, id and ref, and the fields to write.
local task
-- By the index of an operation's first argument: what its check found for its effect.
local found = {}
-- The functions of `rare_operations.lua` and `output_operations.lua`.
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

-- Returns a field of the task: `r`, `ir`, `w` or `o`. All four are read together, once for a commit.
local function read_field(field)
  if not task.is_read then
    task.is_read = true
    task.r, task.ir, task.w, task.o = unpack(redis.call('HMGET', PREFIX .. task.ref, 'r', 'ir', 'w', 'o'))
  end
  return task[field]
end

-- Returns the conflict if another revision was expected. Returns `ok` if the commit was applied before: its
-- caller lost the reply and sent the commit again.
local function compare_revision(stored, expected)
  stored = stored or 'absent'
  if stored == commit.revision then
    return 'ok'
  end
  return stored ~= expected and 'revision' or nil
end

-- Returns the agent, and notes that this commit changes it.
local function change_agent(id)
  local agent = find_agent(id)
  if agent.commit ~= commit then
    agent.commit, agent.free_before, agent.registration_before =
      commit, count_free_slots(agent), agent.registration
    commit.changed_agents[#commit.changed_agents + 1] = id
  end
  return agent
end

-- Checks a grant or a release. The checks of a commit also count earlier grants and releases of the same
-- commit, so that two grants do not take the same slot.
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
  -- An earlier operation of the same commit may have changed the slot since the checks.
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

-- A change of an agent's due entry is written at once. The checks have already written everything deferred
-- before, and what this commit defers is written later.
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

-- The time of an event never falls, so that feeds and retention agree.
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

-- Runs the check of a capital, and returns the conflict that it finds.
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
