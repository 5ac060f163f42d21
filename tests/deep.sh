#!/usr/bin/env bash
# The checks that take longer than a change can wait for, run before a release. They take hours.
#
#   tests/deep.sh               every step, in order
#   tests/deep.sh STEP ...      some of them: tests, ignored, onnx, encoders, sql, sanitizers,
#                               reproducible, aarch64, windows, frameworks
#
# A step that fails does not stop the others; the list at the end names it. docs/reliability.md has
# the last results.
set -uo pipefail
cd "$(dirname "$0")/.."

# Large degrees on emulated kernels, which a usual run leaves out.
export HE_DEEP=1

tests() { cargo test --release --locked --no-fail-fast; }

# Tests that take minutes or gigabytes of memory. Each is named: others that a usual run ignores
# write files into the repository, or print times.
ignored() {
    local test="cargo test --release --locked"
    $test -p he-toolkit-core --lib -- --ignored --skip bootstrapping::tests &&
        $test --test main integers::packed -- --ignored &&
        $test -p he-search --test search -- --ignored &&
        $test -p he-suite --test fetch -- --ignored &&
        $test --test cli aes:: -- --ignored &&
        HE_SOAK_MINUTES="${HE_SOAK_MINUTES:-60}" $test --test main soak -- --ignored --nocapture
}

onnx() { tests/onnx.sh; }
encoders() { tests/encoders.sh; }
sql() { tests/sql.sh; }
sanitizers() { tests/sanitizers.sh miri && tests/sanitizers.sh address && tests/sanitizers.sh thread; }
reproducible() { tests/reproducible.sh; }
# Another ten minutes of compilation, which a usual run has no time for: it only checks that the
# loops for NEON compile.
aarch64() { tests/aarch64.sh; }
windows() { tests/windows.sh; }
# After python/ci.sh, which builds the wheel.
frameworks() { python/frameworks/run.sh; }

all=(tests ignored onnx encoders sql sanitizers reproducible aarch64 windows frameworks)
steps=("$@")
[ "$#" -gt 0 ] || steps=("${all[@]}")
for step in "${steps[@]}"; do
    if [[ " ${all[*]} " != *" $step "* ]]; then
        echo "deep.sh: there is no step $step; the steps are: ${all[*]}" >&2
        exit 2
    fi
done
failed=()
for step in "${steps[@]}"; do
    printf '\n== %s (%d s)\n' "$step" "$SECONDS"
    "$step" || failed+=("$step")
done
printf '\n== done (%d s)\n' "$SECONDS"
if [ "${#failed[@]}" -gt 0 ]; then
    echo "deep.sh: failed: ${failed[*]}" >&2
    exit 1
fi
