-- Checks and applies commits in their order, each commit by itself, all or nothing. ARGV[3] is the name of
-- the process, ARGV[4] the channel of notifications, ARGV[5] the channel of this process alone. From ARGV[6]
-- on come the commits. A commit has three parts: a text of words, its revision, and the arguments of its
-- operations. The words are its not-after time, how many arguments there are, and the operations, each as its
-- letter and the number of its arguments. Returns the earliest new due time (empty without one), the result
-- of each commit, and the names of damaged entries. A result is `ok` (followed by how an output stands),
-- `late` after the not-after time, or the conflict (`free_agent` is followed by the agent).

local ZERO, LAST_CAPITAL = byte('0Z', 1, 2)

-- Returns the letters and numbers as bytes, which costs less than a text for each. A commit may have
-- thousands of operations, and Lua returns only some thousand values at once.
local function read_operations(words)
  if #words <= VALUES_MAX then
    return { byte(words, 1, -1) }
  end
  local operations = {}
  for index = 1, #words do
    operations[index] = byte(words, index)
  end
  return operations
end

-- Returns the result of the commit, and where the next commit begins.
local function run_commit(at)
  local not_after, length, words = string.match(ARGV[at], '^(%S+) (%d+) (%w*)$')
  local next_at = at + 2 + length
  if now > tonumber(not_after) then
    return 'late', next_at
  end
  commit, task = { revision = ARGV[at + 1], changed_agents = {}, planned_slots = {} }, nil
  local operations, place = read_operations(words), at + 2
  for index = 1, #operations, 2 do
    local letter = operations[index]
    if letter <= LAST_CAPITAL then
      local result = check(letter, place)
      if result == 'ok' and string.find(words, '[OW]') then
        return 'ok ' .. describe_output(), next_at
      elseif result then
        return result, next_at
      end
    end
    place = place + operations[index + 1] - ZERO
  end
  place = at + 2
  for index = 1, #operations, 2 do
    apply(operations[index], place)
    place = place + operations[index + 1] - ZERO
  end
  write_fields()
  for _, id in ipairs(commit.changed_agents) do
    note_agent_change(id)
  end
  return commit.output and 'ok ' .. describe_output() or 'ok', next_at
end

local results = { '' }
local at = 6
while at <= #ARGV do
  results[#results + 1], at = run_commit(at)
end
write_deferred()
for _, name in ipairs(damaged) do
  results[#results + 1] = name
end
publish(ARGV[3], ARGV[4], ARGV[5])
results[1] = earliest_due_ms and digits(earliest_due_ms) or ''
return results
