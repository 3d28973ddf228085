#!/bin/bash
# tests/run-tests on tests that say, fail and die as they are told: what it counts, in which order it tells it, and what is left when it is stopped.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

mkdir -p source build own-tmp
# put NAME TEXT: a test.
put() {
  printf '#!/bin/bash\n%s\n' "$2" > "source/$1"
  chmod +x "source/$1"
}
# told ARGUMENTS…: in the build folder, with a folder of its own for scratch files.
told() { (cd build && exec env -u TEST_FILTER -u TEST_TALLY ${filter:+TEST_FILTER="$filter"} TEST_TALLY="$PWD/../tally" TMPDIR="$PWD/../own-tmp" bash "$srcdir/tests/run-tests" -s ../source -l logs "$@"); }
no_scratch() { [ -z "$(ls -A own-tmp)" ]; }
filter='' count='ok 1 - one
ok 2 - two
1..2'
put two "echo '$count'"
put failed "printf 'ok 1 - one\nnot ok 2 - the other\n# why it is\n1..2\n'"
put dead "echo 'ok 1 - one'; kill -SEGV \$\$"
put short "printf 'ok 1\n1..3\n'"
put skipped "printf 'ok 1\nok 2 # SKIP nothing there\n1..2\n'"
put silent ':'

for jobs in 1 3; do
  : > tally
  run told -j $jobs two failed dead short skipped silent
  [ "$status" -eq 1 ] && [ "$(tail -n 1 <<< "$out")" = '6 passed, 5 failed' ] && [ "$(cat tally)" = '6 5' ] &&
    [ "$(sed -nE 's/^(ok|FAILED) +([a-z]+) .*/\2/p' <<< "$out" | tr '\n' ' ')" = 'two failed dead short skipped silent ' ]
  tap_result $? "-j $jobs: all are counted, and told in the order in which they are named"
  grep -A 2 '^FAILED  failed ' <<< "$out" | tr -d '\n' | grep -q '1 passed, 1 failed.*not ok 2 - the other.*# why it is' &&
    grep -qE '^FAILED  dead .*died of signal 11$' <<< "$out" && grep -qE '^FAILED  short .* 1 passed, 2 failed' <<< "$out" &&
    grep -qE '^FAILED  silent .*ran no test$' <<< "$out" && grep -qE '^ok +skipped .* 1 passed, 1 skipped(  .* of CPU)?$' <<< "$out"
  tap_result $? "-j $jobs: each failure is explained"
  no_scratch
  tap_result $? "-j $jobs: no scratch file is left"
done
filter='s*' run told -j 2 two short skipped
[ "$(tail -n 1 <<< "$out")" = '2 passed, 2 failed' ] && [[ $out != *two* ]]
tap_result $? 'TEST_FILTER picks'
filter=none run told two
[ "$status" -eq 1 ] && [[ $out == *'no test was named that matches none'* ]]
tap_result $? 'nothing picked is a failure'
for jobs in 0 -1 x ''; do fails 2 'use: run-tests' told -j "$jobs" two; done

# Two that wait for each other: each would wait in vain if it ran alone. The first to be named ends last.
put meets_late "touch ../late; for _ in \$(seq 6000); do [ -e ../early ] && break; sleep 0.05; done; sleep 0.2; [ -e ../early ] && echo 'ok 1 - late'; echo 1..1"
put meets_early "touch ../early; for _ in \$(seq 6000); do [ -e ../late ] && break; sleep 0.05; done; [ -e ../late ] && echo 'ok 1 - early'; echo 1..1"
run told -j 2 meets_late meets_early
[ "$status" -eq 0 ] && [ "$(grep -oE '^ok +meets_[a-z]+' <<< "$out" | tr -s ' ' | tr '\n' ' ')" = 'ok meets_late ok meets_early ' ]
tap_result $? '-j 2 runs two at once, and tells the one that ended first behind the other'

# Who begins when: each says its name, and how many run with it.
for name in a b c d; do put order_$name "echo $name >> ../began; touch ../runs.$name; sleep 0.2; ls ../runs.* | wc -l > ../beside.$name; rm ../runs.$name; echo ok 1; echo 1..1"; done
run told -j 2 -f 'order_c order_x' -a 'order_a order_b' order_a order_b order_c order_d
[ "$status" -eq 0 ] && [ "$(tr -d '\n' < began | cut -c 3-)" = ab ] && [ "$(cat beside.a beside.b | tr -d '\n ')" = 11 ] &&
  [ "$(grep -oE '^ok +order_[a-d]' <<< "$out" | grep -o '.$' | tr -d '\n')" = abcd ]
tap_result $? '-a: those run behind all others, one after the other, and are told in the order in which they are named'
: > began
run told -j 1 -f 'order_c order_x' order_a order_b order_c order_d
[ "$status" -eq 0 ] && [ "$(tr -d '\n' < began)" = cabd ]
tap_result $? '-f: those begin first'

for name in folder_a folder_b folder_c; do put $name "[ -z \"\$(ls \"\$TEST_TMP\"/mine 2> /dev/null)\" ] && touch \"\$TEST_TMP/mine\" && echo \"\$TEST_TMP \$XDG_CACHE_HOME\" >> ../folders && echo ok 1; echo 1..1"; done
run told -j 2 folder_a folder_b folder_c
[ "$status" -eq 0 ] && [ "$(sort -u folders | wc -l)" -eq 3 ]
tap_result $? 'each has a folder and a cache of its own'

# What a test took: CPU time is work that was done, however slow the machine.
put works 'end=$((SECONDS + 600)) user=0
while [ "${user%.*}" -lt 2 ] && [ $SECONDS -lt $end ]; do
  for ((i = 0; i < 20000; i++)); do :; done
  times > "$TEST_TMP/took" # not in a shell of its own, which would tell its own time
  IFS="m " read -r _ user _ < "$TEST_TMP/took"
done
echo ok 1; echo 1..1'
short_is_silent() { # once it gets its turn
  run told two
  grep -qE '^ok +two +2 passed$' <<< "$out"
}
run told works
grep -qE '^ok +works +1 passed  [0-9]+\.[0-9] s, [0-9]+\.[0-9] s of CPU$' <<< "$out" && await '' short_is_silent
tap_result $? 'a test of more than a second tells what it took, and another does not'

# Stopped, it ends what runs, with the processes of that, and leaves nothing; no other is begun.
put waits "trap 'touch ../ended; exit' TERM; sleep 600 & echo \$! > ../sleeps.\$\$; wait"
cp source/waits source/waits_too
both_run() { [ "$(cat sleeps.* 2> /dev/null | wc -l)" -eq 2 ]; }
for signal in INT TERM; do
  rm -f sleeps.* ended
  begin env -u TEST_FILTER -u TEST_TALLY --default-signal=INT bash -c 'cd build && TMPDIR=$PWD/../own-tmp exec bash "$srcdir/tests/run-tests" -s ../source -l logs -j 2 waits waits_too two'
  await "$pid" both_run
  kill -$signal "$pid"
  end
  [ "$status" -eq 130 ] && [[ $out != *passed* ]]
  tap_result $? "SIG$signal stops it"
  alive=$(cat sleeps.* | while read -r process; do grep -s '^State:' "/proc/$process/status" | grep -v zombie; done)
  [ "$(cat sleeps.* | wc -l)" -eq 2 ] && [ -z "$alive" ] && [ -e ended ] && no_scratch
  tap_result $? "SIG$signal: what ran is ended, with its children, and no scratch file is left"
done

# A test may send itself what Ctrl-C sends, also where it is run beside another.
put interrupted "trap 'echo ok 1; echo 1..1; exit' INT; kill -INT \$\$; sleep 1; echo 1..1"
cp source/interrupted source/interrupted_too
run told -j 2 interrupted interrupted_too
[ "$status" -eq 0 ]
tap_result $? 'SIGINT is not ignored in tests'
tap_end
