#!/bin/sh
# The service on PostgreSQL, on a store of the protocol of S3, and over TLS: real ones, where they
# are installed. What is missing is skipped, and said.
#
#   cargo build --release -p he-cli --features server
#   crates/he-server/tests/services.sh [PROGRAM]
#
# PostgreSQL is Debian's package, of which initdb is enough; the store is moto's server (PyPI:
# moto[server]); the clients are curl and openssl.
set -eu

program=${1:-${CARGO_TARGET_DIR:-target}/release/he-cli}
program=$(realpath "$program")
export HE_DEVICE=cpu
work=$(mktemp -d)
chmod 755 "$work"
processes=
cleanup() {
    for process in $processes; do kill "$process" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap cleanup EXIT INT TERM
port=$((20000 + $$ % 20000))

# Waits until something answers at a URL.
answers() {
    for _ in $(seq 150); do
        curl -ks -o /dev/null "$1" && return
        sleep 0.1
    done
    echo "nothing answers at $1" >&2
    exit 1
}

cd "$work"
printf 'a,b\n1,2\n3.5,-4\n' >table.csv
"$program" --quiet keygen ckks --depth 1 -o keys/ >/dev/null
"$program" --quiet encrypt table.csv -k keys/public.key -o table.he >/dev/null
"$program" --quiet eval sum table.he -k keys/eval.key -o sum.he >/dev/null

# put URL RESOURCE FILE: uploads a file in two parts, and prints its name.
put() {
    size=$(stat -c %s "$3")
    half=$((size / 2))
    location=$(curl -ksf -D - -o /dev/null -X POST -H "$auth" -H 'Tus-Resumable: 1.0.0' \
        -H "Upload-Length: $size" "$1/v1/$2" | tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
    head -c "$half" "$3" >part.1
    tail -c "+$((half + 1))" "$3" >part.2
    curl -ksf -X PATCH -H "$auth" -H 'Tus-Resumable: 1.0.0' -H 'Upload-Offset: 0' \
        -H 'Content-Type: application/offset+octet-stream' --data-binary @part.1 "$1$location"
    curl -ksf -X PATCH -H "$auth" -H 'Tus-Resumable: 1.0.0' -H "Upload-Offset: $half" \
        -H 'Content-Type: application/offset+octet-stream' --data-binary @part.2 "$1$location"
    basename "$location"
}

field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# Asks for the sum of a table, by the same idempotency key each time, and prints the job.
ask() {
    curl -ksf -H "$auth" -H 'Content-Type: application/json' -H 'Idempotency-Key: sum' -d \
        "{\"operation\":{\"name\":\"sum\"},\"inputs\":[\"$table\"],\"key_set\":\"$keys\"}" \
        "$url/v1/jobs" | field id
}

# alone NAME OPTIONS...: a service of another folder on the database of one that runs is refused.
alone() {
    name=$1
    shift
    if "$program" serve --data "other-$name" "$@" 2>refused; then exit 1; fi
    grep -q 'is in use by process' refused
}

# check NAME URL OPTIONS...: a table is summed by a service with these options, which is killed and
# started again, and asked again, before its result is fetched.
check() {
    name=$1 url=$2
    shift 2
    "$program" serve --data "data-$name" --log-level warn "$@" >/dev/null &
    service=$!
    processes="$processes $service"
    answers "$url/readyz"
    auth="Authorization: Bearer $(curl -ksf -X POST "$url/v1/sessions" | field token)"
    keys=$(put "$url" key-sets keys/eval.key)
    table=$(put "$url" objects table.he)
    job=$(ask)
    kill -9 "$service"
    wait "$service" 2>/dev/null || true
    "$program" serve --data "data-$name" --log-level warn "$@" >/dev/null &
    service=$!
    processes="$processes $service"
    answers "$url/readyz"
    test "$(ask)" = "$job"
    if [ "$name" = postgres ]; then alone "$name" "$@"; fi
    curl -ksNf -H "$auth" "$url/v1/jobs/$job/events" >events
    result=$(curl -ksf -H "$auth" "$url/v1/jobs/$job" | field result)
    curl -ksf -H "$auth" "$url/v1/objects/$result/content" >result.he
    cmp result.he sum.he
    test "$(curl -ks -o /dev/null -w '%{http_code}' "$url/v1/objects/$result/content")" = 401
    curl -ksf -X DELETE -H "$auth" "$url/v1/objects/$result"
    kill "$service"
    wait "$service"
    echo "$name: passed"
}

if command -v openssl >/dev/null; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -keyout tls.key -out tls.pem 2>/dev/null
    check tls "https://127.0.0.1:$port" --listen "127.0.0.1:$port" --tls-certificate tls.pem --tls-key tls.key
else
    echo "tls: SKIPPED, openssl is missing"
fi

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1 || true)
if [ -n "$bin" ] && id postgres >/dev/null 2>&1; then
    # Ends the shell that calls it, which the program replaces.
    as() {
        if [ "$(id -u)" = 0 ]; then exec setpriv --reuid postgres --regid postgres --clear-groups "$@"; fi
        exec "$@"
    }
    mkdir base && chmod 777 base
    (as "$bin/initdb" -D "$work/base/data" -A trust -U he --no-sync >/dev/null)
    as "$bin/postgres" -D "$work/base/data" -p "$((port + 1))" -k "$work/base" -c listen_addresses=127.0.0.1 \
        -c log_min_messages=fatal &
    processes="$processes $!"
    for _ in $(seq 100); do "$bin/pg_isready" -q -U he -d postgres -h 127.0.0.1 -p "$((port + 1))" && break; sleep 0.1; done
    check postgres "http://127.0.0.1:$((port + 2))" --listen "127.0.0.1:$((port + 2))" \
        --database "postgres://he@127.0.0.1:$((port + 1))/postgres"
else
    echo "postgres: SKIPPED, PostgreSQL is missing"
fi

if command -v moto_server >/dev/null; then
    moto_server -p "$((port + 3))" >/dev/null 2>&1 &
    processes="$processes $!"
    answers "http://127.0.0.1:$((port + 3))/"
    export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
    export AWS_ENDPOINT="http://127.0.0.1:$((port + 3))"
    curl -sf -X PUT "$AWS_ENDPOINT/bucket" >/dev/null
    check s3 "http://127.0.0.1:$((port + 4))" --listen "127.0.0.1:$((port + 4))" --store s3://bucket/objects
else
    echo "s3: SKIPPED, moto_server is missing"
fi
