#!/usr/bin/env bash
# Writes the software bill of materials of he-cli, with all its features, as CycloneDX 1.5 in JSON.
#
#   tests/sbom.sh [FILE]                     he-cli.cdx.json, unless named
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-he-cli.cdx.json}")
command -v cargo-cyclonedx >/dev/null || cargo install cargo-cyclonedx --locked --quiet
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
cargo cyclonedx --manifest-path crates/he-cli/Cargo.toml --all-features --format json --spec-version 1.5 --override-filename he-cli.cdx
# It writes one file beside the manifest of each member; the program's is the one that is asked for.
mv crates/he-cli/he-cli.cdx.json "$out"
find . -name he-cli.cdx.json -not -path './target/*' -not -path "$out" -delete
