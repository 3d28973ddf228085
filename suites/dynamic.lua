-- Batch sizes through one compiled function: how it runs once it holds for all of them. `form` is the setting of tb.compile:
-- `auto` compiles for the first size and, when it changes, once more for all (dynamic=nil); `open` for all from the start
-- (dynamic=true). steady tells what a call takes beside the baseline; `recompiles`, how often it was compiled again.
local tb = require "tbench"
local nn = tb.nn

local WIDTH = 128

-- Batches of the calls, in turn.
local batches = { 3, 16, 64, 5, 33, 128, 9, 2 }
local settings = { auto = {}, open = { dynamic = true } }

local function in_turn(lists)
  return function(i) return lists[(i - 1) % #lists + 1] end
end

local function lists_of(case, ...)
  local lists = {}
  for i = 1, case.sizes do lists[i] = { tb.randn({ batches[i], ... }, case) } end
  return lists
end

return tb.suite {
  name = "dynamic",
  about = "1 to 8 batch sizes in turn through one compiled function",
  axes = { sizes = { 1, 2, 8 }, form = { "auto", "open" }, dtype = { "f32" } },
  workloads = {
    mlp = function(case)
      local model = nn.Sequential { nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH) }:to(case)
      return { fn = function(x) return model(x) end, args = in_turn(lists_of(case, WIDTH)), options = settings[case.form] }
    end,
    -- Sizes that the program computes with.
    heads = function(case)
      return {
        fn = function(x)
          local rows = x:size(1)
          return x:view(rows * 4, WIDTH // 4):softmax(-1):view(rows, WIDTH) * (1 / rows)
        end,
        args = in_turn(lists_of(case, WIDTH)),
        options = settings[case.form],
      }
    end,
  },
}
