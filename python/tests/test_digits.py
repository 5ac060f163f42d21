"""Machine integers in slots beside NumPy's, under parameters that protect nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import he


@pytest.fixture(scope="module")
def keys() -> he.Keys:
    context = he.Context(he.Params.bootstrapping("insecure_toy"), device="cpu")
    return context.keygen()


EDGES = [0, 1, 15, 16, -1, 127, -128]


# What NumPy's arrays and encrypted ones compute alike.
ALIKE: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a // 10,
    lambda a, b: a % 10,
    lambda a, b: a >> 3,
    lambda a, b: a < b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a + 7,
    lambda a, b: 7 - a,
    lambda a, b: a << 3,
    lambda a, b: a & b,
    lambda a, b: 5 | a,
    lambda a, b: (a == b) | ~(a > 3),
]


@pytest.mark.parametrize(("dtype", "alike"), [("uint8", ALIKE[:5]), ("int8", ALIKE)])
def test_operators(
    keys: he.Keys, rng: np.random.Generator, dtype: str, alike: list[Callable[[Any, Any], Any]]
) -> None:
    x: npt.NDArray[Any] = np.array(EDGES + list(rng.integers(-128, 128, 9))).astype(dtype)
    y: npt.NDArray[Any] = np.array(EDGES[::-1] + list(rng.integers(-128, 128, 9))).astype(dtype)
    a, b = keys.array(x), keys.array(list(map(int, y)), dtype=dtype)
    assert (a.dtype, a.shape, len(a)) == (dtype, x.shape, len(x))
    pairs = [(compute(a, b), compute(x, y)) for compute in alike]
    pairs += [(a.min(b), np.minimum(x, y)), (he.where(a < b, b, a), np.maximum(x, y))]
    for number, (found, expected) in enumerate(pairs):
        got = keys.decrypt_array(found)
        assert got.dtype == expected.dtype, number
        np.testing.assert_array_equal(got, expected, err_msg=str(number))


def test_tables_and_order(keys: he.Keys, rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, 20, dtype=np.uint8)
    entries = rng.integers(0, 2**16, 150)
    a = keys.array(x)
    found = keys.decrypt_array(a.lookup(entries, bits=16))
    expected = np.array([entries[i] if i < len(entries) else 0 for i in x], dtype=np.uint16)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(keys.decrypt_array(a.top(3)), np.sort(x)[::-1][:3])


def test_refusals(keys: he.Keys) -> None:
    a = keys.array([1, 2, 3], dtype="u8")
    with pytest.raises(ValueError, match="dtype"):
        keys.array([1], dtype="float32")
    with pytest.raises(ValueError, match="256 is not one of"):
        keys.array([256], dtype=np.uint8)
    with pytest.raises(TypeError, match="dtype"):
        keys.array([1])
    with pytest.raises(ZeroDivisionError):
        a // 0
    with pytest.raises(TypeError):
        bool(a)
    with pytest.raises(TypeError):
        np.asarray(a)
    with pytest.raises(Exception, match="300 is not an integer"):
        a < 300
