-- Tasks: where one is listed, and taking it out of where it no longer belongs.

local function listings_of(session, assignees)
  local listings = { P .. 'all', P .. 'by-session:' .. session }
  for _, agent in ipairs(cjson.decode(assignees)) do
    listings[#listings + 1] = P .. 'by-agent:' .. agent
  end
  return listings
end

local function list_task(id, created, session, assignees)
  local place = place_of(created, id)
  for _, listing in ipairs(listings_of(session, assignees)) do
    redis.call('ZADD', listing, 0, place)
  end
end

local function unlist_task(id, created, session, assignees)
  local place = place_of(created, id)
  for _, listing in ipairs(listings_of(session, assignees)) do
    redis.call('ZREM', listing, place)
  end
end

-- `waits` is what the task's row says of its waiting: its place and its tags.
local function leave_waiters(waits)
  local waiter = cjson.decode(waits)
  for _, tag in ipairs(waiter.tags) do
    redis.call('ZREM', P .. 'waiting:' .. tag, waiter.place)
  end
end
