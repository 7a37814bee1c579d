-- Reads one page of a listing. ARGV[3] is the listing, ARGV[4] the position after which the page begins
-- (empty: at the start), ARGV[5] how many items. From ARGV[6] on come tags, an agent, or for `tasks` the
-- lowest position and the sorted sets. Returns the position of each item.

local listing, after, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])

local function read_ascending(key)
  return redis.call('ZRANGEBYLEX', key, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit)
end

local function read_descending(key, lowest)
  return redis.call('ZREVRANGEBYLEX', key, after == '' and '+' or '(' .. after, lowest, 'LIMIT', 0, limit)
end

-- Merges the waiting tasks of several tags, in order and each once.
local function read_waiting()
  local seen, positions = {}, {}
  for index = 6, #ARGV do
    for _, position in ipairs(read_ascending(PREFIX .. 'waiting:' .. ARGV[index])) do
      if not seen[position] then
        seen[position] = true
        positions[#positions + 1] = position
      end
    end
  end
  table.sort(positions)
  while #positions > limit do
    table.remove(positions)
  end
  return positions
end

-- Merges the tasks of several sets, newest first.
local function read_tasks()
  local lowest = ARGV[6] == '' and '-' or '[' .. ARGV[6]
  local positions = read_descending(PREFIX .. ARGV[7], lowest)
  if #ARGV == 7 then
    return positions
  end
  for index = 8, #ARGV do
    for _, position in ipairs(read_descending(PREFIX .. ARGV[index], lowest)) do
      positions[#positions + 1] = position
    end
  end
  table.sort(positions, function(one, other)
    return one > other
  end)
  while #positions > limit do
    table.remove(positions)
  end
  return positions
end

-- The position of a slot begins with the number of its grant.
local function read_slots()
  local from = after == '' and '-inf' or '(' .. after
  local found =
    redis.call('ZRANGEBYSCORE', PREFIX .. 'slots:' .. ARGV[6], from, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  local positions = {}
  for index = 1, #found, 2 do
    positions[#positions + 1] = found[index + 1] .. '/' .. found[index]
  end
  return positions
end

if listing == 'waiting' then
  return read_waiting()
elseif listing == 'waiting-tasks' or listing == 'waiting-for-answer' then
  return read_ascending(PREFIX .. listing)
elseif listing == 'slots' then
  return read_slots()
elseif listing == 'unreported' then
  local oldest = '[' .. position_of(now - UNREPORTED_MS + 1, '')
  return read_descending(PREFIX .. 'unreported:' .. ARGV[6], oldest)
end
return read_tasks()
