"""Models from ONNX on encrypted examples."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import he

MODELS = Path(__file__).parents[2] / "models"
Setup = tuple[he.Context, he.Keys]


def test_a_small_network(tmp_path: Path) -> None:
    onnx, examples = MODELS / "wine.onnx", load("wine")
    model = he.Model.compile(onnx, examples)
    context = he.Context(model.params, device="cpu")
    keys = context.keygen(sums=False, needs=[model])
    few = examples[:5]
    encrypted = model.encrypt(keys, few)
    assert all(isinstance(part, he.Ciphertext) for part in encrypted)
    told: list[tuple[int, int]] = []
    outputs = model.infer(pickle.loads(pickle.dumps(encrypted)), progress=lambda *at: told.append(at))
    assert told == sorted(told) and told[0][0] == 0 and told[-1][0] == told[-1][1] and len(told) > 3
    found = model.decrypt(keys, outputs, count=5)
    plain = model(few)
    assert found.shape[0] == 5
    np.testing.assert_allclose(found, plain, rtol=0, atol=0.05)
    again = pickle.loads(pickle.dumps(model))
    assert again.to_bytes() == model.to_bytes() and again.params == model.params
    assert he.Model.compile(onnx.read_bytes(), examples).params == model.params
    facts = model.facts
    assert facts["levels"] >= 1 and facts["layers"] and model.input_size == examples.shape[1]

    public = model.decrypt(keys.secret, model.infer(model.encrypt(keys.public, few)), count=5)
    np.testing.assert_allclose(public, found, rtol=0, atol=0.1)
    with pytest.raises(he.ModelError):
        model.encrypt(keys, np.zeros((1, 3)))
    with pytest.raises(he.ModelError):
        model.encrypt(keys, few * 1e6)
    other = he.Context(he.Params.for_depth(1), device="cpu").keygen(sums=False)
    with pytest.raises(he.ParameterError, match="model.params"):
        model.encrypt(other, few)
    with pytest.raises(he.ModelError):
        he.Model.compile(b"no model", examples)
    with pytest.raises(he.ModelError, match="nowhere"):
        he.Model.compile(onnx, examples, output_name="nowhere")


def load(name: str) -> np.ndarray:
    return np.loadtxt(MODELS / f"{name}_train.csv", delimiter=",", skiprows=1)
