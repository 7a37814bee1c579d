-- Reads a feed. ARGV[3] the session, ARGV[4] a cursor (empty: none), ARGV[5] `start`: behind the cursor if an event with it
-- is stored, else from the beginning; `on`: behind the cursor whatever is stored; ARGV[6] how many at most. Answers: whether
-- an event with that cursor is stored, the cursor of the last event that was trimmed away, if any, then cursors and tasks.

local key, after = P .. 'feed:' .. ARGV[3], ARGV[4]
local is_stored = false
if after ~= '' then
  local found = redis.call('XRANGE', key, after, after)
  is_stored = found[1] ~= nil and found[1][1] == after
end
local is_behind = after ~= '' and (is_stored or ARGV[5] == 'on')
local told = {}
for _, event in ipairs(redis.call('XRANGE', key, is_behind and '(' .. after or '-', '+', 'COUNT', ARGV[6])) do
  told[#told + 1] = event[1]
  told[#told + 1] = event[2][2]
end
return { is_stored and 1 or 0, redis.call('GET', P .. 'trimmed:' .. ARGV[3]), told }
