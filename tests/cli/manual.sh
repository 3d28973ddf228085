#!/bin/bash
# Manual pages and completion: each verb has a page with all its options, groff is content, and both shells complete verbs, names and values.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

verbs=$("$TBENCH" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p')
# names SECTION: what a help text lists in it
names() { sed -n "/^$1/,/^\$/s/^  \([a-z][A-Za-z_.-]*\)  .*/\1/p"; }

# --- manual pages ---
if command -v groff > /dev/null; then
  can_set=yes
  set_page() { # PAGE: as a reader sees it, in page.text, without bold and hyphenation; what groff complains about in page.warnings
    { echo '.nh'; cat "$1"; } | GROFF_NO_SGR=1 groff -man -ww -Tutf8 -rLL=2000n -P-cbou > page.text 2> page.warnings
  }
else
  can_set=
fi
"$TBENCH" help format=man > tbench.1
for verb in $verbs; do "$TBENCH" help "$verb" format=man > "tbench-$verb.1"; done
for page in tbench $(for verb in $verbs; do echo "tbench-$verb"; done); do
  if [ -z "$can_set" ]; then
    tap_skip "$page(1)" 'groff is not installed'
    continue
  fi
  set_page "$page.1"
  err=$(cat page.warnings) out=$(head -n 30 page.text) status=$?
  [ -z "$err" ] && [ "$(grep -cE '^(NAME|SYNOPSIS|DESCRIPTION|EXAMPLES|EXIT STATUS)$' page.text)" -eq 5 ] &&
    ! LC_ALL=C grep -q '[^ -~]' "$page.1"
  tap_result $? "$page(1) has its sections and sets without a warning"
  missing=
  if [ "$page" = tbench ]; then
    for verb in $verbs; do grep -qE "^ *tbench-$verb\(1\)" page.text || missing+=" $verb"; done
    for name in $("$TBENCH" help switches | names switches); do grep -qE "^ *$name=" page.text || missing+=" $name"; done
    for name in $(grep -rhoE 'getenv\("(TBENCH_|CONBENCH_|XDG_|NO_COLOR|TMPDIR)[A-Z_]*' "$srcdir"/{harness,reporters,compiler} | sed 's/.*"//' | sort -u) TBENCH_TOKEN; do
      grep -qE "^ *$name( |\$)" page.text || missing+=" $name"
    done
  else
    help=$("$TBENCH" help "${page#tbench-}")
    for name in $(names options <<< "$help") $(names axes <<< "$help"); do grep -qE "^ *$name=" page.text || missing+=" $name"; done
    for name in $(names formats <<< "$help"); do grep -qE "^ *$name( |$)" page.text || missing+=" $name"; done
  fi
  status=0 out='' err=$missing
  [ -z "$missing" ]
  tap_result $? "$page(1) has everything that help shows"
done
[ "$("$TBENCH" help run | names options | wc -l)" -gt 10 ] && [ "$("$TBENCH" help switches | names switches | wc -l)" -gt 30 ]
tap_result $? 'names of help texts are found'
listed=$(sed -n 's,^  man/tbench-\([a-z]*\)\.1.*,\1,p' "$srcdir/harness/files.am" | LC_ALL=C sort)
status=0 out=$listed err=$verbs
[ "$listed" = "$(LC_ALL=C sort <<< "$verbs")" ]
tap_result $? 'make install has a page of each verb'
if [ -n "$can_set" ]; then
  printf '.TH X 1\n.SH NAME\nx \\- y\n.nosuchmacro\n' > bad.1
  set_page bad.1
  [ -s page.warnings ]
  tap_result $? 'groff warns of a page that is wrong'
fi
fails 2 "there is no manual page on 'codes'" "$TBENCH" help codes format=man
fails 2 "format=bash is for all verbs at once: leave out 'run'" "$TBENCH" help run format=bash

# --- completion ---
"$TBENCH" help format=bash > completion.bash
"$TBENCH" help format=zsh > _tbench
bash -n completion.bash
tap_result $? 'bash takes its script'
bash -c '. ./completion.bash && complete -p tbench' > complete.text
grep -qx 'complete -F _tbench tbench' complete.text
tap_result $? 'bash completes tbench by it'
touch some.json some.lua
# What a shell offers for a line, a word each; of a list its last value.
in_bash() {
  bash -c '. ./completion.bash
    COMP_LINE=$1 COMP_POINT=${#1}
    _tbench tbench "${1##* }" ""
    printf "%s\n" "${COMPREPLY[@]##*,}"' in_bash "$1"
}
# zsh by itself has no terminal here: what its completion system would be told is printed.
in_zsh() {
  zsh -f -c '
    compset() { local rest=${PREFIX##${~2}}; IPREFIX=${PREFIX%$rest}; PREFIX=$rest }
    offer() {
      local word arm=
      [[ $IPREFIX != *. ]] || arm=$IPREFIX
      for word in "$@"; do [[ $word != $PREFIX* ]] || print -r -- $arm$word; done
    }
    compadd() { while [[ $1 == -S ]]; do shift 2; done; [[ $1 != -- ]] || shift; offer "$@" }
    _describe() { local array=$4; offer ${${(P)array}%%:*} }
    _files() { offer *(N) }
    words=(${(s: :)1}) PREFIX=${1##* } IPREFIX=
    [[ $1 != *" " ]] || words+=("")
    CURRENT=$#words words[1]=$TBENCH
    . ./_tbench' in_zsh "$1"
}
suites=$("$TBENCH" list | sed -n 's/^\([a-z_0-9]*\): .*/\1/p')
while IFS='|' read -r line offers hides; do
  for shell in bash zsh; do
    if ! command -v $shell > /dev/null; then
      tap_skip "$shell completes '$line'" "$shell is not installed"
      continue
    fi
    # Suites are asked of the program itself: by name in bash.
    out=$(PATH=$(dirname "$TBENCH"):$PATH "in_$shell" "$line" 2> err.text) status=$? err=$(cat err.text) wrong=$err
    for word in $offers; do grep -qxF -- "$word" <<< "$out" || wrong+=" no $word"; done
    for word in $hides; do ! grep -qxF -- "$word" <<< "$out" || wrong+=" has $word"; done
    [ -z "$wrong" ]
    tap_result $? "$shell completes '$line'$wrong"
  done
done << END
tbench |$(tr '\n' ' ' <<< "$verbs")|worker
tbench re|report|run
tbench run |suite= mode= quick= fuse= opt.key_cache=|kind= some.json base=
tbench run mo|mode=|suite=
tbench run mode=|default reduce-overhead max-autotune|suite= inductor
tbench run mode=default,red|reduce-overhead|
tbench run backend=|eager inductor peer:|
tbench run fuse=|on off|yes
tbench run matmul=|auto library search|
tbench run quick=|yes no|
tbench run suite=|$(tr '\n' ' ' <<< "$suites") some.lua|
tbench run suite=ml|mlp mlp_small|transformer
tbench explain |debug= format=|replicates= quick=
tbench explain format=|text json html|csv
tbench ab |base= pairs= dry-run= mode=|replicates= quick=
tbench ab head.fu|head.fuse=|fuse=
tbench ab head.fuse=|on off|
tbench report |format= some.json|suite=
tbench report format=|csv html junit influx|tbench
tbench push format=|tbench influx prometheus|csv
tbench compare format=|console junit|csv
tbench gate update=|yes no all|
tbench plot kind=speedup,|compile roofline|
tbench cache |stat verify clear export import cache_dir=|suite=
tbench help |run gate switches codes format=|
tbench help format=|man bash zsh|
END
if command -v zsh > /dev/null; then
  zsh -n _tbench
  tap_result $? 'zsh takes its script'
fi
tap_end
