-- The message to listeners: one for all commits of a script, after the last commit. It also has the written
-- states that are small, so that other processes need not read these tasks.

-- How many bytes a state in the message may have, and all states of the message together.
local STATE_BYTES_MAX, STATES_BYTES_MAX = 2048, 65536

-- The earliest due time that the commits set; nil without one.
local earliest_due_ms
local topics, is_noted = {}, {}
-- The id of each written task, its revision and its state, in the order of writing.
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

-- Whether another process listens. Each process also listens to its own channel over the same connection, so
-- the listeners of `own` are not counted. If Redis does not say, another process may listen.
local function has_other_listener(channel, own)
  local found = redis.pcall('PUBSUB', 'NUMSUB', channel, own)
  return found.err or found[2] > found[4]
end

-- The sending process ignores the message, because it knows the changes from the reply.
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
