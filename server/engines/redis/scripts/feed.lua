-- Reads a feed. ARGV[3] is the session, ARGV[4] a cursor (may be empty), ARGV[6] how many events at most.
-- ARGV[5] says where to begin. `start`: after the cursor if its event is stored, else with the first event.
-- `on`: after the cursor in any case. Returns whether the cursor's event is stored, the cursor of the last
-- event that retention removed (or false), and for each event its cursor, its task and the task's state. The
-- state is empty if it is long, or if fewer events came than were asked for: it is meant for long replays.

local STATE_BYTES_MAX = 2048

local key, after = PREFIX .. 'feed:' .. ARGV[3], ARGV[4]
local is_stored = false
if after ~= '' then
  local same = redis.call('XRANGE', key, after, after)
  is_stored = same[1] ~= nil and same[1][1] == after
end
local from = '-'
if after ~= '' and (is_stored or ARGV[5] == 'on') then
  from = '(' .. after
end
local found = redis.call('XRANGE', key, from, '+', 'COUNT', ARGV[6])
local is_full = #found == tonumber(ARGV[6])

local function read_short(id)
  local task = PREFIX .. 'task:' .. id
  return redis.call('HSTRLEN', task, 's') <= STATE_BYTES_MAX and redis.call('HGET', task, 's') or ''
end

local events = {}
for _, event in ipairs(found) do
  local id = event[2][2]
  events[#events + 1] = event[1]
  events[#events + 1] = id
  events[#events + 1] = is_full and read_short(id) or ''
end
return { is_stored and 1 or 0, redis.call('GET', PREFIX .. 'trimmed:' .. ARGV[3]), events }
