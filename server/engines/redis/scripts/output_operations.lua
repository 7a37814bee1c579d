-- The operations on the output of tasks: a part of the script only for groups that have one. `operations.lua`
-- explains the table.
--
--   letter  arguments            checks                    effect
--   W       writer, reset        that it is open, reserve, this writer alone appends from now on (empty:
--                                that it was not replaced  none), behind the reset if there is output
--   O       writer, from, count, needed, pieces
--                                that it is open, writer,  the pieces behind those that this writer has
--                                gap, room or reserve      stored already
--
-- `needed` is 0 for pieces that a limit may leave out, `whole` for those that it refuses with the whole
-- commit, 1 for those that may have the reserve (questions, and answers that are given again), 2 for an
-- answer when a client gives it, for which there is always room. An empty piece counts for its writer, and
-- nothing is stored of it.
-- The checks plan what the output will be, one behind the other. A commit with W or O returns how the output
-- stands. When it is sent again, U finds that it was applied; without a U, O finds all its pieces stored.

-- Between pieces, which come and stay as one text, and between writers. It is in no JSON text.
local PIECE_SEPARATOR = '\30'

-- How the output of the task stands; changed by the checks of a commit, and written by its effects. Nil where
-- something else has damaged it.
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

-- Notes `count` pieces for the effect of the operation at this argument.
local function plan_pieces(output, at, pieces, count)
  local size = #pieces - (count - 1) + OUTPUT_PIECE_BYTES * count
  output.last, output.bytes = output.last + count, output.bytes + size
  found[at] = { id = digits(output.last) .. '-0', pieces = pieces, size = size }
end

-- If an output has more than this, it takes only the answers of clients: one for a question, when it comes.
local function is_beyond_reserve(output)
  return output.bytes > OUTPUT_BYTES_MAX + OUTPUT_RESERVE_BYTES
end

-- Whether the writer comes back although another writes: a call of a process that is gone comes late.
local function is_replaced(output, writer)
  return writer ~= '' and output.writer ~= ''
    and string.find(output.replaced .. PIECE_SEPARATOR, PIECE_SEPARATOR .. writer .. PIECE_SEPARATOR, 1, true)
end

-- The writers that may not begin again once another one has, the last one first, each behind a separator.
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

-- Nothing changes if it is the present writer; a task without output has none.
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

-- Bytes of all output, and how many there may be; this script has read them once and counts on.
local output_bytes, output_bytes_max

-- Bytes that this script has added and not written yet.
local function added_bytes()
  return increments.meta and increments.meta.outputBytes or 0
end

-- Whether all output together may have these bytes more. Settled tasks lose theirs first.
local function find_no_room(size)
  if not output_bytes then
    local stored = redis.call('HMGET', PREFIX .. 'meta', 'outputBytes', 'outputBytesMax')
    output_bytes, output_bytes_max = tonumber(stored[1] or 0) + added_bytes(), tonumber(stored[2] or math.huge)
  end
  if output_bytes + size > output_bytes_max then
    return redis.call('EXISTS', PREFIX .. 'ended-output') == 1 and 'removing' or 'full'
  end
end

-- Without empty pieces, and how many are left.
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

-- The checks of all operations have made the output what it is behind the commit.
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
  -- Watchers of the output are notified of the task's state anyway.
  if not is_noted[task.ref] then
    note_topic('output:' .. task.id)
  end
  if commit.ended_ms then
    defer('ZADD', 'ended-output', commit.ended_ms, task.id)
  end
end

-- How the output stands behind a commit, as its result has it.
function describe_output()
  local output = commit.output or find_output()
  return digits(output.next) .. ' ' .. digits(output.last) .. ' ' .. output.flag
end
