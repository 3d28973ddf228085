#!/bin/bash
# tbench gate: against a baseline and against a history; updates; and everything that must not pass. The times of the results are written
# by this script, so that each verdict is known.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# result FILE NIGHT HOST NS SPREAD [CASES]: a finished result, 12 replicates of each case at NS, spread by SPREAD per replicate.
result() {
  local file=$1 night=$2 host=$3 ns=$4 spread=$5 cases=${6:-a b}
  awk -v night="$night" -v host="$host" -v ns="$ns" -v spread="$spread" -v cases="$cases" 'BEGIN {
    n = split(cases, ids, " ")
    printf "{\"schema\": 1, \"tbench\": {\"version\": \"1\", \"commit\": \"c\"}, \"started\": \"2026-01-%02dT00:00:00Z\", \"finished\": \"2026-01-%02dT01:00:00Z\",\n", night, night
    printf " \"argv\": [\"tbench\", \"run\", \"suite=./tiny.lua\", \"quick=yes\"], \"planned\": %d, \"environments\": [{\"host\": \"%s\"}], \"cases\": [", n, host
    for (c = 1; c <= n; c++) {
      printf "%s\n  {\"id\": \"%s\", \"env\": 0, \"case\": {\"suite\": \"s\"}, \"outcome\": \"ok\", \"graph\": {\"kernels\": 4, \"artifact\": \"aa\"},\n   \"steady\": {\"median_ns\": %g, \"replicates\": [", (c > 1 ? "," : ""), ids[c], ns
      for (i = 0; i < 12; i++) printf "%s{\"median_ns\": %.6f}", (i ? ", " : ""), ns * (1 + spread * (i - 5.5))
      printf "]}, \"aa\": {\"log_ratios\": ["
      for (i = 0; i < 12; i++) printf "%s%.6f", (i ? ", " : ""), spread * (i - 5.5)
      printf "]}}"
    }
    print "]}"
  }' > "$file"
}
gate() { run "$TBENCH" gate "$@"; }
is() { # CODE NAME
  [ "$status" -eq "$1" ]
  tap_result $? "$2"
}

# --- what it takes ---
result base.json 1 h 1000 0.0001
fails 2 'name one result file' "$TBENCH" gate against=base.json
fails 2 'against= is missing' "$TBENCH" gate base.json
fails 2 'none.json: No such file' "$TBENCH" gate none.json against=base.json
fails 2 'the first baseline is made with update=yes' "$TBENCH" gate base.json against=none.json
fails 2 'update=perhaps: use no, yes' "$TBENCH" gate base.json against=base.json update=perhaps
gate policy=default
[ "$status" -eq 0 ] && [[ $out == *'threshold = 0.01'* ]]
tap_result $? 'the default policy explains itself'

# --- a baseline ---
result tonight.json 2 h 1000 0.0001
gate tonight.json against=base.json; is 0 'the same passes'
result slower.json 2 h 1100 0.0001
gate slower.json against=base.json; is 1 'slower is a regression'
result faster.json 2 h 900 0.0001
cp base.json kept.json
gate faster.json against=base.json
[ "$status" -eq 0 ] && [[ $err == *'2 cases better or new'*'update=yes'* ]] && cmp -s base.json kept.json
tap_result $? 'a win passes, and proposes'
gate faster.json against=kept.json update=yes out=gate.json
[ "$status" -eq 0 ] && grep -q '"median_ns":	900' kept.json && grep -q '"verb":	"gate"' gate.json
tap_result $? 'update=yes takes it over'
cp base.json kept.json
gate slower.json against=kept.json update=yes
[ "$status" -eq 1 ] && cmp -s base.json kept.json
tap_result $? 'and takes no slowdown over'
gate slower.json against=kept.json update=all
[ "$status" -eq 1 ] && grep -q '"median_ns":	1100' kept.json
tap_result $? 'update=all does'
cp base.json kept.json
gate slower.json --against kept.json --update all
[ "$status" -eq 1 ] && grep -q '"median_ns":	1100' kept.json
tap_result $? '--update all is the same'
cp base.json kept.json
gate --update slower.json against=kept.json
[ "$status" -eq 1 ] && cmp -s base.json kept.json
tap_result $? '--update alone is update=yes'
# aa FILE SHARE: its pairs of equal programs differ by up to that
aa() { sed -i "s/\"aa\": {\"log_ratios\": \[[^]]*\]/\"aa\": {\"log_ratios\": [$(awk -v s="$2" 'BEGIN { for (i = 0; i < 12; i++) printf "%s%.4f", (i ? ", " : ""), s * (i - 5.5) / 5.5 }')]/" "$1"; }
result loud.json 1 h 1000 0.0001 && aa loud.json 0.08
result within.json 2 h 1015 0.0001 && aa within.json 0.08
gate within.json against=loud.json
[ "$status" -eq 3 ] && [[ $out == *UNSURE*'beyond the threshold, but within what two equal programs differ by here'* ]]
tap_result $? 'a certain change within the floor is not the same, and does not pass'
aa loud.json 0.5
result win.json 2 h 400 0.0001 && aa win.json 0.5
gate win.json against=loud.json update=yes
[ "$status" -eq 0 ] && [[ $out == *FASTER* ]] && grep -q '"median_ns":	400' loud.json
tap_result $? 'a win beyond a floor however wide passes, and is taken over'
for step in 1006 1012; do # each within 1% of the one before, the second not of the first
  result creeping.json 2 h $step 0.0001
  gate creeping.json against=kept.json update=yes
done
is 1 'small slowdowns add up against the same baseline'
gate tonight.json against=first.json update=yes
[ "$status" -eq 0 ] && grep -q '"outcome"' first.json
tap_result $? 'the first baseline is made with update=yes'

# --- what never passes ---
result noisy.json 2 h 1000 0.1
gate noisy.json against=base.json; is 3 'too noisy'
result calm.json 1 h 1000 0.0001 && aa calm.json 0.5
sed 's/-01T00/-02T00/' calm.json > tonight-calm.json
gate tonight-calm.json against=calm.json
[ "$status" -eq 3 ] && [[ $out == *'no case could be compared: all are too noisy'* ]]
tap_result $? 'a result that is too noisy in all cases says so'
sed 's/"outcome": "ok"/"outcome": "crashed"/' tonight.json > crashed.json
gate crashed.json against=base.json; is 4 'all measurements failed'
gate crashed.json against=new.json update=yes
[ "$status" -eq 4 ] && [ ! -e new.json ]
tap_result $? 'they make no first baseline'
result one.json 2 h 1000 0.0001 a
gate one.json against=base.json; is 4 'a case vanished'
sed 's/"planned": 2/"planned": 3/' tonight.json > missing.json
gate missing.json against=base.json; is 4 'a planned case is missing'
sed 's/"finished": "[^"]*"/"finished": null/' tonight.json > killed.json
gate killed.json against=base.json; is 130 'a run that was killed'
result empty.json 2 h 1000 0.0001 ' '
gate empty.json against=base.json; is 4 'a result without cases'
result others.json 2 h 1000 0.0001 'x y'
result before.json 1 h 1000 0.0001 'x y'
gate others.json against=before.json; is 0 '(those cases alone do)'
result twice.json 2 h 1000 0.0001 'a b b'
gate twice.json against=base.json
[ "$status" -eq 2 ] && [[ $out == *'1 case is twice in a result'* ]]
tap_result $? 'a case that is there twice'
echo 'required = false required["a"] = true' > a.lua
gate others.json against=base.json policy=a.lua; is 4 'a required case that is nowhere'
echo 'required = false' > optional.lua
gate others.json against=base.json policy=optional.lua; is 3 'nothing was compared'
gate noisy.json against=base.json policy=optional.lua; is 3 'nothing was decided'
sed 's/"kernels": 4/"kernels": 5/' tonight.json > kernels.json
gate kernels.json against=base.json; is 1 'a kernel more'

# --- a history ---
mkdir history
for night in 1 2 3 4 5 6 7 8; do result history/n$night.json $night h $((1000 + night % 3)) 0.0001; done
result tonight.json 20 h 1001 0.0001
gate tonight.json against=history verbose=yes
[ "$status" -eq 0 ] && [[ $out == *'against 8 points since 2026-01-01'* && $out == *'rests on'* && $out == *'  8 points  SAME'* ]]
tap_result $? 'the expected passes, and says what it rests on'
result loud.json 20 h 1001 0.1
gate loud.json against=history
[ "$status" -eq 3 ] && [[ $out == *'too noisy: 8 earlier results predict the next one to within '*'own replicates'* ]]
tap_result $? 'a night that was too noisy does not pass, however quiet those before were'
result loud.json 20 h 1100 0.05
gate loud.json against=history
[ "$status" -eq 3 ] && [[ $out != *SLOWER* ]]
tap_result $? 'nor is it slower by what its own replicates differ by'
result calm.json 20 h 1001 0.0001 && aa calm.json 0.5
gate calm.json against=history; is 3 'nor one of which two equal programs differed'
sed 's/"replicates": \[{[^}]*}, .*\]}, "aa"/"replicates": [{"median_ns": 1001}]}, "aa"/' tonight.json > once.json
gate once.json against=history
[ "$status" -eq 3 ] && [[ $out == *'fewer than 2 pairs were measured'* ]]
tap_result $? 'nor one that was measured once'
result slower.json 20 h 1100 0.0001
gate slower.json against=history out=expected.json; is 1 'slower than expected'
[ "$(grep -c '"base_ns":	1001,' expected.json)" -eq 2 ] # the newest night has 1002
tap_result $? 'the time that it stands beside is the expected one'
result one.json 20 h 1001 0.0001 a
gate one.json against=history
[ "$status" -eq 4 ] && [[ $out == *vanished* ]]
tap_result $? 'a case vanished from the last night'
result elsewhere.json 20 another 1001 0.0001
gate elsewhere.json against=history
[ "$status" -eq 3 ] && [[ $err == *'it is from another machine'* ]]
tap_result $? 'on another machine there is no history'
gate slower.json against=history update=yes
[ "$status" -eq 1 ] && [[ $err == *'update=all adds it'* ]] && [ ! -e history/slower.json ]
tap_result $? 'what does not pass is not added'
echo '2026-01-19T00:00:00Z * a known step' > history/marks.txt
gate slower.json against=history
[ "$status" -eq 3 ] && [[ $out == *'too few points'* ]]
tap_result $? 'behind a mark the history begins anew'
rm history/marks.txt
gate tonight.json against=history update=yes
[ "$status" -eq 0 ] && [ -e history/tonight.json ]
tap_result $? 'what passes is added'
result tonight.json 21 h 1001 0.0001
gate tonight.json against=history update=yes
[ "$status" -eq 0 ] && [ "$(find history -name '*tonight.json' | wc -l)" -eq 2 ]
tap_result $? 'under a name of its own: no night takes the place of another'
echo broken > history/damaged.json
gate tonight.json against=history
[[ $err == *'damaged.json: line 1 is not JSON'* ]]
tap_result $? 'damaged files are passed over, and told'
mkdir nothing
gate tonight.json against=nothing; is 3 'an empty history'
for night in 1 2 3 4 5 6; do
  result young.json $night h $((1000 + night % 3)) 0.0001
  gate young.json against=nothing update=yes
  [ $night -eq 6 ] || { [ "$status" -eq 3 ] && [[ $err == *'too short to judge'* ]] || break; }
done
[ $night -eq 6 ] && [ "$status" -eq 0 ] && [ "$(find nothing -name '*young.json' | wc -l)" -eq 6 ]
tap_result $? 'it can begin: what it is too short to judge is added, and the sixth night is judged'
sed 's/"kernels": 4/"kernels": 5/' tonight.json > more.json
mkdir fresh && cp nothing/young.json fresh && gate more.json against=fresh update=yes
[ "$status" -eq 1 ] && [ ! -e fresh/more.json ]
tap_result $? 'a kernel more is not added to a short one'

# --- a history of a case that varies: "a" is calm, "v" has SHARE of spread from night to night ---
# varied FILE NIGHT SHARE NS-OF-A
varied() {
  local v
  v=$(awk -v n="$2" -v s="$3" 'BEGIN { split("-1 0.9 0.2 -0.4 1.1 -0.8 0.5 -0.1 0.7 -1.2 0", z, " "); printf "%.6f", 1000 * (1 + s * z[(n - 1) % 11 + 1]) }')
  result "$1" "$2" h "$4" 0.0001 a
  result varied.part "$2" h "$v" 0.0001 v
  { sed -n '1,/^  {"id"/p' "$1" | sed 's/"planned": 1/"planned": 2/'; sed -n '/^   "steady"/s/]}}\]}$/]}},/p' "$1"; sed -n '/^  {"id"/,$p' varied.part; } > varied.whole && mv varied.whole "$1"
}
# nights FOLDER SHARE: 24 of them, each added as ci/nightly does; the codes in $codes
nights() {
  local night
  mkdir "$1"
  codes=
  for night in {1..24}; do
    varied varied.json "$night" "$2" $((1000 + night % 3))
    gate varied.json against="$1" update=yes
    codes+=$status
    last=$out said=$err
  done
}
nights middling 0.017
[[ $codes =~ ^33333[03]*0$ ]] && [ "${codes%%0*}" != 33333 ] && [ "$(find middling -name '*varied.json' | wc -l)" -eq 24 ]
tap_result $? "a case of 1.7% spread: all nights are added, and with enough of them it is judged ($codes)"
varied slower.json 25 0.6 1000 # that night's share of it: 12%
gate slower.json against=middling
[ "$status" -eq 1 ] && [[ $out == *'v '*SLOWER* ]]
tap_result $? 'and found to be slower'
nights wild 0.06
[ "$codes" = 333333333333333333333333 ] && [ "$(find wild -name '*varied.json' | wc -l)" -eq 24 ] && [[ $said == *'1 case is too noisy'*'it is added'* ]] &&
  [[ $last == *'too noisy: 23 earlier results predict the next one only to within'* ]]
tap_result $? "one of 6% never is: it is told, and its nights are added all the same ($codes)"
[ "$(grep -c 'too noisy: ' <<< "$last")" -eq 1 ] && [[ $last == *'a '*'SAME'*'v '*'too noisy: '* ]] && [ "$(grep -c 'too few points' <<< "$last")" -eq 0 ]
tap_result $? 'it alone: the calm case beside it is judged'
varied slower.json 25 0.06 1100
gate slower.json against=wild update=yes
[ "$status" -eq 1 ] && [ ! -e wild/slower.json ]
tap_result $? 'and found to be slower'
varied worse.json 25 0.06 1000
sed 's/"kernels": 4/"kernels": 5/' worse.json > more.json
gate more.json against=wild update=yes
[ "$status" -eq 1 ] && [ ! -e wild/more.json ]
tap_result $? 'noise lets nothing in that is worse'
# probed FILE NIGHT VERSION
probed() {
  result "$1" "$2" h 1000 0.0001
  sed -i "s/\"graph\": {/\"probe\": {\"version\": $3, \"log_ratios\": [0.$2]}, \"graph\": {/" "$1"
}
mkdir probe
for night in 1 2; do probed probe/n$night.json $night 1; done
probed newer.json 3 2
gate newer.json against=probe update=yes verbose=yes
[ "$status" -eq 3 ] && [ -e probe/newer.json ] && [[ $out == *'no points with the same calibration kernel'* ]]
tap_result $? 'with another probe the history begins anew'

# --- what a history took in: steps that no single night showed, figures that creep, copies, a night without twins ---
# level FOLDER FROM TO NS: nights of it
level() {
  local night
  mkdir -p "$1"
  for ((night = $2; night <= $3; night++)); do result "$1/n$night.json" "$night" h $(($4 + night % 3)) 0.0001; done
}
level stepped 1 12 1000 && level stepped 13 20 1045
result tonight.json 21 h 1046 0.0001
gate tonight.json against=stepped update=yes out=step.json
[ "$status" -eq 1 ] && [[ $out == *SAME*'slower since 2026-01-13T00:00:00Z (commit c), by the history'*'1.001 -> 1.046 µs (+4.5%); open until'* ]] && grep -q '"since":	"2026-01-13T00:00:00Z"' step.json
tap_result $? 'a step to slower that the history itself shows does not pass, though tonight is as expected'
[ -e stepped/tonight.json ] && [[ $err == *'a step of the history is open'* ]]
tap_result $? 'its night is added all the same: else the history could not tell that it went back'
[ "$("$TBENCH" report step.json format=junit | grep -c 'type="regression" message="SAME [^"]*slower since 2026-01-13')" -eq 2 ] && "$TBENCH" report step.json format=markdown | grep -q 'slower since 2026-01-13'
tap_result $? 'reports tell the step'
result back.json 22 h 1001 0.0001
gate back.json against=stepped; is 0 'a night that is clearly back passes'
echo 'threshold = 0.1' > wide.lua
gate tonight.json against=stepped policy=wide.lua; is 0 'so does a step within the threshold'
echo '2026-01-13 * more work' > stepped/marks.txt
gate tonight.json against=stepped; is 0 'and one that a mark accepts'
level won 1 12 1000 && level won 13 20 950
result tonight.json 21 h 951 0.0001
gate tonight.json against=won
[ "$status" -eq 0 ] && [[ $out == *'faster since 2026-01-13T00:00:00Z'* ]]
tap_result $? 'a step to faster is told, and passes'
# sized FILE NIGHT BYTES: with so much code
sized() { result "$1" "$2" h $((1000 + $2 % 3)) 0.0001 && sed -i "s/\"kernels\": 4/\"kernels\": 4, \"code_bytes\": $3/" "$1"; }
mkdir creep
for night in {1..8}; do sized creep/n$night.json $night 100000; done
sized second.json 9 100900
gate second.json against=creep update=yes
[ "$status" -eq 0 ] && sized third.json 10 101800 && gate third.json against=creep update=yes out=creep.json
[ "$status" -eq 1 ] && [ ! -e creep/third.json ] && [[ $out == *'code_bytes 100000 -> 101800 (+1.8%): worse than at 2026-01-01T00:00:00Z, the smallest since the newest mark'* ]] &&
  grep -q '"since":	"2026-01-01T00:00:00Z"' creep.json
tap_result $? 'exact figures do not creep within their tolerance'
sized much.json 10 200000
echo '2026-01-10 * larger code' > creep/marks.txt
gate much.json against=creep update=yes
[ "$status" -eq 3 ] && [ -e creep/much.json ] && [[ $out == *'code_bytes 100900 -> 200000 (+98.2%): changed: a mark accepts it'* ]]
tap_result $? 'a mark accepts what is worse'
sized next.json 11 200000
gate next.json against=creep
[ "$status" -eq 3 ] && [[ $out != *code_bytes* ]]
tap_result $? 'and what follows is held against that'
level doubled 1 8 1000 && cp doubled/n3.json doubled/copy.json
result tonight.json 20 h 1001 0.0001
gate tonight.json against=doubled verbose=yes
[ "$status" -eq 0 ] && [[ $out == *'against 8 points since'* && $err == *'n3.json: it is a copy of copy.json'* ]]
tap_result $? 'a copy of a result is no night more'
sed 's/"aa": {[^}]*}/"aa": null/' tonight.json > alone.json
gate alone.json against=doubled
[ "$status" -eq 3 ] && [[ $out == *UNSURE*'no noise floor: fewer than 2 pairs of the same program'* ]]
tap_result $? 'a night without pairs of equal programs does not pass'

# --- confirmation: the flag is of this script's making, and both programs are this one ---
cat > tiny.lua <<'EOL'
local tb = require "tbench"
return tb.suite { name = "tiny", workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({ 64 }, case) } } end } }
EOL
id=$("$TBENCH" run suite=./tiny.lua dry-run=yes 2> /dev/null)
result old.json 1 h 1000 0.0001 "$id"
result flagged.json 2 h 1100 0.0001 "$id"
echo 'confirmation_pairs = 6 budget = 300 floor_limit = 10' > quick.lua
gate flagged.json against=old.json policy=quick.lua base=self out=confirmed.json
[ "$status" -ne 1 ] && grep -q '"fresh_log_ratios":	\[-\?[0-9]' confirmed.json
tap_result $? 'fresh pairs do not confirm what is not there'
fails 2 'no/such' "$TBENCH" gate flagged.json against=old.json base=no/such
fails 2 'no/such' "$TBENCH" gate flagged.json against=old.json base=self head=no/such
sed 's/"run"/"ab"/' flagged.json > unsaid.json
fails 2 'does not record its tbench run command' "$TBENCH" gate unsaid.json against=old.json base=self
sed 's/tiny.lua/gone.lua/' flagged.json > gone.json
fails 2 "command line does not work here" "$TBENCH" gate gone.json against=old.json base=self
# Each process takes longer to begin than its share of the budget: one ABBA group is all there is time for.
sed 's/function(case)/function(case) local till = os.clock() + 0.3 repeat until os.clock() > till/' tiny.lua > starved.lua && mv starved.lua tiny.lua
echo 'confirmation_pairs = 6 budget = 1 floor_limit = 10' > starved.lua
for update in no yes; do
  gate flagged.json against=old.json policy=starved.lua base=self "update=$update" out=starved.json
  [ "$status" -eq 1 ] && [[ $out == *'is SLOWER in the stored results, unconfirmed: the budget ended after 2 fresh pairs; at least 6 are needed'* ]] &&
    ! grep -q '"fresh_log_ratios":	\[-\?[0-9]' starved.json && grep -q '"median_ns": 1000,' old.json
  tap_result $? "fresh pairs that are too few take nothing back (update=$update)"
done

# --- which results, and where a baseline is ---
gate flagged.json against=flagged.json
[ "$status" -eq 2 ] && [[ $err == *'against=flagged.json is flagged.json itself: name the result of an earlier run'* ]]
tap_result $? 'a result is not gated against itself'
cp flagged.json copied.json
gate flagged.json against=copied.json; is 2 'nor against a copy'
gate old.json against=flagged.json
[ "$status" -eq 0 ] && [[ $out == *"head's result is older than base's: head started at 2026-01-01T00:00:00Z, base at 2026-01-02T00:00:00Z"* ]]
tap_result $? 'a result older than its baseline is told'
mkdir shared
cp base.json shared/base.json
chmod 640 shared/base.json
ln -s shared/base.json link.json
gate faster.json against=link.json update=yes
[ "$status" -eq 0 ] && [ -L link.json ] && grep -q '"median_ns":	900' shared/base.json && [ "$(stat -c %a shared/base.json)" = 640 ]
tap_result $? 'a baseline behind a link is brought up to date where it is, and keeps its permissions'
ln -s shared/none.json lost.json
fails 4 'lost.json does not lead to a file' "$TBENCH" gate faster.json against=lost.json update=yes
cp base.json kept.json
chmod 444 kept.json
gate faster.json against=kept.json update=yes
[ "$status" -eq 2 ] && [[ $err == *'against=kept.json is read-only'* ]] && cmp -s base.json kept.json
tap_result $? 'a read-only one is left alone, and told'
gate faster.json against=kept.json; is 0 'and can be compared with'
tap_end
