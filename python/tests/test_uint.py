"""Integers of TFHE beside Python's, under parameters that protect nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import he

Setup = tuple[he.Context, he.Keys]


@pytest.fixture(scope="module")
def tfhe() -> Setup:
    context = he.Context(he.Params.tfhe("insecure_small"), device="cpu")
    return context, context.keygen()


def test_integers(tfhe: Setup, rng: np.random.Generator) -> None:
    context, keys = tfhe
    x, y = rng.integers(0, 256, 4, dtype=np.uint64), rng.integers(0, 256, 4, dtype=np.uint64)
    a, b = keys.encrypt_uint(x, bits=8), keys.encrypt_uint(y, bits=8)
    assert a.bits == 8 and len(a) == 4
    for found, expected in [
        (a, x),
        (a + b, (x + y) % 256),
        (a - b, (x - y) % 256),
        (a + 7, (x + 7) % 256),
        (7 - a, (7 - x) % 256),
        (a.min(b), np.minimum(x, y)),
        (a.max(b), np.maximum(x, y)),
        (a.sort(), np.sort(x)),
        ((a < b).select(a, b), np.minimum(x, y)),
    ]:
        got = keys.decrypt_uint(found)
        assert isinstance(got, np.ndarray) and got.dtype == np.uint64
        np.testing.assert_array_equal(got, expected)
    for condition, flags in [(a < b, x < y), (a > b, x > y), (a.eq(b), x == y), (a.eq(a), x == x), (a > 100, x > 100)]:
        np.testing.assert_array_equal(keys.decrypt_bool(condition), flags)
    again = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(keys.decrypt_uint(again + b), (x + y) % 256)
    np.testing.assert_array_equal(
        keys.decrypt_uint(he.EncryptedUint.from_bytes(context, a.to_bytes())), x
    )
    np.testing.assert_array_equal(keys.decrypt_bool(pickle.loads(pickle.dumps(a < b))), x < y)


def test_wide_integers(tfhe: Setup) -> None:
    _, keys = tfhe
    values = [2**127 + 12345, 0]
    assert keys.decrypt_uint(keys.encrypt_uint(values, bits=128)) == values


def test_what_integers_refuse(tfhe: Setup, ckks: Setup) -> None:
    _, keys = tfhe
    a = keys.encrypt_uint([1, 2], bits=8)
    for values, error in [([-1], ValueError), ([256], ValueError), (np.array([-1]), ValueError), ([0.5], Exception),
                          (np.zeros(2), TypeError), (np.zeros((2, 2), int), ValueError)]:  # fmt: skip
        with pytest.raises(error):
            keys.encrypt_uint(values, bits=8)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        keys.encrypt_uint([1], bits=7)
    with pytest.raises(ValueError):
        a + keys.encrypt_uint([1, 2, 3], bits=8)
    with pytest.raises(TypeError, match="select"):
        bool(a < 2)
    with pytest.raises(TypeError, match="tfhe"):
        ckks[1].encrypt_uint([1])
    with pytest.raises(he.KeySetError, match="no public keys"):
        keys.public
    with pytest.raises(TypeError, match="encrypt_uint"):
        keys.encrypt([1])
    with pytest.raises(he.KeySetError):
        he.Context(he.Params.tfhe("insecure_small"), device="cpu").keygen().decrypt_uint(a)
