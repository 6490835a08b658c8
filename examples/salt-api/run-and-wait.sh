#!/bin/sh
# Begins a job over salt-api's addresses and prints what its minions returned, with curl alone.
#
#   SALTAPI_URL=https://saltern.example.org:8443/salt SALTAPI_USER=ops SALTAPI_PASS=... run-and-wait.sh 'web*' test.ping
#
# SALTAPI_EAUTH is `pam` unless it says otherwise. With `token`, SALTAPI_PASS is a token of `saltern token create`.
set -eu

target=$1 function=$2
shift 2

field() { # the first text with this name in JSON
    sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' | head -n 1
}

token=$(curl -sS "$SALTAPI_URL/login" \
    --data-urlencode "username=$SALTAPI_USER" --data-urlencode "password=$SALTAPI_PASS" \
    -d "eauth=${SALTAPI_EAUTH:-pam}" | field token)
[ -n "$token" ] || { echo "the login was refused" >&2; exit 1; }
ask() { curl -sS --fail -H "X-Auth-Token: $token" "$@"; }

for argument; do set -- "$@" --data-urlencode "arg=$argument"; shift; done
jid=$(ask "$SALTAPI_URL/minions" --data-urlencode "tgt=$target" -d "fun=$function" "$@" | field jid)
[ -n "$jid" ] || { echo "no minion matches $target" >&2; exit 1; }

while ask "$SALTAPI_URL/run" -d client=runner -d fun=jobs.active -d "token=$token" | grep -q "\"$jid\""; do
    sleep 0.2
done
ask "$SALTAPI_URL/run" -d client=runner -d fun=jobs.lookup_jid -d "arg=$jid" -d "token=$token"
ask -X POST "$SALTAPI_URL/logout" >/dev/null
