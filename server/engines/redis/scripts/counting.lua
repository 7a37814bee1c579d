-- The counts of each step of the activity, which commits make.

-- The key of a step is kept longer than it is read.
local STEP_KEPT_MS = STEP_MS * (STEPS_MAX + 2)

-- Begins the present step if it has not begun: notes how many tasks wait, and how many other tasks are open.
-- Must run before a commit changes these numbers. Returns the time of the step. A commit whose time is a
-- little behind counts in the step that began last.
local function begin_step()
  local last, at = count('step'), math.floor(now / STEP_MS) * STEP_MS
  if last == at or last == at + STEP_MS then
    return last
  end
  local key = PREFIX .. 'activity:' .. digits(at)
  local waiting_tasks = redis.call('ZCARD', PREFIX .. 'waiting-tasks')
  redis.call('HSETNX', key, 'w', waiting_tasks)
  redis.call('HSETNX', key, 'r', digits(math.max(0, count('open') - waiting_tasks)))
  redis.call('PEXPIRE', key, STEP_KEPT_MS)
  set_count('step', at)
  return at
end

-- Counts a task that found no agent with these tags.
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

-- Counts a task that ends. `took` is the index in the counts `tookMs`.
local function count_ended(outcome, took)
  if outcome == 'success' then
    add_to('succeeded', 1)
  end
  local key, field = 'activity:' .. digits(begin_step()), outcome .. ' ' .. took
  local added = increments[key] or {}
  increments[key] = added
  added[field] = (added[field] or 0) + 1
end

-- Keeps how a task ended, and drops all but the last ENDED_MAX ended tasks.
local function note_ended(ended)
  defer('LPUSH', 'last-ended', ended)
  if not deferred['LTRIM last-ended'] then
    defer('LTRIM', 'last-ended', 0, ENDED_MAX - 1)
  end
end
