#!/usr/bin/env bash
# Checks sql/, which is a workspace of its own because DataFusion and Ballista take minutes to build:
# formatting, lints, tests, known weaknesses of its dependencies, and Parquet files that are exchanged
# with the Python package if HE_PYTHON names a Python that has it.
set -euo pipefail
cd "$(dirname "$0")/.."

need=1.94
found=$(rustc --version | cut -d' ' -f2)
[ "$(printf '%s\n' "$need" "$found" | sort -V | head -1)" = "$need" ] || { echo "sql: Rust $need or newer is needed, and this is $found" >&2; exit 1; }

cd sql
cargo fmt --check
cargo clippy --release --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --locked
cargo test --release --locked
python3 ../tests/advisories.py --lock Cargo.lock
if [ -n "${HE_PYTHON:-}" ]; then
    "$HE_PYTHON" tests/exchange.py "${CARGO_TARGET_DIR:-target}/release/he-sql"
fi
