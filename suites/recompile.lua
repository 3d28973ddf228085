-- What compiles again when calls differ: `values` calls with values of their own, round and round. `recompiles` of the result says
-- how often; under the default settings a size or a number that changes costs one, however many values there are.
local tb = require "tbench"
local nn = tb.nn

local WIDTH = 64

-- The list of call i among lists.
local function in_turn(lists)
  return function(i) return lists[(i - 1) % #lists + 1] end
end

return tb.suite {
  name = "recompile",
  about = "1 to 8 shapes, or numbers, through one compiled function",
  axes = { values = { 1, 2, 4, 8 }, dtype = { "f32" } },
  workloads = {
    -- The batch: each call has another one.
    shapes = function(case)
      local model = nn.Sequential { nn.Linear(WIDTH, WIDTH), nn.ReLU() }:to(case)
      local lists = {}
      for i = 1, case.values do lists[i] = { tb.randn({ 2 + i, WIDTH }, case) } end
      return { fn = function(x) return model(x) end, args = in_turn(lists) }
    end,
    -- A learning rate.
    scalars = function(case)
      local weight, gradient = tb.randn({ WIDTH, WIDTH }, case), tb.randn({ WIDTH, WIDTH }, case)
      local lists = {}
      for i = 1, case.values do lists[i] = { weight, gradient, 0.1 / i } end
      return { fn = function(w, g, rate) return w - g * rate end, args = in_turn(lists) }
    end,
    -- A count of steps.
    steps = function(case)
      local weight = tb.randn({ WIDTH, WIDTH }, case)
      local lists = {}
      for i = 1, case.values do lists[i] = { weight, i } end
      return { fn = function(w, step) return w * (1 - 0.9 ^ step) end, args = in_turn(lists) }
    end,
  },
}
