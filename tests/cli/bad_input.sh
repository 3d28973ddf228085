#!/bin/bash
# Bad input: each gets one clear line and its exit code, and nothing is measured.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

suite() { printf '%s\n' 'local tb = require "tbench"' "$2" > "$1"; }
suite good.lua 'return tb.suite { name = "good", axes = { batch = {1, 8}, alpha = {0.5} }, workloads = { one = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({case.batch, 16}, case) } } end } }'

# --- verbs and names ---
fails 2 "did you mean 'run'" "$TBENCH" rnu
fails 2 "no verb 'frobnicate'" "$TBENCH" frobnicate
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
fails 2 'fuse=maybe: use on or off' "$TBENCH" run suite=./good.lua fuse=maybe
fails 2 'use on or off' env TB_FUSE=maybe "$TBENCH" run suite=./good.lua
fails 2 'topology=corner:1: use machine' "$TBENCH" run suite=./good.lua topology=corner:1
fails 2 'that tbench may use' "$TBENCH" run suite=./good.lua topology=core:9999
fails 2 'threads=0' "$TBENCH" run suite=./good.lua threads=0
fails 2 'replicates=0' "$TBENCH" run suite=./good.lua replicates=0
fails 2 'seed=-1' "$TBENCH" run suite=./good.lua seed=-1
fails 2 'never by hand' "$TBENCH" worker

# --- places ---
fails 2 'cannot be written' "$TBENCH" run suite=./good.lua out=/proc/result.json
fails 2 'cannot be made' "$TBENCH" run suite=./good.lua out=no/such/folder/result.json
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
fails 2 'left with status 0' "$TBENCH" run suite=./leaves.lua
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
describe wrong_mode "name = 'x', modes = {'fast'}, $one" "modes[1]: 'fast' is not one of"
describe taken_axis "name = 'x', axes = { seed = {1} }, $one" 'axes.seed: the name is taken'
describe misplaced_axis "name = 'x', axes = { mode = {'default'} }, $one" 'axes.mode: not an axis of a suite'
describe wrong_timeout "name = 'x', timeout = 0, $one" 'timeout: expected seconds above 0'
describe bad_name "name = 'A b', $one" "name: 'A b'"

# Nothing above left a result behind.
[ ! -e results ] || [ -z "$(ls -A results)" ]
tap_result $? 'no result was written'
tap_end
