-- Something else may damage an entry in Redis. It stops no other: it counts as empty, and the gateway logs
-- its name where a script returns `damaged`.

local damaged = {}

-- The list that was stored as JSON under this name.
local function decode_list(text, name)
  local is_json, list = pcall(cjson.decode, text)
  if is_json and type(list) == 'table' then
    return list
  end
  damaged[#damaged + 1] = name
  return {}
end
