-- Checks batches and applies them, each as one and by itself, in their order. ARGV[3] is the name of the
-- process, ARGV[4] the channel of notifications and ARGV[5] the channel of this process alone. From ARGV[6]
-- on come the batches: `flat` and its arguments (`flat.lua`), or `general`, the number of values, the batch
-- as JSON, and the values, which are stored as they are. Returns the earliest time at which an entry became
-- due (empty without one), then the result of each batch: `ok`, `late` or the conflict, with the agent behind
-- a blank where one is free.

local find_conflict, apply

local function commit_general(at)
  if not apply then
    find_conflict, apply = load_general()
  end
  local batch = cjson.decode(ARGV[at + 1])
  local conflict = find_conflict(batch)
  if conflict then
    return conflict
  end
  local values = {}
  for index = 1, tonumber(ARGV[at]) do
    values[index] = ARGV[at + 1 + index]
  end
  apply(batch, values)
  return 'ok'
end

local results = { '' }
local at = 6
while at <= #ARGV do
  if ARGV[at] == 'flat' then
    results[#results + 1] = commit_flat(at + 1)
    at = at + 1 + FLAT_ARGUMENTS
  else
    write_deferred()
    results[#results + 1] = commit_general(at + 1)
    write_deferred()
    at = at + 3 + tonumber(ARGV[at + 1])
  end
end
write_deferred()
publish(ARGV[3], ARGV[4], ARGV[5])
results[1] = earliest_due_ms and digits(earliest_due_ms) or ''
return results
