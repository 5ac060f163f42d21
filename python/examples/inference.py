"""Encrypted inference over many inputs: a network from ONNX on all workers of a Ray cluster.

    python inference.py ../../models/wine.onnx ../../models/wine_train.csv --inputs 10000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

import he
from he import ray


def infer(examples: list[he.Ciphertext], model: he.Model) -> list[he.Ciphertext]:
    """The outputs of a batch of examples."""
    return model.infer(examples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a network in ONNX")
    parser.add_argument("examples", help="a table of examples, with which the network is compiled")
    parser.add_argument("--inputs", type=int, default=10_000)
    options = parser.parse_args()
    known = np.loadtxt(options.examples, delimiter=",", skiprows=1)
    model = he.Model.compile(options.model, known)
    context = he.Context(model.params)
    keys = context.keygen(sums=False, needs=[model])
    inputs = known[np.arange(options.inputs) % len(known)]
    size = model.examples_per_ciphertext
    batches = [inputs[start : start + size] for start in range(0, len(inputs), size)]

    def encrypted() -> Iterator[list[he.Ciphertext]]:
        for batch in batches:
            yield model.encrypt(keys, batch)

    outputs: list[npt.NDArray[np.float64]] = []
    start = time.perf_counter()
    with ray.Pool(context.params, keys.evaluation, bootstrap_keys=keys.bootstrap) as pool:
        results = pool.map(infer, encrypted(), shared={"model": model}, progress=True)
        for batch, result in zip(batches, results):
            outputs.append(model.decrypt(keys, result, count=len(batch)))
    seconds = time.perf_counter() - start
    found, plain = np.concatenate(outputs), model(inputs)
    print(f"{len(found)} inputs in {seconds:.1f} s; greatest difference {np.abs(found - plain).max():.4f}")


if __name__ == "__main__":
    main()
