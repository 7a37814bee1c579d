-- Another program may damage an entry in Redis. A damaged entry counts as empty, so that the script can go
-- on, and the script returns its name for the log.

local damaged = {}

-- Decodes a list that was stored as JSON. `name` is for the log.
local function decode_list(text, name)
  local is_json, list = pcall(cjson.decode, text)
  if is_json and type(list) == 'table' then
    return list
  end
  damaged[#damaged + 1] = name
  return {}
end
