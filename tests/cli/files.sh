#!/bin/bash
# Files that verbs read and write: full disks, missing folders, files that are not what they should be, users without a home.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > small.lua <<'EOF'
local tb = require "tbench"
return tb.suite { name = "small", axes = { batch = { 1, 2 } }, workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({case.batch, 4}, case) } } end } }
EOF
run "$TBENCH" run suite=./small.lua batch=1 quick=yes out=one.json
[ "$status" -eq 0 ] && [[ $err == *'1 case, 1 replicate, '* && $err != *'1 cases'* && $err != *'1 replicates'* ]]
tap_result $? 'one case and one replicate are no plural'
[[ $out == *'note: intervals are over the blocks of one pair of processes'* ]]
tap_result $? 'the table says that its intervals are over blocks'
run "$TBENCH" run suite=./small.lua replicates=2 out=two.json
[ "$status" -eq 0 ] && [[ $out != *'over the blocks'* && $err == *'2 cases, 2 replicates, '* ]]
tap_result $? 'intervals over replicates need no note'

# --- plot: a full disk as a limit on the size of files says it; each file is whole or not there ---
if command -v gnuplot > /dev/null; then
  run "$TBENCH" plot one.json out=whole
  [ "$status" -eq 0 ] && grep -q 'over the blocks of one pair' whole.gp
  tap_result $? 'a plot says that its intervals are over blocks'
  mkdir -p reference && mv whole.* reference
  no_space() { (ulimit -f "$1"; exec "$TBENCH" plot one.json out=full); }
  for blocks in 1 2 8 16 24; do
    rm -f full.*
    echo 'a picture of old' > full.svg
    run no_space "$blocks"
    [ "$status" -eq 4 ] && [ "$(wc -l < err.text)" -eq 1 ] && [[ $err == 'tbench plot: '*('File too large'|'could not write the pictures')* ]]
    tap_result $? "a disk with $blocks KiB left: one line and exit code 4"
    whole=0
    for file in full.*; do
      [ "$file" = full.svg ] || cmp -s <(sed 's/full/whole/g' "$file") "reference/whole.${file##*.}" || whole=1
    done
    [ $whole -eq 0 ] && [ ! -e full.png ] && { [ ! -e full.svg ] || [ ! -e full.gp ]; }
    tap_result $? "a disk with $blocks KiB left: no half of a file"
  done
fi
fails 2 'the folder none: No such file or directory' "$TBENCH" plot one.json out=none/x
fails 2 'name a file, not a folder' "$TBENCH" plot one.json out=.
fails 2 'one.json is named twice' "$TBENCH" plot one.json one.json

# --- report ---
fails 2 'formats: console, json, csv' "$TBENCH" report one.json format=bogus
fails 2 'formats: console, json, csv' "$TBENCH" report one.json format=
run "$TBENCH" help report
[ "$status" -eq 0 ] && [[ $out == *console*json*csv* ]]
tap_result $? 'help report lists the formats'

# --- cache ---
cache() { "$TBENCH" cache "$@" cache_dir="$PWD/own-cache"; }
explained() { TB_LOGS=kernels run "$TBENCH" explain suite=./small.lua batch=1 cache_dir="$PWD/own-cache" "$@"; }
explained
[ "$status" -eq 0 ] && [ ! -e own-cache ]
tap_result $? 'explain leaves the cache alone'
explained cache=on
[ "$status" -eq 0 ] && [ -d own-cache ]
tap_result $? 'unless it is asked to use it'
explained
[ "$status" -eq 0 ] && [[ $err == *'[kernels]'* ]]
tap_result $? 'so that it shows the kernels, whatever the cache has'
TB_LOGS=graph run "$TBENCH" explain suite=./small.lua batch=1
[ "$status" -eq 0 ] && [[ $err == *captured*'graph {'*decomposed*'graph {'*lowered*'loops {'*return* ]]
tap_result $? 'and, if asked for, the graph and its loops at every stage'
run cache stat
[ "$status" -eq 0 ] && [[ $out == *$'\n1 entry stored, '*': 1 artifact, 0 choices of a search' ]]
tap_result $? 'an artifact is counted as one'
run cache export good.export
[ "$status" -eq 0 ] && [[ $out == *'1 entry exported'* ]]
tap_result $? 'an export'
head -c 100 good.export > short.export
echo text > text.export
for file in small.lua short.export one.json text.export; do fails 2 'is no export' cache import "$file"; done
head -c 200 good.export > cut.export
fails 2 'ends in the middle of an entry' cache import cut.export
fails 2 'No such file' cache import none.export
fails 2 'no plain file' cache import .
fails 2 'no plain file' cache export /dev/null
{ head -c 300 good.export; printf 'X'; tail -c +302 good.export; } > damaged.export
fails 2 '1 damaged, left out' cache import damaged.export
cp good.export kept.export
no_space() { (ulimit -f 1; exec "$TBENCH" cache export kept.export cache_dir="$PWD/own-cache"); }
fails 4 'File too large' no_space
cmp -s good.export kept.export && [ -z "$(find . -name '*part')" ]
tap_result $? 'an export that fails leaves the old one'
run cache import good.export
[ "$status" -eq 0 ] && [[ $out == *'1 entry imported'* ]]
tap_result $? 'and a good one is imported'

# --- a user without HOME: the list of users knows where it is ---
home=$(getent passwd "$(id -u)" | cut -d: -f6)
if [ -n "$home" ] && [ "$home" != / ]; then
  for given in HOME= HOME=relative HOME=/; do
    run env -u XDG_CACHE_HOME "$given" "$TBENCH" cache stat
    [ "$status" -eq 0 ] && [[ $out == "$home/.cache/tbench"* ]]
    tap_result $? "$given: the cache is in the home that the system knows"
  done
  run env -u XDG_CACHE_HOME -u HOME "$TBENCH" cache stat
  [ "$status" -eq 0 ] && [[ $out == "$home/.cache/tbench"* ]]
  tap_result $? 'the same where HOME is not set'
fi
tap_end
