-- Opens every script but the first: the name of the store, its clock, and whether it is still the store that the
-- caller knows. KEYS[1] opens the name of every key, in braces, so that
-- all live in one slot; ARGV[1] the epoch; ARGV[2] the time,
-- which tests alone hand in.

local P = KEYS[1]
if redis.call('GET', P .. 'epoch') ~= ARGV[1] then
  return redis.error_reply('EMPTIED it was emptied or replaced: what was accepted before is not in it; restore its data, or restart every gateway to begin anew')
end

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A whole number as text: Lua would write a large one with an exponent.
local function digits(number)
  return string.format('%.0f', number)
end

-- A moment and an id as one text that sorts by both.
local function place_of(ms, id)
  return string.format('%014.0f', ms) .. '/' .. id
end
