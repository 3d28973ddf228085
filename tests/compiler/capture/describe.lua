-- Values as text, so that equal texts mean equal values: numbers by their type and bits (all NaN are one), tensors by dtype, shape
-- and elements, tables by their fields and by which of them are one. Argument: tb. Returns a function of a list with n.
local tb = ...

-- Lua up to 5.4.4 tells an integer division by zero with the line of whatever saved its place before.
local function without_stale_line(text)
  return (text:gsub("%a+:%d+: (attempt to divide by zero)", "%1"):gsub("%a+:%d+: (attempt to perform 'n%%+0')", "%1"))
end

local function number(v) return v == v and math.type(v) .. " " .. (math.type(v) == "float" and ("%a"):format(v) or v) or "nan" end

local function tensor(t)
  local list = t:reshape(-1):tolist()
  for i, v in ipairs(list) do list[i] = type(v) == "number" and number(v) or tostring(v) end
  return ("%s[%s](%s)"):format(t.dtype, table.concat(t.shape, ","), table.concat(list, ","))
end

local function describe(v, seen)
  local kind = type(v)
  if kind == "number" then return number(v) end
  if kind == "string" then return ("%q"):format(without_stale_line(v)) end
  if kind ~= "table" then return tb.is_tensor(v) and tensor(v) or kind == "boolean" and tostring(v) or kind end
  if seen[v] then return "<" .. seen[v] .. ">" end
  seen.count = seen.count + 1
  seen[v] = seen.count
  local keys, fields = {}, {}
  for k in next, v do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return type(a) .. tostring(a) < type(b) .. tostring(b) end)
  for i, k in ipairs(keys) do fields[i] = tostring(k) .. "=" .. describe(rawget(v, k), seen) end
  return "{" .. table.concat(fields, ", ") .. "}"
end

return function(list)
  local texts, seen = {}, { count = 0 }
  for i = 1, list.n do texts[i] = describe(list[i], seen) end
  return table.concat(texts, " | ")
end
