"""Compares pipelines of scikit-learn and small networks, converted to ONNX, with onnxruntime.

    python tests/onnx/pipelines.py EVALUATOR

Each output of each model is read by `he-nn`, computed in the clear, and must be what onnxruntime
computes, or be refused where the list below expects that.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    ExtraTreesRegressor, GradientBoostingClassifier, GradientBoostingRegressor,
    RandomForestClassifier, RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from backend import Evaluator

RNG = np.random.default_rng(1)


def learned():
    """Models of scikit-learn: a name, the model as ONNX, its inputs, the outputs that are read and
    the difference that they may have."""
    x, y = load_iris(return_X_y=True)
    x = x.astype(np.float32)
    two, sums = (y > 1).astype(int), x @ [0.5, -1, 0.25, 2]
    one, both = ["variable"], ["label", "probabilities"]
    cases = [
        ("LinearRegression", LinearRegression(), sums, one),
        ("several targets", LinearRegression(), x @ RNG.normal(size=(4, 3)), one),
        ("StandardScaler and Ridge", make_pipeline(StandardScaler(), Ridge()), y, one),
        ("MinMaxScaler and LinearSVR", make_pipeline(MinMaxScaler(), LinearSVR()), y, one),
        # The 91 products of this sum have magnitudes of 372 in all, and cancel to about 1: with
        # float32, numpy is off by 3.5e-5 as well, and with float64 scikit-learn by 2.4e-7.
        ("StandardScaler and SVR", make_pipeline(StandardScaler(), SVR(kernel="linear")), y, one, 5e-5),
        ("MLPRegressor", MLPRegressor(hidden_layer_sizes=(8,), max_iter=400, random_state=1), y, one),
        ("LogisticRegression", LogisticRegression(max_iter=1000), y, both),
        ("LogisticRegression of two", LogisticRegression(), two, both),
        ("LogisticRegression of truth values", LogisticRegression(), y > 0, ["probabilities"]),
        ("StandardScaler and LogisticRegression",
         make_pipeline(StandardScaler(), LogisticRegression()), y, both),
        ("LinearSVC", LinearSVC(), y, both),
        ("MLPClassifier", MLPClassifier(hidden_layer_sizes=(8,), max_iter=400, random_state=1), y, both),
        *((f"Normalizer {norm}", make_pipeline(Normalizer(norm), LinearRegression()), y, one)
          for norm in ["l1", "l2", "max"]),
        # onnxruntime finds probabilities by an iteration that stops early: over all of iris those of two
        # classes differ by up to 4.7e-3 from 1 / (1 + exp(a s + b)), which is what is read.
        ("SVC with probabilities", SVC(probability=True, random_state=1), y, both, 5e-3),
        ("SVC of two with probabilities", SVC(probability=True, random_state=1), two, both, 5e-3),
        ("NuSVC of two", NuSVC(), two, both),
        ("NuSVC", NuSVC(), y, both),
        ("OneClassSVM", OneClassSVM(), y, ["label", "scores"]),
        ("DecisionTreeRegressor", DecisionTreeRegressor(max_depth=6), sums, one),
        ("RandomForestRegressor", RandomForestRegressor(20, max_depth=6, random_state=1), sums, one),
        ("RandomForestRegressor of several",
         RandomForestRegressor(5, max_depth=4, random_state=1), x @ RNG.normal(size=(4, 2)), one),
        ("ExtraTreesRegressor", ExtraTreesRegressor(10, max_depth=8, random_state=1), sums, one),
        ("GradientBoostingRegressor", GradientBoostingRegressor(n_estimators=20), sums, one),
        ("constant tree", DecisionTreeRegressor(max_depth=3), 0 * sums + 2, one),
        ("MinMaxScaler and DecisionTreeClassifier",
         make_pipeline(MinMaxScaler(), DecisionTreeClassifier(random_state=1)), y, both),
    ]
    for of, target in [("", y), (" of two", two)]:
        cases += [
            *((f"SVC with {kernel}{of}", SVC(kernel=kernel), target, both, 1e-4)
              for kernel in ["linear", "poly", "rbf", "sigmoid"]),
            (f"DecisionTreeClassifier{of}", DecisionTreeClassifier(random_state=1), target, both),
            (f"RandomForestClassifier{of}",
             RandomForestClassifier(20, max_depth=6, random_state=1), target, both),
            (f"GradientBoostingClassifier{of}", GradientBoostingClassifier(n_estimators=10), target, both),
        ]
    # Cubes of up to 270 have coefficients of 96 in all: scikit-learn's float64 differs from
    # onnxruntime's float32 by 1.1e-3 over all of iris.
    cases += [("SVR with poly", SVR(kernel="poly"), y, one, 5e-4)]
    cases += [(f"SVR with {kernel}", SVR(kernel=kernel), y, one, 5e-5) for kernel in ["rbf", "sigmoid"]]
    for name, model, target, outputs, *tolerance in cases:
        model.fit(x, target)
        last = model[-1] if hasattr(model, "steps") else model
        # Probabilities as a tensor; LinearSVC has none.
        named = hasattr(last, "classes_") and not isinstance(last, LinearSVC)
        options = {id(last): {"zipmap": False}} if named else None
        yield name, to_onnx(model, x[:1], options=options), x[::7], outputs, *tolerance


def network(name, shape, nodes, constants, opset=18):
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return name, model, RNG.normal(size=(6, *shape)).astype(np.float32), ["y"]


def networks():
    """Small networks of what operators do together."""
    node = helper.make_node
    random = lambda *shape: RNG.normal(size=shape).astype(np.float32)
    int64 = lambda *values: np.array(values, np.int64)
    yield network("squeeze and excitation", (4, 6, 6), [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("ReduceMean", ["c", "axes"], ["m"], keepdims=1),
        node("Conv", ["m", "v"], ["e"]),
        node("Sigmoid", ["e"], ["s"]),
        node("Mul", ["c", "s"], ["p"]),
        node("Clip", ["p", "low", "high"], ["y"]),
    ], {"w": random(4, 4, 3, 3), "v": random(4, 4, 1, 1), "axes": int64(2, 3), "low": np.float32(0),
        "high": np.float32(6)})
    yield network("lines", (3, 16), [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 2], strides=[2]),
        node("PRelu", ["c", "slope"], ["r"]),
        node("MaxPool", ["r"], ["m"], kernel_shape=[2], strides=[2]),
        node("AveragePool", ["m"], ["a"], kernel_shape=[2], pads=[1, 0], count_include_pad=1),
        node("GlobalAveragePool", ["a"], ["g"]),
        node("Flatten", ["g"], ["y"]),
    ], {"w": random(5, 3, 4), "b": random(5), "slope": random(5, 1)})
    yield network("parts", (8,), [
        node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2),
        node("Slice", ["x", "from", "to", "axis", "step"], ["s"]),
        node("Gather", ["x", "indices"], ["g"], axis=1),
        node("Max", ["a", "b", "bound"], ["m"]),
        node("Min", ["a", "half"], ["n"]),
        node("Sum", ["a", "b", "bound"], ["t"]),
        node("Concat", ["s", "m", "g", "n", "t", "a"], ["y"], axis=1),
    ], {"from": int64(-1), "to": int64(-9), "axis": int64(1), "step": int64(-2), "indices": int64(-1, 0, 3),
        "bound": np.float32([0.1, 0.2, -0.3, 0]), "half": np.float32(0.5)})
    yield network("masks", (2, 3), [
        node("Where", ["mask", "x", "other"], ["w"]),
        node("Expand", ["w", "shape"], ["e"]),
        node("Transpose", ["e"], ["t"], perm=[0, 2, 1]),
        node("ReduceSum", ["t", "axis"], ["s"], keepdims=0),
        node("Tile", ["s", "repeats"], ["y"]),
    ], {"mask": np.array([[True, False, True]]), "other": random(2, 3), "shape": int64(1, 2, 3),
        "axis": int64(-1), "repeats": int64(1, 2)})
    for operator, attributes in [
        ("Selu", {}), ("Celu", {"alpha": 0.7}), ("Mish", {}), ("Softsign", {}), ("Sin", {}), ("Elu", {"alpha": 0.5}),
        ("HardSwish", {}), ("HardSigmoid", {"alpha": 0.3}), ("LeakyRelu", {"alpha": 0.2}), ("Softplus", {}),
    ]:
        yield network(operator, (7,), [node(operator, ["x"], ["y"], **attributes)], {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evaluator")
    options = parser.parse_args()
    right, refused, failures = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        evaluator = Evaluator(options.evaluator, Path(folder))
        for name, model, x, expected, *tolerance in [*learned(), *networks()]:
            [tolerance] = tolerance or [1e-5]
            session = onnxruntime.InferenceSession(model.SerializeToString())
            for output in session.get_outputs():
                [want] = session.run([output.name], {session.get_inputs()[0].name: x})
                found, why = evaluator.run(model, x.reshape(len(x), -1), output.name)
                if found is None:
                    refused += 1
                    print(f"{name}, {output.name}: refused: {why}")
                    if output.name in expected:
                        failures.append(f"{name}, {output.name} is refused")
                    continue
                want = np.asarray(want, np.float64).ravel()
                if found.shape == want.shape and np.allclose(found, want, rtol=1e-4, atol=tolerance):
                    right += 1
                else:
                    failures.append(f"{name}, {output.name}: {found[:6]} for {want[:6]}")
    print(f"onnxruntime {onnxruntime.__version__}: {right} outputs right, {refused} refused")
    for line in failures:
        print("failure:", line)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
