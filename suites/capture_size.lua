-- What capture costs as a function grows: `ops` operations of which the last alone is needed, so that there is next to nothing to
-- compile and `stages_ns.capture` of the result is what is looked at. The baseline runs them all.
local tb = require "tbench"

-- Operations of one line of code.
local LINE = 4

return tb.suite {
  name = "capture_size",
  about = "functions of 10 to 100000 operations, of which one is needed",
  axes = { ops = { 10, 100, 1000, 10000, 100000 }, dtype = { "f32" } },
  workloads = {
    -- A loop that capture unrolls.
    loop = function(case)
      local ops = case.ops
      return {
        fn = function(x)
          local y
          for i = 1, ops do y = x * i end
          return y
        end,
        args = { tb.randn({ 4, 8 }, case) },
      }
    end,
    -- As many operations of the program's text.
    straight = function(case)
      local lines = ("y = (x * 2 + x - 3) * x\n"):rep(math.max(case.ops // LINE, 1))
      local text = "return function(x)\nlocal y = x\n" .. lines .. "return y end"
      return { fn = assert(load(text, "=straight"))(), args = { tb.randn({ 4, 8 }, case) } }
    end,
  },
}
