-- Tasks: adding one to its listings, and removing it from them and from the waiting tasks.

local function listings_of(session, assignees)
  local listings = { PREFIX .. 'all', PREFIX .. 'by-session:' .. session }
  for _, agent_id in ipairs(cjson.decode(assignees)) do
    listings[#listings + 1] = PREFIX .. 'by-agent:' .. agent_id
  end
  return listings
end

local function list_task(id, created, session, assignees)
  local position = position_of(created, id)
  for _, listing in ipairs(listings_of(session, assignees)) do
    redis.call('ZADD', listing, 0, position)
  end
end

local function unlist_task(id, created, session, assignees)
  local position = position_of(created, id)
  for _, listing in ipairs(listings_of(session, assignees)) do
    redis.call('ZREM', listing, position)
  end
end

-- `encoded` is the field `w` of the task: its position among the waiting tasks, stored as `place`, and its
-- tags.
local function remove_waiting(encoded)
  local waiting = cjson.decode(encoded)
  for _, tag in ipairs(waiting.tags) do
    redis.call('ZREM', PREFIX .. 'waiting:' .. tag, waiting.place)
  end
end
