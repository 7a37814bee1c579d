-- The beginning of every script. KEYS[1] is the prefix of all keys (in braces, so that all are in one slot of
-- a cluster), ARGV[1] the epoch that the caller knows, ARGV[2] the time (`time.lua`).

local PREFIX = KEYS[1]

-- Writes a whole number as text. Lua would write a large number with an exponent.
local function digits(number)
  return string.format('%.0f', number)
end

-- Writes a time and an id as one text, which sorts by both.
local function position_of(ms, id)
  return string.format('%014.0f', ms) .. '/' .. id
end

local function emptied_error()
  return redis.error_reply('EMPTIED the store was emptied or replaced and does not hold what was accepted before: restore its data, or restart every gateway to begin with an empty store')
end
