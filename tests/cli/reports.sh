#!/bin/bash
# tbench report in every format: each is read back, by the program that it is made for where that is installed, and by a strict reader of its
# specification (reports.py), which must not take broken reports. A result with odd names and missing figures, a real one, several at once,
# and a comparison.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

skip_all() { echo "1..0 # SKIP $*"; exit 0; }
command -v python3 > /dev/null || skip_all "there is no python3 here"
export CONBENCH_PROJECT_REPOSITORY=https://github.com/org/repo PYTHONDONTWRITEBYTECODE=1
reports() { python3 "$srcdir/tests/cli/reports.py" "$@"; }
readers() { python3 "$srcdir/tests/cli/report_readers.py" "$@"; }
# report FORMAT FILE…: into NAME.FORMAT, NAME of the first file
report() { "$TBENCH" report format="$1" "${@:2}" > "${2%.json}.$1"; }
# skipped NAME: of a reader that is not installed
skipped() {
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $* # SKIP"
}
# read_by READER FORMAT STEM [RESULT]
read_by() {
  run readers "$1" "$3.$2" "${@:4}"
  if [ "$status" -eq 77 ]; then skipped "$2 is read by $1: $out"; else tap_result "$status" "$2 is read by $1 ($3)"; fi
}

reports odd > odd.json
reports odd-comparison > pair.json
cat > tiny.lua <<'EOL'
local tb = require "tbench"
return tb.suite {
  name = "tiny", axes = { batch = { 1, 4 } },
  workloads = {
    w = function(case) return { fn = function(x) return (x + 1):sum(-1) end, args = { tb.randn({ case.batch, 8 }, case) } } end,
  },
}
EOL
run "$TBENCH" run suite=./tiny.lua counters=none replicates=2 out=real.json
tap_result "$status" 'a real result'
run python3 -c 'import json, re
program = json.load(open("real.json"))["tbench"]
digits, changed = re.fullmatch("([0-9a-f]{12,}|unknown)(-dirty)?", program["commit"]).groups()
whole = program["commit_whole"]
assert whole is None if digits == "unknown" else re.fullmatch(digits + "[0-9a-f]*" + (changed or ""), whole) and len(whole) - len(changed or "") in (40, 64), program'
tap_result "$status" 'it has the commit of the program, short and whole'

# --- strict readers: every figure of the result, nothing else, no error taken ---
formats='csv bencher google_benchmark lnt victoriametrics influx prometheus pytorch conbench junit html'
for format in $formats; do
  for result in odd real; do
    run report "$format" $result.json
    [ "$status" -eq 0 ] && run reports read "$format" "$result.$format" $result.json
    tap_result "$status" "$format of $result.json is read back"
  done
  run reports planted "$format" odd."$format" odd.json
  tap_result "$status" "$format: its reader takes no broken report: $out"
  cp odd."$format" first."$format"
  report "$format" odd.json
  cmp -s odd."$format" first."$format"
  tap_result $? "$format: the same bytes again"
done
for format in html junit; do
  run report "$format" pair.json
  [ "$status" -eq 0 ] && run reports read "$format-comparison" "pair.$format" pair.json
  tap_result "$status" "$format of a comparison is read back"
done

# --- the programs that formats are made for ---
read_by promtool prometheus odd
read_by promtool prometheus real
read_by jsonschema bencher odd
for result in odd real; do
  read_by victoriametrics victoriametrics $result $result.json
  read_by victoriametrics-prometheus prometheus $result $result.json
  read_by victoriametrics-influx influx $result $result.json
  read_by influxdb influx $result $result.json
  read_by junitparser junit $result $result.json
  read_by compare google_benchmark $result $result.json
  read_by lnt lnt $result $result.json
  read_by clickhouse pytorch $result $result.json
done
for result in odd real pair; do
  report markdown $result.json
  if command -v cmark-gfm > /dev/null; then
    cmark-gfm -e table -e strikethrough -e autolink -e tagfilter --unsafe $result.markdown > $result.rendered
    kind=markdown
    [ $result != pair ] || kind=markdown-comparison
    run reports read $kind $result.rendered $result.json
    tap_result "$status" "markdown of $result.json is rendered by cmark-gfm"
  else
    skipped "markdown of $result.json is rendered by cmark-gfm"
  fi
  [ "$(LC_ALL=C.UTF-8 wc -m < $result.markdown)" -le 65536 ]
  tap_result $? "markdown of $result.json fits into a comment"
done

# --- a comment holds so much: what does not fit is told ---
python3 - pair.json > large.json <<'EOP'
import copy, json, sys
document = json.load(open(sys.argv[1]))
slower = next(one for one in document["cases"] if one["id"] == "s/slower")
document["cases"] = [dict(copy.deepcopy(slower), id=f"s/slower/{i}") for i in range(2000)]
print(json.dumps(document))
EOP
run report markdown large.json
[ "$status" -eq 0 ] && [ "$(wc -c < large.markdown)" -le 65536 ] && grep -q '[0-9] more cases are not shown' large.markdown
tap_result $? 'a comparison of 2000 cases fits, and says what it leaves out'

# --- several files ---
sed 's/"started": "2026-01-02T03:04:05Z"/"started": "2026-01-02T04:04:05Z"/; s/"speedup": {"ratio": 1.5/"speedup": {"ratio": 1.6/' odd.json > odder.json
for format in csv bencher google_benchmark victoriametrics influx prometheus pytorch conbench junit html; do
  run "$TBENCH" report odd.json real.json format="$format"
  [ "$status" -eq 0 ] && printf '%s\n' "$out" > both.one
  cp out.text both."$format"
  [ "$status" -eq 0 ] && run reports read "$format" both."$format" odd.json real.json
  tap_result "$status" "$format of two results is read back"
done
python3 -c 'import csv; print(*sorted({row["file"] for row in csv.DictReader(open("both.csv", newline=""))}))' > files.text
[ "$(cat files.text)" = 'odd.json real.json' ]
tap_result $? 'a row of CSV names its file'
for format in bencher prometheus; do
  "$TBENCH" report odd.json odder.json format=$format > again.$format
  run reports read $format again.$format odder.json
  tap_result "$status" "$format has a case once, from the last file"
done
fails 2 'format=lnt holds one result' "$TBENCH" report odd.json real.json format=lnt
fails 2 'name files of one kind' "$TBENCH" report odd.json pair.json
fails 2 'pair.json is a comparison; its formats: console, json, markdown, html, junit' "$TBENCH" report pair.json format=influx
fails 2 'name result files' "$TBENCH" report
fails 2 'none.json: No such file' "$TBENCH" report odd.json none.json format=junit
run "$TBENCH" report odd.json real.json
[ "$status" -eq 0 ] && [[ $out == *'right (against f64), 1 not measured · odd.json'* || $out == *'· odd.json'* ]] && [[ $out == *'· real.json'* ]]
tap_result $? 'on the console one after the other'
run "$TBENCH" report odd.json real.json format=json
[ "$status" -eq 0 ] && [ "$(python3 -c 'import json; print(len(json.load(open("out.text"))))')" = 2 ]
tap_result $? 'as JSON an array'

# --- a run that was cut off: no format takes it for a whole one without a word ---
python3 - real.json > cut.json <<'EOP'
import json, sys
document = json.load(open(sys.argv[1]))
document.update(finished=None, planned=len(document["cases"]) + 7)
print(json.dumps(document))
EOP
for format in bencher csv google_benchmark lnt junit influx prometheus victoriametrics; do
  run report $format cut.json
  [ "$status" -eq 0 ] && [[ $err == 'tbench report: cut.json: the run did not end: 7 of 9 planned cases were not measured' ]] && run reports read $format cut.$format cut.json && [ "$status" -eq 0 ]
  tap_result $? "$format of a run that did not end: it is told"
done
grep -q 'errors="1"' cut.junit && grep -q '<error type="incomplete" message="the run did not end: 7 of 9' cut.junit
tap_result $? 'it is an error of JUnit'
run report junit real.json
[ "$status" -eq 0 ] && [ -z "$err" ] && ! grep -q '<error' real.junit
tap_result $? 'a run that ended is none'

# --- a damaged file is refused, not repaired ---
python3 - odd.json <<'EOP'
import sys
text = open(sys.argv[1], "rb").read()
at = text.index(b"s/plain/")
for name, byte in ("broken", b"\xff"), ("latin", b"\xe9"), ("zero", b"\0"):
    open(name + ".json", "wb").write(text[:at] + byte + text[at + 1:])
    open(name + ".line", "w").write(f"the byte 0x{byte[0]:02x} at offset {at} (line {text[:at].count(10) + 1}) is not UTF-8")
open("half.json", "wb").write(text[:text.index("深度".encode()) + 1])
EOP
for file in broken latin zero; do
  for format in console json prometheus; do fails 2 "$file.json: $(cat $file.line)" "$TBENCH" report $file.json format=$format; done
  [ -z "$out" ]
  tap_result $? "nothing is told of $file.json"
done
fails 2 'is not UTF-8: the file is damaged, or in another encoding; get an undamaged copy, or convert it to UTF-8 (iconv' "$TBENCH" report half.json
fails 2 "broken.json: $(cat broken.line)" "$TBENCH" compare real.json broken.json
fails 2 "broken.json: $(cat broken.line)" "$TBENCH" compare broken.json real.json
fails 2 "broken.json: $(cat broken.line)" "$TBENCH" gate real.json against=broken.json
fails 2 "broken.json: $(cat broken.line)" "$TBENCH" gate broken.json against=real.json
iconv -f LATIN1 -t UTF-8 latin.json > mended.json
run "$TBENCH" report mended.json format=csv
[ "$status" -eq 0 ] && [[ $out == *'é/plain/'* ]]
tap_result $? 'and taken once it is UTF-8'

# --- what a document lacks ---
sed 's/"started": "[^"]*"/"started": null/' odd.json > timeless.json
for format in lnt victoriametrics conbench; do fails 2 'does not say when it was started' "$TBENCH" report timeless.json format=$format; done
fails 2 'set CONBENCH_PROJECT_REPOSITORY=https://github.com/ORG/REPO' env CONBENCH_PROJECT_REPOSITORY= "$TBENCH" report odd.json format=conbench
fails 2 'set CONBENCH_PROJECT_REPOSITORY=https://github.com/ORG/REPO' env CONBENCH_PROJECT_REPOSITORY=git@example.org:x "$TBENCH" report odd.json format=conbench
sed 's/"started": "[^"]*"/"started": "2026-01-02T05:34:05.5+02:30"/; s/"finished": "[^"]*"/"finished": "2026-01-02T01:05:06-02:00"/' odd.json > zoned.json
for format in lnt junit; do
  report $format zoned.json
  cmp -s odd.$format zoned.$format
  tap_result $? "$format: times are told in UTC"
done
run "$TBENCH" report timeless.json format=influx
[ "$status" -eq 0 ] && [[ $out == 'tbench_run,host='*' complete=true'$'\n''tbench,id=s/plain/'*' outcome="ok",ok=true,'* && $out != *' 17'* ]]
tap_result $? 'a line of Influx needs no time'

# --- the console: no control characters of the document, colours on a terminal alone ---
run "$TBENCH" report odd.json verbose=yes
[ "$status" -eq 0 ] && ! grep -q $'\e\|\x01' out.text && ! grep -qiw 'nan\|inf' out.text
tap_result $? 'the console shows no control characters, and no nan'
run "$TBENCH" report pair.json
[ "$status" -eq 0 ] && ! grep -q $'\e' out.text && [[ $out == *'s/new line '* ]]
tap_result $? 'a case of a comparison is one line'
if script -qec true /dev/null < /dev/null > /dev/null 2>&1; then # it is there, and so are terminals
  on_terminal() { env "$@" TERM=xterm script -qec "'$TBENCH' report pair.json" /dev/null < /dev/null; }
  [ "$(on_terminal -u NO_COLOR | grep -c $'\e\\[31m')" -ge 2 ]
  tap_result $? 'on a terminal SLOWER is red'
  [ "$(on_terminal NO_COLOR=1 | grep -c $'\e\\[')" -eq 0 ]
  tap_result $? 'NO_COLOR: no colours'
  [ "$(on_terminal NO_COLOR= | grep -c $'\e\\[31m')" -ge 2 ]
  tap_result $? 'an empty NO_COLOR is none'
fi

# --- format= of the verbs that compare ---
for format in markdown html junit json; do
  run "$TBENCH" compare real.json real.json format=$format
  [ "$status" -eq 3 ] || [ "$status" -eq 0 ] && [ -n "$out" ]
  tap_result $? "compare format=$format"
done
run "$TBENCH" compare real.json real.json format=junit
[[ $out == '<?xml'*'<testsuites'* ]]
tap_result $? 'compare writes JUnit itself'
tap_end
