-- What graph breaks cost: a function of the same work with 0 to 32 of them. The work is tiny, so that what a break takes is to be
-- seen: the time of a case less that of breaks=0, over its breaks, for both sides.
local tb = require "tbench"

local OPERATIONS = 32

-- A call that capture may not look into.
local step = tb.disable(function() end)

-- Code of OPERATIONS additions with the breaks spread evenly among them.
local function code(breaks, broken)
  local lines = { "local step = ... return function(x)" }
  local done = 0
  for i = 1, OPERATIONS do
    lines[#lines + 1] = ("x = x + %g"):format(i / 64)
    while done * OPERATIONS < i * breaks do
      lines[#lines + 1] = broken
      done = done + 1
    end
  end
  lines[#lines + 1] = "return x end"
  return table.concat(lines, "\n")
end

local function workload(broken)
  return function(case)
    return { fn = assert(load(code(case.breaks, broken), "=breaks"))(step), args = { tb.randn({ 64 }, case) } }
  end
end

return tb.suite {
  name = "graph_breaks",
  about = "32 additions with 0 to 32 graph breaks among them",
  axes = { breaks = { 0, 1, 2, 4, 8, 16, 32 }, dtype = { "f32" } },
  workloads = {
    calls = workload "step()",
    -- A branch on a value, which has to be there before it is decided.
    branches = workload "if x:select(1, 1):item() > 1e30 then x = -x end",
  },
}
