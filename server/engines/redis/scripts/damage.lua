-- Something else may damage an entry in Redis. It stops no other: it counts as empty, and the script returns
-- its name, which the gateway logs.

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
