#!/bin/bash
# Bad input: each gets one clear line and its exit code, and nothing is measured.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

suite() { printf '%s\n' 'local tb = require "tbench"' "$2" > "$1"; }
suite good.lua 'return tb.suite { name = "good", axes = { batch = {1, 8}, alpha = {0.5} }, workloads = { one = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({case.batch, 16}, case) } } end } }'

# --- verbs and names ---
fails 2 "did you mean 'run'" "$TBENCH" rnu
fails 2 "no verb 'frobnicate'" "$TBENCH" frobnicate
echo 'print(1)' > program.lua
fails 2 'logs=typo: use any of' env TB_LOGS=typo "$TBENCH" lua program.lua
fails 2 'recompile_limit=few: use a whole number' env TB_RECOMPILE_LIMIT=few "$TBENCH" lua program.lua
fails 2 'suite=NAME is missing' "$TBENCH" run
fails 2 "write name=value, as suite=good" "$TBENCH" run good
fails 2 "no suite 'nope'" "$TBENCH" run suite=nope
fails 2 "did you mean 'mlp'" "$TBENCH" run suite=mpl
fails 2 'cannot be read' "$TBENCH" run suite=./none.lua
fails 2 "did you mean 'batch'" "$TBENCH" run suite=./good.lua bacth=1
fails 2 'axes of suite ./good.lua: alpha, batch' "$TBENCH" run suite=./good.lua colour=red
fails 2 'takes numbers, as batch=1,8' "$TBENCH" run suite=./good.lua batch=many
fails 2 'whole numbers of 1 or more' "$TBENCH" run suite=./good.lua batch=0
fails 2 'batch is given twice' "$TBENCH" run suite=./good.lua batch=1 batch=8
fails 2 'has no value' "$TBENCH" run suite=./good.lua batch=
fails 2 'workload=two: unknown' "$TBENCH" run suite=./good.lua workload=two
fails 2 "did you mean 'f32'" "$TBENCH" run suite=./good.lua dtype=f23
fails 2 "did you mean 'default'" "$TBENCH" run suite=./good.lua mode=defualt
fails 2 'mode=max-autotune: modes are those of backend=inductor; backend=eager has none' "$TBENCH" run suite=./good.lua backend=eager mode=max-autotune
fails 2 'isa=foo: use one of auto, avx2, avx512' "$TBENCH" run suite=./good.lua isa=foo
fails 2 'logs=foo: use any of graph, guards' "$TBENCH" run suite=./good.lua logs=foo
fails 2 'llvm_level=99: use a whole number from 0 to 3' "$TBENCH" run suite=./good.lua llvm_level=99
fails 2 'isa=foo: use one of' env TB_ISA=foo "$TBENCH" run suite=./good.lua
fails 2 'fuse=maybe: use on or off' "$TBENCH" run suite=./good.lua fuse=maybe
fails 2 'use on or off' env TB_FUSE=maybe "$TBENCH" run suite=./good.lua
fails 2 'topology=corner:1: use machine' "$TBENCH" run suite=./good.lua topology=corner:1
fails 2 'that tbench may use' "$TBENCH" run suite=./good.lua topology=core:9999
fails 2 'threads=0' "$TBENCH" run suite=./good.lua threads=0
fails 2 'replicates=0' "$TBENCH" run suite=./good.lua replicates=0
fails 2 'seed=-1' "$TBENCH" run suite=./good.lua seed=-1
fails 2 'only tbench itself starts this' "$TBENCH" worker

fails 2 'target=0.5: use a percentage' "$TBENCH" run suite=./good.lua target=0.5
fails 2 'target=0%: use a percentage' "$TBENCH" run suite=./good.lua target=0%
fails 2 'replicates_max=0: use a whole number' "$TBENCH" run suite=./good.lua replicates_max=0
fails 2 'budget=-1' "$TBENCH" run suite=./good.lua budget=-1
fails 2 'replicates=10001' "$TBENCH" run suite=./good.lua replicates=10001
fails 2 'timeout=0' "$TBENCH" run suite=./good.lua timeout=0
fails 2 'memory_mb=0' "$TBENCH" run suite=./good.lua memory_mb=0
fails 2 'below 2^53' "$TBENCH" run suite=./good.lua batch=9007199254740993
fails 2 "write name=value, as suite=mlp" "$TBENCH" list mlp
fails 2 'suite= has no value' "$TBENCH" list suite=
fails 2 "it takes no 'all'" "$TBENCH" counters all
fails 2 "it takes no 'quick'" "$TBENCH" explain suite=./good.lua quick=yes
fails 2 'out=x.json: the text goes to standard output' "$TBENCH" explain suite=./good.lua out=x.json
fails 2 'one word too many' "$TBENCH" help run list
fails 2 'threads=99999999999' "$TBENCH" topo threads=99999999999 peaks=no
for name in end Foo _x 1x a-b ../x é; do fails 2 "'$name' is not a valid name" "$TBENCH" new suite "$name"; done
run "$TBENCH" new suite fresh
[ "$status" -eq 0 ] && "$TBENCH" run suite=./fresh.lua dry-run=yes > /dev/null 2>&1
tap_result $? 'a new suite can be run'

# --- results of other makers ---
report() { printf '%s' "$2" > "$1.json"; fails 2 "$3" "$TBENCH" report "$1.json"; fails 2 "$3" "$TBENCH" plot "$1.json"; }
report trailing '{"cases":[]} more' 'line 1 is not JSON'
report scalars '{"cases":[1,null]}' 'no list of cases'
report newer '{"schema":2,"cases":[]}' 'its schema is not 1'
printf '{"cases":[{"id":"\\u001b[31m","error":"\\u001b[2J"}]}' > escapes.json
run "$TBENCH" report escapes.json
[ "$status" -eq 0 ] && [[ $out != *$'\033'* ]]
tap_result $? 'what a result holds cannot steer the terminal'

# --- standard streams ---
for verb in help list topo\ peaks=no counters doctor 'cache stat' 'run suite=./good.lua dry-run=yes' 'report escapes.json' 'explain suite=./good.lua batch=1'; do
  # shellcheck disable=SC2086
  "$TBENCH" $verb > /dev/full 2> err.text < /dev/null
  status=$? err=$(cat err.text)
  [ "$status" -eq 4 ] && [[ $err == *'standard output was not written: No space left on device'* ]]
  tap_result $? "a full standard output is told: $verb"
done
"$TBENCH" run suite=./good.lua batch=1 quick=yes out=closed.json <&- >&- 2>&-
status=$?
[ "$status" -eq 4 ] && "$TBENCH" report closed.json > /dev/null
tap_result $? 'closed standard streams do no harm to the result'
rm -f closed.* fresh.lua

# --- places ---
fails 2 'cannot be written' "$TBENCH" run suite=./good.lua out=/proc/result.json
fails 2 'the folder no/such/folder: No such file or directory' "$TBENCH" run suite=./good.lua out=no/such/folder/result.json
fails 2 'the folder none: No such file or directory' "$TBENCH" run suite=./good.lua out=none/result.json
[ ! -e none ] && [[ $err != *triad* ]]
tap_result $? 'a missing folder is told before anything is measured, and is not made'
fails 2 'good.lua is not a folder' "$TBENCH" run suite=./good.lua out=good.lua/result.json
fails 2 'name a file, not a folder' "$TBENCH" run suite=./good.lua out=.
fails 2 'or a device' "$TBENCH" run suite=./good.lua out=/dev/null
touch plain-file
fails 2 'cache_dir=plain-file' "$TBENCH" run suite=./good.lua cache_dir=plain-file
fails 2 'cache_dir=/proc/none' "$TBENCH" run suite=./good.lua cache_dir=/proc/none

# --- broken suites ---
suite syntax.lua 'return tb.suite { name = "syntax", workloads = { a = functio(case) return 1 end } }'
fails 2 'syntax.lua:2:' "$TBENCH" run suite=./syntax.lua
suite runtime.lua 'local function inner() local x; return x.field end
inner()
return tb.suite { name = "runtime", workloads = {} }'
fails 2 "runtime.lua:2: attempt to index a nil value (local 'x')" "$TBENCH" run suite=./runtime.lua
fails 2 'stack traceback' "$TBENCH" run suite=./runtime.lua
fails 2 'runtime.lua:3: in main chunk' "$TBENCH" run suite=./runtime.lua
suite leaves.lua 'os.exit(0)'
fails 2 'exited early with status 0' "$TBENCH" run suite=./leaves.lua
printf '\033Lua' > binary.lua
fails 2 'binary.lua: attempt to load a binary chunk' "$TBENCH" run suite=./binary.lua
mkdir -p other && cp good.lua other
fails 2 "are both named 'good'" "$TBENCH" run suite=./good.lua,./other/good.lua
suite nothing.lua 'return nil'
fails 2 'expected the file to return tb.suite' "$TBENCH" run suite=./nothing.lua

describe() { suite "$1.lua" "return tb.suite { $2 }"; fails 2 "$1.lua: $3" "$TBENCH" run "suite=./$1.lua"; }
one='workloads = { one = function(case) return { fn = function() end } end }'
describe no_name "$one" 'name: missing'
describe no_workloads 'name = "x"' 'workloads: missing'
describe empty_workloads 'name = "x", workloads = {}' 'workloads: empty'
describe wrong_workload 'name = "x", workloads = { one = 1 }' 'workloads.one: expected a function, got number'
describe unknown_field "name = 'x', axis = {}, $one" "unknown field 'axis'"
describe wrong_type "name = 'x', axes = 3, $one" 'axes: expected a table, got number'
describe empty_axis "name = 'x', axes = { batch = {} }, $one" 'axes.batch: expected a list of values'
describe mixed_axis "name = 'x', axes = { alpha = {1, 'a'} }, $one" 'axes.alpha[2]: values of one axis have one type'
describe wrong_batch "name = 'x', axes = { batch = {1, 0} }, $one" 'axes.batch[2]: expected a whole number of 1 or more'
describe wrong_dtype "name = 'x', axes = { dtype = {'f23'} }, $one" "axes.dtype[1]: 'f23' is not one of f32,f64,bf16"
describe empty_switches "name = 'x', switches = {}, $one" "switches: expected a list with a text for each set of switches"
describe switches_of_tables "name = 'x', switches = {{tile = 'off'}}, $one" "switches[1]: expected a text as"
describe unknown_switch "name = 'x', switches = {'', 'tile=off tule=off'}, $one" "switches[2]: there is no switch 'tule'"
describe switch_value "name = 'x', switches = {'tile=perhaps'}, $one" "switches[1]: tile=perhaps: use on or off"
describe switch_aside "name = 'x', switches = {'debug=/tmp'}, $one" "switches[1]: debug does not make another case"
describe wrong_mode "name = 'x', modes = {'fast'}, $one" "modes[1]: 'fast' is not one of"
describe wrong_mode_of "name = 'x', modes_of = { one = {'fast'} }, $one" "modes_of.one[1]: 'fast' is not one of"
describe no_mode_of "name = 'x', modes_of = { one = {} }, $one" "modes_of.one: expected a list of values"
describe mode_of_nothing "name = 'x', modes_of = { two = {'default'} }, $one" 'modes_of: there is no workload two'
describe mode_of_list "name = 'x', modes_of = { 'default' }, $one" 'modes_of: there is no workload 1'
describe taken_axis "name = 'x', axes = { seed = {1} }, $one" 'axes.seed: the name is taken'
describe misplaced_axis "name = 'x', axes = { mode = {'default'} }, $one" 'axes.mode: not an axis of a suite'
describe wrong_timeout "name = 'x', timeout = 0, $one" 'timeout: expected seconds above 0'
describe long_timeout "name = 'x', timeout = 1e300, $one" 'timeout: expected seconds above 0, at most'
describe odd_value "name = 'x', axes = { how = {'a\\xff'} }, $one" 'axes.how[1]: a string value may not'
describe bad_name "name = 'A b', $one" "name: 'A b'"

# --- a pipe that nobody writes to is waited for nowhere ---
mkfifo pipe pipe.lua
is_pipe() { fails 2 'it is a pipe, and must be a regular file' timeout "$patience" "$TBENCH" "$@"; }
one_case='"cases": [{"id": "a", "env": 0, "case": {"suite": "s"}, "outcome": "ok", "steady": {"median_ns": 9, "replicates": [{"median_ns": 9}]}}]'
printf '{"schema": 1, "started": "2026-01-02T00:00:00Z", "finished": "2026-01-02T01:00:00Z", "planned": 1, "environments": [{"host": "h"}], %s}\n' "$one_case" > tonight.json
is_pipe run suite=./pipe.lua
is_pipe run suite=pipe
is_pipe report pipe
is_pipe compare tonight.json pipe
is_pipe gate tonight.json against=pipe
is_pipe gate tonight.json against=tonight.json policy=pipe
mkdir folder nights
fails 2 'it is a folder, and must be a regular file' "$TBENCH" gate tonight.json against=tonight.json policy=folder
sed 's/01-02/01-01/g' tonight.json > nights/first.json
mkfifo nights/stray.json
fails 3 'skipped stray.json: nights/stray.json: it is a pipe' timeout "$patience" "$TBENCH" gate tonight.json against=nights
[[ $out == *'nights (1 result)'* ]]
tap_result $? 'one in the folder of a history stops nothing'
mkfifo nights/marks.txt
is_pipe gate tonight.json against=nights

# Nothing above left a result behind.
[ ! -e results ] || [ -z "$(ls -A results)" ]
tap_result $? 'no result was written'
tap_end
