-- One page of a listing. ARGV[3] which, ARGV[4] behind which place (empty: from the start), ARGV[5] how many, ARGV[6] and
-- on what is asked. Answers: since when sweeping goes on, then item by item its place and, of agents, what is told.

local UNREPORTED_MS = 600000

local query, after, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])

local function read_up(key)
  return redis.call('ZRANGEBYLEX', key, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit)
end

local function read_down(key, from)
  return redis.call('ZREVRANGEBYLEX', key, after == '' and '+' or '(' .. after, from, 'LIMIT', 0, limit)
end

-- Places of several tags, in order, each once.
local function read_waiting()
  local seen, places = {}, {}
  for index = 6, #ARGV do
    for _, place in ipairs(read_up(P .. 'waiting:' .. ARGV[index])) do
      if not seen[place] then
        seen[place] = true
        places[#places + 1] = place
      end
    end
  end
  table.sort(places)
  while #places > limit do
    table.remove(places)
  end
  return places
end

-- Slots are placed by the number of their grant.
local function read_slots()
  local from = after == '' and '-inf' or '(' .. after
  local found =
    redis.call('ZRANGEBYSCORE', P .. 'slots:' .. ARGV[6], from, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  local places = {}
  for index = 1, #found, 2 do
    places[#places + 1] = found[index + 1] .. '/' .. found[index]
  end
  return places
end

local function read_agents()
  local told = {}
  for _, id in ipairs(read_up(P .. 'agents')) do
    told[#told + 1] = { id, describe(id) }
  end
  return told
end

local resumed = redis.call('HGET', P .. 'meta', 'resumed')
if query == 'agents' then
  return { resumed, read_agents() }
elseif query == 'waiting' then
  return { resumed, read_waiting() }
elseif query == 'slots' then
  return { resumed, read_slots() }
elseif query == 'unreported' then
  return { resumed, read_down(P .. 'unreported:' .. ARGV[6], '[' .. place_of(now - UNREPORTED_MS + 1, '')) }
elseif query == 'all' then
  return { resumed, read_down(P .. 'all', '-') }
end
return { resumed, read_down(P .. query .. ':' .. ARGV[6], '-') }
