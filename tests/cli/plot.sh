#!/bin/bash
# tbench plot: kinds, formats and patterns; what is drawn of a folder; histories with steps, marks and nights that do not count.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# result NAME STARTED COMMIT HOST LOG_RATIO: two cases; the second is always the same.
result() {
  local case='"env":0,"outcome":"ok","steady":{"median_ns":1000},"speedup":{"ratio":2,"lo":1.9,"hi":2.1},"compile":{"cold_ns":{"median":4e6,"samples":[4e6]}},"graph":{"flops":8000,"bytes_moved":2000}'
  local what='"suite":"s","workload":"w","backend":"inductor","mode":"default","device":"cpu","dtype":"f32","params":{},"topology":"machine","threads":2,"switches":{}'
  printf '{"schema":1,"tbench":{"version":"1","commit":"%s","build":"","artifact_abi":1},"started":"%s","finished":"%s","interrupted":false,' "$3" "$2" "$2" > "$1"
  printf '"environments":[{"host":"%s","cpu":{"model":"m"},"threads":2,"cpus":"0-1","bound_to":"machine","triad_bytes_per_s":5e10,"fma_flops_per_s":4e11}],"cases":[' "$4" >> "$1"
  printf '{"id":"s/w/b1",%s,"case":{%s,"batch":1},"probe":{"version":1,"log_ratios":[%s]}},' "$case" "$what" "$5" >> "$1"
  printf '{"id":"s/w/b8",%s,"case":{%s,"batch":8},"probe":{"version":1,"log_ratios":[0.5]}}]}\n' "$case" "$what" >> "$1"
}

# Forty nights: +20% from the 21st on (0.18232 in logarithms), with a little noise that repeats.
mkdir nights
for ((i = 0; i < 40; i++)); do
  result "nights/$((99 - i)).json" "$(printf '2026-%02d-%02dT00:00:00Z' $((1 + i / 28)) $((1 + i % 28)))" "$(printf 'c%07d' "$i")" lab "0.$((100000 + (i * 37 % 11) * 1000 + (i < 20 ? 0 : 182320)))"
done
result nights/elsewhere.json 2026-01-05T00:00:00Z c9999999 other 0.9
echo '{"schema":1,"started":"2026-01-06T00:00:00Z","finished":null,"cases":[]}' > nights/killed.json
echo 'no JSON' > nights/broken.json
echo '2026-01-11T00:00:00Z s/*/b8 a new allocator' > nights/marks.txt
result one.json 2026-03-01T00:00:00Z cafe lab 0.1

fails 2 'name a result file, several, or a folder' "$TBENCH" plot
fails 2 "there is no kind 'rooflin'; did you mean 'roofline'?; there are: speedup, compile, ablation, roofline, history" "$TBENCH" plot one.json kind=rooflin
fails 2 "there is no format 'gif'" "$TBENCH" plot one.json format=svg,gif
fails 2 'kind=: name at least one' "$TBENCH" plot one.json kind=
fails 2 "no case matches 'x*'; a star stands for any characters, the first case is s/w/b1" "$TBENCH" plot one.json 'case=x*'
fails 2 'marks= belongs to kind=history' "$TBENCH" plot one.json marks=nights/marks.txt
fails 2 'none.txt: No such file' "$TBENCH" plot nights marks=none.txt
fails 2 'none.json: No such file' "$TBENCH" plot one.json none.json
mkdir empty
fails 2 'has no finished result' "$TBENCH" plot empty
echo 'soon s/* reason' > wrong.txt
fails 2 'wrong.txt:1: write a time, a pattern of case ids' "$TBENCH" plot nights marks=wrong.txt

if command -v gnuplot > /dev/null; then
  run env -u DISPLAY "$TBENCH" plot one.json kind=roofline,speedup format=pdf,svg out=pictures
  [ "$status" -eq 0 ] && [ "$out" = $'pictures.svg\npictures.pdf' ] && [ -s pictures.pdf ] && [ ! -e pictures.png ] && ! grep -q 'first kernel' pictures.gp
  tap_result $? 'kinds and formats are those that were asked for'
  run "$TBENCH" plot one.json case='*/b8'
  [ "$status" -eq 0 ] && ! grep -q 's/w/b1' one.dat && grep -q 's/w/b8' one.dat
  tap_result $? 'case= picks cases'
  sed 's|"id":"s/w/b8","env":0,"outcome":"ok"|"id":"s/w/b8","env":0,"outcome":"wrong"|' one.json > wrong.json
  run "$TBENCH" plot wrong.json
  [ "$status" -eq 0 ] && [[ $err == *'1 case not drawn: 1 wrong'* ]] && grep -q '1 case not drawn: 1 wrong' wrong.svg && grep -q 's/w/b1' wrong.dat && ! grep -q 's/w/b8' wrong.dat
  tap_result $? 'a wrong case is not drawn, which is told'
  fails 4 'nothing to draw for kind=ablation' "$TBENCH" plot one.json kind=ablation

  run "$TBENCH" plot nights
  [ "$status" -eq 0 ] && [ "$out" = $'nights/history.svg\nnights/history.png' ]
  tap_result $? 'of a folder the history is drawn, beside its results'
  [[ $err == *'elsewhere.json: it is from another machine'* && $err == *'killed.json: it was not finished'* && $err == *'broken.json'* ]]
  tap_result $? 'what is passed over is told'
  changes=$(sed -n '/its changes/,/^$/p' nights/history.dat)
  [[ $changes =~ $'\n'19\.5\ 1\.(19|20)[0-9]*\ [0-9.e-]*\ 1\ 0\ -?1\ \"\+(19|20)\.[0-9]%\ c0000020\" ]] && [ "$(grep -c '^19.5 ' nights/history.dat)" -eq 1 ]
  tap_result $? 'the step lies between the nights that it lies between, with its commit'
  grep -q '^9.5 1 0 0 0 -\{0,1\}1 "a new allocator +0.0%"' nights/history.dat
  tap_result $? 'the mark lies where it was set, with its reason'
  [ "$(grep -c '^[0-9]* [0-9.]* "2026-' nights/history.dat)" -eq 80 ] && [ "$(grep -c '^0 19 \|^20 40 ' nights/history.dat)" -eq 2 ]
  tap_result $? 'each night of this machine is a point; the newest segment reaches behind the newest run'
  run "$TBENCH" plot nights/99.json nights/98.json nights/97.json kind=history,speedup out=three
  [ "$status" -eq 0 ] && [ "$(grep -c '^[0-9]* [0-9.]* "2026-' three.dat)" -eq 6 ] && grep -q 'speedup over batch' three.gp && grep -q '2026-01-03T00:00:00Z, and 2 earlier runs' three.gp
  tap_result $? 'several files are a history, other kinds are of the newest'
  cp -r nights crashed && rm -f crashed/history.* && sed -i 's|"id":"s/w/b1","env":0,"outcome":"ok"|"id":"s/w/b1","env":0,"outcome":"crashed"|' crashed/8[0-2].json
  sed -i 's|"id":"s/w/b8","env":0,"outcome":"ok"|"id":"s/w/b8","env":0,"outcome":"wrong"|' crashed/elsewhere.json
  run "$TBENCH" plot crashed format=svg
  told='3 measurements of the history not drawn: 3 crashed'
  [ "$status" -eq 0 ] && [[ $err == *"$told"* ]] && grep -q "$told" crashed/history.svg && [ "$(grep -c '^[0-9]* [0-9.]* "2026-' crashed/history.dat)" -eq 77 ]
  tap_result $? 'nights that crashed between others are counted in the picture, those of another machine are not'
  run "$TBENCH" plot one.json kind=history out=alone
  [ "$status" -eq 0 ] && [ "$(grep -c '^0 [0-9.]* "2026-03' alone.dat)" -eq 2 ]
  tap_result $? 'a history of one point'
  rm -f nights/history.svg && (cd nights && env -u DISPLAY gnuplot history.gp) && [ -s nights/history.svg ]
  tap_result $? 'the script draws by itself'
fi
tap_end
