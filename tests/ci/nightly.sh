#!/bin/bash
# ci/nightly: what a night leaves, that a step which fails takes nothing along, that a night goes on where it stopped, and that what the
# dashboard did not take is sent the next night. Times are not looked at.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > tiny.lua <<'EOL'
local tb = require "tbench"
return tb.suite { name = "tiny", workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({4}, case) } } end } }
EOL
sed 's/"tiny"/"other"/' tiny.lua > other.lua

# The program, which a file VERB.breaks makes fail: it is sourced instead, with the result's file in $result.
cat > program <<EOL
#!/bin/bash
echo "\$1" >> verbs
for word in "\$@"; do case \$word in out=*-*.json) result=\${word#out=} ;; esac; done
if [ -e "\$1.breaks" ]; then . "./\$1.breaks"; fi
exec "$TBENCH" "\$@"
EOL
chmod +x program

# night ID OPTION…
night() {
  local id=$1
  shift
  rm -f verbs
  TBENCH_PUSH_URL='' run "$srcdir/ci/nightly" tbench=./program work=w id="$id" suites=./tiny.lua,./other.lua run='quick=yes counters=none' push='tries=1' "$@"
  verbs=$(sort verbs 2> /dev/null | uniq -c | tr -s ' \n' ' ')
}

# --- wrong use ---
fails 2 "what is 'suite=x'?" "$srcdir/ci/nightly" tbench=./program suite=x
fails 2 'id=../x' "$srcdir/ci/nightly" tbench=./program id=../x
fails 2 'two are called tiny' "$srcdir/ci/nightly" tbench=./program suites=./tiny.lua,./deeper/tiny.lua
fails 2 'one has no name' "$srcdir/ci/nightly" tbench=./program suites=tiny,,other
fails 2 'none is not there' "$srcdir/ci/nightly" tbench=./none
fails 2 'none is not there' "$srcdir/ci/push-faults" 1 tbench=./none
fails 2 'seed=x' "$srcdir/ci/push-faults" 1 tbench=./program seed=x
fails 2 'use: ci/soak' "$srcdir/ci/soak" 1000 600 many
run "$srcdir/ci/nightly" --help
[ "$status" -eq 0 ] && [[ $out == *'suites=A,B'* && $out == *'130 interrupted.' ]]
tap_result $? 'it explains itself'
# The examples use options that there are, and name the folder that has to be kept.
help=$out wrong=
for file in "$srcdir"/docs/ci/*; do
  case $file in *.md | *.timer) continue ;; esac
  line=$(grep -v '^ *#' "$file" | grep -o 'ci/nightly work=.*' | sed 's/ \(&&\|||\) .*//') || wrong+=" ${file##*/}: no ci/nightly work=…"
  # shellcheck disable=SC2013
  for name in $(grep -oE '\b[a-z]+=' <<< "$line"); do [[ $help == *"  $name"* ]] || wrong+=" ${file##*/}: $name"; done
done
status=0 out=$wrong
[ -z "$wrong" ]
tap_result $? 'the examples for CI systems use its options'

# --- a night ---
night n1
[ "$status" -eq 3 ] && [[ $out == *'night n1: not measurable, or too short a history (3)'* ]]
tap_result $? 'the first night: the history is too short'
missing=
for file in n1-tiny.json n1-tiny.svg tiny.md tiny.xml tiny.html tiny.gate.json tiny.run.log n1-other.json summary.md; do
  case $file in *.svg) command -v gnuplot > /dev/null || { tap_skip 'it leaves plots' 'gnuplot is not here'; continue; } ;; esac
  [ -s "w/n1/$file" ] || missing+=" $file"
done
status=0 out=$missing
[ -z "$missing" ] && [ -s w/history/tiny/n1-tiny.json ] && [ -s w/history/other/n1-other.json ]
tap_result $? 'it leaves results, reports, plots, and the history'
out=$(cat w/n1/summary.md)
[[ $out == *'| tiny | 0 | 3 | 0 | 0 | 0 | 0 | – |'* && $out == *'## other'* ]]
tap_result $? 'and a summary'
sha256sum w/n1/n1-*.json > sums
night n1
[ "$status" -eq 3 ] && [ -z "$verbs" ] && sha256sum -c --quiet sums
tap_result $? 'the same night again does nothing twice'

# --- steps that fail ---
echo 'exit 4' > plot.breaks
night n2
[ "$status" -eq 4 ] && [ -s w/n2/tiny.html ] && [ -s w/n2/n2-other.json ] && [[ $out == *'a case or a step failed'* ]]
tap_result $? 'a step that fails ends no other'
rm plot.breaks
night n2
[ "$status" -eq 3 ] && [ "$verbs" = ' 2 plot ' ]
tap_result $? 'it alone is done again'
echo 'exit 1' > gate.breaks
night n3
[ "$status" -eq 1 ] && [ -s w/n3/tiny.html ] && [[ $out == *'night n3: a regression (1)'* ]]
tap_result $? 'a regression decides the exit code, and is reported'
rm gate.breaks

# --- killed ---
# shellcheck disable=SC2016
echo 'printf half > "$result"; kill -KILL $$' > run.breaks
night n4
[ "$status" -eq 4 ] && [ "$(cat w/n4/n4-tiny.json)" = half ] && [ "$verbs" = ' 2 run ' ] && [ ! -e w/history/tiny/n4-tiny.json ]
tap_result $? 'a run that is killed fails the night'
rm run.breaks
night n4 suites=./tiny.lua
[ "$status" -eq 3 ] && [ "$(cat w/n4/n4-tiny.json.cut-1)" = half ] && grep -q '"outcome"' w/n4/n4-tiny.json
tap_result $? 'which then begins anew, and keeps what there was'
rm w/n4/tiny.run.code
night n4 suites=./tiny.lua
[ "$status" -eq 3 ] && [ "$verbs" = ' 1 gate 1 plot 3 report 1 run ' ] && [ -s w/n4/n4-tiny.json.cut-2 ]
tap_result $? 'a suite that is to be done again is so in all its steps'
out=$(find w/history/tiny -type f | sort) err=$(cmp w/history/tiny/n4-tiny.json w/n4/n4-tiny.json 2>&1)
[ "$out" = "$(printf 'w/history/tiny/%s-tiny.json\n' n1 n2 n4)" ] && [ -z "$err" ]
tap_result $? 'and the history has its new result alone: a night counts once'
echo 'exit 130' > run.breaks
night n5
[ "$status" -eq 130 ] && [ "$verbs" = ' 1 run ' ] && [ ! -e w/n5/tiny.run.code ]
tap_result $? 'an interrupt ends it at once'

# --- a signal to the script alone: what it runs is ended, and does not go on beside the next night ---
mkfifo nothing
# shellcheck disable=SC2016
echo 'echo $$ > run.pid; read -rt 600 <> nothing; : > whole' > run.breaks
# stop SIGNAL: begins a night, and sends it while its run goes on. `ended`: the run is gone, however that is told.
stop() {
  rm -f run.pid
  begin "$srcdir/ci/nightly" tbench=./program work=w id=n5 suites=./tiny.lua
  await "$pid" test -s run.pid
  kill "-$1" "$pid"
  end
  ended=no
  await '' is_gone "$(cat run.pid)" && ended=yes
  [ $ended = yes ] || kill -KILL "$(cat run.pid)"
}
stop TERM
[ "$status" -eq 130 ] && [ $ended = yes ] && [ ! -e whole ] && [ ! -e w/n5/tiny.run.code ]
tap_result $? 'SIGTERM ends it, and what it runs'
if setpriv --pdeathsig TERM true 2> /dev/null; then
  stop KILL
  [ "$status" -eq 137 ] && [ $ended = yes ] && [ ! -e whole ]
  tap_result $? 'SIGKILL does too'
else
  tap_skip 'SIGKILL does too' 'setpriv cannot ask for a signal here'
fi
rm run.breaks
echo 'exit 3' > gate.breaks # the history stays as it is
night n5 suites=./tiny.lua
[ "$status" -eq 3 ] && [ "$verbs" = ' 1 gate 1 plot 3 report 1 run ' ] && [ -s w/n5/summary.md ]
tap_result $? 'and the night goes on'
rm gate.breaks

# --- push ---
night n6 suites=./tiny.lua to=http://127.0.0.1:1
[ "$status" -eq 4 ] && [ -s w/n6/tiny.html ] && [ -n "$(find w/spool -type f)" ]
tap_result $? 'a dashboard that is down: the result waits in the spool'
night n6 suites=./tiny.lua to=http://127.0.0.1:1
[ "$status" -eq 4 ] && [[ $out == *'earlier results wait in w/spool still'* ]]
tap_result $? 'as long as it is down'
if [ -x "$(dirname "$TBENCH")/tbench-serve" ]; then
  trap '[ -z "$server" ] || kill -9 "$server" 2> /dev/null' EXIT
  server=
  server_begin serve "$TBENCH" serve db=night.db listen=127.0.0.1:0
  export TBENCH_TOKEN=$token
  # The spool's entry is for the address that was down; a night resumed sends the result to the one that is named now.
  night n6 suites=./tiny.lua "to=http://$address"
  [ "$status" -eq 3 ] && [[ $out == *'push: 0'* && $verbs != *run* ]]
  tap_result $? 'the night that is resumed sends it'
  echo 'exit 3' > gate.breaks # the history stays as it is
  TBENCH_TOKEN=tb_write_wrong night n8 suites=./tiny.lua "to=http://$address"
  rm gate.breaks
  [ "$status" -eq 4 ] && [[ $out == *'push: 4'*401* ]] && [ -n "$(find w/spool/refused -name '*.entry')" ]
  tap_result $? 'a wrong token: the result waits too'
  # Four nights are in the history (with five, whether it passes would be for the noise to say).
  night n7 suites=./tiny.lua "to=http://$address"
  [ "$status" -eq 3 ] && [[ $out == *'push: 0'* ]] && [ "$(find w/history/tiny -type f | wc -l)" -eq 5 ] && [ -z "$(find w/spool/refused -name '*.entry')" ]
  tap_result $? 'and so do later ones, with what was refused'
  server_end "$server"
  trap - EXIT
else
  tap_skip 'what waits in the spool is sent the next night' 'tbench-serve is not built (libmicrohttpd-dev, libsqlite3-dev, libssl-dev)'
fi
tap_end
