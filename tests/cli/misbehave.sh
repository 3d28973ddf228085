#!/bin/bash
# Suites that do what none should: start processes, print, raise what is no text, take all memory, never end. Each is told in one
# clear line, keeps to its limits, and leaves nothing behind.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# --- background processes, some of which hold every descriptor of the worker open ---
cat > background.lua <<'EOF'
local tb = require "tbench"
os.execute("sleep 61728 &")
local fns = {
  stays = function(x) return x + 1 end,
  leaves = function() os.execute("sleep 61728 &") os.exit(3) end,
  hangs = function() io.popen("sleep 61728"):read("a") end,
}
return tb.suite {
  name = "background", axes = { how = { "stays", "leaves", "hangs" } },
  workloads = { w = function(case) return { fn = fns[case.how], args = { tb.randn({4}, case) } } end },
}
EOF
# Sleepers whose working folder is this test's: no other run's.
sleepers() {
  local process
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/cwd" 2> /dev/null)" = "$PWD" ] && tr '\0' ' ' < "$process/cmdline" 2> /dev/null | grep '^sleep 61728'
  done
}
run "$TBENCH" run suite=./background.lua quick=yes timeout=10 out=background.json
[ "$status" -eq 4 ] && [ -z "$(sleepers)" ]
tap_result $? 'no process of a suite outlives the run'
[[ $err == *'how=leaves: crashed: '*'exited early with status 3'* ]]
tap_result $? 'a worker that left is seen at once, whatever its children hold open'
[[ $err == *'how=hangs: timeout: '* ]]
tap_result $? 'a worker that hangs ends at its time limit'
booked=$(tr -d '\n\t ' < background.json | sed -n 's/.*"requests_ns":{[^}]*"call":\([0-9]*\).*/\1/p')
[ "${booked:-0}" -ge 10000000000 ]
tap_result $? 'and its time is that of the call it hung in, not of the harness'

# --- endless suites ---
echo 'while true do end' > endless.lua
fails 2 'endless.lua: cannot be loaded: timeout: no answer within 1 s' "$TBENCH" run suite=./endless.lua timeout=1
fails 2 'no answer within 1 s' "$TBENCH" list suite=./endless.lua timeout=1
echo 'while true do print(("x"):rep(100)) end' > chatter.lua
fails 2 'no answer within 1 s' "$TBENCH" run suite=./chatter.lua timeout=1

# --- what suites print ---
cat > prints.lua <<'EOF'
local tb = require "tbench"
print("from the top", 1)
io.stdout:write("without an end of line")
return tb.suite {
  name = "prints", workloads = { w = function(case)
    io.write("from the workload\n")
    return { fn = function(x) print("from the function") io.stderr:write("an error stream\n") return x + 1 end, args = { tb.randn({4}, case) } }
  end },
}
EOF
run "$TBENCH" run suite=./prints.lua quick=yes out=prints.json
[ "$status" -eq 0 ] && [[ $out == *'1 of 1 right'* && $out != *'from the top'* ]]
tap_result $? 'printing breaks no measurement and stays out of the table'
said() {
  grep -qxF -- "prints: $1" err.text
  tap_result $? "shown on standard error: $1"
}
said $'from the top\t1'
said 'without an end of line'
said 'from the function'
said 'an error stream'
[[ $err == *'prints: '*'from the workload'* ]]
tap_result $? 'shown on standard error: from the workload'
[ "$(grep -cF 'from the function' err.text)" -eq 1 ] && grep -q 'more lines printed by suites' err.text
tap_result $? 'a line that comes again is counted, not shown again'
run "$TBENCH" list suite=./prints.lua
[ "$status" -eq 0 ] && [[ $err == *$'prints: from the top\t1'* && $out != *'from the top'* ]]
tap_result $? 'list shows what a suite prints, on standard error'
run "$TBENCH" explain suite=./prints.lua
[ "$status" -eq 0 ] && [[ $err == *'prints: from the function'* ]]
tap_result $? 'explain shows what a function prints'

# --- errors that are no texts ---
raised() { echo "error($1)" > raised.lua; fails 2 "$2" "$TBENCH" run suite=./raised.lua; }
raised '{ code = 3 }' 'a table was raised: { code = 3 }'
raised '{ { 1 }, "two" }' 'a table was raised: { [1] = {…}, [2] = "two" }'
raised 'nil' 'nil was raised'
raised '' 'nil was raised'
raised 'false' 'false was raised'
raised 'print' 'a function was raised'
raised '""' 'an error without a message'
raised 'setmetatable({}, { __tostring = function() return "its own words" end })' 'its own words'
raised 'setmetatable({ a = 1 }, { __tostring = function() error("no words") end })' 'a table was raised: { a = 1 }'
raised '("x"):rep(9999)' 'xxx…'
cat > thrown.lua <<'EOF'
local tb = require "tbench"
local function cycle() local t = {} t.a, t.b = t, t return t end
local values = { code = { code = 3 }, none = false, bytes = "not \xff UTF-8, \27[31m no colour, no \0 end", cycle = cycle() }
return tb.suite {
  name = "thrown", axes = { what = { "code", "none", "bytes", "cycle" } },
  workloads = { w = function(case) return { fn = function() error(values[case.what] or nil) end } end },
}
EOF
run "$TBENCH" run suite=./thrown.lua quick=yes out=thrown.json
[ "$status" -eq 4 ] && [[ $err == *'what=code: error: baseline: a table was raised: { code = 3 }'* && $err == *'what=none: error: baseline: nil was raised'* ]]
tap_result $? 'a function that raises no text is told with what it raised'
iconv -f UTF-8 -t UTF-8 thrown.json > /dev/null && ! grep -q $'\033' err.text && [[ $err == *'not ? UTF-8,  [31m no colour'* ]]
tap_result $? 'bytes that are no text reach neither the result nor the terminal'

# --- options of a workload ---
cat > options.lua <<'EOF'
local tb = require "tbench"
local options = { unknown = { mod = "x" }, mode = { mode = 5 }, backend = { backend = "eager" }, text = "abc", list = { "fullgraph" }, switch = { options = { fuse = "maybe" } },
                  good = { fullgraph = true, options = { fuse = "off" } } }
return tb.suite {
  name = "options", axes = { how = { "unknown", "mode", "backend", "text", "list", "switch", "good" } },
  workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({4}, case) }, options = options[case.how] } end },
}
EOF
run "$TBENCH" run suite=./options.lua quick=yes out=options.json
option_told() { [[ $err == *"how=$1: error: "*"suite options, workload w: $2"* ]]; tap_result $? "options: $2"; }
option_told unknown "options: there is no option 'mod'; options of a workload are fullgraph, dynamic"
option_told mode 'options.mode: set by the axis mode; options of a workload are fullgraph'
option_told backend 'options.backend: set by the axis backend'
option_told text 'options: expected a table for tb.compile, got string; options of a workload are'
option_told list "options: there is no option '1'"
option_told switch 'compile: '
[[ $err == *'fuse=maybe: use on or off'* && $err != *'how=good'* ]]
tap_result $? 'a switch with a wrong value is told, right options pass'

# --- what cannot be compared is never right ---
cat > compare.lua <<'EOF'
local tb = require "tbench"
local function cycle() local t = {} for i = 1, 10 do t["k" .. i] = t end return t end
local made = {
  garbage = function(case) -- on every descriptor of the worker that can be opened anew
    for fd = 3, 9 do local file = io.open("/proc/self/fd/" .. fd, "w") if file then file:write(("garbage "):rep(99)) file:flush() end end
    return { fn = function(x) return x + 1 end, args = { tb.ones(4) } }
  end,
  lost_reference = function(case)
    local check = function() if case.reference_dtype then os.exit(1) end return true end
    return { fn = function(x) return x + 1 end, args = { tb.ones(4) }, check = check }
  end,
  cycles = function(case) return { fn = function(t) return cycle() end, args = { cycle() } } end,
  no_require = function(case) require = nil return { fn = function(x) return x + 1 end, args = { tb.ones(4) } } end,
  no_module = function(case) package.loaded.tbench = nil return { fn = function(x) return x + 1 end, args = { tb.ones(4) } } end,
  no_check = function(case) return { fn = function(x) return x + 1 end, args = { tb.ones(4) }, check = 5 } end,
  no_amount = function(case) return { fn = function(x) return x + 1 end, args = { tb.ones(4) }, flops = "many" } end,
  half_argument = function(case) return { fn = function() return 1 end, args = { n = 1.5 } } end,
}
local names = {}
for name in pairs(made) do names[#names + 1] = name end
table.sort(names)
return tb.suite { name = "compare", axes = { how = names }, workloads = { w = function(case) return made[case.how](case) end } }
EOF
run "$TBENCH" run suite=./compare.lua quick=yes timeout=60 out=compare.json
# ended HOW OUTCOME TEXT: by the line of the CSV.
ended() {
  [[ $("$TBENCH" report compare.json format=csv | tr -d '\r' | grep "how=$1,") == *",$2,"*"$3"* ]]
  tap_result $? "how=$1 is $2 ($3)"
}
ended garbage error 'sent unreadable values'
ended lost_reference ok ''
ended cycles ok ''
ended no_require ok ''
ended no_module error 'the suite has removed tbench'
ended no_check error 'check: expected a function, got number'
ended no_amount error 'flops: expected a number of 0 or more, got many'
ended half_argument error 'expected 0 to 32 arguments'
[ "$(grep -c '"against":.*"baseline"' compare.json)" -eq 1 ]
tap_result $? 'a lost reference leaves the comparison with the plain function'
[[ $("$TBENCH" report compare.json) == *' against f64, 1 against the baseline)'* ]]
tap_result $? 'and the summary says so'
[ "$(grep -c '"outcome":.*"ok"' compare.json)" -eq "$(grep -c '"ok":.*true' compare.json)" ]
tap_result $? 'whatever is ok was compared and right'

# --- what a suite says decides nothing ---
cat > says.lua <<'EOF'
local tb = require "tbench"
local said = {
  kind = "layer kind unsupported: rnn", memory = "the cache is out of memory", number = "there is no memory for 3 more", request = "usage: give a size",
}
local names = {}
for name in pairs(said) do names[#names + 1] = name end
table.sort(names)
return tb.suite {
  name = "says", axes = { how = names },
  workloads = { w = function(case) return { fn = function() error(said[case.how], 0) end, args = {} } end },
}
EOF
run "$TBENCH" run suite=./says.lua quick=yes out=says.json
[ "$status" -eq 4 ] && [ "$(grep -c '"outcome":.*"error"' says.json)" -eq 4 ]
tap_result $? 'an error of a suite is an error, whatever its text speaks of'
[[ $err == *'layer kind unsupported: rnn'* && $err == *'usage: give a size'* ]]
tap_result $? 'and its text is shown as it is'

# --- memory (a sanitizer takes more than any limit) ---
if ! grep -qE '__(asan|tsan)_init' "$TBENCH"; then
  cat > memory.lua <<'EOF'
local tb = require "tbench"
local function fill(make) local kept = {} while true do kept[#kept + 1] = make(#kept) end end
local fns = {
  tensors = function() fill(function() return tb.zeros(1024, 1024) end) end,
  huge = function() return tb.zeros(1 << 20, 1 << 12) end,
  tables = function() fill(function(i) return { i } end) end,
  strings = function() fill(function(i) return ("x"):rep(1 << 20) .. i end) end,
  library = function(x) return x:matmul(x) end, -- its buffers alone are more than the limit
}
return tb.suite {
  name = "memory", axes = { how = { "tensors", "huge", "tables", "strings", "library" } },
  workloads = { w = function(case) return { fn = fns[case.how], args = { tb.randn({8, 8}, case) } } end },
}
EOF
  begun=$SECONDS limit=300
  run "$TBENCH" run suite=./memory.lua quick=yes memory_mb=120 timeout=$limit out=memory.json
  [ "$status" -eq 4 ] && [ "$(grep -c '"outcome":.*"oom"' memory.json)" -eq 5 ] && [ $((SECONDS - begun)) -lt $limit ]
  tap_result $? 'memory that is out is the outcome oom, whoever asked for it, and at once'
  echo 'local kept = {} while true do kept[#kept + 1] = ("x"):rep(1 << 20) .. #kept end' > bomb.lua
  fails 2 'not enough memory' "$TBENCH" run suite=./bomb.lua memory_mb=120
  # buffers of the matrix library for 64 threads do not fit
  run bash -c 'ulimit -v 4000000; OMP_NUM_THREADS=64 exec "$TBENCH" doctor'
  [ "$status" -eq 4 ] && [[ $out == *'REQUIRED  matrix library '*'→ raise the limit'* ]]
  tap_result $? 'doctor tells a matrix library that cannot be opened, and what helps'
fi

# --- more threads than cores ---
threads=$(($(nproc) * 8))
run "$TBENCH" run suite=./options.lua how=good quick=yes threads=$threads out=crowd.json
[ "$status" -eq 0 ] && [[ $out == *"note: $threads threads on "*": they take turns"* ]] && grep -q 'they take turns' crowd.json
tap_result $? 'more threads than cores are a warning in the table and in the result'
for nonsense in 0 -1 abc 100000 1.5 ''; do fails 2 'threads=' "$TBENCH" run suite=./options.lua how=good threads=$nonsense; done
tap_end
