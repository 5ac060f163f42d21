"""How the arrays of a model lie in the column of a table.

The column has the numbers of all arrays, row by row, weighted and divided by their bound, then the
weight, then 1. Its name states shapes and bound, so that updates of other models are told apart.
The last 1 makes the public exponent of the column the same whatever the numbers are, and counts the
updates of a sum.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
Array = npt.NDArray[np.float64]


def column_name(shapes: Sequence[Shape], bound: float) -> str:
    """The name of the column of models of these shapes."""
    stated = json.dumps([[list(shape) for shape in shapes], bound])
    return f"update {hashlib.sha256(stated.encode()).hexdigest()[:16]}"


def numbers(shapes: Sequence[Shape]) -> int:
    """The numbers of a model."""
    return sum(math.prod(shape) for shape in shapes)


def column(arrays: Sequence[npt.ArrayLike], weight: float, bound: float) -> tuple[str, Array]:
    """The column of an update, and its name."""
    if not 0 < weight <= 1:
        raise ValueError(f"weight: {weight}, where more than 0 and at most 1 is expected")
    found = [np.asarray(array, dtype=np.float64) for array in arrays]
    for at, array in enumerate(found):
        greatest = float(np.abs(array).max(initial=0.0))
        if not greatest <= bound:
            raise ValueError(f"array {at + 1} has a number of magnitude {greatest}; the bound is {bound}")
    parts = [weight / bound * array.reshape(-1) for array in found]
    return column_name([array.shape for array in found], bound), np.concatenate([*parts, [weight, 1.0]])


def averages(total: Array, shapes: Sequence[Shape], bound: float) -> list[Array]:
    """The weighted means of the arrays, from the sum of columns."""
    values = total[:-2] * (bound / total[-2])
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(values, ends), shapes, strict=True)]


def typed(array: Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Averages as numbers of another type: integers are rounded."""
    return np.asarray(np.rint(array) if dtype.kind in "iub" else array).astype(dtype)
