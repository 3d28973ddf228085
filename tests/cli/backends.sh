#!/bin/bash
# backend= of run, explain and ab: backends that a suite registers, and plug-ins of plugin=.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

plugins=${builddir:?}/examples/backend_plugin
cat > own.lua <<'SUITE'
local tb = require "tbench"
tb.register_backend("steps", function(graph)
  print("steps got " .. #graph.nodes .. " operations")
  return graph.forward
end)
tb.register_backend("wrong", function(graph) return function(...) return graph.forward(...) + 1 end end)
tb.register_backend("a/b", function(graph) return graph.forward end)
return tb.suite { name = "own", axes = { batch = { 4 } }, workloads = { w = function(case)
  local w = tb.randn({ case.batch, 8 }, case)
  return { fn = function(x) return (x * w + x):relu() end, args = { tb.randn({ case.batch, 8 }, case) } }
end } }
SUITE
sed '/register_backend("steps"/,/^end)/d; /register_backend/d; s/"own"/"plain"/' own.lua > plain.lua
quick=(quick=yes counters=none)

# case_of FILE: the backends of a result's cases, and how they went.
case_of() { grep -oE '"(backend|outcome)":[[:space:]]*"[^"]*"' "$1" | sed 's/.*"\([^"]*\)"$/\1/' | tr '\n' ' '; }

# --- backends of the suite ---
run "$TBENCH" run suite=./own.lua backend=steps,eager out=own.json "${quick[@]}"
[ "$status" -eq 0 ] && [ "$(case_of own.json)" = 'steps ok eager ok ' ] && [[ $out$err == *'steps got '* ]]
tap_result $? "a suite's own backend runs beside eager, and the case carries its name: $(case_of own.json)"
run "$TBENCH" run suite=./own.lua backend=wrong out=wrong.json "${quick[@]}"
[ "$status" -eq 5 ] && [ "$(case_of wrong.json)" = 'wrong wrong ' ]
tap_result $? 'what it computes is what is compared'
run "$TBENCH" explain suite=./own.lua backend=steps
[ "$status" -eq 0 ] && [[ $out == *'own/w/steps/default/'*'kernels: 0, '* && $out$err == *'steps got '* ]]
tap_result $? 'explain takes it'
run "$TBENCH" run suite=./own.lua backend=cudagraphs out=graphs.json "${quick[@]}"
[ "$status" -eq 0 ] && [ "$(case_of graphs.json)" = 'cudagraphs unsupported ' ]
tap_result $? 'a backend of tbench that is not built is unsupported, not unknown'

# --- names ---
fails 2 "backend=stpes: unknown; did you mean 'steps'?" "$TBENCH" run suite=./own.lua backend=stpes
fails 2 "backend=indcutor: unknown; did you mean 'inductor'?" "$TBENCH" run suite=./plain.lua backend=indcutor
fails 2 'backend=zzz: unknown; backends with suite own: eager, aot_eager, inductor, cudagraphs, a/b, steps, wrong' "$TBENCH" run suite=./own.lua backend=zzz
fails 2 'backend=a/b: a name may not hold' "$TBENCH" run suite=./own.lua backend=a/b
fails 2 'backends with suite plain: eager, aot_eager, inductor, cudagraphs' "$TBENCH" run suite=./own.lua,./plain.lua backend=steps
fails 2 "backend=zzz: unknown" "$TBENCH" explain suite=./own.lua backend=zzz
fails 2 "backend=stpes: unknown; did you mean 'steps'?" "$TBENCH" ab suite=./own.lua base.backend=eager head.backend=stpes dry-run=yes
run "$TBENCH" ab suite=./own.lua base.backend=eager head.backend=steps dry-run=yes
[ "$status" -eq 0 ] && [[ $out == *'own/w/eager/'*'own/w/steps/'* ]]
tap_result $? 'ab takes it for one side'

# --- plug-ins ---
mkdir -p 'a folder, with a comma'
cp "$plugins/plugin.so" 'a folder, with a comma/loops.so'
(cd 'a folder, with a comma' && "$TBENCH" run suite=../plain.lua plugin=loops:loops.so backend=loops out=../loops.json "${quick[@]}" > /dev/null 2>&1)
status=$?
[ "$status" -eq 0 ] && [ "$(case_of loops.json)" = 'loops ok ' ]
tap_result $? "a plug-in runs: $(case_of loops.json)"
run "$TBENCH" explain suite=./plain.lua plugin="loops:$plugins/plugin.so" backend=loops
[ "$status" -eq 0 ] && [[ $out == *'plain/w/loops/default/'* ]]
tap_result $? 'explain takes one'
run "$TBENCH" ab suite=./plain.lua plugin="loops:$plugins/plugin.so,two:$plugins/plugin_run_fails.so" base.backend=loops head.backend=two dry-run=yes
[ "$status" -eq 0 ] && [[ $out == *'plain/w/loops/'*'plain/w/two/'* ]]
tap_result $? 'ab takes two'
run "$TBENCH" run suite=./plain.lua plugin="loops:$plugins/plugin_run_fails.so" backend=loops out=failing.json "${quick[@]}"
[ "$status" -eq 4 ] && [ "$(case_of failing.json)" = 'loops error ' ] && grep -q "backend 'loops' failed" failing.json
tap_result $? 'one that fails is an error of its case'
fails 2 "did you mean 'loops'?" "$TBENCH" run suite=./plain.lua plugin="loops:$plugins/plugin.so" backend=lopos
fails 2 'none.so: No such file or directory' "$TBENCH" run suite=./plain.lua plugin=loops:./none.so
fails 2 'is not a file' "$TBENCH" run suite=./plain.lua plugin=loops:/
fails 2 'use NAME:PATH' "$TBENCH" run suite=./plain.lua plugin=loops
fails 2 'use NAME:PATH' "$TBENCH" run suite=./plain.lua plugin="loops:$plugins/plugin.so,"
fails 2 "the name 'l' is there twice" "$TBENCH" explain suite=./plain.lua plugin="l:$plugins/plugin.so,l:$plugins/plugin.so"
fails 2 'plain.lua' "$TBENCH" run suite=./plain.lua plugin=loops:./plain.lua
fails 2 'has no symbol tbench_plugin' "$TBENCH" run suite=./plain.lua plugin="loops:$plugins/plugin_no_symbol.so"
fails 2 'is made for version 99' "$TBENCH" run suite=./plain.lua plugin="loops:$plugins/plugin_version.so"
fails 2 "'eager' is the name of a backend of tbench" "$TBENCH" run suite=./plain.lua plugin="eager:$plugins/plugin.so"

tap_end
