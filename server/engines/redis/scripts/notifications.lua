-- The message of one script to listeners: one for all of its commits, after the last one. It
-- has the written states, too, if they are small: other processes need not read these tasks.

-- A state with more bytes is not in the message, and all in one message have at most this many.
local STATE_BYTES_MAX, STATES_BYTES_MAX = 2048, 65536

-- The earliest time at which they make an entry due; nil without one.
local earliest_due_ms
local topics, is_noted = {}, {}
-- The id of a task, the revision of its state, and the state: in the order in which they were written.
local states, states_bytes = {}, 0

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

local function note_state(id, revision, state)
  if #state > STATE_BYTES_MAX or states_bytes + #state > STATES_BYTES_MAX then
    return
  end
  states_bytes = states_bytes + #state
  states[#states + 1] = { id, revision, state }
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
  for _, state in ipairs(states) do
    topics[#topics + 1] = state
  end
  local changed = #topics > 0 and cjson.encode(topics) or '[]'
  redis.call('PUBLISH', PREFIX .. channel, due .. ' ' .. process .. ' ' .. changed)
end
