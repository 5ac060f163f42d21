"""Encrypted arrays of CKKS beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import he

Setup = tuple[he.Context, he.Keys]
CLOSE: Any = {"rtol": 0.0, "atol": 2e-4}


@pytest.mark.parametrize("shape", [(1,), (5,), (8,), (20_000,), (3, 5), (2, 16)])
def test_arrays_come_back(ckks: Setup, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    _, keys = ckks
    x = rng.normal(size=shape)
    for ct in (keys.encrypt(x), keys.secret.encrypt(x), keys.public.encrypt(x)):
        assert ct.shape == shape
        found = keys.decrypt(ct)
        assert found.dtype == np.float64 and found.shape == shape
        np.testing.assert_allclose(found, x, **CLOSE)


def test_complex_numbers(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    z = rng.normal(size=9) + 1j * rng.normal(size=9)
    found = keys.decrypt(keys.encrypt(z) * (1 - 2j), dtype="complex128")
    np.testing.assert_allclose(found, z * (1 - 2j), **CLOSE)
    np.testing.assert_allclose(keys.decrypt(keys.encrypt(z)), z, **CLOSE)


@pytest.mark.parametrize("shape", [(5,), (20_000,), (3, 5)])
def test_operators(ckks: Setup, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    _, keys = ckks
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    a, b = keys.encrypt(x), keys.encrypt(y)
    for found, expected in [
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (-a, -x),
        (+a, x),
        (a + 1, x + 1),
        (1 + a, x + 1),
        (2 - a, 2 - x),
        (a - 0.5, x - 0.5),
        (a * 3, x * 3),
        (0.25 * a, x / 4),
        (a / 4, x / 4),
        (a + y, x + y),
        (y - a, y - x),
        (y * a, x * y),
        (a / (y + 9), x / (y + 9)),
        (a * np.float32(2), x * 2),
        (a + np.int64(2), x + 2),
        (a**3, x**3),
        (a + list(map(float, y)) if x.ndim == 1 else a + y, x + y),
    ]:
        assert isinstance(found, he.Ciphertext) and found.shape == shape
        np.testing.assert_allclose(keys.decrypt(found), expected, rtol=0, atol=2e-3)


def test_powers_of_two_save_a_level(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x = rng.uniform(-1, 1, 10)
    a = keys.encrypt(x)
    for found, expected, levels in [
        (a**2, x**2, 1),
        (a**4, x**4, 2),
        (a.polynomial([1.0, 0.5, 0.0, 0.0, -3.0]), 1 + x / 2 - 3 * x**4, 2),
        (a.polynomial([1.0, 2.0]), 1 + 2 * x, 0),
        (a.polynomial([0.0, 0.5]), x / 2, 1),
    ]:
        assert found.level == a.level - levels
        np.testing.assert_allclose(keys.decrypt(found), expected, rtol=0, atol=2e-3)


def test_rows_broadcast(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x, row = rng.normal(size=(3, 5)), rng.normal(size=5)
    a = keys.encrypt(x)
    np.testing.assert_allclose(keys.decrypt(a + row), x + row, **CLOSE)
    np.testing.assert_allclose(keys.decrypt(a * keys.encrypt(row)), x * row, **CLOSE)
    np.testing.assert_allclose(keys.decrypt(keys.encrypt(row) - x), row - x, **CLOSE)


@pytest.mark.parametrize("size", [1, 5, 8, 10_000])
def test_statistics_of_columns(ckks: Setup, rng: np.random.Generator, size: int) -> None:
    _, keys = ckks
    x, y = rng.uniform(-1, 1, size), rng.uniform(-1, 1, size)
    a, b = keys.encrypt(x), keys.encrypt(y)
    bound = 2e-4 * size
    assert keys.decrypt(a.sum()).shape == ()
    assert abs(keys.decrypt(a.sum()) - x.sum()) < bound
    assert abs(keys.decrypt(a.mean()) - x.mean()) < 1e-3
    assert abs(keys.decrypt(a.var()) - x.var()) < 1e-3
    assert abs(keys.decrypt(a @ b) - x @ y) < bound
    assert abs(keys.decrypt(a @ y) - x @ y) < bound
    assert abs(keys.decrypt(y @ a) - x @ y) < bound


@pytest.mark.parametrize("size", [5, 8, 10_000])
def test_padding_adds_nothing(ckks: Setup, rng: np.random.Generator, size: int) -> None:
    """Whatever is done to the values, the slots after them leave no trace in a sum."""
    _, keys = ckks
    x = rng.uniform(-1, 1, size)
    a = keys.encrypt(x)
    bound = 4e-4 * size
    assert abs(keys.decrypt((a + 1).sum()) - (x + 1).sum()) < bound
    assert abs(keys.decrypt(((a + 1) * (2 - a)).sum()) - ((x + 1) * (2 - x)).sum()) < bound
    centred = a - a.mean()
    assert abs(keys.decrypt((centred * centred).mean()) - x.var()) < 2e-3
    assert abs(keys.decrypt((a + 1).var()) - x.var()) < 2e-3
    assert abs(keys.decrypt(a.polynomial([1.0, 0.0, 2.0]).sum()) - (1 + 2 * x**2).sum()) < bound


def test_statistics_of_rows(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x = rng.uniform(-1, 1, (3, 5))
    a = keys.encrypt(x)
    for axis in (0, 1, -1, -2):
        np.testing.assert_allclose(keys.decrypt(a.sum(axis=axis)), x.sum(axis=axis), rtol=0, atol=1e-3)
        np.testing.assert_allclose(keys.decrypt(a.mean(axis=axis)), x.mean(axis=axis), rtol=0, atol=1e-3)
        np.testing.assert_allclose(keys.decrypt(a.var(axis=axis)), x.var(axis=axis), rtol=0, atol=2e-3)
    np.testing.assert_allclose(keys.decrypt((a + 1).sum(axis=1)), (x + 1).sum(axis=1), rtol=0, atol=1e-3)
    np.testing.assert_allclose(keys.decrypt((a + 1).sum()), (x + 1).sum(), rtol=0, atol=4e-3)


def test_slices_and_rotations(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x, rows = rng.normal(size=8), rng.normal(size=(3, 5))
    a, b = keys.encrypt(x), keys.encrypt(rows)
    for found, expected in [
        (a.rotate(3), np.roll(x, -3)),
        (a.rotate(-1), np.roll(x, 1)),
        (a[2:6], x[2:6]),
        (a[5], x[5]),
        (a[5:6], x[5:6]),
        (a[::2], x[::2]),
        (a[-2:], x[-2:]),
        (a[1:4] + a[4:7], x[1:4] + x[4:7]),
        (b[1], rows[1]),
        (b[1:], rows[1:]),
        (b[-1, 2:4], rows[-1, 2:4]),
        (b[:, 1:3], rows[:, 1:3]),
    ]:
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(keys.decrypt(found), expected, **CLOSE)
    assert len(a) == 8 and len(b) == 3
    for wrong in (8, slice(3, 3)):
        with pytest.raises(IndexError):
            a[wrong]


@pytest.mark.parametrize(("size", "columns"), [(5, 3), (8, 2), (3, 20), (1, 1)])
def test_matrices(ckks: Setup, rng: np.random.Generator, size: int, columns: int) -> None:
    _, keys = ckks
    x, m = rng.normal(size=size), rng.normal(size=(size, columns))
    np.testing.assert_allclose(keys.decrypt(keys.encrypt(x) @ m), x @ m, rtol=0, atol=1e-3)
    np.testing.assert_allclose(keys.decrypt(m.T @ keys.encrypt(x)), m.T @ x, rtol=0, atol=1e-3)
    rows = rng.normal(size=(2, size))
    np.testing.assert_allclose(keys.decrypt(keys.encrypt(rows) @ m), rows @ m, rtol=0, atol=1e-3)


def test_slices_of_longer_vectors_meet_matrices(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x, m = rng.normal(size=16), rng.normal(size=(3, 2))
    np.testing.assert_allclose(keys.decrypt(keys.encrypt(x)[4:7] @ m), x[4:7] @ m, rtol=0, atol=1e-3)


def test_polynomials(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x = rng.uniform(-1, 1, 100)
    a = keys.encrypt(x)
    np.testing.assert_allclose(
        keys.decrypt(a.polynomial([1.0, -2.0, 0.5, 3.0])), 1 - 2 * x + 0.5 * x**2 + 3 * x**3, rtol=0, atol=1e-3
    )
    chebyshev = np.polynomial.Chebyshev([0.5, 1.0, -0.25], domain=[-2, 2])
    np.testing.assert_allclose(
        keys.decrypt(a.polynomial(list(chebyshev.coef), interval=(-2, 2))), chebyshev(x), rtol=0, atol=1e-3
    )


def test_batches_stack(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x = rng.normal(size=(4, 6))
    stacked = he.stack([keys.encrypt(x[0]), keys.encrypt(x[1:3]), keys.encrypt(x[3])])
    assert stacked.shape == (4, 6)
    np.testing.assert_allclose(keys.decrypt(stacked), x, **CLOSE)
    with pytest.raises(ValueError, match=r"\(6,\) and \(5,\)"):
        he.stack([keys.encrypt(x[0]), keys.encrypt(x[0, :5])])


def test_progress() -> None:
    context = he.Context(he.Params.for_depth(0), device="cpu")
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    keys = context.keygen(progress=tell)
    count = told[-1][1]
    assert told == [(done, count) for done in range(count + 1)] and count > 10
    told.clear()
    values = np.ones((100, 2))
    keys.encrypt(values, layout="rows", progress=tell)
    assert told == [(0, 100), (32, 100), (64, 100), (96, 100), (100, 100)]

    class Enough(Exception):
        pass

    def ends(done: int, total: int) -> None:
        if done >= 32:
            raise Enough(f"{done} of {total}")

    for key in (keys, keys.public):
        with pytest.raises(Enough, match="32 of 100"):
            key.encrypt(values, layout="rows", progress=ends)
    # It is not told of other work, and nothing is left of it.
    told.clear()
    keys.encrypt(values, layout="rows")
    assert told == []
    with pytest.raises(TypeError):
        context.keygen(progress=3)  # type: ignore[arg-type]
