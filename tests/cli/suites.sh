#!/bin/bash
# Every shipped suite, each workload at its smallest batch: right, captured whole, in no more kernels than fusion owes, and in
# compile states that are what they are called. Times are not looked at. To add a suite: its rows in `owed`; in `cases`, when it
# has no batch; and in `changes`, when graph breaks or recompiles are what it is about.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# suite, workload, the most kernels, library calls: one for each matrix product of the model and none else.
owed='
attention       full            1 2
attention       causal          1 2
capture_size    loop            1 0
capture_size    straight        1 0
compile_opts    mlp             3 3
compile_opts    attention       1 2
compile_opts    block           6 6
compile_opts    breaks          8 0
compile_opts    chain           1 0
compile_opts    dynamic         1 0
dynamic         mlp             2 2
dynamic         heads           1 0
graph_breaks    calls           9 0
graph_breaks    branches        9 0
guards          deep            1 0
guards          wide            1 0
layernorm_gelu  layernorm_gelu  1 0
mlp             mlp             3 3
mlp_small       mlp_small       8 8
pointwise       trig            1 0
pointwise       gelu            1 0
pointwise       broadcast       1 0
recompile       shapes          1 1
recompile       scalars         1 0
recompile       steps           1 0
scorers         entropy         1 0
scorers         sobel           1 0
scorers         query_content   3 0
softmax_matmul  softmax_matmul  1 1
transformer     block           6 6
'

# suite, and the case of it that is run. Of the sets of switches of compile_opts it is the one with all on, and that again (switches.sh has the others).
cases='
capture_size    ops=1000
compile_opts    opt.pattern_precompile=on opt.guard_strings=on opt.key_cache=on opt.cow_snapshots=on opt.lazy_library=on opt.fused_passes=on opt.simplify_cache=on opt.source_cache=on opt.inplace_dce=on opt.lazy_timing=on opt.storage_cache=on opt.lazy_dump=on
dynamic         sizes=8 form=auto
graph_breaks    breaks=8
guards          modules=5
recompile       values=4
'

# suite, workload, graphs, breaks, recompiles; of all others: one graph, no break, no recompile.
changes='
compile_opts    breaks          9 8 0
dynamic         mlp             1 0 1
dynamic         heads           1 0 1
graph_breaks    calls           9 8 0
graph_breaks    branches        9 8 0
recompile       shapes          1 0 1
recompile       scalars         1 0 1
recompile       steps           1 0 1
'

# A JSON document on standard input as lines `path<tab>value`: members by name, elements by number from 0; empty ones as [] and {}.
# No string of a result goes over a line.
flatten_json='
function put(value,   i, path) {
  for (i = 1; i <= depth; i++) path = path (i > 1 ? "." : "") key[i]
  print path "\t" value
  empty[depth] = 0
}
{
  line = $0
  while (match(line, /"([^"\\]|\\.)*"|[][{}:,]|[^][{}:," \t]+/)) {
    token = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
    if (token == ":") continue
    else if (token ~ /^[[{]$/) { empty[depth] = 0; depth++; array[depth] = token == "["; key[depth] = 0; named = 0; empty[depth] = 1 }
    else if (token ~ /^[]}]$/) { was_empty = empty[depth]; what = array[depth] ? "[]" : "{}"; depth--; if (was_empty) put(what) }
    else if (token == ",") { if (array[depth]) key[depth]++; else named = 0 }
    else if (array[depth] || named) { gsub(/^"|"$/, "", token); put(token); named = 0 }
    else { key[depth] = substr(token, 2, length(token) - 2); named = 1 }
  }
}'

# at PATH: its value in the case that is looked at.
at() { awk -F '\t' -v path="cases.$case.$1" '$1 == path { print $2 }' flat.text; }

# is PATH VALUE NAME
is() {
  local value
  value=$(at "$1")
  [ "$value" = "$2" ]
  tap_result $? "$3 ($1 is ${value:-not there})"
}

# evidence STATE COUNTER: the first call of that state was counted there, and nowhere else.
evidence() {
  local counter good=0 counted
  for counter in misses disk_hits memory_hits; do
    counted=$(at "compile.evidence.$1.$counter")
    if [ "$counter" = "$2" ]; then [ "${counted:-0}" -gt 0 ] || good=1; else [ "$counted" = 0 ] || good=1; fi
  done
  tap_result $good "$name: the state $1 is counted by $2 alone"
}

# Graphs, breaks and recompiles are as many as the table says; leaves the number of recompiles.
check_graphs() {
  local graphs breaks found
  read -r _ _ graphs breaks recompiles <<< "$(awk -v name="$name" '$1 "/" $2 == name' <<< "$changes")"
  is graph.graphs "${graphs:-1}" "$name is captured in ${graphs:-1} graphs"
  if [ "${breaks:-0}" -eq 0 ]; then
    is graph.breaks '[]' "$name has no graph break"
  else
    found=$(awk -F '\t' -v path="cases.$case.graph.breaks." 'index($1, path) == 1 && $1 ~ /\.line$/ { n++ } END { print n + 0 }' flat.text)
    [ "$found" -eq "$breaks" ]
    tap_result $? "$name has $breaks graph breaks (it has $found)"
  fi
  is graph.recompiles "${recompiles:-0}" "$name is compiled again ${recompiles:-0} times"
}

# check_case KERNELS CALLS
check_case() {
  is outcome ok "$name is right"
  is correctness.against f64 "$name is compared with f64"
  check_graphs
  is graph.fallbacks '[]' "$name has no fallback"
  is graph.library_calls "$2" "$name calls the library for its products alone"
  local kernels
  kernels=$(at graph.kernels)
  [ "${kernels:-0}" -ge 1 ] && [ "$kernels" -le "$1" ]
  tap_result $? "$name takes at most $1 kernels (it takes ${kernels:-none})"
  evidence cold misses
  evidence disk disk_hits
  [ "${recompiles:-0}" -eq 0 ] || return # its calls differ, and so the one of this state may find no code for it
  is compile.invalid '{}' "$name: every compile state has its evidence"
  evidence memory memory_hits
}

# number_of SUITE WORKLOAD: of its case in flat.text.
number_of() {
  awk -F '[.\t]' -v workload="$2" '$1 == "cases" && $3 == "case" && $4 == "workload" && $5 == workload { print $2; exit }' flat.text
}

# Library calls of all workloads that are no matrix products: SUITE AXIS=VALUE….
other_calls() {
  local suite=$1
  shift
  "$TBENCH" explain suite="$suite" "$@" | awk '$2 == "library" && $3 != "matmul"'
}

# The axes of the suite's case, in `axes`; batches are listed in rising order.
choose_axes() {
  local batch
  read -ra axes <<< "$(awk -v suite="$1" '$1 == suite { $1 = ""; print }' <<< "$cases")"
  [ "${#axes[@]}" -gt 0 ] && return
  batch=$("$TBENCH" list suite="$1" | sed -n 's/^ *batch=\([0-9]*\).*/\1/p')
  [ -n "$batch" ] && axes=("batch=$batch")
}

check_suite() {
  local suite=$1 workload kernels calls recompiles rows=0 axes=()
  choose_axes "$suite"
  run "$TBENCH" run suite="$suite" "${axes[@]}" quick=yes out="$suite.json"
  [ "$status" -eq 0 ] && [ "${#axes[@]}" -gt 0 ]
  tap_result $? "suite=$suite ${axes[*]} exits with 0"
  awk "$flatten_json" "$suite.json" > flat.text
  while read -r _ workload kernels calls; do
    name=$suite/$workload case=$(number_of "$suite" "$workload") rows=$((rows + 1))
    check_case "$kernels" "$calls"
  done < <(grep "^$suite " <<< "$owed")
  [ "$rows" -eq "$(awk -F '\t' '$1 ~ /\.case\.workload$/ && !seen[$2]++ { n++ } END { print n + 0 }' flat.text)" ]
  tap_result $? "suite=$suite: each of its workloads has a row in this test"
  out=$(other_calls "$suite" "${axes[@]}")
  [ -z "$out" ]
  tap_result $? "suite=$suite: library calls are matrix products"
}

for file in "$srcdir"/suites/*.lua; do
  file=${file##*/}
  [ "$file" = torch_compile_time.lua ] && continue # has workloads that are not supported: torch_compile_time.sh
  check_suite "${file%.lua}"
done
tap_end
