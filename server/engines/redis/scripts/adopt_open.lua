-- Brings the sets of open tasks in order, which a gateway of an earlier version does not keep: adds the
-- open tasks, each of which has a due entry, those that wait to the sets of these too, and removes those
-- that are no longer what their set says. ARGV[3] is empty at the first call; then what the call before
-- returned: what is scanned, and from where on. Returns an empty text after the last call, and at once
-- where all tasks are counted. ARGV[4] and on are the outcomes without success.

local ENTRIES = 500
local NEXT = { ['due'] = 'pending-tasks', ['pending-tasks'] = 'running-tasks' }

local meta = PREFIX .. 'meta'

local function size_of(class)
  return redis.call('ZCARD', PREFIX .. set_of(class))
end

local function is_all_counted()
  local found = redis.call('HMGET', meta, 'open', 'succeeded')
  local ended = tonumber(found[2] or 0)
  for index = 4, #ARGV do
    ended = ended + size_of(ARGV[index])
  end
  return size_of('pending') + size_of('running') == tonumber(found[1] or 0)
    and ended == redis.call('ZCARD', PREFIX .. 'ended')
end

local function read_class(id)
  local found = redis.call('HMGET', PREFIX .. 'task:' .. id, 'o', 'a', 'c')
  return class_of(found[1], found[2]), found[3]
end

local function adopt(ref)
  local id = string.match(ref, '^task:(.*)$')
  if not id then
    return
  end
  local class, created = read_class(id)
  if is_open(class) then
    redis.call('ZADD', PREFIX .. set_of(class), 0, position_of(created, id))
    local encoded = redis.call('HGET', PREFIX .. 'task:' .. id, 'w')
    local waiting = encoded and cjson.decode(encoded)
    if waiting then
      add_waiting(waiting.place, waiting.tags)
    end
  end
end

local function remove_stale(set, position)
  local id = string.sub(position, string.find(position, '/', 1, true) + 1)
  local class = read_class(id)
  if set_of(class) ~= set then
    redis.call('ZREM', PREFIX .. set, position)
  end
end

if ARGV[3] == '' and is_all_counted() then
  return ''
end
local scanned, cursor = string.match(ARGV[3] == '' and 'due 0' or ARGV[3], '^(%S+) (%d+)$')
local found = redis.call('ZSCAN', PREFIX .. scanned, cursor, 'COUNT', ENTRIES)
for index = 1, #found[2], 2 do
  if scanned == 'due' then
    adopt(found[2][index])
  else
    remove_stale(scanned, found[2][index])
  end
end
if found[1] ~= '0' then
  return scanned .. ' ' .. found[1]
end
return NEXT[scanned] and NEXT[scanned] .. ' 0' or ''
