#!/usr/bin/env bash
# The Python package: its wheel, tests, types and notebooks, in an environment of its own under
# target/. The wheel is built with the profile of the tests, and shares their libraries: the feature
# `workspace` gives them the same features.
set -euo pipefail
cd "$(dirname "$0")"

target="${CARGO_TARGET_DIR:-$PWD/../target}"
venv="$target/python/venv"
python="${PYTHON:-python3}"

if ! command -v "$python" >/dev/null || ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    command -v apt-get >/dev/null || { echo "ci: Python 3.10 or newer with venv is missing" >&2; exit 1; }
    apt-get update -qq && apt-get install -y -qq python3 python3-venv >/dev/null
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# shellcheck disable=SC1091
. "$venv/bin/activate"
python -m pip install --quiet --disable-pip-version-check "maturin>=1.9,<2" \
    "hypothesis>=6" "mypy>=1.15" "pytest>=8" "numpy>=1.26" \
    "ipykernel>=6" "matplotlib>=3.8" "nbclient>=0.10" "nbformat>=5" \
    "pyarrow>=15" "ray>=2.31" "scikit-learn>=1.5" "skl2onnx>=1.17"

rm -rf "$target/python/wheels"
maturin build --profile dev --locked --features workspace --out "$target/python/wheels"
python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
    "$target"/python/wheels/he_toolkit-*.whl
ls -l "$target"/python/wheels

# The service that `he.client` is tested with, unless HE_CLI says where it is built.
if [ -z "${HE_CLI:-}" ]; then
    (cd .. && cargo build --locked --bin he-cli --features he-cli/server,he-cli/client)
    export HE_CLI="$target/debug/he-cli"
fi

# From a folder without the sources, so that what is tested is the wheel.
tests="$PWD"
cd "$target/python"
python -m pytest -q --rootdir "$tests" -c "$tests/pyproject.toml" --import-mode importlib "$tests/tests"
python -m mypy --strict --cache-dir "$target/python/mypy" -p he
python -m mypy --strict --cache-dir "$target/python/mypy" "$tests/tests"
python -m mypy.stubtest he._he --concise --allowlist "$tests/stubtest.txt"
python "$tests/notebooks/make.py"
