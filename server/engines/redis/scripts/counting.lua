-- Counting tasks in the commit that changes them, deferred like what flat commits write: an open task is in
-- the set of its class, a settled one without success in the set of its outcome, and those that succeeded are
-- a number. Beside it what happens in each step of time.

-- Longer than a step is read.
local STEP_KEPT_MS = STEP_MS * (STEPS_MAX + 2)

-- Begins the present step where it has not begun: notes how many tasks wait and how many other ones are open,
-- before what changes that.
-- Returns the time of the step. A caller whose time is a little behind adds to the step that began last.
local function begin_step()
  local last, at = count('step'), math.floor(now / STEP_MS) * STEP_MS
  if last == at or last == at + STEP_MS then
    return last
  end
  local key = PREFIX .. 'activity:' .. digits(at)
  local waiting = redis.call('ZCARD', PREFIX .. 'waiting-tasks')
  redis.call('HSETNX', key, 'w', waiting)
  redis.call('HSETNX', key, 'r', digits(math.max(0, count('open') - waiting)))
  redis.call('PEXPIRE', key, STEP_KEPT_MS)
  set_count('step', at)
  return at
end

local function count_tags(step, tags)
  local key = PREFIX .. 'no-agent:' .. digits(step)
  for _, tag in ipairs(tags) do
    if redis.call('HEXISTS', key, tag) == 1 or redis.call('HLEN', key) < STEP_TAGS_MAX then
      redis.call('HINCRBY', key, tag, 1)
    end
  end
  if #tags > 0 then
    redis.call('PEXPIRE', key, STEP_KEPT_MS)
  end
end

-- Counts a task whose class changes; nil: it was not there. `took` is the index of how long a task took that
-- settles, `tags` are those without an agent (nil: none).
local function count_task(id, before, after, created, took, tags)
  if before == after then
    return
  end
  local step = begin_step()
  local set_before, set_after = set_of(before), set_of(after)
  if set_before then
    defer('ZREM', set_before, position_of(created, id))
  end
  if set_after then
    defer('ZADD', set_after, 0, position_of(created, id))
  end
  if is_open(after) then
    return
  end
  if after == 'success' then
    add_to('succeeded', 1)
  end
  increment('activity:' .. digits(step), after .. ' ' .. took)
  count_tags(step, tags or {})
end
