-- What each technique of compile time buys: every switch opt.* off, alone, and all of them together, over several models. A case's
-- cold compile stands beside those of the same model with all of them on, which is measured twice in each replicate: `tbench report FILE format=ablation`.
-- Both sides give the same artifact, so what a call takes is not of interest here: the models are small.
local tb = require "tbench"
local nn, F = tb.nn, tb.nn.functional

local names = {
  "pattern_precompile", "guard_strings", "key_cache", "cow_snapshots", "lazy_library", "fused_passes",
  "simplify_cache", "source_cache", "inplace_dce", "lazy_timing", "storage_cache", "lazy_dump",
}

-- All on, and once more, which shows what is noise; each one off, all off.
local sets = { "", "" }
local all = {}
for i, name in ipairs(names) do
  all[i] = ("opt.%s=off"):format(name)
  sets[#sets + 1] = all[i]
end
sets[#sets + 1] = table.concat(all, " ")

local WIDTH, HEADS, TOKENS = 64, 4, 16

-- A call that capture may not look into.
local hidden = tb.disable(function() end)

-- Straight code with `count` graph breaks; each piece writes what a later one reads.
local function broken(count)
  local lines = { "local hidden = ... return function(x) local kept = {}" }
  for i = 1, count do
    lines[#lines + 1] = ("kept[%d] = x * %d"):format(i, i)
    lines[#lines + 1] = ("x = x + kept[%d]:sin()"):format(i)
    lines[#lines + 1] = "hidden()"
  end
  lines[#lines + 1] = "return x, kept end"
  return assert(load(table.concat(lines, "\n"), "=breaks"))(hidden)
end

return tb.suite {
  name = "compile_opts",
  about = "techniques of compile time, each switched off, over several models",
  axes = { dtype = { "f32" } },
  switches = sets,
  workloads = {
    mlp = function(case)
      local model = nn.Sequential { nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 256) }:to(case)
      return { fn = function(x) return model(x) end, args = { tb.randn({ 8, 256 }, case) } }
    end,
    attention = function(case)
      local shape = { 2, HEADS, TOKENS, WIDTH }
      return {
        fn = function(q, k, v) return F.scaled_dot_product_attention(q, k, v, { is_causal = true }) end,
        args = { tb.randn(shape, case), tb.randn(shape, case), tb.randn(shape, case) },
      }
    end,
    block = function(case)
      local norm1, norm2 = nn.LayerNorm(WIDTH):to(case), nn.LayerNorm(WIDTH):to(case)
      local attention = nn.MultiheadAttention(WIDTH, HEADS):to(case)
      local mlp = nn.Sequential { nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH) }:to(case)
      return {
        fn = function(x)
          local y = x + attention(norm1(x))
          return y + mlp(norm2(y))
        end,
        args = { tb.randn({ 2, TOKENS, WIDTH }, case) },
      }
    end,
    -- Sizes that stay open, through views that split and join them.
    dynamic = function(case)
      return {
        fn = function(x)
          local rows = x:size(1)
          return x:view(rows * 4, WIDTH // 4):softmax(-1):view(rows, WIDTH):transpose(1, 2):contiguous() * (1 / rows)
        end,
        args = { tb.randn({ 24, WIDTH }, case) },
        options = { dynamic = true },
      }
    end,
    -- Eight graph breaks, with a table that is written between them.
    breaks = function(case) return { fn = broken(8), args = { tb.randn({ 64 }, case) } } end,
    -- 200 operations of one kernel.
    chain = function(case)
      return {
        fn = function(x)
          local y = x
          for i = 1, 100 do y = (y * (1 + i / 128)):sin() end
          return y
        end,
        args = { tb.randn({ 64, 64 }, case) },
      }
    end,
  },
}
