"""Encrypted arrays of BFV and BGV beside NumPy: the same integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import he

Setup = tuple[he.Context, he.Keys]


@pytest.mark.parametrize("shape", [(1,), (5,), (20_000,), (3, 5)])
def test_operators(exact: Setup, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    _, keys = exact
    x, y = rng.integers(-100, 100, shape), rng.integers(-100, 100, shape)
    a, b = keys.encrypt(x), keys.public.encrypt(y)
    for found, expected in [
        (a, x),
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (-a, -x),
        (a + 7, x + 7),
        (7 - a, 7 - x),
        (a * -3, x * -3),
        (a + y, x + y),
        (y - a, y - x),
        (a * y, x * y),
        (a**2, x**2),
        (a * np.int32(5), x * 5),
        (a * np.uint8(5), x * 5),
    ]:
        assert found.shape == shape
        got = keys.decrypt(found)
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, expected)
    assert (keys.secret.noise_budget(a * b) > 1).all()


@pytest.mark.parametrize("size", [1, 5, 5000])
def test_sums(exact: Setup, rng: np.random.Generator, size: int) -> None:
    _, keys = exact
    x, y = rng.integers(-9, 9, size), rng.integers(-9, 9, size)
    a, b = keys.encrypt(x), keys.encrypt(y)
    for found, expected in [
        (a.sum(), x.sum()),
        (a @ b, x @ y),
        (a @ y, x @ y),
        ((a + 3).sum(), (x + 3).sum()),
        ((4 - a).sum(), (4 - x).sum()),
    ]:
        assert found.shape == ()
        assert keys.decrypt(found) == expected


def test_rows(exact: Setup, rng: np.random.Generator) -> None:
    _, keys = exact
    x = rng.integers(-9, 9, (3, 5))
    a = keys.encrypt(x)
    np.testing.assert_array_equal(keys.decrypt(a.sum(axis=1)), x.sum(axis=1))
    np.testing.assert_array_equal(keys.decrypt(a.sum()), x.sum())
    np.testing.assert_array_equal(keys.decrypt(a.sum(axis=0)), x.sum(axis=0))
    np.testing.assert_array_equal(keys.decrypt(a[1:]), x[1:])
    np.testing.assert_array_equal(keys.decrypt(a[0, 1:4]), x[0, 1:4])
    np.testing.assert_array_equal(keys.decrypt(a[:, 2:]), x[:, 2:])
    np.testing.assert_array_equal(keys.decrypt((a[:, 2:] + 1).sum(axis=1)), (x[:, 2:] + 1).sum(axis=1))


def test_residues(exact: Setup) -> None:
    context, keys = exact
    t = context.params.plain_modulus
    assert t is not None
    largest = np.array([t - 1, 0], dtype=np.uint64)
    np.testing.assert_array_equal(keys.decrypt(keys.encrypt(largest), dtype="uint64"), largest)
    np.testing.assert_array_equal(keys.decrypt(keys.encrypt(largest)), [-1, 0])


def test_what_exact_schemes_lack(exact: Setup) -> None:
    _, keys = exact
    a = keys.encrypt(np.arange(4))
    calls: list[Callable[[], object]] = [
        lambda: a + 0.5,
        lambda: a * np.array([0.5] * 4),
        lambda: a / 2,
        lambda: a.mean(),
        lambda: a.refresh(),
    ]
    for wrong in calls:
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match="float64.*integers"):
        keys.encrypt(np.zeros(3))
