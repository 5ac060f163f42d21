#!/usr/bin/env bash
# Builds he-cli twice, from two folders and into two folders, and compares the programs byte by byte.
#
#   tests/reproducible.sh [PACKAGE [ARGUMENTS OF CARGO BUILD]]
#
# Anyone who builds a commit with the same toolchain, in the same way, gets the program that this
# prints the hash of. Paths of the build are replaced in it, and its time is that of the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
package=${1:-he-cli}
[ $# -eq 0 ] || shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
registry=${CARGO_HOME:-$HOME/.cargo}
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0

build() {
    local folder=$work/$1
    shift
    git worktree add --quiet --detach "$folder/source" "$commit"
    (
        cd "$folder/source"
        # C and C++ sources of dependencies name their files as well.
        export CFLAGS="-ffile-prefix-map=$registry=/cargo -ffile-prefix-map=$folder=/build"
        export CXXFLAGS=$CFLAGS CARGO_TARGET_DIR=$folder/target
        export RUSTFLAGS="--remap-path-prefix=$registry=/cargo --remap-path-prefix=$folder=/build"
        cargo build --release --locked -p "$package" "$@" >&2
        find "$folder/target/release" -maxdepth 1 -type f \( -perm -u+x -o -name '*.rlib' \) -printf '%f\n' | sort
    )
    git worktree remove --force "$folder/source"
}

first=$(build one "$@")
second=$(build another-place "$@")
[ -n "$first" ] && [ "$first" = "$second" ] || { echo "the builds made different files" >&2; exit 1; }
for name in $first; do
    cmp "$work/one/target/release/$name" "$work/another-place/target/release/$name"
    sha256sum "$work/one/target/release/$name" | sed "s|$work/one/target/release/||"
done
echo "both builds are the same"
