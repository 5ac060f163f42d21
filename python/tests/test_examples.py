"""The programs of `python/examples`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import he
from he import files

pytest.importorskip("pyarrow")
ROOT = Path(__file__).parents[1]


def run(name: str, *arguments: object) -> str:
    """What an example prints; wherever it is started, and with or without Ray."""
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env={**os.environ})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_folder_of_photographs(tmp_path: Path) -> None:
    for folder in ("keys", "encrypted", "filtered"):
        (tmp_path / folder).mkdir()
    files.keygen(he.Params.for_depth(1), tmp_path / "keys", radius=1, device="cpu")
    image = np.zeros((12, 12), np.uint8)
    image[6, 6] = 252
    for name in ("a.he", "b.he"):
        files.encrypt(image, tmp_path / "keys/public.key", halo=1, output=tmp_path / "encrypted" / name, device="cpu")
    run("photographs.py", tmp_path / "encrypted", tmp_path / "keys/eval.key", tmp_path / "filtered")
    for name in ("a.he", "b.he"):
        found = he.EncryptedFile(tmp_path / "filtered" / name).decrypt(tmp_path / "keys/secret.key", device="cpu")
        assert np.abs(found[5:8, 5:8].astype(int) - 28).max() <= 1 and abs(int(found.sum()) - 252) < 20


def test_a_grouped_sum() -> None:
    assert "north" in run("grouped_sum.py")


def test_inference() -> None:
    models = ROOT.parent / "models"
    out = run("inference.py", models / "wine.onnx", models / "wine_train.csv", "--inputs", 40)
    assert out.startswith("40 inputs") and float(out.split()[-1]) < 0.05
