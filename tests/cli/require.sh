#!/bin/bash
# tbench.so in a stock lua5.4: require "tbench", what it computes, its errors, and its end.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

module=${builddir:?}/tbench.so lua=${LUA:-lua5.4}
skip() { echo "1..0 # SKIP $*"; exit 0; }
command -v "$lua" > /dev/null || skip "there is no $lua here (Debian package: lua5.4)"

# A module with AddressSanitizer needs its runtime first of all; where that is no shared library (clang's), no stock program can load it.
preload=$(ldd "$module" | awk '$1 ~ /^lib[at]san\.so/ { print $3 }')
[ -n "$preload" ] || ! nm -D "$module" | grep -qE ' U __[at]san_' || skip "the sanitizer's runtime is part of a program here, and $lua has none"
stock() { LD_PRELOAD=$preload LUA_CPATH="$builddir/?.so" LUA_PATH='' "$lua" "$@"; }

[ "$(nm -D --defined-only "$module" | awk '$2 ~ /^[A-Z]$/ && $3 !~ /^(__bss_start|_edata|_end|__[at]san_.*|__ubsan_.*|__odr_.*)$/ { print $3 }')" = luaopen_tbench ]
status=$? out=$(nm -D --defined-only "$module") err=
tap_result $status 'the module shows luaopen_tbench alone'
nm -D --undefined-only "$module" | grep -q ' lua_pcallk$'
tap_result $? "the functions of Lua are the interpreter's"

# Threads of OpenMP sleep on when a state is closed: a host that opens another one must still have their code.
readelf -d "$module" | grep -q NODELETE
tap_result $? 'the module stays loaded when a state closes'

cat > same.lua <<'LUA'
local tb = require "tbench"
local nn = tb.nn
assert(require "tbench" == tb)
tb.manual_seed(1)
local model = nn.Sequential { nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4) }
local function far(a, b) return (a - b):abs():max():item() end
for _, backend in ipairs { "eager", "aot_eager", "inductor" } do
  local f = tb.compile(function(x) return model(x):softmax(-1) end, { backend = backend, fullgraph = true })
  for _, rows in ipairs { 3, 5, 7, 3 } do
    local x = tb.randn { rows, 16 }
    assert(far(f(x), model(x):softmax(-1)) < 1e-6, backend)
  end
end
-- a break, a side effect, and a function of plain Lua
local seen = {}
local function g(x, k)
  local y = x * k
  io.write("between", "\n")
  seen[#seen + 1] = k
  return (y + 1):sum(), string.rep("a", k)
end
local f = tb.compile(g)
local x = tb.ones { 2, 3 }
local sum, text = f(x, 3)
assert(sum:item() == 24 and text == "aaa" and #seen == 1 and tb.stats(f).graphs == 2)
assert(tostring(tb.explain(g)(x, 2)):find("graph break 1", 1, true))
-- in a coroutine, and with a second table over the same module
assert(coroutine.wrap(function() return f(x, 1) end)():item() == 12)
package.loaded.tbench = nil
assert(require "tbench" ~= tb and require("tbench").ones(2):sum():item() == 2)
print(tb.list_backends()[1], "well")
LUA
run stock same.lua
[ "$status" -eq 0 ] && [[ $out == *between*'eager'$'\t''well' ]] && [ -z "$err" ]
tap_result $? 'compiled and eager give the same'

run stock -e 'local tb = require "tbench"
local f = tb.compile(function(x)
  local y = x + 1
  return y:matmul(y)
end)
print(pcall(f, tb.ones { 2, 3 }))
print(pcall(tb.compile, 5))
print(pcall(tb.compile, print, { backend = "nope" }))
f(tb.ones { 2, 3 })'
[ "$status" -eq 1 ] && [[ $out == *'false'*':4: '*'matmul'*'false'*'compile: '*'got number 5'*"there is no backend 'nope'; backends: eager, aot_eager, inductor"* ]] &&
  [[ $err == "$lua: "*':4: '*'matmul'*'stack traceback'* ]]
tap_result $? 'errors have their line, and end a program as Lua has it'

fails 1 "isa=foo: use one of" env TB_ISA=foo LD_PRELOAD="$preload" LUA_CPATH="$builddir/?.so" "$lua" -e 'require "tbench"'
run stock -e 'local tb = require "tbench" local f = tb.compile(function(x) return x:matmul(x) end) f(tb.ones { 64, 64 }) os.exit(7, true)'
[ "$status" -eq 7 ] && [ -z "$err" ]
tap_result $? 'os.exit closes the state'
run stock -e 'local tb = require "tbench" local f = tb.compile(function(x) return x:matmul(x) end) f(tb.ones { 64, 64 }) os.exit(7)'
[ "$status" -eq 7 ] && [ -z "$err" ]
tap_result $? 'or does not'
mkdir -p cache
for what in miss disk; do
  TB_CACHE_DIR=$PWD/cache run stock -e 'local tb = require "tbench" local f = tb.compile(function(x) return (x + 1) * 2 end) f(tb.ones { 64, 64 }) print(tb.stats(f).cache)'
  [ "$status" -eq 0 ] && [ "$out" = "$what" ]
  tap_result $? "switches come from the environment, and the cache is that of tbench: $what"
done

tap_end
