"""Models from ONNX on encrypted examples."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import he
from he import _he

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


def test_an_encoder_of_sentences() -> None:
    """A mapping of inputs becomes embeddings, near those of onnxruntime; masks stay public."""
    root = Path(__file__).parents[2]
    plan = root / "tests" / "data" / "golden" / "files" / "encoder_plan.he"
    with pytest.raises(he.Error):
        he.Model.from_bytes(plan.read_bytes())
    model = _he._model(plan.read_bytes(), True)
    data = root / "crates" / "he-nn" / "tests" / "data" / "encoders"
    rows = np.loadtxt(data / "inputs.csv", delimiter=",")[[0, 2]]
    exact = np.loadtxt(data / "outputs.csv", delimiter=",")[[0, 2]]
    names = ["input_ids", "token_type_ids", "attention_mask"]
    sentences = dict(zip(names, np.split(rows.astype(np.int64), 3, axis=1)))
    np.testing.assert_allclose(model(sentences), exact, rtol=0, atol=1e-6)
    masks = model.masks(sentences)
    np.testing.assert_array_equal(masks, sentences["attention_mask"])

    context = he.Context(model.params, device="cpu")
    keys = context.keygen(sums=False, needs=[model])
    encrypted = model.encrypt(keys, sentences)
    told: list[tuple[int, int]] = []
    outputs = model.infer(encrypted, masks=masks, progress=lambda *at: told.append(at))
    assert told == sorted(told) and len(told) > 3
    found = model.decrypt(keys, outputs, count=2)
    assert (np.sum(found * exact, axis=1) > 0.98).all()

    with pytest.raises(ValueError, match="model.masks"):
        model.infer(encrypted)
    with pytest.raises(ValueError, match=r"\(2, 6\)"):
        model.infer(encrypted, masks=masks[:, 1:])
    with pytest.raises(ValueError, match="token_type_ids"):
        model.encrypt(keys, {**sentences, "token_type_ids": rows[:, :7]})
    with pytest.raises(ValueError, match="attention_mask"):
        model.encrypt(keys, {name: sentences[name] for name in names[:2]})
    with pytest.raises(he.ModelError, match="below 11"):
        model.encrypt(keys, {**sentences, "input_ids": sentences["input_ids"] + 11})
    wrong = data / "torch.onnx"
    with pytest.raises(he.ModelError, match="sequence_length"):
        he.Model.compile(wrong, rows)
    with pytest.raises(he.ModelError, match="encoder of sentences"):
        he.Model.compile(wrong, rows, dimensions={"sequence_length": 6}, bits=10)


def load(name: str) -> np.ndarray:
    return np.loadtxt(MODELS / f"{name}_train.csv", delimiter=",", skiprows=1)
