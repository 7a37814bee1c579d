-- Judges a batch and applies it, in one go. ARGV[3] is the plan, ARGV[4] and on the values it writes, which nothing in
-- here reads. Answers: `ok`, or the conflict and perhaps the agent that is free, or `late`.

local plan = cjson.decode(ARGV[3])
local answer = judge(plan)
if answer then
  return answer
end
local values = {}
for index = 4, #ARGV do
  values[index - 3] = ARGV[index]
end
apply(plan, values)
return { 'ok' }
