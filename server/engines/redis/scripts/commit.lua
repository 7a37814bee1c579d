-- Checks commits and applies them, each as one and by itself, in their order. ARGV[3] is the name of the
-- process, ARGV[4] the channel of notifications and ARGV[5] the channel of this process alone. From ARGV[6]
-- on come the commits: words, its revision, then the arguments of its operations. The words are its not-after
-- time, the number of these arguments, whether it has rare operations (1 or 0), and the operations, each its
-- letter and the number of its arguments. Returns the earliest time at which an entry became due (empty if
-- there is none), then the result of each commit: `ok`, `late` when it came after its not-after time, or the
-- conflict, with the agent behind a blank if one is free.

local has_rare = false

local function find_conflict(operations, at)
  for letter, arguments in string.gmatch(operations, '(%a)(%d)') do
    local check = CHECKS[letter]
    local result = check and check(at)
    if result then
      return result
    end
    at = at + arguments
  end
end

local function apply(operations, at)
  task, fields = nil, {}
  for letter, arguments in string.gmatch(operations, '(%a)(%d)') do
    local effect = EFFECTS[letter]
    if effect then
      effect(at)
    end
    at = at + arguments
  end
  write_fields()
  for _, id in ipairs(changed_agents) do
    note_agent_change(id)
  end
end

-- Returns the result, and where the next commit begins.
local function run_commit(at)
  local not_after, length, rare, operations = string.match(ARGV[at], '^(%S+) (%d+) (%d) (%w*)$')
  local next_at = at + 2 + length
  if now > tonumber(not_after) then
    return 'late', next_at
  end
  if rare == '1' and not has_rare then
    has_rare = true
    define_rare()
  end
  commit_number, revision, changed_agents, planned = commit_number + 1, ARGV[at + 1], {}, nil
  local result = find_conflict(operations, at + 2)
  if not result then
    apply(operations, at + 2)
  end
  return result or 'ok', next_at
end

local results = { '' }
local at = 6
while at <= #ARGV do
  results[#results + 1], at = run_commit(at)
end
write_deferred()
publish(ARGV[3], ARGV[4], ARGV[5])
results[1] = earliest_due_ms and digits(earliest_due_ms) or ''
return results
