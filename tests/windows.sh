#!/usr/bin/env bash
# Tests on 64-bit Windows, on Linux: built by MinGW, and run by Wine. And a check for macOS, which
# nothing here can link or run.
#
#   tests/windows.sh                   all steps, in order
#   tests/windows.sh units [NAME ...]  unit tests of he-core: arithmetic, transforms and AES, or these
#   tests/windows.sh files             files of he-files: whole or not at all, by temporary names
#   tests/windows.sh program           a picture, a table and a sealed key through he-cli
#   tests/windows.sh macos             cargo check for 64-bit Arm macOS
#
# Needs gcc-mingw-w64-x86-64 and wine (as Debian calls them), and `rustup target add
# x86_64-pc-windows-gnu aarch64-apple-darwin`. Building takes about ten minutes of processor time.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-pc-windows-gnu
wine=$(command -v wine64 || command -v wine || echo wine)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# An empty prefix of its own, and no messages of Wine's own.
export WINEPREFIX="$out/prefix" WINEDEBUG=-all CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$wine"

# Wine 8 lacks bcryptprimitives.dll, which Rust's standard library asks for random bytes.
prepared() {
    for program in x86_64-w64-mingw32-gcc "$wine"; do
        command -v "$program" >/dev/null || { echo "windows: $program is missing: install it" >&2; exit 1; }
    done
    mkdir -p "$out/libraries"
    x86_64-w64-mingw32-gcc -shared -O2 -o "$out/libraries/bcryptprimitives.dll" \
        tests/windows/bcryptprimitives.c -ladvapi32
    export WINEPATH="$out/libraries"
    "$wine" wineboot --init
}

units() {
    [ $# -gt 0 ] || set -- arith:: ring:: aes:: --skip transcipher
    cargo test --locked --target $target -p he-toolkit-core --lib -- "$@"
}

files() {
    cargo test --locked --target $target -p he-files --lib -- io::
}

program() {
    cargo build --locked --target $target -p he-cli --bin he-cli
    local he="$wine ${CARGO_TARGET_DIR:-target}/$target/debug/he-cli.exe"
    $he keygen ckks -o "$out/keys"
    # Nothing is replaced without --force, and no temporary file is left.
    ! $he keygen ckks -o "$out/keys" || { echo "windows: keys were replaced" >&2; exit 1; }
    $he encrypt tests/data/camera.png -k "$out/keys/public.key" -o "$out/photo.he"
    $he eval invert "$out/photo.he" -k "$out/keys/eval.key" -o "$out/negative.he"
    $he eval invert "$out/negative.he" -k "$out/keys/eval.key" -o "$out/again.he"
    $he decrypt "$out/again.he" -k "$out/keys/secret.key" -o "$out/again.png"
    $he decrypt "$out/photo.he" -k "$out/keys/secret.key" -o "$out/photo.png" --force
    cmp "$out/photo.png" "$out/again.png"
    # A passphrase, standard input and output, and a folder as an archive.
    mkdir "$out/folder" && printf 'a,b\r\n1,2\r\n' >"$out/folder/table.csv"
    HE_CLI_PASSPHRASE=open $he keygen aes -o "$out/my.key" --passphrase
    HE_CLI_PASSPHRASE=open $he encrypt "$out/folder" -k "$out/my.key" -o "$out/folder.he"
    HE_CLI_PASSPHRASE=open $he decrypt "$out/folder.he" -k "$out/my.key" -o "$out/back"
    cmp "$out/folder/table.csv" "$out/back/table.csv"
    HE_CLI_PASSPHRASE=open $he encrypt - -k "$out/my.key" -o - <"$out/photo.png" |
        HE_CLI_PASSPHRASE=open $he decrypt - -k "$out/my.key" -o - | cmp - "$out/photo.png"
    ! find "$out" -name '.he-cli-*' -not -path "$WINEPREFIX/*" | grep . || exit 1
    $he devices
    $he demo "$out/photo.png" -o "$out/demo"
}

macos() { cargo check --locked -p he-cli --target aarch64-apple-darwin; }

step=${1:-all}
case $step in
all) prepared && units && files && program && macos ;;
macos) macos ;;
units | files | program) shift && prepared && "$step" "$@" ;;
*) echo "windows: there is no step $step; the steps are: units, files, program, macos" >&2 && exit 2 ;;
esac
