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
# All features that need no device. Without http and aws the dependencies are those with them, so
# that only he-sql is compiled again.
with="http,aws"
without="object_store/http,object_store/aws"
cargo clippy --release --all-targets --locked --features "$with" -- -D warnings
cargo clippy --release --all-targets --locked --features "$without" -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --locked --features "$with"
cargo test --release --locked --features "$without" --test places
cargo test --release --locked --features "$with"
python3 ../tests/advisories.py --lock Cargo.lock
if [ -n "${HE_PYTHON:-}" ]; then
    "$HE_PYTHON" tests/exchange.py "${CARGO_TARGET_DIR:-target}/release/he-sql"
fi
