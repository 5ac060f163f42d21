"""Runs the node tests of ONNX against the reader of `he-nn`, computed in the clear.

Every test of an operator (`onnx.backend.test`) is asked in several ways: with each of its inputs in
turn as the input of the model and the others as constants, and with all of them as constants, where
the result is added to an input. A test must end in the values that ONNX states or in a refusal; any
other value is a failure.

    python tests/onnx/backend.py EVALUATOR [--table]

EVALUATOR is the example `evaluate_onnx` of `he-nn`. With `--table`, the counts per operator are
printed as a table in Markdown. `tests/onnx.sh` installs what is needed and runs this.
"""

import argparse
import collections
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
NUMBERS = FLOATS | {
    TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
    TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64, TensorProto.BOOL,
}
# The error that rounding to a type makes, relative to one.
ROUNDING = {TensorProto.FLOAT16: 2e-3, TensorProto.BFLOAT16: 1.6e-2}


class Evaluator:
    """The program that reads and computes models."""

    def __init__(self, program, folder):
        self.folder = folder
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, model, rows, output):
        """The outputs of a model on rows of numbers, or why it is refused."""
        path, table = self.folder / "model.onnx", self.folder / "rows.csv"
        path.write_bytes(model.SerializeToString())
        table.write_text("".join(",".join(repr(float(x)) for x in row) + "\n" for row in rows))
        self.process.stdin.write(f"{path}\t{table}\t{output}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the evaluator ended with {self.process.wait()}")
        kind, rest = line.rstrip("\n").split("\t", 1)
        return (np.array([float(x) for x in rest.split(",")]), None) if kind == "ok" else (None, rest)


def element(value_info):
    return value_info.type.tensor_type.elem_type if value_info.type.HasField("tensor_type") else 0


def array(given):
    """A tensor of a test; `None` for lists and optional values."""
    if isinstance(given, TensorProto):
        return numpy_helper.to_array(given)
    return np.asarray(given) if isinstance(given, np.ndarray | np.generic) else None


def named(name, given):
    return numpy_helper.from_array(np.asarray(given), name)


def copy(model):
    other = onnx.ModelProto()
    other.CopyFrom(model)
    return other


def with_input(model, inputs, at):
    """The model with one input, and the others as constants."""
    changed = copy(model)
    del changed.graph.input[:]
    for index, info in enumerate(model.graph.input):
        if index == at:
            changed.graph.input.append(helper.make_tensor_value_info(info.name, element(info), inputs[index].shape))
        else:
            changed.graph.initializer.append(named(info.name, inputs[index]))
    return changed


def with_constants(model, inputs, output, count):
    """The model with constants only; what it makes is added to an input of so many numbers."""
    changed = copy(model)
    graph, opset = changed.graph, changed.opset_import[0].version
    del graph.input[:]
    for info, given in zip(model.graph.input, inputs):
        graph.initializer.append(named(info.name, given))
    graph.input.append(helper.make_tensor_value_info("zero_input", TensorProto.FLOAT, [1, count]))
    to = "FLOAT" if opset < 6 else TensorProto.FLOAT
    graph.node.append(helper.make_node("Cast", [output], ["as_float"], to=to))
    if opset < 5:
        graph.node.append(helper.make_node("Reshape", ["as_float"], ["as_row"], shape=[1, count]))
    else:
        graph.initializer.append(named("row_shape", np.array([1, count], np.int64)))
        graph.node.append(helper.make_node("Reshape", ["as_float", "row_shape"], ["as_row"]))
    graph.node.append(helper.make_node("Add", ["zero_input", "as_row"], ["the_sum"]))
    graph.output.append(helper.make_tensor_value_info("the_sum", TensorProto.FLOAT, [1, count]))
    return changed


def variants(case):
    """Ways to ask for each output of a test: a name, a model, rows of its input, the output, the
    expected numbers."""
    model = case.model
    infos = list(model.graph.input)
    for inputs, outputs in case.data_sets:
        inputs = [array(x) for x in inputs]
        if any(x is None for x in inputs) or len(inputs) != len(infos):
            return
        for info, expected in zip(model.graph.output, outputs):
            kind, expected = element(info), array(expected)
            if expected is None or kind not in NUMBERS or expected.size == 0:
                continue
            tolerance = max([case.rtol] + [ROUNDING.get(element(other), 0) for other in [info, *infos]])
            numbers = expected.astype(np.float64).ravel()
            for at, given in enumerate(inputs):
                if element(infos[at]) in FLOATS and given.ndim >= 1 and given.size:
                    rows = given.astype(np.float64).reshape(given.shape[0], -1)
                    yield f"input {at}", with_input(model, inputs, at), rows, info.name, numbers, tolerance
            if all(element(info) in NUMBERS for info in infos):
                constants = with_constants(model, inputs, info.name, expected.size)
                yield "constants", constants, [np.zeros(expected.size)], "the_sum", numbers, tolerance


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evaluator")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--refusals", action="store_true", help="print why variants are refused")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    counts = collections.defaultdict(collections.Counter)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        evaluator = Evaluator(options.evaluator, Path(folder))
        for case in collect_testcases(None):
            operators = {node.op_type for node in case.model.graph.node}
            operator = operators.pop() if len(operators) == 1 else "several operators"
            asked = 0
            results = []
            for name, model, rows, output, expected, tolerance in variants(case):
                found, why = evaluator.run(model, rows, output)
                asked += 1
                if found is None:
                    results.append("refused")
                    if options.refusals:
                        print(f"{case.name} ({name}): {why}", file=sys.stderr)
                    continue
                # Values are computed in float64, and may be of the type of the test.
                close = found.shape == expected.shape and np.allclose(
                    found, expected, rtol=tolerance, atol=max(case.atol, 1e-6), equal_nan=False)
                results.append("right" if close else "wrong")
                if not close:
                    wrong.append(f"{case.name} ({name}, {output}): {found[:6]} for {expected[:6]}")
            # A test that has no numbers to encrypt or to add is refused by its types.
            kind = "wrong" if "wrong" in results else "right" if "right" in results else "refused"
            counts[operator][kind] += 1
            counts[operator]["ways"] += asked
            counts[operator]["right ways"] += results.count("right")
    total = sum(counts.values(), collections.Counter())
    if options.table:
        print("| operator | tests | right | refused |\n|---|---|---|---|")
        for operator, count in sorted(counts.items()):
            if count["right"]:
                tests = count["right"] + count["refused"] + count["wrong"]
                print(f"| {operator} | {tests} | {count['right']} | {count['refused']} |")
        never = {name: count for name, count in counts.items() if not count["right"]}
        tests = sum(count["refused"] + count["wrong"] for count in never.values())
        print(f"| {len(never)} other operators | {tests} | 0 | {tests} |")
    tests = total["right"] + total["refused"] + total["wrong"]
    print(f"onnx {onnx.__version__}: {tests} tests, {total['right']} right, {total['refused']} refused, "
          f"{total['wrong']} wrong; {total['ways']} ways to ask, {total['right ways']} right")
    for line in wrong:
        print("wrong:", line)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
