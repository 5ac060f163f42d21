#!/usr/bin/env bash
# Runs ONNX's own tests of operators against the reader of he-nn, and pipelines of scikit-learn
# against onnxruntime: every value that is computed must be the right one. Takes some minutes, and a
# network for the packages unless HE_PYTHON names a Python that has them.
#
#   tests/onnx.sh [--table]     with the counts per operator, as docs/onnx.md has them
set -euo pipefail
cd "$(dirname "$0")/.."

python="${HE_PYTHON:-}"
if [ -z "$python" ]; then
    folder="${CARGO_TARGET_DIR:-target}/onnx-venv"
    [ -d "$folder" ] || python3 -m venv "$folder"
    python="$folder/bin/python"
    "$python" -m pip install --quiet --requirement tests/onnx/requirements.txt
fi
cargo build --release --locked --package he-nn --example evaluate_onnx
evaluator="${CARGO_TARGET_DIR:-target}/release/examples/evaluate_onnx"
"$python" tests/onnx/backend.py "$evaluator" "$@"
"$python" tests/onnx/pipelines.py "$evaluator"
