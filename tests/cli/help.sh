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

# Each option that help names is taken: with a value that is none, the message is about the value or what comes after, never the name.
for verb in list plot report topo cache run explain; do
  for option in $("$TBENCH" help $verb | sed -n '/^options:/,/^$/s/^  \([a-z_-]\{2,\}\)  *[^ ].*/\1/p'); do
    run "$TBENCH" $verb "$option=\\"
    [ "$status" -ne 0 ] && [[ $err != *'takes no'* && $err != *'unknown name'* ]]
    tap_result $? "$verb takes $option"
  done
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
tap_end
