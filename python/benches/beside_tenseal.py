"""Operations of `he.tenseal` beside TenSEAL's, on one thread, alternating in one process.

``pip install tenseal`` and the wheel, then ``RAYON_NUM_THREADS=1 python benches/beside_tenseal.py``. Each
line has the least processor time of each side over the rounds, and TenSEAL's divided by ours.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tenseal  # type: ignore[import-not-found, unused-ignore]

import he.tenseal

Work = Callable[[], object]

DEGREE, WIDTHS, SCALE = 8192, [60, 40, 40, 60], 2**40


def context(ts: Any, scheme: str) -> Any:
    """A context with all keys."""
    if scheme == "bfv":
        made = ts.context(ts.SCHEME_TYPE.BFV, DEGREE, 65537, [42, 43, 43, 43, 43], n_threads=1)
    else:
        made = ts.context(ts.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=WIDTHS, n_threads=1)
        made.global_scale = SCALE
    made.generate_galois_keys()
    return made


def vectors(ts: Any) -> dict[str, Work]:
    """Operations on vectors of CKKS."""
    rng = np.random.default_rng(1)
    made = context(ts, "ckks")
    a, b = rng.normal(size=(2, 4096)).tolist()
    short, matrix = rng.normal(size=64).tolist(), rng.normal(size=(64, 64)).tolist()
    x, y, z = (ts.ckks_vector(made, values) for values in (a, b, short))
    image, count = ts.im2col_encoding(made, rng.normal(size=(28, 28)).tolist(), 7, 7, 3)
    kernel, data = rng.normal(size=(7, 7)).tolist(), x.serialize()
    return {
        "encrypt": lambda: ts.ckks_vector(made, a),
        "decrypt": x.decrypt,
        "add": lambda: x + y,
        "add plain": lambda: x + b,
        "multiply": lambda: x * y,
        "multiply plain": lambda: x * b,
        "square": x.square,
        "sum": z.sum,
        "dot": lambda: z.dot(z),
        "dot plain": lambda: z.dot(short),
        "vector by matrix, 64 x 64": lambda: z.mm(matrix),
        "polynomial of degree 3": lambda: z.polyval([0.5, 0.197, 0.0, -0.004]),
        "convolution, 7 x 7": lambda: image.conv2d_im2col(kernel, count),
        "pack 4 vectors": lambda: ts.CKKSVector.pack_vectors([z, z, z, z]),
        "serialize": x.serialize,
        "load": lambda: ts.ckks_vector_from(made, data),
        "make a context": lambda: context(ts, "ckks"),
    }


def tensors(ts: Any) -> dict[str, Work]:
    """Operations on tensors of CKKS."""
    rng = np.random.default_rng(2)
    made = context(ts, "ckks")
    a, b = rng.normal(size=(2, 4, 4))
    x, y = ts.ckks_tensor(made, a.tolist()), ts.ckks_tensor(made, b.tolist())
    return {
        "tensor, 4 x 4: encrypt": lambda: ts.ckks_tensor(made, a.tolist()),
        "tensor: add": lambda: x + y,
        "tensor: multiply": lambda: x * y,
        "tensor: matrix product": lambda: x @ y,
        "tensor: plain matrix product": lambda: x @ b.tolist(),
    }


def integers(ts: Any) -> dict[str, Work]:
    """Operations on vectors of BFV."""
    made = context(ts, "bfv")
    a = np.arange(8192).tolist()
    x = ts.bfv_vector(made, a)
    return {
        "bfv: encrypt": lambda: ts.bfv_vector(made, a),
        "bfv: decrypt": x.decrypt,
        "bfv: add": lambda: x + x,
        "bfv: multiply": lambda: x * x,
        "bfv: multiply plain": lambda: x * a,
    }


def spent(work: Work) -> float:
    """Milliseconds of the processor."""
    start = time.process_time()
    work()
    return 1e3 * (time.process_time() - start)


def main() -> None:
    """Prints the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=10)
    rounds = arguments.parse_args().rounds
    ratios = []
    for make in (vectors, tensors, integers):
        ours, theirs = make(he.tenseal), make(tenseal)
        for name in ours:
            times = [(spent(ours[name]), spent(theirs[name])) for _ in range(rounds)]
            own, other = (min(column) for column in zip(*times, strict=True))
            ratios.append(other / own)
            print(f"{name:32} {own:9.2f} ms {other:9.2f} ms {other / own:6.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{'geometric mean':32} {mean:29.2f}")


if __name__ == "__main__":
    main()
