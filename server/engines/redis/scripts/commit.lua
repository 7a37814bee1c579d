-- Checks a batch and applies it, as one. ARGV[3] is the batch; ARGV[4] and on are the values it writes, which
-- are stored as they are. Returns `ok`, or the conflict (with the agent that is free), or `late`.

local batch = cjson.decode(ARGV[3])
local conflict = find_conflict(batch)
if conflict then
  return conflict
end
local values = {}
for index = 4, #ARGV do
  values[index - 3] = ARGV[index]
end
apply(batch, values)
return { 'ok' }
