#!/usr/bin/env bash
# The fuzz targets: builds, runs and reports. docs/reliability.md says what they are for.
#
#   fuzz/run.sh build                  build all targets (optimised, address sanitizer, all checks) and
#                                      write their seeds
#   fuzz/run.sh smoke [SECONDS]        each target for some seconds from the corpus (2)
#   fuzz/run.sh hours N [TARGET ...]   all targets, or these, N hours together; writes fuzz/report.md
#   fuzz/run.sh minimise               keep of the corpus what reaches something of its own
#
# It takes a nightly compiler and cargo-fuzz (cargo install cargo-fuzz). What is found lies in
# fuzz/artifacts: `cargo fuzz run TARGET FILE` shows it again. CI replays the corpus with the
# ordinary tests instead, without either.
set -euo pipefail
cd "$(dirname "$0")"

target_dir=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target_dir RAYON_NUM_THREADS=1
# What the vector code reads and writes is checked, too; leaks are those of the sanitizer's exit.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:allocator_may_return_null=1}
built=$target_dir/x86_64-unknown-linux-gnu/release
work=${HE_FUZZ_WORK:-$target_dir/work}
# Inputs, their time and their memory are bounded; an allocation of a GiB at once is a finding.
limits=(-max_len=16384 -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=1024 -print_final_stats=1)

targets() { sed -n 's/^name = "\(.*\)"/\1/p' Cargo.toml | grep -v '^he-fuzz$'; }
seconds_of() { awk -v hours="$1" -v count="$2" 'BEGIN { printf "%d", hours * 3600 / count }'; }

build() {
    command -v cargo-fuzz >/dev/null || { echo "fuzz: cargo install cargo-fuzz" >&2; exit 1; }
    rustup run nightly cargo-fuzz build --fuzz-dir .
    local name
    for name in $(targets); do
        mkdir -p "$work/seeds/$name"
        HE_FUZZ_SEEDS=$work/seeds/$name "$built/$name" >/dev/null 2>&1
    done
}

# One target for some seconds, from its seeds and the corpus in git. What it finds it adds to a
# corpus of its own.
run() {
    local name=$1 seconds=$2 log=$3
    mkdir -p "$work/$name" "corpus/$name" "artifacts/$name"
    # The program tells of every error; the others say why they panic.
    local mask=1
    [ "$name" != command ] || mask=3
    TMPDIR=${TMPDIR:-/dev/shm} "$built/$name" "$work/$name" "corpus/$name" "$work/seeds/$name" "${limits[@]}" \
        -close_fd_mask=$mask -artifact_prefix="artifacts/$name/" -max_total_time="$seconds" >"$log" 2>&1
}

stat() { grep -o "stat::$1: *[0-9]*" "$2" | grep -o '[0-9]*$' || echo 0; }
last() { grep -o "$1: [0-9]*" "$2" | tail -1 | grep -o '[0-9]*' || echo 0; }

case "${1:-}" in
build) build ;;
smoke)
    failed=0
    log=$(mktemp)
    for name in $(targets); do
        if run "$name" "${2:-2}" "$log"; then
            echo "$name: $(stat number_of_executed_units "$log") inputs, coverage $(last cov "$log")"
        else
            echo "$name: FAILED"
            tail -40 "$log"
            failed=1
        fi
    done
    rm -f "$log"
    exit $failed
    ;;
hours)
    hours=${2:?the number of hours}
    shift 2
    names=("$@")
    [ ${#names[@]} -gt 0 ] || mapfile -t names < <(targets)
    each=$(seconds_of "$hours" "${#names[@]}")
    mkdir -p "$work/logs"
    for name in "${names[@]}"; do
        log=$work/logs/$name.$(date +%s)
        if run "$name" "$each" "$log"; then result=none; else result="see artifacts/$name"; fi
        speed=$(stat average_exec_per_sec "$log")
        inputs=$(stat number_of_executed_units "$log")
        echo "| $name | $inputs | $speed | $(last cov "$log") | $(last ft "$log") | $result |" >>"$work/rows"
        echo "$name: $inputs inputs"
    done
    {
        echo "# Fuzzing report"
        echo
        echo "| target | inputs | per second | coverage (edges) | features | crashes |"
        echo "|---|---|---|---|---|---|"
        cat "$work/rows"
        echo
        awk -F'|' '{ sum += $3 } END { printf "%d inputs in all.\n", sum }' "$work/rows"
    } >report.md
    cat report.md
    ;;
minimise)
    # Of the corpus and what was found since, what reaches code that neither the seeds nor anything
    # else reaches. Of that, up to 96 inputs of all sizes and 12 KiB per target, so that the
    # repository stays small. The seeds are not in git: the programs make them.
    for name in $(targets); do
        rm -rf "$work/minimal/$name"
        mkdir -p "$work/$name" "$work/minimal"
        cp -r "$work/seeds/$name" "$work/minimal/$name"
        TMPDIR=${TMPDIR:-/dev/shm} "$built/$name" -merge=1 "${limits[@]}" \
            "$work/minimal/$name" "corpus/$name" "$work/$name" >/dev/null 2>&1 || echo "$name: the merge failed" >&2
        rm -rf "corpus/$name"
        mkdir -p "corpus/$name"
        for seed in "$work/seeds/$name"/*; do rm -f "$work/minimal/$name/${seed##*/}"; done
        mapfile -t found < <(find "$work/minimal/$name" -type f -printf '%s %p\n' | sort -n)
        step=$(((${#found[@]} + 95) / 96))
        total=0
        for ((i = 0; i < ${#found[@]}; i += step)); do
            total=$((total + ${found[i]%% *}))
            [ "$total" -le 12288 ] || break
            cp "${found[i]#* }" "corpus/$name/"
        done
        echo "$name: $(find "corpus/$name" -type f | wc -l) of $(find "$work/minimal/$name" -type f | wc -l) inputs"
    done
    ;;
*)
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
