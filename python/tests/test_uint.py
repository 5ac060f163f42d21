"""Integers of TFHE beside Python's, under parameters that protect nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

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


def test_public_keys_encrypt(tfhe: Setup, rng: np.random.Generator) -> None:
    context, keys = tfhe
    public = he.PublicKey.from_bytes(context, keys.public.to_bytes())
    assert public.key_set == keys.secret.key_set == keys.public.key_set
    again = pickle.loads(pickle.dumps(public))
    other = keys.secret.public_key()
    assert other.to_bytes() != public.to_bytes()
    x, y = rng.integers(0, 256, 4, dtype=np.uint64), rng.integers(-128, 128, 4, dtype=np.int64)
    b = keys.encrypt_uint(x, bits=8)
    for key in (keys.public, public, again, other):
        a = key.encrypt_uint(x, bits=8)
        assert a.bits == 8 and len(a) == 4
        np.testing.assert_array_equal(keys.decrypt_uint(a), x)
        np.testing.assert_array_equal(keys.decrypt_uint(a + b), 2 * x % 256)
        np.testing.assert_array_equal(keys.decrypt_int(key.encrypt_int(y, bits=8)), y)
    wide = [2**255, 2**200 + 1, 0]
    assert keys.decrypt_uint(public.encrypt_uint(wide, bits=256)) == wide
    stranger = he.Context(he.Params.tfhe("insecure_small"), device="cpu").keygen()
    with pytest.raises(he.KeySetError):
        stranger.decrypt_uint(public.encrypt_uint(x, bits=8))
    with pytest.raises(he.FormatError):
        he.PublicKey.from_bytes(context, keys.public.to_bytes()[:-1])
    with pytest.raises(he.FormatError):
        he.PublicKey.from_bytes(context, keys.evaluation.to_bytes())


def test_operators_of_unsigned_integers(tfhe: Setup, rng: np.random.Generator) -> None:
    _, keys = tfhe
    x = np.concatenate([[0, 255, 128], rng.integers(0, 256, 3)]).astype(np.uint64)
    y = np.concatenate([[255, 255, 1], rng.integers(1, 256, 3)]).astype(np.uint64)
    a, b = keys.encrypt_uint(x, bits=8), keys.encrypt_uint(y, bits=8)
    amounts = keys.encrypt_uint([0, 1, 2, 7, 8, 255], bits=8)
    shift, turn = np.array([0, 1, 2, 7, 8, 60], np.uint64), np.array([0, 1, 2, 7, 0, 7], np.uint64)
    for found, expected in [
        (a * b, x * y), (a * 7, x * 7), (7 * a, x * 7), (a * -1, (256 - x) % 256),
        (a // b, x // y), (a % b, x % y), (a // 10, x // 10), (a % 10, x % 10), (a // 77, x // 77),
        (200 // b, 200 // y), (200 % b, 200 % y),
        (a & b, x & y), (a | b, x | y), (a ^ b, x ^ y), (a & 15, x & 15), (15 | a, x | 15), (~a, 255 - x),
        (-a, (256 - x) % 256), (+a, x), (abs(a), x),
        (a << 3, x << 3), (a >> 3, x >> 3), (a << 100, x * 0), (a << amounts, x << shift), (a >> amounts, x >> shift),
        (a.rotate_left(3), (x << 3) | (x >> 5)), (a.rotate_right(amounts), (x >> turn) | (x << (8 - turn))),
        (a.saturating_add(b), np.minimum(x + y, 255)), (a.saturating_sub(b), x - np.minimum(x, y)),
        (a.saturating_mul(b), np.minimum(x * y, 255)),
        (a.reverse_bits().reverse_bits(), x), (a.cast(16) * b.cast(16), x * y * 257 // 257),
        (a.as_int().as_uint(), x), ((a <= b).select(a, b), np.minimum(x, y)),
    ]:  # fmt: skip
        got = keys.decrypt_uint(found)
        np.testing.assert_array_equal(got, np.asarray(expected, np.uint64) % 2**found.bits, err_msg=repr((x, y)))
    for parts, of in [
        (divmod(a, b), divmod(x, y)), (divmod(a, 9), divmod(x, 9)), (divmod(99, b), divmod(99, y))
    ]:  # fmt: skip
        for part, expected in zip(parts, of):
            np.testing.assert_array_equal(keys.decrypt_uint(part), expected, err_msg=repr((x, y)))
    for count, expected in [
        (a.count_ones(), [int(v).bit_count() for v in x]),
        (a.count_zeros(), [8 - int(v).bit_count() for v in x]),
        (a.leading_zeros(), [8 - int(v).bit_length() for v in x]),
        (a.leading_ones(), [8 - (255 - int(v)).bit_length() for v in x]),
        (a.trailing_zeros(), [((int(v) | 256) & -(int(v) | 256)).bit_length() - 1 for v in x]),
        (a.trailing_ones(), [((int(v) + 1) & -(int(v) + 1)).bit_length() - 1 for v in x]),
    ]:
        np.testing.assert_array_equal(keys.decrypt_uint(count), expected)
    for flags, expected in [
        (a <= b, x <= y), (a >= b, x >= y), (a.ne(b), x != y), (a >= 128, x >= 128),
        (a.is_odd(), x % 2 == 1), (a.is_even(), x % 2 == 0),
        ((a < b) & (a > 100), (x < y) & (x > 100)), ((a < b) | (a > 100), (x < y) | (x > 100)),
        ((a < b) ^ (a > 100), (x < y) ^ (x > 100)), (~(a < b), x >= y),
        (a.overflowing_add(b)[1], x + y > 255), (a.overflowing_sub(b)[1], x < y),
        (a.overflowing_mul(b)[1], x * y > 255),
    ]:  # fmt: skip
        np.testing.assert_array_equal(keys.decrypt_bool(flags), expected, err_msg=repr((x, y)))
    log, exists = a.checked_ilog2()
    np.testing.assert_array_equal(keys.decrypt_uint(log), [(int(v).bit_length() - 1) % 256 for v in x])
    np.testing.assert_array_equal(keys.decrypt_bool(exists), x > 0)


def test_operators_of_signed_integers(tfhe: Setup, rng: np.random.Generator) -> None:
    context, keys = tfhe
    x = np.concatenate([[-128, 127, 0], rng.integers(-128, 128, 3)]).astype(np.int64)
    y = np.concatenate([[127, -128, -1], rng.integers(1, 128, 3)]).astype(np.int64)
    a, b = keys.encrypt_int(x, bits=8), keys.encrypt_int(y, bits=8)
    assert a.bits == 8 and len(a) == 6
    for found, expected in [
        (a, x), (a + b, x + y), (a - b, x - y), (1 - a, 1 - x), (a * b, x * y), (a * -3, x * -3),
        (a // b, x // y), (a % b, x % y), (a // 10, x // 10), (a % 10, x % 10), (a // -7, x // -7),
        (a % -7, x % -7), (a // 8, x // 8), (-100 // b, -100 // y), (-100 % b, -100 % y),
        (a & b, x & y), (a | b, x | y), (a ^ -1, x ^ -1), (~a, ~x), (-a, -x), (+a, x),
        (a << 1, x << 1), (a >> 3, x >> 3), (a.min(b), np.minimum(x, y)), (a.max(-5), np.maximum(x, -5)),
        (a.saturating_add(b), np.clip(x + y, -128, 127)), (a.saturating_sub(b), np.clip(x - y, -128, 127)),
        (a.saturating_mul(b), np.clip(x * y, -128, 127)), (a.sort(), np.sort(x)),
        (a.as_uint().as_int(), x), ((a < b).select(a, b), np.minimum(x, y)), (a.cast(16), x),
        (pickle.loads(pickle.dumps(a)), x), (he.EncryptedInt.from_bytes(context, a.to_bytes()), x),
    ]:  # fmt: skip
        got = keys.decrypt_int(found)
        assert isinstance(got, np.ndarray) and got.dtype == np.int64
        half = 1 << (found.bits - 1)
        np.testing.assert_array_equal(got, (expected + half) % (2 * half) - half, err_msg=repr((x, y)))
    np.testing.assert_array_equal(keys.decrypt_uint(abs(a)), np.abs(x))
    for parts, of in [(divmod(a, b), divmod(x, y)), (divmod(a, -9), divmod(x, -9))]:
        for part, expected in zip(parts, of):
            np.testing.assert_array_equal(keys.decrypt_int(part), expected, err_msg=repr((x, y)))
    for flags, expected in [(a < b, x < y), (a <= -5, x <= -5), (a > b, x > y), (a >= 0, x >= 0), (a.eq(b), x == y)]:
        np.testing.assert_array_equal(keys.decrypt_bool(flags), expected)
    assert repr(a) == "<he.EncryptedInt: 6 of 8 bits>"


def test_wide_integers(tfhe: Setup) -> None:
    _, keys = tfhe
    values = [2**127 + 12345, 0]
    assert keys.decrypt_uint(keys.encrypt_uint(values, bits=128)) == values
    signed = [-(2**127), 2**127 - 1, -1]
    a = keys.encrypt_int(signed, bits=128)
    assert keys.decrypt_int(a) == signed
    assert keys.decrypt_int(a // 10**20) == [v // 10**20 for v in signed]
    assert keys.decrypt_int(a % 1000) == [v % 1000 for v in signed]


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
    b = keys.encrypt_int([1, 2], bits=8)
    by_zero: list[Callable[[], object]] = [lambda: a // 0, lambda: b % 0, lambda: divmod(a, 0)]
    for divide in by_zero:
        with pytest.raises(ZeroDivisionError):
            divide()
    too_wide: list[Callable[[], object]] = [
        lambda: a // 256, lambda: b % 128, lambda: a + -1, lambda: b + 128, lambda: a >> -1
    ]  # fmt: skip
    for compute in too_wide:
        with pytest.raises(ValueError):
            compute()
    with pytest.raises(TypeError, match="amount"):
        a << [1, 2]  # type: ignore[operator]
    with pytest.raises(TypeError):
        a + b  # type: ignore[operator]
    with pytest.raises(TypeError, match="two he"):
        (a < 2).select(a, b)  # type: ignore[call-overload]
    with pytest.raises(ValueError):
        keys.encrypt_int([128], bits=8)
    with pytest.raises(TypeError, match="tfhe"):
        ckks[1].encrypt_uint([1])
    with pytest.raises(TypeError, match="tfhe"):
        ckks[1].public.encrypt_int([1])
    with pytest.raises(TypeError, match="encrypt_uint"):
        keys.public.encrypt([1])
    with pytest.raises(ValueError):
        keys.public.encrypt_uint([256], bits=8)
    with pytest.raises(ValueError, match="negative"):
        keys.public.encrypt_uint([-1], bits=8)
    with pytest.raises(TypeError, match="encrypt_uint"):
        keys.encrypt([1])
    with pytest.raises(he.KeySetError):
        he.Context(he.Params.tfhe("insecure_small"), device="cpu").keygen().decrypt_uint(a)


def test_integers_are_indexed_summed_and_compared(tfhe: Setup, rng: np.random.Generator) -> None:
    _, keys = tfhe
    x, y = rng.integers(-128, 128, 4), rng.integers(-128, 128, 4)
    y[1] = x[1]
    a, b = keys.encrypt_int(x, bits=8), keys.encrypt_int(y, bits=8)
    numpy: Any = np  # whose stubs take arrays alone
    results: list[tuple[he.EncryptedInt, object]] = [
        (a[1], x[1:2]), (a[-1], x[-1:]), (a[1:3], x[1:3]), (a[::-1], x[::-1]), (a[[2, 0]], x[[2, 0]]),
        (a.cast(16).sum(), [x.sum()]), (numpy.sum(a.cast(16)), [x.sum()]), (np.array([1, 2, 3, 4]) + a.cast(16), x + [1, 2, 3, 4]),
    ]  # fmt: skip
    for found, expected in results:
        np.testing.assert_array_equal(keys.decrypt_int(found), expected)
    assert [keys.decrypt_int(one)[0] for one in a] == x.tolist() and a.shape == (4,)
    conditions: list[tuple[Any, object]] = [
        (a == b, x == y), (a != b, x != y), (a == 5, x == 5), (5 != a, x != 5), (a == y, x == y),
        ((a < b) == (b > a), [True] * 4), ((a < b) != (b > a), [False] * 4),
    ]  # fmt: skip
    for flags, expected in conditions:
        np.testing.assert_array_equal(keys.decrypt_bool(flags), expected)
    wrong: list[Callable[[], object]] = [
        lambda: bool(a), lambda: 3 in a, lambda: np.asarray(a), lambda: numpy.mean(a), lambda: np.asarray(a < b),
        lambda: (a < b) == True, lambda: a == None, lambda: keys.encrypt_uint([1.5]), lambda: keys.encrypt_int(["1"]),
    ]  # fmt: skip  # noqa: E711, E712
    for call in wrong:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="float, where integers are expected"):
        keys.encrypt_uint([1.5])
    with pytest.raises(IndexError):
        a[4]
