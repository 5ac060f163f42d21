#!/usr/bin/env python3
"""Makes a small random encoder of sentences in the spellings of three exporters, with inputs and the
outputs of onnxruntime.

    pip install numpy onnx onnxruntime
    python make.py

Writes torch.onnx, optimum.onnx, tensorflow.onnx, inputs.csv and outputs.csv beside itself. All three
have the same weights. An input is a line: ids of words, ids of types, the mask; an output is a line.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TOKENS, WIDTH, HEADS, HIDDEN, WORDS = 6, 8, 2, 12, 11
EPSILON = 1e-12
HERE = pathlib.Path(__file__).parent
RANDOM = np.random.default_rng(7)


def weights():
    """The weights, by name."""
    found = {}

    def add(name, *shape, scale=0.5, shift=0.0):
        found[name] = (RANDOM.normal(size=shape) * scale + shift).astype(np.float32)

    for name, rows in ("words", WORDS), ("types", 2), ("places", TOKENS):
        add(name, rows, WIDTH)
    for name in "q", "k", "v", "o":
        add(name + ".w", WIDTH, WIDTH)
        add(name + ".b", WIDTH, scale=0.2)
    add("up.w", WIDTH, HIDDEN)
    add("up.b", HIDDEN, scale=0.2)
    add("down.w", HIDDEN, WIDTH)
    add("down.b", WIDTH, scale=0.2)
    for name in "norm0", "norm1", "norm2":
        add(name + ".w", WIDTH, scale=0.2, shift=1.0)
        add(name + ".b", WIDTH, scale=0.2)
    return found


class Builder:
    """Nodes and constants of a graph."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def constant(self, value, dtype=np.float32):
        value = np.asarray(value, dtype)
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def weight(self, name):
        self.constants[name] = numpy_helper.from_array(self.weights[name], name)
        return name

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def model(self, output, inputs, opset, batch):
        self.nodes[-1].output[0] = output = "sentence_embedding"
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, [batch, WIDTH])]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, list(self.constants.values()))
        imports = [helper.make_opsetid("", opset)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model


NAMES = "input_ids", "token_type_ids", "attention_mask"


def inputs(kind, batch, tokens):
    return [helper.make_tensor_value_info(name, kind, [batch, tokens]) for name in NAMES]


def torch(weights):
    """As torch.onnx writes it: dynamic dimensions, LayerNormalization, one transposition of keys."""
    b = Builder(weights)
    half = b.constant(2**0.5)

    def dim(axis):
        return b.op("Gather", b.op("Shape", "input_ids"), b.constant(axis, np.int64), axis=0)

    def linear(x, name):
        return b.op("Add", b.weight(name + ".b"), b.op("MatMul", x, b.weight(name + ".w")))

    def norm(x, name):
        return b.op("LayerNormalization", x, b.weight(name + ".w"), b.weight(name + ".b"), axis=-1, epsilon=EPSILON)

    def heads(x, perm):
        first, second = (b.op("Unsqueeze", dim(axis), b.ints(0)) for axis in (0, 1))
        to = b.op("Concat", first, second, b.ints(HEADS), b.ints(WIDTH // HEADS), axis=0)
        return b.op("Transpose", b.op("Reshape", x, to), perm=perm)

    places = b.op("Slice", b.constant(np.arange(TOKENS)[None], np.int64), b.ints(0), b.op("Unsqueeze", dim(1), b.ints(0)), b.ints(1))
    x = b.op("Add", b.op("Gather", b.weight("words"), "input_ids"), b.op("Gather", b.weight("types"), "token_type_ids"))
    x = norm(b.op("Add", x, b.op("Gather", b.weight("places"), places)), "norm0")
    mask = b.op("Unsqueeze", b.op("Unsqueeze", "attention_mask", b.ints(1)), b.ints(2))
    mask = b.op("Sub", b.constant(1.0), b.op("Cast", mask, to=TensorProto.FLOAT))
    mask = b.op("Mul", mask, b.constant(np.finfo(np.float32).min))
    q, v = (heads(linear(x, name), [0, 2, 1, 3]) for name in "qv")
    k = heads(linear(x, "k"), [0, 2, 3, 1])
    s = b.op("Div", b.op("MatMul", q, k), b.constant((WIDTH // HEADS) ** 0.5))
    s = b.op("Softmax", b.op("Add", s, mask), axis=-1)
    c = b.op("Transpose", b.op("MatMul", s, v), perm=[0, 2, 1, 3])
    c = b.op("Reshape", c, b.ints(0, 0, WIDTH))
    x = norm(b.op("Add", linear(c, "o"), x), "norm1")
    h = linear(x, "up")
    h = b.op("Mul", b.op("Mul", h, b.op("Add", b.op("Erf", b.op("Div", h, half)), b.constant(1.0))), b.constant(0.5))
    x = norm(b.op("Add", linear(h, "down"), x), "norm2")
    m = b.op("Unsqueeze", "attention_mask", b.ints(-1))
    m = b.op("Cast", b.op("Expand", m, b.op("Shape", x)), to=TensorProto.FLOAT)
    count = b.op("Clip", b.op("ReduceSum", m, b.ints(1), keepdims=0), b.constant(1e-9))
    y = b.op("Div", b.op("ReduceSum", b.op("Mul", x, m), b.ints(1), keepdims=0), count)
    length = b.op("Clip", b.op("ReduceL2", y, axes=[-1], keepdims=1), b.constant(1e-12))
    y = b.op("Div", y, b.op("Expand", length, b.op("Shape", y)))
    return b.model(y, inputs(TensorProto.INT64, "batch_size", "sequence_length"), 17, "batch_size")


def optimum(weights):
    """As older exporters write it: parts of norms, both factors scaled, a mask that chooses."""
    b = Builder(weights)

    def linear(x, name):
        return b.op("Add", b.op("MatMul", x, b.weight(name + ".w")), b.weight(name + ".b"))

    def norm(x, name):
        c = b.op("Sub", x, b.op("ReduceMean", x, axes=[-1], keepdims=1))
        v = b.op("ReduceMean", b.op("Pow", c, b.constant(2.0)), axes=[-1], keepdims=1)
        y = b.op("Div", c, b.op("Sqrt", b.op("Add", v, b.constant(EPSILON))))
        return b.op("Add", b.op("Mul", y, b.weight(name + ".w")), b.weight(name + ".b"))

    def heads(x):
        return b.op("Transpose", b.op("Reshape", x, b.ints(1, TOKENS, HEADS, WIDTH // HEADS)), perm=[0, 2, 1, 3])

    x = b.op("Add", b.op("Gather", b.weight("words"), "input_ids"), b.op("Gather", b.weight("types"), "token_type_ids"))
    x = norm(b.op("Add", b.weight("places"), x), "norm0")
    mask = b.op("Unsqueeze", "attention_mask", b.ints(1, 2))
    mask = b.op("Expand", b.op("Cast", mask, to=TensorProto.BOOL), b.ints(1, 1, TOKENS, TOKENS))
    mask = b.op("Where", b.op("Not", mask), b.constant(np.finfo(np.float32).min), b.constant(0.0))
    root = (WIDTH // HEADS) ** -0.25
    q = b.op("Mul", heads(linear(x, "q")), b.constant(root))
    k = b.op("Mul", b.op("Transpose", heads(linear(x, "k")), perm=[0, 1, 3, 2]), b.constant(root))
    s = b.op("Softmax", b.op("Add", b.op("MatMul", q, k), mask), axis=-1)
    c = b.op("Transpose", b.op("MatMul", s, heads(linear(x, "v"))), perm=[0, 2, 1, 3])
    c = b.op("Reshape", c, b.ints(1, TOKENS, WIDTH))
    x = norm(b.op("Add", x, linear(c, "o")), "norm1")
    h = linear(x, "up")
    e = b.op("Add", b.op("Erf", b.op("Mul", h, b.constant(0.5**0.5))), b.constant(1.0))
    h = b.op("Mul", b.op("Mul", b.constant(0.5), h), e)
    x = norm(b.op("Add", x, linear(h, "down")), "norm2")
    m = b.op("Cast", b.op("Unsqueeze", "attention_mask", b.ints(2)), to=TensorProto.FLOAT)
    total = b.op("ReduceSum", b.op("Mul", x, m), b.ints(1), keepdims=0)
    y = b.op("Div", total, b.op("ReduceSum", m, b.ints(1), keepdims=0))
    square = b.op("ReduceSum", b.op("Mul", y, y), b.ints(1), keepdims=1)
    y = b.op("Mul", y, b.op("Reciprocal", b.op("Sqrt", square)))
    return b.model(y, inputs(TensorProto.INT64, 1, TOKENS), 14, 1)


def tensorflow(weights):
    """As tf2onnx writes it: rows without the batch, norms by factor and offset, ids of 32 bits."""
    b = Builder(weights)

    def linear(x, name, width):
        rows = b.op("Reshape", x, b.ints(-1, width))
        y = b.op("MatMul", rows, b.weight(name + ".w"))
        y = b.op("Reshape", y, b.ints(1, TOKENS, weights[name + ".w"].shape[1]))
        return b.op("Add", y, b.weight(name + ".b"))

    def norm(x, name):
        mean = b.op("ReduceMean", x, axes=[2], keepdims=1)
        d = b.op("Sub", x, mean)
        variance = b.op("ReduceMean", b.op("Mul", d, d), axes=[2], keepdims=1)
        root = b.op("Reciprocal", b.op("Sqrt", b.op("Add", variance, b.constant(EPSILON))))
        factor = b.op("Mul", root, b.weight(name + ".w"))
        offset = b.op("Sub", b.weight(name + ".b"), b.op("Mul", mean, factor))
        return b.op("Add", b.op("Mul", x, factor), offset)

    def heads(x):
        return b.op("Transpose", b.op("Reshape", x, b.ints(1, -1, HEADS, WIDTH // HEADS)), perm=[0, 2, 1, 3])

    places = b.op("Gather", b.weight("places"), b.constant(np.arange(TOKENS)[None], np.int64))
    x = b.op("Add", b.op("Gather", b.weight("words"), "input_ids", axis=0), places)
    x = norm(b.op("Add", x, b.op("Gather", b.weight("types"), "token_type_ids", axis=0)), "norm0")
    mask = b.op("Reshape", b.op("Cast", "attention_mask", to=TensorProto.FLOAT), b.ints(1, 1, 1, TOKENS))
    mask = b.op("Mul", b.op("Sub", b.constant(1.0), mask), b.constant(-10000.0))
    k = b.op("Transpose", heads(linear(x, "k", WIDTH)), perm=[0, 1, 3, 2])
    s = b.op("MatMul", heads(linear(x, "q", WIDTH)), k)
    s = b.op("Add", b.op("Mul", s, b.constant((WIDTH // HEADS) ** -0.5)), mask)
    c = b.op("MatMul", b.op("Softmax", s), heads(linear(x, "v", WIDTH)))
    c = b.op("Reshape", b.op("Transpose", c, perm=[0, 2, 1, 3]), b.ints(1, -1, WIDTH))
    x = norm(b.op("Add", linear(c, "o", WIDTH), x), "norm1")
    h = linear(x, "up", WIDTH)
    e = b.op("Erf", b.op("Div", h, b.constant(2**0.5)))
    h = b.op("Mul", b.op("Mul", h, b.constant(0.5)), b.op("Add", b.constant(1.0), e))
    x = norm(b.op("Add", linear(h, "down", HIDDEN), x), "norm2")
    m = b.op("Cast", b.op("Unsqueeze", "attention_mask", b.ints(-1)), to=TensorProto.FLOAT)
    m = b.op("Tile", m, b.ints(1, 1, WIDTH))
    total = b.op("ReduceSum", b.op("Mul", m, x), b.ints(1), keepdims=0)
    count = b.op("Max", b.op("ReduceSum", m, b.ints(1), keepdims=0), b.constant(1e-9))
    y = b.op("Div", total, count)
    square = b.op("ReduceSum", b.op("Mul", y, y), b.ints(-1), keepdims=1)
    square = b.op("Max", square, b.constant(1e-12))
    y = b.op("Mul", y, b.op("Reciprocal", b.op("Sqrt", square)))
    return b.model(y, inputs(TensorProto.INT32, 1, TOKENS), 13, 1)


def main():
    shared = weights()
    lengths = [TOKENS, 1, 3, 4, TOKENS]
    rows = []
    for length in lengths:
        mask = (np.arange(TOKENS) < length).astype(np.int64)
        rows.append(np.concatenate([RANDOM.integers(0, WORDS, TOKENS), RANDOM.integers(0, 2, TOKENS), mask]))
    found = []
    for make in torch, optimum, tensorflow:
        model = make(shared)
        path = HERE / f"{make.__name__}.onnx"
        path.write_bytes(model.SerializeToString())
        session = onnxruntime.InferenceSession(path.read_bytes())
        kind = np.int32 if make is tensorflow else np.int64
        parts = [np.split(row.astype(kind)[None], 3, axis=1) for row in rows]
        found.append(np.concatenate([session.run(None, dict(zip(NAMES, part)))[0] for part in parts]))
        print(path.name, path.stat().st_size, np.abs(found[0] - found[-1]).max())
    np.savetxt(HERE / "inputs.csv", np.array(rows), fmt="%d", delimiter=",")
    np.savetxt(HERE / "outputs.csv", found[0], fmt="%.9g", delimiter=",")


if __name__ == "__main__":
    main()
