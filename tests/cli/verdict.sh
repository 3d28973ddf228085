#!/bin/bash
# ci/verdict: what it says of the runs that it has. The runs, and what reads them, are this script's own: their verdicts are known.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

mkdir -p tests/bench
# A run: its file holds lines of a path and its value; what its words plant is found.
cat > program <<'EOL'
#!/bin/bash
for word in "$@"; do
  case $word in
    out=*) out=${word#out=} ;;
    head.spin_ns=*) verdict=SLOWER ;;
    head.spin_instructions=*) worse=worse ;;
  esac
done
printf 'time.verdict %s\nexact.instructions.outcome %s\nbase_ns 1000\nexact.instructions.base 1000\ntime.ratio 1\ntime.lo 1\ntime.hi 1\n' "${verdict:-SAME}" "${worse:-same}" > "$out"
[ ! -e load.ends ] || { kill "$(< load.pid)"; rm load.pid; for ((i = 0; i < 6000; i++)); do kill -0 "$(< load.begun)" 2> /dev/null || break; sleep 0.05; done; }
EOL
cat > tests/bench/bench_verdict <<'EOL'
#!/bin/bash
case $1 in
  value) sed -n "s/^$3 //p" "$2" ;;
  resample) [ ! -e resample.says ] || { . ./resample.says; exit 0; }; if [ "$3" = 0 ]; then echo "SAME $2"; else echo "SLOWER $2"; fi ;;
esac
EOL
printf '#!/bin/bash\necho $$ | tee load.begun > load.pid\nwhile [ -e load.pid ]; do sleep 0.05; done\n' > tests/bench/bench_load
chmod +x program tests/bench/bench_*
verdict() { run "$srcdir/ci/verdict" state tbench=./program aa=4 planted=4 instructions=4 decisions=10 load=none "$@"; }
valgrind=none
command -v valgrind > /dev/null && valgrind=there

verdict
if [ $valgrind = there ]; then
  [ "$status" -eq 0 ] && [[ $out == *'6 targets hold, 0 missed, 0 not tried'* ]]
  tap_result $? 'where all hold it passes'
else
  [ "$status" -eq 3 ] && [[ $out == *'5 targets hold, 0 missed, 1 not tried'* ]]
  tap_result $? 'without valgrind one target is not tried, and that is no pass'
fi
verdict aa=0 planted=0
[ "$status" -eq 3 ] && [[ $out == *'5 not tried'* || $out == *'6 not tried'* ]]
tap_result $? 'what was not tried does not pass'
verdict decisions=0
[ "$status" -eq 3 ] && [[ $out == *' 2 not tried'* || $out == *' 3 not tried'* ]]
tap_result $? 'nor what was not resampled'
for says in ':' 'echo SAME 9' 'echo SAME 10; echo SLOWER 1'; do
  echo "$says" > resample.says
  verdict
  [ "$status" -eq 4 ] && [[ $err == *'did not tell of 10 decisions'* ]]
  tap_result $? "resampling has to tell of all: $says"
done
echo 'echo SLOWER 10' > resample.says
verdict
[ "$status" -eq 1 ] && [[ $out == *'resampled: false SLOWER or FASTER'*'MISSED'* ]]
tap_result $? 'a target that is missed fails'
rm resample.says
sed -i 's/SAME/FASTER/' state/aa/0002.json
verdict
[ "$status" -eq 1 ] && [[ $out == *'A/A: false SLOWER or FASTER                        1 of       4'*'MISSED'* ]]
tap_result $? 'and of as many runs as were asked for'
fails 2 'aa=many: a number of runs' "$srcdir/ci/verdict" other aa=many

# --- the load ---
: > load.ends
run "$srcdir/ci/verdict" loaded tbench=./program aa=1 planted=0 instructions=0 decisions=0 load=0
[ "$status" -eq 2 ] && [[ $err == *'there is no load on CPU 0 (any more)'* ]] && [ ! -e loaded/aa/0001.json ]
tap_result $? 'a run whose load ended is not kept'
printf '#!/bin/bash\nexit 1\n' > tests/bench/bench_load
run "$srcdir/ci/verdict" loaded tbench=./program aa=1 planted=0 instructions=0 decisions=0 load=0
[ "$status" -eq 2 ] && [[ $err == *'there is no load on CPU 0'* ]] && [ ! -e loaded/aa/0001.json ]
tap_result $? 'nor is one begun without'
tap_end
