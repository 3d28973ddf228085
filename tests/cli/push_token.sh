#!/bin/bash
# Whom push speaks to: the token goes to the host that it is meant for, past redirects, proxies, certificates of strangers, and spools that others
# write to; what another URL would take waits.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"
# shellcheck source=tests/cli/push_setup.sh
. "$srcdir/tests/cli/push_setup.sh"

# --- redirects ---
serve other
reset "redirect:http://127.0.0.1:$port/api/v1/results"
TBENCH_TOKEN=$token run push r1.json to="$to"
[ "$status" -eq 4 ] && [ "$(requests other)" -eq 0 ] && [ "$(entries)" -eq 1 ] && [[ $err == *"redirects to http://127.0.0.1:$port/"*'Redirects are not followed'* ]]
tap_result $? 'a redirect to another host is told, not followed'
# Entries for two hosts: a token is for one of them.
elsewhere=http://127.0.0.1:$port
run push r2.json to="$elsewhere" tries=1
echo 500 > other/mode
run push r3.json to="$elsewhere" tries=1
echo good > other/mode; echo good > e/mode
TBENCH_TOKEN=$token fails 2 'the token is for one of them' push spooled=yes
TBENCH_TOKEN=$token run push spooled=yes to="$to"
[ "$status" -eq 0 ] && [ "$(entries)" -eq 1 ] && grep -q "Bearer $token" e/headers
tap_result $? 'to= says which one'
run push spooled=yes
[ "$status" -eq 0 ] && [ "$(entries)" -eq 0 ] && ! grep -q Authorization other/headers
tap_result $? 'the other one never sees it'
# The same of entries that were refused: they are chosen first, and what is not chosen lies as it lay.
reset 400; echo 400 > other/mode
run push r1.json to="$to"
run push r4.json to="$elsewhere"
rm -f other/headers
echo good > other/mode; echo good > e/mode
as_refused() { [ "$(entries)" -eq 0 ] && [ "$(refused entry)" -eq "$1" ] && [ "$(refused reason)" -eq "$1" ]; }
as_refused 2
tap_result $? 'one for each of two hosts is refused'
TBENCH_TOKEN=$token run push spooled=yes refused=yes
[ "$status" -eq 2 ] && [[ $err == *'the token is for one of them'* ]] && as_refused 2
tap_result $? 'whom the token is for is not said: nothing is put back'
TBENCH_TOKEN=$token run push spooled=yes refused=yes to="$to"
[ "$status" -eq 0 ] && [[ $out == '1 sent, 0 known already, 0 spooled, 0 refused' ]] && as_refused 1 && grep -rq "^url: $elsewhere/" "$spool/refused" && [ ! -e other/headers ]
tap_result $? 'of those, to= tries its own alone: the other has its reason still'
printf 'no entry' > "$spool/refused/damaged.entry"
run push spooled=yes refused=yes to="$to"
[ "$status" -eq 0 ] && [[ $out == '0 sent'* ]] && [ -e "$spool/refused/damaged.entry" ] && [ "$(entries)" -eq 0 ]
tap_result $? 'nor does it touch one that cannot be read'
rm -f "$spool/refused/damaged.entry"
run push spooled=yes refused=yes
[ "$status" -eq 0 ] && [[ $out == '1 sent'* ]] && as_refused 0
tap_result $? 'without a token each goes where it was meant to go'

# --- certificates ---
if command -v openssl > /dev/null; then
  certificate() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$2" -addext "subjectAltName=$3" -keyout "$1.key" -out "$1.pem" 2> /dev/null; }
  certificate own localhost 'DNS:localhost,IP:127.0.0.1'
  certificate stranger elsewhere DNS:elsewhere.example
  reset good
  serve tls own.pem own.key
  TBENCH_TOKEN=$token run push r1.json to="https://127.0.0.1:$port"
  [ "$status" -eq 4 ] && [ "$(entries)" -eq 1 ] && [ "$(requests tls)" -eq 0 ] && [[ $err == *certificate*'cacert=FILE'* ]]
  tap_result $? 'a certificate of nobody known: spooled, nothing was said'
  TBENCH_TOKEN=$token run push r1.json to="https://127.0.0.1:$port" cacert=own.pem
  [ "$status" -eq 0 ] && [ "$(stored tls)" -eq 1 ] && [ "$(entries)" -eq 0 ] && grep -q "Bearer $token" tls/headers
  tap_result $? 'with cacert= it is trusted'
  run push r2.json to="https://127.0.0.1:$port" cacert=stranger.pem
  [ "$status" -eq 4 ] && [ "$(stored tls)" -eq 1 ]
  tap_result $? 'another certificate is not'
  serve wrong stranger.pem stranger.key
  run push r3.json to="https://127.0.0.1:$port" cacert=stranger.pem
  [ "$status" -eq 4 ] && [ "$(requests wrong)" -eq 0 ] && [[ $err == *'not match'* || $err == *'no alternative'* ]]
  tap_result $? 'a name that is not in the certificate'
  [[ $err == *'the certificate is for another host than the one in to='* && $err != *cacert=* ]]
  tap_result $? 'is told as such: another cacert= would not help'
fi

# --- a proxy ---
reset good
http_proxy=$to run push r1.json to=http://dashboard.example:1234
[ "$status" -eq 0 ] && grep -q 'POST http://dashboard.example:1234/api/v1/results$' e/log
tap_result $? 'http_proxy is used'
reset good
TBENCH_TOKEN=$token https_proxy=$to run push r1.json to=https://dashboard.example tries=1
[ "$status" -eq 4 ] && [ "$(entries)" -eq 1 ] && grep -q 'CONNECT dashboard.example:443$' e/log && ! grep -qi 'authorization\|idempotency' e/headers
tap_result $? 'a proxy that tunnels does not see the token'
# What goes to this machine is sent in clear, with the token: past every proxy.
serve proxy
proxy=http://127.0.0.1:$port
for host in 127.0.0.1 localhost; do
  reset good
  TBENCH_TOKEN=$token http_proxy=$proxy ALL_PROXY=$proxy run push r1.json to="http://$host:${to##*:}"
  [ "$status" -eq 0 ] && [ "$(stored)" -eq 1 ] && grep -q "Bearer $token" e/headers && [ "$(requests proxy)" -eq 0 ]
  tap_result $? "nor does one see what goes to $host"
done

# --- a spool that others write to says whom the token goes to ---
reset good
mkdir open; chmod 777 open
TBENCH_TOKEN=$token fails 4 'the spool open: others may write there (chmod 700 open)' push r1.json to="$to" spool=open
mkdir -p inside/refused; chmod 755 inside; chmod 770 inside/refused
TBENCH_TOKEN=$token fails 4 'the spool inside/refused: others may write there' push r1.json to="$to" spool=inside
chmod 755 inside/refused
run push r1.json to="$to" spool=inside
[ "$status" -eq 0 ] && [ "$(requests)" -eq 1 ]
tap_result $? 'others may read it'
if [ "$(id -u)" -eq 0 ]; then
  chown 12345 inside
  TBENCH_TOKEN=$token fails 4 'the spool inside belongs to another user' push r2.json to="$to" spool=inside
fi
[ "$(requests)" -eq 1 ]
tap_result $? 'nothing was sent'

# --- what the URL or a proxy is to blame for waits, and is sent once that is mended ---
for mode in 404 405 407 410; do
  reset "$mode"
  run push r1.json r2.json to="$to"
  [ "$status" -eq 4 ] && [ "$(requests)" -eq 1 ] && [ "$(entries)" -eq 2 ] && [[ $out == *'2 spooled, 0 refused'* && $err == *"it answered $mode, which is about the URL or a proxy, not about the document: told so"* ]]
  tap_result $? "$mode: nothing is refused"
done
echo good > e/mode
run push spooled=yes
[ "$status" -eq 0 ] && [ "$(stored)" -eq 2 ] && [ "$(entries)" -eq 0 ]
tap_result $? 'and mended, both are sent'
tap_end
