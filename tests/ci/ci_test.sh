#!/bin/bash
# ci/test on a tree that only plays being built and tested: every step is told, once and in order, a failure of each kind counts, and one that
# is stopped ends all that it has begun. What the steps do by themselves is shown where ci/test runs on the real tree.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# put FILE TEXT: a script of the tree.
put() {
  mkdir -p "tree/$(dirname "$1")"
  printf '#!/bin/bash\n%s\n' "$2" > "tree/$1"
  chmod +x "tree/$1"
}
one_test='echo "ok 1 - played"; echo 1..1'
# play VARIANT.GOAL: fails where $FAIL names it, and waits for its end where $HANG does.
# shellcheck disable=SC2016
put play 'echo "$1" >> "${TREE:?}/played"
[ "$1" != "${FAIL:-}" ] || { echo "x.c:1: error: $1 is broken"; exit 1; }
[ "$1" != "${HANG:-}" ] || { echo $$ > "$TREE/hangs"; exec sleep 600; }'
# shellcheck disable=SC2016
put configure 'variant=$(basename "$PWD")
"$TREE/play" $variant.configure || exit
echo "$*" > arguments
cat > Makefile <<EOL
install:
	@mkdir -p ../root/bin && cp $TREE/installed ../root/bin/tbench
check:
	@$TREE/play $variant.check
	@bash $TREE/tests/run-tests -s $TREE -l logs -j \$(or \$(TEST_JOBS),1) tests/compiler/lua/one tests/compiler/lua/two tests/cli/page.sh
.DEFAULT:
	@$TREE/play $variant.\$@
EOL'
put installed 'echo played "$@"'
put tests/compiler/lua/one "$one_test"
put tests/cli/page.sh "$one_test"
# shellcheck disable=SC2016
put tests/compiler/lua/two '"$TREE/play" "$(basename "${builddir:?}").two" && '"$one_test"
threaded_tests=''
eval "$(sed -n "/^threaded_tests='/,/'\$/p" "$srcdir/ci/test")"
for test in $threaded_tests; do put "$test" "$one_test"; done
for script in packages layers lua-checked programs fuzz; do put ci/$script "\"\$TREE/play\" \"$script.\$1\""; done
# shellcheck disable=SC2016
put ci/hygiene '"$TREE/play" hygiene.tree && echo "ok 1 - the tree" || echo "not ok 1 - the tree"; echo 1..1'
cp "$srcdir/ci/test" tree/ci/test
cp "$srcdir/tests/run-tests" tree/tests/run-tests
touch tree/libarcher.so
put bin/llvm-config-19 "echo '$PWD/tree'"
mkdir -p own-tmp
export TREE=$PWD/tree PATH=$PWD/tree/bin:$PATH
played=(env -u TEST_FILTER -u TEST_TALLY -u MAKEFLAGS -u MFLAGS -u MAKELEVEL TMPDIR="$PWD/own-tmp")
fresh() { rm -rf tree/build-test tree/played tree/hangs own-tmp/*; }
# steps: those that were told to be good, with a line each.
steps() { sed -n 's/^ok: //p' <<< "$out"; }
no_scratch() { [ -z "$(ls -A own-tmp)" ] && ! compgen -G 'tree/build-test/tally.*' > /dev/null; }

fresh
run "${played[@]}" bash tree/ci/test
all=$(steps)
# Steps, the tree's own line, tests of gcc, of the sanitizers, and of threads.
expected=$((10 + 1 + 3 + 3 + $(wc -w <<< "$threaded_tests")))
[ "$status" -eq 0 ] && [ "$(tail -n 1 <<< "$out")" = "$expected passed, 0 failed" ] && [ "$(wc -l <<< "$all")" -eq 10 ]
tap_result $? "all steps are good, and counted ($expected)"
[ "$(sed -n 's/^ok: //p; s/^==> \(tests of [a-z]*\)  .*/\1/p' <<< "$out" | cut -c 1-21 | tr '\n' ';')" = \
  'layers: every include;build with gcc, warni;tests of gcc;the installed program;Lua with assertions;build with AddressSan;tests of checked;build with clang and ;tests of threads;fuzz targets, some se;1,000 random programs;3,000 more random pro;make distcheck;' ]
tap_result $? 'they are told in one order, whatever ended first'
for part in gcc.all gcc.build-tests checked.all checked.build-checks threads.compile-tests threads.all dist.distcheck layers. programs.1000 programs.3000 fuzz.build fuzz.run; do
  case $part in threads.all) part='threads.tests/compiler/device/test_alloc' ;; esac
  [ "$(grep -cxF -- "$part" tree/played)" -eq 1 ]
  tap_result $? "once: $part"
done
no_scratch
tap_result $? 'no scratch file is left'

# fails_at PART SAYS STEPS: with that part broken; so many of the steps are still good.
fails_at() {
  fresh
  run "${played[@]}" FAIL="$1" bash tree/ci/test
  [ "$status" -eq 1 ] && [[ $(tail -n 1 <<< "$out") =~ ^[0-9]+\ passed,\ [1-9][0-9]*\ failed$ ]] && grep -qE -- "$2" <<< "$out" && [ "$(steps | wc -l)" -eq "$3" ]
  tap_result $? "$1 broken: $2"
}
fails_at layers. '^FAILED: layers' 9
fails_at gcc.all '^FAILED: build with gcc' 7
grep -qF 'x.c:1: error: gcc.all is broken' <<< "$out"
tap_result $? 'the words of the compiler are shown'
fails_at gcc.two '^FAILED  tests/compiler/lua/two ' 10
fails_at checked.build-checks '^FAILED: build with AddressSanitizer' 8
fails_at checked.check '^FAILED: the tests did not run' 10
fails_at checked.two '^FAILED  tests/compiler/lua/two ' 10
fails_at threads.compile-tests '^FAILED: build with clang and ThreadSanitizer' 9
fails_at lua-checked."$TREE/build-test/lua" '^FAILED: Lua with assertions' 9
fails_at fuzz.build '^FAILED: fuzz targets' 9
fails_at fuzz.run '^FAILED: fuzz targets' 9
fails_at programs.1000 '^FAILED: 1,000 random programs' 9
fails_at programs.3000 '^FAILED: 3,000 more random programs' 9
fails_at dist.distcheck '^FAILED: make distcheck' 9
fails_at hygiene.tree '^not ok 1 - the tree' 10

# stopped SIGNAL PART: stopped while that part runs, it ends all that it has begun.
stopped() {
  fresh
  begin "${played[@]}" HANG="$2" env --default-signal=INT bash tree/ci/test
  await "$pid" test -s tree/hangs
  kill -"$1" "$pid"
  end
  [ "$status" -eq 130 ] && [ -s tree/hangs ] && await '' all_ended
  tap_result $? "SIG$1 in $2 ends all of it"
}
all_ended() { ! grep -s '^State:' "/proc/$(cat tree/hangs)/status" | grep -qv zombie && no_scratch; }
for part in gcc.all gcc.two dist.distcheck; do stopped INT $part; done
stopped TERM gcc.two
tap_end
