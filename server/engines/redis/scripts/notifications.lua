-- What the commits of one script notify listeners of: one message for all of them, after the last one.

-- The earliest time at which they make an entry due; nil without one.
local earliest_due_ms
local topics, is_noted = {}, {}

local function note_due(ms)
  if not earliest_due_ms or ms < earliest_due_ms then
    earliest_due_ms = ms
  end
end

local function note_topic(topic)
  if not is_noted[topic] then
    is_noted[topic] = true
    topics[#topics + 1] = topic
  end
end

-- Whether another process listens. Each also listens to a channel of its own, over the same connection, so
-- `own` counts what must not count. Where Redis does not say, one may.
local function has_other_listener(channel, own)
  local found = redis.pcall('PUBSUB', 'NUMSUB', channel, own)
  return found.err or found[2] > found[4]
end

-- The sender is not among the receivers: its reply has the same.
local function publish(process, channel, own)
  if (not earliest_due_ms and #topics == 0) or not has_other_listener(PREFIX .. channel, PREFIX .. own) then
    return
  end
  local due = earliest_due_ms and digits(earliest_due_ms) or ''
  local changed = #topics > 0 and cjson.encode(topics) or '[]'
  redis.call('PUBLISH', PREFIX .. channel, due .. ' ' .. process .. ' ' .. changed)
end
