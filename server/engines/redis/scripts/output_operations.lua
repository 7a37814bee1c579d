-- The operations on the output of tasks. Only scripts for groups with such operations have this part.
-- `operations.lua` explains the table.
--
--   letter  arguments            checks                    effect
--   W       writer, reset        task open, writer not     this writer alone appends from now on (empty: no
--                                replaced, reserve         writer); adds the reset if there is output
--   O       writer, from, count, needed, pieces
--                                task open, writer, gap,   adds the pieces that are not stored yet
--                                room or reserve
--
-- `needed` is 0 for pieces that a limit may leave out; `whole` for pieces whose whole commit a limit refuses;
-- 1 for pieces that may use the reserve (questions, and answers that are given again); 2 for the answer of a
-- client, for which there is always room. An empty piece counts as sent, but is not stored. The checks plan
-- the output, each on the result of the check before. A commit with W or O returns how the output stands. If
-- such a commit is sent again, U finds that it was applied; without a U, O finds all its pieces stored.

-- Separates the pieces of one write, which are one text, and the replaced writers. No JSON text has this
-- character.
local PIECE_SEPARATOR = '\30'

-- Returns how the output of the task stands; nil if that is damaged. The checks of a commit change it, and
-- the effects write it.
local function find_output()
  local output = task.output
  if not output then
    local stored = read_field('w')
    local next, last, bytes, flag, writer, replaced =
      string.match(stored or '0 0 0 - ', '^(%d+) (%d+) (%d+) (%S) ([^\30]*)(.*)$')
    if not next then
      return nil
    end
    output = { next = tonumber(next), last = tonumber(last), bytes = tonumber(bytes), flag = flag, writer = writer,
      replaced = replaced }
    task.output = output
  end
  commit.output = output
  return output
end

local function output_text(output)
  local counts = { digits(output.next), digits(output.last), digits(output.bytes), output.flag, output.writer }
  return table.concat(counts, ' ') .. output.replaced
end

-- Plans to add `count` pieces, for the effect of the operation at this argument.
local function plan_pieces(output, at, pieces, count)
  local size = #pieces - (count - 1) + OUTPUT_PIECE_BYTES * count
  output.last, output.bytes = output.last + count, output.bytes + size
  found[at] = { id = digits(output.last) .. '-0', pieces = pieces, size = size }
end

-- Beyond the reserve an output takes only the answers of clients, one for each question.
local function is_beyond_reserve(output)
  return output.bytes > OUTPUT_BYTES_MAX + OUTPUT_RESERVE_BYTES
end

-- Whether a replaced writer wants to begin again while another writes. That is a late call of an earlier
-- process.
local function is_replaced(output, writer)
  return writer ~= '' and output.writer ~= ''
    and string.find(output.replaced .. PIECE_SEPARATOR, PIECE_SEPARATOR .. writer .. PIECE_SEPARATOR, 1, true)
end

-- Returns the replaced writers after another writer has begun: the last one first, each after a separator.
local function list_replaced(output)
  if output.writer == '' then
    return output.replaced
  end
  local all, count = PIECE_SEPARATOR .. output.writer, 1
  for writer in string.gmatch(output.replaced, '[^' .. PIECE_SEPARATOR .. ']+') do
    if count < OUTPUT_REPLACED_MAX then
      all, count = all .. PIECE_SEPARATOR .. writer, count + 1
    end
  end
  return all
end

-- Checks that a writer may begin. Nothing changes if the writer is the present one.
local function check_writer(at)
  local output, writer = find_output(), ARGV[at]
  if writer == output.writer then
    return
  elseif read_field('o') ~= '1' then
    return 'settled'
  elseif is_replaced(output, writer) then
    return 'replaced'
  end
  output.replaced = list_replaced(output)
  output.is_changed, output.writer, output.next = true, writer, 0
  if output.last > 0 and ARGV[at + 1] ~= '' then
    plan_pieces(output, at, ARGV[at + 1], 1)
    return is_beyond_reserve(output) and 'full' or nil
  end
end

-- The bytes of all output, and their limit. The script reads both once, then counts itself.
local output_bytes, output_bytes_max

-- The bytes that this script has added but not written yet.
local function added_bytes()
  return increments.meta and increments.meta.outputBytes or 0
end

-- Returns nothing if all output together may grow by `size` bytes. Otherwise returns `removing` while settled
-- tasks still have output to remove, or `full`.
local function find_no_room(size)
  if not output_bytes then
    local stored = redis.call('HMGET', PREFIX .. 'meta', 'outputBytes', 'outputBytesMax')
    output_bytes, output_bytes_max = tonumber(stored[1] or 0) + added_bytes(), tonumber(stored[2] or math.huge)
  end
  if output_bytes + size > output_bytes_max then
    return redis.call('EXISTS', PREFIX .. 'ended-output') == 1 and 'removing' or 'full'
  end
end

-- Returns the pieces without empty ones, and how many are left.
local function drop_empty(pieces)
  local kept = {}
  for piece in string.gmatch(pieces, '[^' .. PIECE_SEPARATOR .. ']+') do
    kept[#kept + 1] = piece
  end
  return table.concat(kept, PIECE_SEPARATOR), #kept
end

local function check_pieces(at)
  local output, writer, count, pieces = find_output(), ARGV[at], tonumber(ARGV[at + 2]), ARGV[at + 4]
  if read_field('o') ~= '1' then
    return 'settled'
  end
  if writer ~= '' then
    local skipped = output.next - ARGV[at + 1]
    if output.writer ~= writer then
      return 'writer'
    elseif skipped < 0 then
      return 'gap ' .. digits(output.next)
    end
    local from = 1
    for _ = 1, math.min(skipped, count) do
      from = (string.find(pieces, PIECE_SEPARATOR, from, true) or #pieces) + 1
    end
    pieces, count = string.sub(pieces, from), count - skipped
  end
  if count <= 0 then
    return
  end
  local needed, sent = ARGV[at + 3], count
  if needed ~= '0' then
    pieces, count = drop_empty(pieces)
  end
  local size, is_text = #pieces - (count - 1) + OUTPUT_PIECE_BYTES * count, needed == '0' or needed == 'whole'
  local no_room = is_text and (output.flag == 'f' or output.bytes + size > OUTPUT_BYTES_MAX) and 'full'
    or writer ~= '' and count > 0 and find_no_room(size)
  if no_room == 'removing' or (no_room and needed ~= '0') then
    return no_room
  elseif no_room then
    output.is_changed, output.flag = output.is_changed or output.flag ~= 'f', 'f'
    return
  end
  if count > 0 then
    plan_pieces(output, at, pieces, count)
  end
  output.is_changed = true
  if writer ~= '' then
    output.next = output.next + sent
  end
  return needed == '1' and is_beyond_reserve(output) and 'full' or nil
end

function check_output(letter, at)
  if not find_output() then
    return 'damaged'
  elseif letter == byte('O') then
    return check_pieces(at)
  end
  return check_writer(at)
end

-- The checks have already planned the output as the commit leaves it.
function apply_output(at)
  local output, planned = task.output, found[at]
  if planned then
    redis.call('XADD', PREFIX .. 'output:' .. task.id, planned.id, 'p', planned.pieces)
    increments.meta = { outputBytes = added_bytes() + planned.size }
    output_bytes = output_bytes and output_bytes + planned.size
  end
  if not output.is_changed then
    return
  end
  output.is_changed = false
  set_field('w', output_text(output))
  -- The topic of the task also notifies the watchers of its output.
  if not is_noted[task.ref] then
    note_topic('output:' .. task.id)
  end
  if commit.ended_ms then
    defer('ZADD', 'ended-output', commit.ended_ms, task.id)
  end
end

-- Returns how the output stands after the commit, as text for the result.
function describe_output()
  local output = commit.output or find_output()
  return digits(output.next) .. ' ' .. digits(output.last) .. ' ' .. output.flag
end
