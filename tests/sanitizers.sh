#!/usr/bin/env bash
# Runs tests under a tool that watches memory or threads; docs/reliability.md says what each found.
#
#   tests/sanitizers.sh miri             undefined behaviour: gpu, and the portable core
#   tests/sanitizers.sh address          AddressSanitizer: gpu and the vector code of he-core
#   tests/sanitizers.sh thread           ThreadSanitizer: the streams of gpu, the threads of he-core
#   tests/sanitizers.sh device           compute-sanitizer's four tools, on the first GPU
#
# The first three need a nightly toolchain; miri its component of that name, thread rust-src. What
# is built goes to folders of its own under the target directory, and takes minutes. More arguments
# go to the test programs, for example the name of a test.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:?miri, address, thread or device}
shift
target=${CARGO_TARGET_DIR:-target}
host=$(rustc -vV | sed -n 's/^host: //p')

# What has unsafe code of its own, or is beneath everything: the loops of vectors, transforms and
# their portable forms, formats.
core=(arith:: ring:: wire:: backend::cpu:: aes::)
gpu=(machine faults pool pinned gather stream::capture stream::copies stream::memory stream::tests)

case $tool in
miri)
    export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance ${MIRIFLAGS:-}"
    miri() { cargo +nightly miri test --locked --target-dir "$target/miri" "$@"; }
    if [ $# -gt 0 ]; then
        miri -p he-gpu -p he-toolkit-core --lib -- "$@"
    else
        miri -p he-gpu --lib -- "${gpu[@]}"
        # Memory that is used again, and the loop by AVX2, which Miri knows, that ends soon.
        export RUSTFLAGS="-C target-feature=+avx2,+fma ${RUSTFLAGS:-}"
        miri -p he-toolkit-core --no-default-features --lib -- backend::cpu::pool kernels::tests::permutations
    fi
    ;;
address)
    export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}" ASAN_OPTIONS="detect_leaks=1 ${ASAN_OPTIONS:-}"
    test() { cargo +nightly test --locked --target "$host" --target-dir "$target/address" "$@"; }
    [ $# -gt 0 ] || set -- "${core[@]}"
    test -p he-gpu --lib
    test --release -p he-toolkit-core --lib -- "$@"
    ;;
thread)
    # The standard library has to be instrumented, too, or its locks are not seen.
    export RUSTFLAGS="-Zsanitizer=thread ${RUSTFLAGS:-}"
    test() { cargo +nightly test --locked -Zbuild-std --target "$host" --target-dir "$target/thread" "$@"; }
    test -p he-gpu --lib
    # The suite takes each operation of a back end, whose rows are divided among threads.
    export RAYON_NUM_THREADS=4
    if [ $# -gt 0 ]; then
        test --release -p he-toolkit-core --lib -- "$@"
    else
        test --release -p he-toolkit-core --lib -- backend::cpu::pool
        test --release --test main -- conformance::cpu
    fi
    ;;
device)
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    export HE_REQUIRE_GPU=1
    programs() {
        cargo test --release --locked --no-run --message-format=json "$@" | grep -o '"executable":"[^"]*"' | cut -d'"' -f4
    }
    [ $# -gt 0 ] || set -- device
    for program in $(programs -p he-cuda --test cuda) $(programs -p he-aes-gpu --test stream --test conformance); do
        for check in memcheck racecheck synccheck initcheck; do
            echo "== $check of $(basename "$program")"
            "$sanitizer" --tool "$check" --error-exitcode 9 "$program" "$@" --test-threads 1
        done
    done
    ;;
*)
    echo "$0: there is no tool $tool: miri, address, thread or device" >&2
    exit 1
    ;;
esac
