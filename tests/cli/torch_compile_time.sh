#!/bin/bash
# The suite of PyTorch's compile-time benchmarks: every workload is right or listed as unsupported with its reason, and the counts stand
# beside the published ones.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

suite=torch_compile_time
unsupported='aotdispatcher_training partitioner_1 partitioner_2 runtime_overhead_backward runtime_overhead_requires_grad'
for form in static dynamic; do
  run "$TBENCH" run suite=$suite form=$form counters=none quick=yes out=$form.json
  [ "$status" -eq 0 ]
  tap_result $? "form=$form: no workload is wrong, or fails"
  found=$(grep -o '"error":.*it needs gradients' $form.json | wc -l)
  [ "$found" -eq "$(wc -w <<< "$unsupported")" ]
  tap_result $? "form=$form: what needs gradients is listed, with that reason ($found)"
done
run "$TBENCH" report static.json format=peers_counts
rows=$(grep -c ' static ' <<< "$out")
[ "$status" -eq 0 ] && [ "$rows" -eq "$("$TBENCH" run suite=$suite form=static dry-run=yes 2> /dev/null | wc -l)" ] && [[ $out == *'0 of 0 compared'* ]]
tap_result $? "the table has a row a case, counted or not ($rows)"
good=0
for name in $unsupported; do grep -qE "^$name +static +inductor +unsupported" <<< "$out" || good=1; done
grep -qE '^mm_loop +static +inductor +not counted +4633\.00 +no count' <<< "$out" || good=1
tap_result $good 'and says why a count is not there'

if command -v valgrind > /dev/null && ! grep -qE '__(asan|tsan)_init' "$TBENCH"; then
  run "$TBENCH" run suite=$suite form=static workload=list_of_linears backend=eager quick=yes out=counted.json
  [ "$status" -eq 0 ]
  tap_result $? 'instructions are what the suite counts by itself'
  run "$TBENCH" report counted.json format=peers_counts
  grep -qE '^list_of_linears +static +eager +[0-9.]+ +941\.70 +[0-9.]+%  (reached|missed)' <<< "$out"
  tap_result $? 'a count stands beside the published one, with its ratio'
fi
tap_end
