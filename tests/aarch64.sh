#!/usr/bin/env bash
# Tests on 64-bit Arm, on a machine of another kind: built for it, and run by QEMU's emulator.
#
#   tests/aarch64.sh                   units, golden and program, in order
#   tests/aarch64.sh units [NAME ...]  unit tests of he-core: those of the rooms with loops for NEON,
#                                      and of AES, or these
#   tests/aarch64.sh golden            the golden files, written again byte by byte
#   tests/aarch64.sh program           a picture through he-cli: encrypted, computed on, decrypted
#   tests/aarch64.sh count             instructions of loops, portable and by NEON
#
# Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user (as Debian calls them), and
# `rustup target add aarch64-unknown-linux-gnu`; `count` also a C compiler. Building takes about ten
# minutes of processor time.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
for program in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v $program >/dev/null || { echo "aarch64: $program is missing: install it" >&2; exit 1; }
done
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Transciphering is left out: it evaluates AES under encryption, which takes the emulator minutes.
units() {
    [ $# -gt 0 ] || set -- arith:: ring:: backend::cpu:: tfhe::transform aes:: --skip transcipher
    cargo test --locked --target $target -p he-toolkit-core --lib -- "$@"
}

golden() { cargo test --locked --target $target -p he-files --test golden; }

program() {
    cargo build --locked --target $target --bin he-cli
    local he="$CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER ${CARGO_TARGET_DIR:-target}/$target/debug/he-cli"
    $he keygen ckks -o "$out/keys"
    $he encrypt tests/data/camera.png -k "$out/keys/secret.key" -o "$out/photo.he"
    $he eval invert "$out/photo.he" -k "$out/keys/eval.key" -o "$out/negative.he"
    $he eval invert "$out/negative.he" -k "$out/keys/eval.key" -o "$out/again.he"
    $he decrypt "$out/again.he" -k "$out/keys/secret.key" -o "$out/again.png"
    $he decrypt "$out/photo.he" -k "$out/keys/secret.key" -o "$out/photo.png"
    cmp "$out/photo.png" "$out/again.png"
}

# Instructions of 21 calls less those of one, by a plugin of the emulator.
count() {
    local plugin="$out/count.so" binary kernels loop few many
    "${CC:-cc}" -shared -fPIC -O2 -o "$plugin" tests/aarch64/count.c
    binary=$(cargo test --release --locked --target $target -p he-toolkit-core --lib --no-run 2>&1 |
        sed -n 's/.*(\(.*\))$/\1/p' | tail -1)
    counted() {
        HE_COUNTED="$kernels $loop $1" qemu-aarch64 -L /usr/aarch64-linux-gnu -plugin "$plugin" \
            "$binary" --ignored --exact backend::cpu::kernels::tests::counted 2>&1 >/dev/null | tail -1
    }
    for loop in "ntt 46" "ntt 50" "ntt 60" "intt 50" "intt 60" "mul 50" "key_product 50"; do
        for kernels in portable NEON; do
            few=$(counted 1) many=$(counted 21)
            echo "$loop bits, $kernels: $(((many - few) / 20)) instructions"
        done
    done
}

step=${1:-all}
case $step in
all) units && golden && program ;;
units | golden | program | count) shift && "$step" "$@" ;;
*) echo "aarch64: there is no step $step; the steps are: units, golden, program, count" >&2 && exit 2 ;;
esac
