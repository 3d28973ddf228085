-- What guards cost as a model grows: every field that a call reads is a guard, and one addition is all the work. What a case takes
-- beyond that of modules=1, over its `guards` beyond the other's, is the time of a guard; tests/bench/bench_guards measures it apart.
local tb = require "tbench"

-- Fields of a module, of the kinds that models have: numbers, booleans, strings and functions.
local function field(module, number)
  local kinds = { module + number, number / 8, number % 2 == 0, "kind" .. number % 4, math.abs }
  return kinds[number % #kinds + 1]
end

local function make_module(number, leaves)
  local module = { leaves = {} }
  for i = 1, leaves do
    module.leaves[i] = "leaf" .. i
    module[module.leaves[i]] = field(number, i)
  end
  return module
end

-- Every field counts.
local function weigh(module, names)
  local sum = 0
  for i = 1, #names do
    local value = module[names[i]]
    if value == true then sum = sum + 1 end
    if math.type(value) then sum = sum + value * 0.001 end
    if type(value) == "string" then sum = sum + #value * 0.001 end
  end
  return sum
end

return tb.suite {
  name = "guards",
  about = "a call that reads every field of 1 to 40 modules",
  axes = { modules = { 1, 5, 10, 20, 36, 40 }, leaves = { 14 }, dtype = { "f32" } },
  workloads = {
    -- Each module in the one before it.
    deep = function(case)
      local model
      local names = make_module(1, case.leaves).leaves
      for i = 1, case.modules do
        local module = make_module(i, case.leaves)
        module.leaves, module.child = nil, model
        model = module
      end
      return {
        fn = function(x)
          local sum, module = 0, model
          while module do
            sum = sum + weigh(module, names)
            module = module.child
          end
          return x + sum
        end,
        args = { tb.randn({ 16 }, case) },
      }
    end,
    -- All in one list.
    wide = function(case)
      local model = {}
      local names = make_module(1, case.leaves).leaves
      for i = 1, case.modules do
        model[i] = make_module(i, case.leaves)
        model[i].leaves = nil
      end
      return {
        fn = function(x)
          local sum = 0
          for _, module in ipairs(model) do sum = sum + weigh(module, names) end
          return x + sum
        end,
        args = { tb.randn({ 16 }, case) },
      }
    end,
  },
}
