#!/bin/bash
# tbench explain as text, JSON and a page; the debug folder and tbench lua, which runs its programs; the logs.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > breaks.lua <<'EOF'
local tb = require "tbench"
return tb.suite { name = "breaks", axes = { batch = { 8 } }, workloads = { w = function(case)
  local w = tb.randn({ 16, 16 }, case)
  local function f(x)
    local y = (x:matmul(w) + 1):relu() -- <b>&"'
    print("a break")
    local z = y:softmax(-1)
    if z:sum():item() > 0 then return z * 2, { k = z } end
    return z
  end
  return { fn = f, args = { tb.randn({ case.batch, 16 }, case) } }
end } }
EOF

# --- text: in the order of the program ---
run "$TBENCH" explain suite=./breaks.lua
[ "$status" -eq 0 ] && [[ $out == *'graphs: 3, graph breaks: 2'*':4: graph 1'*'matmul v0 v1'*'w is a tensor'*'graph break 1: '*':6: '*'call of print'*':7: graph 2'*'softmax'*'graph break 2: '*':8: '*'graph 3'*'returns: output 0'* ]]
tap_result $? 'the text follows the program from graph to break to graph'

# --- json ---
run "$TBENCH" explain suite=./breaks.lua format=json
[ "$status" -eq 0 ] && [[ $out == '{'*'"break_number":'*'}' ]]
tap_result $? 'JSON goes to standard output'
run "$TBENCH" explain suite=./breaks.lua format=json out=told.json
[ "$status" -eq 0 ] && [ -z "$out" ] && [ -s told.json ] && [ -z "$(find . -name '*part')" ]
tap_result $? 'or to a file'
cat > check.lua <<'EOF'
-- A reader of JSON, which says where it is wrong; then what the document must hold.
local file <close> = assert(io.open(arg[1]))
local text, at = file:read "a", 1
local value
local function fail(what) error(what .. " at " .. at .. ": " .. text:sub(at, at + 20), 0) end
local function skip() at = text:find("[^ \n\t\r]", at) or #text + 1 end
local function expect(c) skip() if text:sub(at, at + #c - 1) ~= c then fail(c .. " expected") end at = at + #c end
local function peek() skip() return text:sub(at, at) end
local function read_text()
  expect '"'
  local out = {}
  while true do
    local c = text:sub(at, at)
    if c == "" or c < " " then fail "a text does not end" end
    at = at + (c == "\\" and 2 or 1)
    if c == '"' then return table.concat(out) end
    out[#out + 1] = c == "\\" and text:sub(at - 1, at - 1) or c
  end
end
local function items(close, one)
  if peek() == close then expect(close) return end
  repeat one() local c = peek() if c ~= "," and c ~= close then fail "comma expected" end at = at + 1 until c == close
end
function value()
  local c, result = peek(), {}
  if c == "{" then expect "{" items("}", function() local k = read_text() expect ":" result[k] = value() end) return result end
  if c == "[" then expect "[" items("]", function() result[#result + 1] = value() end) return result end
  if c == '"' then return read_text() end
  local word = text:match("^[%w%.%+%-]+", at) or fail "value expected"
  at = at + #word
  if word == "true" or word == "false" or word == "null" then return word == "true" end
  return tonumber(word) or fail "number expected"
end
local document = value()
skip()
assert(at > #text, "more behind the document")
local told = document.cases[1].explanation
assert(document.kind == "explanation" and #document.cases == 1 and document.cases[1].id:find("breaks/w", 1, true))
assert(#told.breaks == 2 and told.breaks[1].line == 6 and told.breaks[2].line == 8 and told.breaks[1].hint and told.breaks[1].stack)
assert(#told.pieces == 3 and told.pieces[1].line == 4 and told.pieces[2].line == 7 and told.pieces[2].kind == "continuation")
local entry = told.pieces[1].entries[1]
assert(entry.break_number == 1 and #entry.guards >= 3 and entry.graph:find "matmul" and entry.operations[1].line == 5 and #entry.launches == 2)
assert(#told.stages == 8 and told.stages_ns.codegen > 0 and text:find '"fallbacks":%s*%[%s*%]')
assert(#document.sources == 1 and document.sources[1].text:find("a break", 1, true))
EOF
run "$TBENCH" lua check.lua told.json
[ "$status" -eq 0 ]
tap_result $? "the JSON is whole, and has breaks, pieces, guards, operations and sources"

# --- html ---
run "$TBENCH" explain suite=./breaks.lua format=html out=told.html
[ "$status" -eq 0 ] && [ -z "$out" ]
tap_result $? 'a page is written'
line() { sed -n "/<td class=\"no\">$1<\/td>/,/<\/tr>/p" told.html; }
[[ $(line 6) == *'a break'*'graph break 1'*'call of print'*'hint: '* && $(line 8) == *'graph break 2'*'graph 3'* ]]
tap_result $? 'breaks stand beside their lines'
[[ $(line 4) == *'graph 1'*'w is a tensor'* && $(line 5) == *'graph 1'*'matmul v0 v1'* && $(line 7) == *'graph 2'*'softmax'* ]]
tap_result $? 'so do graphs, their guards and their operations'
grep -q '&lt;b&gt;&amp;&quot;&#39;' told.html && ! grep -q '<b>&' told.html && ! grep -q '<script' told.html
tap_result $? 'all text is escaped, and nothing is run'
for tag in html body table tbody tr section details pre; do
  [ "$(grep -o "<$tag[ >]" told.html | wc -l)" -eq "$(grep -o "</$tag>" told.html | wc -l)" ]
  tap_result $? "each <$tag> ends"
done

# --- options ---
fails 2 'format=pdf: use text, json or html' "$TBENCH" explain suite=./breaks.lua format=pdf
fails 2 'write format=json or format=html too' "$TBENCH" explain suite=./breaks.lua out=x.json
fails 2 'the folder none' "$TBENCH" explain suite=./breaks.lua format=json out=none/x.json
fails 2 "it takes no 'format'" "$TBENCH" run suite=./breaks.lua format=json

# --- the debug folder ---
run "$TBENCH" explain suite=./breaks.lua debug="$PWD/folder"
[ "$status" -eq 0 ] && [ "$(ls folder)" = $'0001\n0002\n0003' ] && [ "$(find folder/0001 -type f -size +0 | wc -l)" -eq 8 ]
tap_result $? 'each compile has a folder with eight files'
for program in folder/*/graph_runnable.lua; do
  run "$TBENCH" lua "$program"
  [ "$status" -eq 0 ] && [[ $out == 'result 1: f32['*'checksum '*', compiled '*'largest difference '* ]] && ! grep -Eq 'difference ([1-9][0-9.]*|0\.[0-9]*[1-9][0-9]*|[0-9.]*e[+][0-9]*)$' <<< "$out"
  tap_result $? "it runs, and both ways agree: $program"
done
run "$TBENCH" explain suite=./breaks.lua debug=/dev/null/x
[ "$status" -eq 0 ] && [[ $out == *'fallback: debug folder: /dev/null/x: Not a directory'* ]]
tap_result $? 'a folder that cannot be made is a note'

# --- tbench lua ---
echo 'print(arg[0], arg[1], ..., #arg, require "tbench".ones(2):sum():item())' > arguments.lua
run "$TBENCH" lua arguments.lua one=1 --two
[ "$status" -eq 0 ] && [[ $out == $'arguments.lua\tone=1\tone=1\t2\t2.0' ]]
tap_result $? 'a program gets its arguments'
echo 'error "on purpose"' > raises.lua
fails 4 'raises.lua:1: on purpose' "$TBENCH" lua raises.lua
[[ $err == *'stack traceback'* ]]
tap_result $? 'an error has its traceback'
echo 'x = = 1' > broken.lua
fails 2 "broken.lua:1: unexpected symbol near '='" "$TBENCH" lua broken.lua
fails 2 'cannot open none.lua' "$TBENCH" lua none.lua
fails 2 'name the file' "$TBENCH" lua

# --- logs: each channel says what its name says, for every piece ---
logged() { TB_LOGS=$1 run "$TBENCH" explain suite=./breaks.lua; }
times() { grep -c "$1" <<< "$err"; }
logged graph
[ "$(times '\[graph\] captured, from .*breaks.lua:')" -eq 3 ] && [ "$(times '\[graph\] decomposed')" -eq 3 ] && [ "$(times '\[graph\] lowered')" -eq 3 ]
tap_result $? 'graph: each piece at each stage'
logged guards
[ "$(times '\[guards\]')" -eq 3 ]
tap_result $? 'guards: of each piece'
logged breaks
[ "$(times '\[breaks\]')" -eq 2 ] && [[ $err == *'breaks.lua:6: '*'breaks.lua:8: '* ]]
tap_result $? 'breaks: once each'
logged kernels
[ "$(times '\[kernels\] launch list and kernels, from .*breaks.lua:')" -eq 3 ] && [ "$(times '\[kernels\] code')" -eq 3 ]
tap_result $? 'kernels: of each piece'
logged cache
[ "$(times '\[cache\] miss: ')" -eq 3 ]
tap_result $? 'cache: what was asked for'
cat > twice.lua <<'EOF'
local tb = require "tbench"
local x = tb.ones(3, 4)
local f = function(a, n) return a * n end
tb.compile(f, { dynamic = false })(x, 2)
local g = tb.compile(f, { dynamic = false })
g(x, 2)
g(x, 3)
EOF
TB_LOGS=cache,recompiles,kernels TB_CACHE=off run "$TBENCH" lua twice.lua
[[ $err == *'[cache] miss: '*'[cache] hit: in memory, from '*'twice.lua:3'*'[kernels] launch list; its kernels are in memory'*'[recompiles] recompile 1: n == 2 (now: 3)'* ]]
tap_result $? 'a hit is told too, and why a function is compiled again'
fails 2 'any of graph, guards, breaks, recompiles, kernels, tune, cache' "$TBENCH" explain suite=./breaks.lua logs=none
# --- the size of code, wherever it came from ---
cat > size.lua <<'EOF_LUA'
local tb = require "tbench"
local function make() return tb.compile(function(x) return (x * 2):relu():sum() end) end
local x, first, again = tb.randn { 64 }, make(), make()
first(x)
again(x)
for _, f in ipairs { first, again } do print(tb.stats(f).cache, tb.stats(f).code_bytes) end
EOF_LUA
export TB_CACHE_DIR=$PWD/size-cache
run "$TBENCH" lua size.lua
read -r _ bytes <<< "$out"
[ "${bytes:-0}" -gt 0 ] && [ "$out" = "$(printf 'miss\t%s\nmemory\t%s' "$bytes" "$bytes")" ]
tap_result $? "what is in memory has its code's size: $bytes"
run "$TBENCH" lua size.lua
[ "$out" = "$(printf 'disk\t%s\nmemory\t%s' "$bytes" "$bytes")" ]
tap_result $? 'and so has what comes from disk'

tap_end
