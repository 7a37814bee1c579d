-- Reads a page of output. ARGV[3] is the task, ARGV[4] the number after which the page begins, ARGV[5] how
-- many pieces at most. Returns the revision of the task, how its output stands, and for each write the number
-- of its last piece and its pieces.

-- The first slice is short, because four entries may fill a page. Each next slice has twice as many entries.
local ENTRIES_MIN, ENTRIES_MAX = 4, 128

local function read_entries(key, after, limit)
  local entries, bytes, from, count = {}, 0, digits(after + 1), ENTRIES_MIN
  while true do
    local slice = redis.call('XRANGE', key, from, '+', 'COUNT', count)
    for _, entry in ipairs(slice) do
      local pieces = entry[2][2]
      if #entries > 0 and bytes + #pieces > OUTPUT_PAGE_BYTES then
        return entries
      end
      local last = string.match(entry[1], '^%d+')
      entries[#entries + 1] = last
      entries[#entries + 1] = pieces
      bytes = bytes + #pieces
      if last - after >= limit then
        return entries
      end
    end
    if #slice < count then
      return entries
    end
    from = '(' .. slice[#slice][1]
    count = math.min(2 * count, ENTRIES_MAX)
  end
end

local id, after, limit = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local found = redis.call('HMGET', PREFIX .. 'task:' .. id, 'r', 'w')
local last = string.match(found[2] or '', '^%d+ (%d+) ')
local has_more = last and tonumber(last) > after
return { found[1], found[2], has_more and read_entries(PREFIX .. 'output:' .. id, after, limit) or {} }
