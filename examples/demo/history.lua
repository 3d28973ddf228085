-- A history that never was: results of a year of nights, with steps planted at known commits. `ci/demo` fills a database with it.
--
--     tbench lua history.lua FOLDER NIGHTS
--
-- writes FOLDER/NIGHT-HOST.json for each night and machine, each a result by results/schema.json, and FOLDER/planted.txt, a line for each step:
-- case, machine, commit, slower or faster, new over old, commit that takes it back or "-"; parted by tabs. The same arguments give the
-- same bytes: every document has a generator of its own, seeded by its night and machine.

local folder, nights = arg[1], math.tointeger(tonumber(arg[2] or 365))
if not folder or not nights or nights < 60 then
  io.stderr:write("use: tbench lua history.lua FOLDER NIGHTS (60 or more: each step needs some nights around it)\n")
  os.exit(2)
end

local DAY_S <const>, LAST_NIGHT <const> = 86400, 1793498400 -- 2026-11-01T02:00:00Z
local REPLICATES <const>, SAMPLES <const> = 8, 3
local T_95 <const> = 2.365        -- Student's t, 7 degrees of freedom
local NIGHT_NOISE <const> = 0.003 -- of a case from night to night, as a share
local REPLICATE_NOISE <const> = 0.004
local WEATHER <const> = 0.006     -- what all of a night's times move by together, the probe's among them
local PROBE_NS <const> = 1e6

local machines = {
  { host = "nightly-a", cpu = "Example CPU 3.2 GHz", cores = 16, slowness = 1.0 },
  { host = "nightly-b", cpu = "Example CPU 2.1 GHz", cores = 4, slowness = 1.6 },
}
local cases = {
  { suite = "attention", batch = 8, eager_ns = 2.9e6, speedup = 1.08, cold_ns = 9.1e6, kernels = 3, calls = 2, bytes = 4.2e7, flops = 2.2e9 },
  { suite = "layernorm_gelu", batch = 64, eager_ns = 8.4e5, speedup = 1.9, cold_ns = 4.4e6, kernels = 1, calls = 0, bytes = 1.7e7, flops = 4.1e7 },
  { suite = "mlp", batch = 8, eager_ns = 1.3e6, speedup = 1.12, cold_ns = 5.8e6, kernels = 3, calls = 3, bytes = 1e8, flops = 4.0e8 },
  { suite = "mlp", batch = 512, eager_ns = 2.1e7, speedup = 1.03, cold_ns = 5.9e6, kernels = 3, calls = 3, bytes = 1.3e8, flops = 2.6e10 },
  { suite = "pointwise", workload = "broadcast", batch = 16, eager_ns = 4.1e6, speedup = 6.3, cold_ns = 3.9e6, kernels = 1, calls = 0, bytes = 3.4e7, flops = 2.5e7 },
  { suite = "pointwise", workload = "gelu", batch = 16, eager_ns = 3.3e6, speedup = 2.6, cold_ns = 4.1e6, kernels = 1, calls = 0, bytes = 3.4e7, flops = 9.2e7 },
  { suite = "pointwise", workload = "trig", batch = 16, eager_ns = 5.2e6, speedup = 1.2, cold_ns = 7.2e6, kernels = 1, calls = 0, bytes = 3.4e7, flops = 3.1e8 },
  { suite = "scorers", workload = "entropy", batch = 64, eager_ns = 6.6e6, speedup = 2.2, cold_ns = 5.0e6, kernels = 1, calls = 0, bytes = 4.8e7, flops = 1.4e8 },
  { suite = "softmax_matmul", batch = 64, eager_ns = 1.9e6, speedup = 1.31, cold_ns = 4.9e6, kernels = 1, calls = 1, bytes = 2.2e7, flops = 1.1e9 },
  { suite = "transformer", workload = "block", batch = 8, eager_ns = 7.4e6, speedup = 1.17, cold_ns = 1.4e7, kernels = 6, calls = 6, bytes = 9.6e7, flops = 6.9e9 },
}

-- Once a week the first machine measures what each compile-time switch is worth: a cold compile without it over one with all of them.
local EVERY_NIGHTS <const> = 7
local models = {
  { suite = "compile_opts", workload = "mlp", batch = 8, eager_ns = 1.3e6, speedup = 1.12, cold_ns = 5.8e6, kernels = 3, calls = 3, bytes = 1e8, flops = 4.0e8 },
  { suite = "compile_opts", workload = "transformer", batch = 8, eager_ns = 7.4e6, speedup = 1.17, cold_ns = 1.4e7, kernels = 6, calls = 6, bytes = 9.6e7, flops = 6.9e9 },
}
local switches = {
  ["opt.pattern_precompile"] = 1.11, ["opt.guard_strings"] = 1.04, ["opt.key_cache"] = 1.06, ["opt.cow_snapshots"] = 1.02, ["opt.lazy_library"] = 1.19,
  ["opt.fused_passes"] = 1.01, ["opt.simplify_cache"] = 1.05, ["opt.source_cache"] = 1.08, ["opt.inplace_dce"] = 1.0, ["opt.lazy_timing"] = 1.01,
  ["opt.storage_cache"] = 1.0, ["opt.lazy_dump"] = 1.13,
}
local TOGETHER <const> = 1.78

-- Nights count from 1. `from` is the first night of the step, `till` the first one behind it; kernels: so many more.
local function share(part) return 1 + math.floor(nights * part) end
local steps = {
  { case = "softmax_matmul", from = share(0.30), till = share(0.55), ratio = 1.12, kernels = 1 },
  { case = "layernorm_gelu", from = share(0.45), ratio = 1.035, host = "nightly-b" },
  { case = "pointwise/gelu", from = share(0.50), ratio = 0.86 },
  { case = "mlp/mlp/inductor/default/cpu/f32/b8/", from = share(0.60), till = share(0.80), ratio = 1.06 },
  { case = "transformer", from = nights - 9, ratio = 1.09, kernels = 1 },
  { case = "pointwise/trig", from = nights - 7, ratio = 0.80 },
}
local late = { case = "attention", host = "nightly-b", from = nights - 1 } -- runs into its time limit from then on

-- --- random numbers ---

local function gauss() return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random()) end
local function commit_of(night)
  math.randomseed(night, 1)
  return ("%06x%06x"):format(math.random(0, 0xffffff), math.random(0, 0xffffff))
end

-- --- JSON ---

local null = {}
local list_of = {}
local function list(items) return setmetatable(items, list_of) end
local function json(value)
  local kind = math.type(value) or type(value)
  if value == null then return "null" end
  if kind == "string" then return '"' .. value:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"' end
  if kind == "float" or kind == "integer" then return ("%.9g"):format(value) end
  if kind ~= "table" then return tostring(value) end
  local parts = {}
  if getmetatable(value) == list_of then
    for i, item in ipairs(value) do parts[i] = json(item) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for name, item in pairs(value) do parts[#parts + 1] = json(name) .. ":" .. json(item) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

-- --- figures ---

local function median(values)
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local middle = #sorted // 2
  return #sorted % 2 == 1 and sorted[middle + 1] or (sorted[middle] + sorted[middle + 1]) / 2
end
local function map(values, f)
  local out = list {}
  for i, value in ipairs(values) do out[i] = f(value) end
  return out
end
-- A timing from the medians of its replicates.
local function timing(medians)
  local middle = median(medians)
  return {
    median_ns = middle, mad_ns = middle * 0.004, p05_ns = middle * 0.993, p95_ns = middle * 1.011,
    replicates = map(medians, function(ns)
      local samples = list {}
      for i = 1, SAMPLES do samples[i] = ns * (1 + REPLICATE_NOISE / 2 * gauss()) end
      return { median_ns = ns, samples_ns = samples }
    end),
  }
end
local function around(ns, noise)
  local values = list {}
  for i = 1, REPLICATES do values[i] = ns * math.exp(noise * gauss()) end
  return values
end
local function duration(ns)
  local samples = around(ns, 0.02)
  return { median = median(samples), samples = samples }
end
local function log_ratios(over, under)
  local out = list {}
  for i = 1, REPLICATES do out[i] = math.log(over[i] / under[i]) end
  return out
end
local function speedup(ratios)
  local sum, squares = 0, 0
  for _, value in ipairs(ratios) do sum = sum + value end
  local mean = sum / REPLICATES
  for _, value in ipairs(ratios) do squares = squares + (value - mean) ^ 2 end
  local half = T_95 * math.sqrt(squares / (REPLICATES - 1) / REPLICATES)
  return {
    ratio = math.exp(mean), lo = math.exp(mean - half), hi = math.exp(mean + half), confidence = 0.95, interval_confidence = 0.95, replicates = REPLICATES,
    log_ratios = ratios, replicates_stop = "count", interval_over = "replicates", noise_floor = 0.004, sign_flip_p = null, stop_reason = "stable",
  }
end

-- --- a case ---

local function sorted_names(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return names
end
local function id_of(case)
  local id = ("%s/%s/inductor/default/cpu/f32/b%d/machine/t4"):format(case.suite, case.workload or case.suite, case.batch)
  for _, name in ipairs(sorted_names(case.off or {})) do id = ("%s;%s=off"):format(id, name) end
  return id
end
local function holds(step, id, machine, night)
  return id:find(step.case, 1, true) == 1 and (not step.host or step.host == machine.host) and night >= step.from and night < (step.till or math.huge)
end

local function compile_of(case, machine, gain_ns)
  local cold = case.cold_ns * machine.slowness
  return {
    cold_ns = duration(cold), disk_ns = duration(cold / 16), memory_ns = duration(cold / 30), first_call_ns = duration(cold * 1.4), start_ns = duration(6e6),
    disk_first_call_ns = null, memory_first_call_ns = null, library_ns = null, pays_off_after_calls = cold / gain_ns, pays_off_lo = null, pays_off_hi = null,
    pays_off_infinite = false, invalid = {},
    stages_ns = { capture = cold * 0.06, decompose = cold * 0.02, lower = cold * 0.03, schedule = cold * 0.05, codegen = cold * 0.8, load = cold * 0.04 },
    evidence = {
      cold = { misses = 1, disk_hits = 0, memory_hits = 0 }, disk = { misses = 0, disk_hits = 1, memory_hits = 0 },
      memory = { misses = 0, disk_hits = 0, memory_hits = 1 },
    },
  }
end

local function nothing_compiled()
  local out = { stages_ns = {}, invalid = {}, pays_off_infinite = false, evidence = { cold = null, disk = null, memory = null } }
  for _, name in ipairs { "cold_ns", "disk_ns", "memory_ns", "first_call_ns", "start_ns", "disk_first_call_ns", "memory_first_call_ns", "library_ns",
                          "pays_off_after_calls", "pays_off_lo", "pays_off_hi" } do out[name] = null end
  return out
end

-- Its kernels and library calls, which share what it moves and computes.
local function launches_of(case, kernels)
  local all, name = list {}, case.workload or case.suite
  local parts = kernels + case.calls
  for i = 1, parts do
    local is_kernel = i <= kernels
    all[i] = { label = is_kernel and ("fused_%s_%d"):format(name, i) or ("matmul_%d"):format(i - kernels), kind = is_kernel and "kernel" or "library",
               generator = is_kernel and "llvm" or "blas", fused = is_kernel and "add mul" or "matmul", ops = is_kernel and 4 or 1,
               bytes = case.bytes // parts, flops = case.flops // parts }
  end
  return all
end

local function frame(case, id)
  local off = {}
  for name in pairs(case.off or {}) do off[name] = "off" end
  return {
    id = id, env = 0, trace = null, selection = null, bound = true, instructions = null, counted_calls = null, counters = {},
    case = { suite = case.suite, workload = case.workload or case.suite, backend = "inductor", mode = "default", device = "cpu", dtype = "f32", batch = case.batch,
             params = {}, topology = "machine", smt = true, threads = 4, switches = off },
    work = { bytes = case.bytes, bytes_from = "compiler", bytes_per_s = null, flops = case.flops, flops_from = "compiler", flops_per_s = null },
  }
end

local function failed(one)
  one.outcome, one.error = "timeout", "a call took longer than 60 s"
  for _, name in ipairs { "baseline", "steady", "speedup", "aa", "probe", "graph", "correctness" } do one[name] = null end
  one.compile = nothing_compiled()
  return one
end

local function measured(one, case, machine, night, weather)
  local ratio, more_kernels = math.exp(NIGHT_NOISE * gauss()), 0
  for _, step in ipairs(steps) do
    if holds(step, one.id, machine, night) then ratio, more_kernels = ratio * step.ratio, more_kernels + (step.kernels or 0) end
  end
  local eager_ns = case.eager_ns * machine.slowness * weather
  local compiled_ns = eager_ns / case.speedup * ratio
  local eager, compiled, probe = around(eager_ns, REPLICATE_NOISE), around(compiled_ns, REPLICATE_NOISE), around(PROBE_NS * machine.slowness * weather, REPLICATE_NOISE)
  one.outcome, one.error = "ok", null
  one.baseline, one.steady, one.probe = timing(eager), timing(compiled), timing(probe)
  one.speedup = speedup(log_ratios(eager, compiled))
  one.probe.version, one.probe.log_ratios = 1, log_ratios(compiled, probe)
  one.aa = { of = one.id, log_ratios = log_ratios(around(compiled_ns, REPLICATE_NOISE), compiled) }
  one.compile = compile_of(case, machine, math.abs(eager_ns - compiled_ns))
  one.graph = {
    graphs = 1, breaks = list {}, guards = 6, recompiles = 0, kernels = case.kernels + more_kernels, ops = 4 * case.kernels, library_calls = case.calls,
    bytes_moved = case.bytes * (1 + more_kernels), flops = case.flops, peak_bytes = case.bytes / 2, code_bytes = 3000 * (case.kernels + more_kernels), artifact = null,
    fallbacks = list {}, launches = launches_of(case, case.kernels + more_kernels),
  }
  one.correctness = { max_error = 2e-6, bound = 1e-5, compared = 3, ok = true, against = "f64", detail = null }
  one.work.bytes_per_s, one.work.flops_per_s = case.bytes / compiled_ns * 1e9, case.flops / compiled_ns * 1e9
  return one
end

-- The models as they are, without each switch, and without any.
local function ablation()
  local all = {}
  for _, model in ipairs(models) do
    local function add(off, ratio)
      all[#all + 1] = setmetatable({ off = off, cold_ns = model.cold_ns * ratio }, { __index = model })
    end
    add({}, 1)
    for _, name in ipairs(sorted_names(switches)) do add({ [name] = true }, switches[name]) end
    add(switches, TOGETHER)
  end
  return all
end

-- --- a result ---

local function time_text(seconds) return os.date("!%Y-%m-%dT%H:%M:%SZ", seconds) end

local function result_of(night, index)
  local machine, commit, started = machines[index], commit_of(night), LAST_NIGHT + (night - nights) * DAY_S + (index - 1) * 3600
  local all = list {}
  math.randomseed(night, 1 + index)
  local weather = math.exp(WEATHER * gauss())
  local tonight = table.move(cases, 1, #cases, 1, {})
  if index == 1 and (nights - night) % EVERY_NIGHTS == 0 then
    for _, case in ipairs(ablation()) do tonight[#tonight + 1] = case end
  end
  for i, case in ipairs(tonight) do
    local one = frame(case, id_of(case))
    all[i] = holds(late, one.id, machine, night) and failed(one) or measured(one, case, machine, night, weather)
  end
  return {
    schema = 1, tbench = { version = "0.1.0", commit = commit, build = "made up by ci/demo", artifact_abi = 1 }, started = time_text(started),
    finished = time_text(started + 1500), argv = list { "tbench", "run", "suite=demo" }, seed = 1, interrupted = false, planned = #all, changed_since = null,
    left_out = list {}, disturbance = { steal_share = 0, others_share = 0.001, load_before = 0.1, load_after = 1.1 },
    harness = { requests_ns = {}, processes = 40, wall_ns = 1.5e12, start_ns = 2e8, stop_ns = 2e7, settle_ns = 0, own_ns = 1e9 },
    environments = list { {
      host = machine.host, os = "Debian GNU/Linux 12", kernel = "6.1", gpu = null, llvm = "19.1.7", lua = "5.4.4", blas = "OpenBLAS", topology = null, topology_xml = null,
      cpu = { model = machine.cpu, features = list { "avx2" }, governor = "performance", packages = 1, numa = 1, cores = machine.cores, pus = machine.cores },
      bound_to = "machine", cpus = "0-3", threads = 4, triad_bytes_per_s = 4e10 / machine.slowness, fma_flops_per_s = 4e11 / machine.slowness, warnings = list {},
      noise = list {},
    } },
    cases = all,
  }
end

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  assert(file:write(text))
  assert(file:close())
end

local function planted()
  local lines = {}
  for _, step in ipairs(steps) do
    for _, machine in ipairs(machines) do
      for _, case in ipairs(cases) do
        if holds(step, id_of(case), machine, step.from) then
          lines[#lines + 1] = table.concat({ id_of(case), machine.host .. " · " .. machine.cpu, commit_of(step.from), step.ratio > 1 and "slower" or "faster", step.ratio,
                                             step.till and commit_of(step.till) or "-" }, "\t")
        end
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

for night = 1, nights do
  for index, machine in ipairs(machines) do write(("%04d-%s.json"):format(night, machine.host), json(result_of(night, index)) .. "\n") end
end
write("planted.txt", planted())
