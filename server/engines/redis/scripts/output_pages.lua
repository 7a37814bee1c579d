-- Pages of output for several callers. From ARGV[3] on come for each: the task, the number behind which the
-- page begins, how many pieces at most. Returns for each the revision of the task, how its output stands, and
-- of each write the number of its last piece and its pieces; no writes if the reply has no room left.

-- The first slice is short, because four entries may fill a page; each next one has twice as many.
local ENTRIES_MIN, ENTRIES_MAX = 4, 128
local REPLY_BYTES = 4 * OUTPUT_PAGE_BYTES

local bytes = 0

local function read_entries(key, after, limit)
  local entries, page_bytes, from, count = {}, 0, digits(after + 1), ENTRIES_MIN
  while bytes < REPLY_BYTES do
    local slice = redis.call('XRANGE', key, from, '+', 'COUNT', count)
    for _, entry in ipairs(slice) do
      local pieces = entry[2][2]
      if #entries > 0 and page_bytes + #pieces > OUTPUT_PAGE_BYTES then
        return entries
      end
      local last = string.match(entry[1], '^%d+')
      entries[#entries + 1] = last
      entries[#entries + 1] = pieces
      page_bytes, bytes = page_bytes + #pieces, bytes + #pieces
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
  return entries
end

local replies = {}
for index = 3, #ARGV, 3 do
  local id, after, limit = ARGV[index], tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2])
  local found = redis.call('HMGET', PREFIX .. 'task:' .. id, 'r', 'w')
  local last = string.match(found[2] or '', '^%d+ (%d+) ')
  local has_more = last and tonumber(last) > after
  local entries = has_more and read_entries(PREFIX .. 'output:' .. id, after, limit) or {}
  replies[#replies + 1] = { found[1], found[2], entries }
end
return replies
