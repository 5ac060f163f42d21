#!/usr/bin/env bash
# Federated averaging in Flower and in NVIDIA FLARE, each in an environment of its own, since their
# dependencies differ. Takes the wheel that ci.sh has built, and packages from PyPI.
set -euo pipefail
cd "$(dirname "$0")"

target="${CARGO_TARGET_DIR:-$PWD/../../target}/python"
tests="$PWD"
for framework in flwr nvflare; do
    venv="$target/$framework"
    [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "numpy>=1.26" "pytest>=8" "$framework"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
        "$target"/wheels/he_toolkit-*.whl
    name=${framework/flwr/flower}
    (cd "$target" && "$venv/bin/python" -m pytest -q --rootdir "$tests" -p no:cacheprovider "$tests/test_$name.py")
done
