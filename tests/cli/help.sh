#!/bin/bash
# Help teaches: each verb's usage, options with their defaults, examples that are taken as they stand, and exit codes; and a program
# that was moved says where it looked for suites.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

verbs=$("$TBENCH" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p')
[ "$(wc -w <<< "$verbs")" -ge 11 ]
tap_result $? "the overview names the verbs: ${verbs//$'\n'/ }"
for verb in $verbs; do
  run "$TBENCH" help "$verb"
  [ "$status" -eq 0 ] && [[ $out == "tbench $verb"* && $out == *$'\nexamples:\n  tbench '* && $out == *$'\nexit codes:\n  0 '* ]] && [ "$(wc -l <<< "$out")" -ge 8 ]
  tap_result $? "help $verb has usage, examples and exit codes"
  first=$out
  run "$TBENCH" "$verb" --help
  [ "$status" -eq 0 ] && [ "$out" = "$first" ]
  tap_result $? "$verb --help is the same"
done

# Each option that help names is read: beside what its verb cannot do without, a value that is none ends it with a message that says it. `needs`
# has those words of each verb, and of options that want others of their own; an option that takes any text stands in `any`, with the script
# that shows what it does.
cat > tiny.lua <<'EOL'
local tb = require "tbench"
return tb.suite { name = "tiny", workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({ 4 }, case) } } end } }
EOL
"$TBENCH" run suite=./tiny.lua quick=yes counters=none out=tiny.json > /dev/null 2>&1
[ ! -x "$(dirname "$TBENCH")/tbench-serve" ] || "$TBENCH" serve db=help.db token=read > /dev/null
none='no/such\one'
declare -A needs=(
  [list]='' [run]='suite=./tiny.lua quick=yes' [explain]='suite=./tiny.lua' [ab]='head=self suite=./tiny.lua' [bisect]='head=self suite=./tiny.lua'
  [compare]='tiny.json tiny.json' [gate]='tiny.json against=tiny.json' [plot]='tiny.json' ['plot marks']='tiny.json kind=history' [report]='tiny.json'
  [push]='tiny.json to=http://127.0.0.1:1 spool=spool tries=1'
  [serve]='db=help.db listen=127.0.0.1:0' [topo]='' [cache]='stat' [help]='')
declare -A any=(['push branch']=push.sh ['push cacert']=push.sh ['serve host']=help.sh ['gate base']='gate.sh (of cases that are flagged)' ['gate head']='gate.sh (likewise)')
for verb in $verbs; do
  for option in $("$TBENCH" help "$verb" | sed -n '/^options:/,/^$/s/^  \([a-z_-]\{2,\}\)  *[^ ].*/\1/p'); do
    [ -z "${any["$verb $option"]:-}" ] || continue
    if [ "$verb" = serve ] && [ ! -x "$(dirname "$TBENCH")/tbench-serve" ]; then
      tap_skip "$verb reads $option" 'tbench-serve is not built'
      continue
    fi
    words=()
    for word in ${needs["$verb $option"]-${needs[$verb]-no words are known for this verb}}; do [[ $word == "$option="* ]] || words+=("$word"); done
    run timeout 120 "$TBENCH" "$verb" "${words[@]}" "$option=$none"
    [[ $out$err == *"$none"* && $out$err != *'takes no'* && $out$err != *'unknown name'* ]] && { [ "$status" -ne 0 ] || [ "$option" = cache_dir ]; } # it tells of an empty folder
    tap_result $? "$verb reads $option"
  done
done
if [ -x "$(dirname "$TBENCH")/tbench-serve" ]; then
  trap '[ -z "$server" ] || kill -9 "$server" 2> /dev/null' EXIT
  server_begin named "$TBENCH" serve db=named.db listen=127.0.0.1:0 host=name.example
  said=
  for name in name.example other.example; do
    { exec {asked}<> "/dev/tcp/${address/:/\/}"; } 2> /dev/null || break
    printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$name" >&"$asked"
    read -rt "$patience" _ code _ <&"$asked" && said+="$code "
    exec {asked}>&-
  done
  server_end "$server"
  server=
  [ "$said" = '200 421 ' ]
  tap_result $? "a server answers under the name of host=, and under no other ($said)"
fi
for verb_option in "${!any[@]}"; do
  "$TBENCH" help "${verb_option% *}" | grep -q "^  ${verb_option#* } " && [ -e "$srcdir/tests/cli/${any[$verb_option]%% *}" ] &&
    grep -qE "\b${verb_option#* }=" "$srcdir/tests/cli/${any[$verb_option]%% *}"
  tap_result $? "${verb_option% *} reads ${verb_option#* }: ${any[$verb_option]}"
done
fails 2 "it takes no 'replicates': nothing is measured" "$TBENCH" explain suite=mlp replicates=2
fails 2 'verbose=perhaps: use yes or no' "$TBENCH" report none.json verbose=perhaps
run "$TBENCH" help run
[[ $out == *'(default: 12)'* && $out == *'(default: 0.5%)'* && $out == *'(default: as many as target= needs)'* && $out == *"(default: the suite's, or 60)"* && $out == *'(default: inductor)'* ]]
tap_result $? 'defaults are shown'

run "$TBENCH" help codes
[ "$status" -eq 0 ] && [[ $out == *$'\n  3 '*'crashed'*'SLOWER'*'above the limit'*'→ find the cause (tbench bisect)'*'UNSURE'*'→ measure more pairs'* ]]
tap_result $? 'exit codes, outcomes and verdicts are told, and what to do'

# Examples are taken as they stand: those that read and measure nothing are run, of the others the plan.
while read -r line; do
  # shellcheck disable=SC2086
  case $line in
    'tbench run suite=./'*) continue ;;
    'tbench run '*) run "$TBENCH" ${line#tbench } dry-run=yes ;;
    'tbench list'* | 'tbench help'* | 'tbench counters' | 'tbench topo peaks=no' | 'tbench explain suite=mlp'*) run "$TBENCH" ${line#tbench } ;;
    *) continue ;;
  esac
  [ "$status" -eq 0 ]
  tap_result $? "the example works: $line"
done < <(for verb in $verbs; do "$TBENCH" help "$verb" | sed -n '/^examples:/,/^$/s/^  \(tbench .*\)/\1/p'; done)

# --- a program that was moved ---
mkdir -p moved/bin moved/share/tbench/suites alone
cp "$TBENCH" moved/bin/tbench && cp "$TBENCH" alone/tbench
cp "${srcdir:?}/suites/mlp.lua" moved/share/tbench/suites
run moved/bin/tbench list suite=mlp
[ "$status" -eq 0 ] && [[ $out == 'mlp: '* ]]
tap_result $? 'a whole installation that was moved finds its suites'
if ! alone/tbench list > /dev/null 2>&1; then # none are installed on this machine
  fails 2 'there are no suites: looked in ' alone/tbench list
  [[ $err == *'share/tbench/suites (cannot be read)'* && $err == *'set TBENCH_SUITES to the folder of the suites'* ]]
  tap_result $? 'a program without its suites says where it looked and what to set'
  fails 2 "there is no suite 'mlp', nor any other: looked in " alone/tbench run suite=mlp
  TBENCH_SUITES=$PWD/moved/share/tbench/suites run alone/tbench list
  [ "$status" -eq 0 ] && [[ $out == 'mlp: '* ]]
  tap_result $? 'TBENCH_SUITES names the folder'
fi
# Each verb has one row of the README's table.
rows=$(sed -n '/^## Commands/,/^###* /s/^| \(`tbench [^|]*\) |.*/\1/p' <(sed 's/\\|/ /g' "$srcdir/README.md"))
wrong=
for verb in $verbs; do [ "$verb" = help ] || [ "$(grep -oE "\`tbench $verb( |\`)" <<< "$rows" | wc -l)" -eq 1 ] || wrong+=" $verb"; done
status=0 out=$rows err=$wrong
[ -n "$rows" ] && [ -z "$wrong" ]
tap_result $? 'each verb has one row of the README'
# Modes stand in one table: the axis of the command line, tb.compile and the manual have the same.
run "$TBENCH" run suite=mlp mode=zzzzzzzzzzzzzzzz dry-run=yes
axis=${err##*use one of }
axis=${axis%%$'\n'*}
echo 'print(select(2, pcall(tb.compile, print, { mode = "none" })))' | { echo 'local tb = require "tbench"'; cat; } > modes.lua
run "$TBENCH" lua modes.lua
compiled=${out##*modes: }
[ "$status" -eq 0 ] && [ -n "$axis" ] && [ "${axis//,/, }" = "$compiled" ]
tap_result $? "modes of the command line ($axis) are those of tb.compile ($compiled)"
[ "$(sed -n '/^## Modes/,/^## /s/^| `\([a-z-]*\)` |.*/\1/p' "$srcdir/docs/compile.md" | paste -sd,)" = "$axis" ]
tap_result $? 'and those of the manual'

# --- the manual ---
# Its commands are taken as they stand: of those that measure, the plan. Options and suites that are not there would be refused.
while read -r line; do
  # shellcheck disable=SC2086
  case $line in
    *…* | *URL* | *changed-since=* | *suite=./*) continue ;; # these want what a reader has
    'tbench run '*) run "$TBENCH" ${line#tbench } dry-run=yes ;;
    'tbench list' | 'tbench help '* | 'tbench topo peaks=no' | 'tbench explain suite=mlp'*) run "$TBENCH" ${line#tbench } ;;
    *) continue ;;
  esac
  [ "$status" -eq 0 ]
  tap_result $? "the manual's command works: $line"
done < <(sed -n 's/ *#.*//; s!^    \(\$ \)\{0,1\}\(build/\)\{0,1\}\(tbench .*\)!\3!p' "$srcdir/README.md" "$srcdir"/docs/*.md | LC_ALL=C sort -u)
# Its programs that stand by themselves: suites, and one to start with. block FILE: the first one that asks for the module.
block() { awk '/^    local tb = require/ { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' "$srcdir/$1"; }
for page in README.md docs/suites.md; do
  block "$page" > suite_of_manual.lua
  run "$TBENCH" list suite=./suite_of_manual.lua
  [ "$status" -eq 0 ] && [[ $out == 'mlp'*'workload mlp'*'batch=1,8,64,512'* ]]
  tap_result $? "the suite in $page is one"
done
block docs/compile.md > first.lua
run "$TBENCH" lua first.lua
[ "$status" -eq 0 ] && [[ $out == tensor*'graphs: 1, graph breaks: 0'* ]]
tap_result $? 'the program in docs/compile.md runs'

tap_end
