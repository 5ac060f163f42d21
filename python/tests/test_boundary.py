"""What crosses the boundary: bytes, pickles, errors, threads and forks; and what must not."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import he
from he import _he

Setup = tuple[he.Context, he.Keys]


@pytest.fixture(scope="module")
def small() -> Setup:
    context = he.Context(he.Params.for_depth(1, precision_bits=10), device="cpu")
    return context, context.keygen()


def test_parameters_are_values() -> None:
    params = he.Params.for_depth(1, precision_bits=10)
    same = he.Params.from_bytes(params.to_bytes())
    assert params == same and hash(params) == hash(same) and params != he.Params.for_depth(2)
    assert pickle.loads(pickle.dumps(params)) == params
    assert params.scheme == "ckks" and params.slots == 2048 and params.depth == 1 and params.security == 128
    exact = he.Params.for_depth(1, scheme="bfv", bits=16)
    assert exact.plain_modulus is not None and exact.plain_modulus > 2**17 and params.plain_modulus is None
    assert "log2(QP)" in params.explanation


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: he.Params.for_depth(99), "depth is 99"),
        (lambda: he.Params.for_depth(2, scheme="rsa"), "rsa"),
        (lambda: he.Params.for_depth(2, bits=8), "bits is no option of the scheme ckks"),
        (lambda: he.Params.for_depth(2, scheme="bfv", precision_bits=8), "precision_bits is no option"),
        (lambda: he.Params.for_depth(2, scheme="bgv", bits=8, plain_modulus=257), "not both"),
        (lambda: he.Params.bootstrapping("slow"), "fast"),
        (lambda: he.Params.tfhe("bits"), "digits_2m128"),
        (lambda: he.Context(he.Params.for_depth(0), device="gpu"), "gpu"),
        (lambda: he.Params.for_depth(0, security=100), "100"),
    ],
)
def test_requests_that_cannot_be_met(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()


def test_bytes_come_back(small: Setup, exact: Setup) -> None:
    for context, keys in (small, exact):
        x = np.arange(6)
        ct = keys.encrypt(x)
        for data in (ct.to_bytes(), bytearray(ct.to_bytes()), np.frombuffer(ct.to_bytes(), np.int8)):
            for verified in (False, True):
                found = he.Ciphertext.from_bytes(context, data, shape=(6,), verified=verified)
                np.testing.assert_allclose(keys.decrypt(found), x, atol=0.05)
                assert found.to_bytes() == ct.to_bytes()
        seeded = keys.secret.encrypt_to_bytes(x)
        assert len(seeded) < 0.6 * len(ct.to_bytes())
        np.testing.assert_allclose(
            keys.decrypt(he.Ciphertext.from_bytes(context, seeded, shape=(6,))), x, atol=0.05
        )
        whole = he.Ciphertext.from_bytes(context, ct.to_bytes())
        assert whole.shape == (6,)
        bare = he.Ciphertext.from_bytes(context, ct.to_bytes(layout=False))
        assert bare.shape == (ct.slots,)
        with pytest.raises(ValueError, match=r"\(2, 3\)"):
            he.Ciphertext.from_bytes(context, ct.to_bytes(), shape=(2, 3))
        public = he.PublicKey.from_bytes(context, keys.public.to_bytes())
        np.testing.assert_allclose(keys.decrypt(public.encrypt(x)), x, atol=0.05)
        secret = he.SecretKey.from_bytes(context, keys.secret.to_bytes())
        np.testing.assert_allclose(secret.decrypt(ct), x, atol=0.05)


def test_two_sides_share_nothing_but_bytes(small: Setup) -> None:
    _, keys = small
    server = he.Context(
        he.Params.from_bytes(keys.evaluation.params.to_bytes()),
        device="cpu",
        evaluation_keys=keys.evaluation.to_bytes(),
    )
    x = he.Ciphertext.from_bytes(server, keys.encrypt([1.0, 2.0]).to_bytes(), shape=(2,))
    answer = he.Ciphertext.from_bytes(keys.evaluation.context, (x * x).to_bytes(), shape=(2,))
    np.testing.assert_allclose(keys.decrypt(answer), [1, 4], atol=0.05)


def test_public_objects_are_pickled(small: Setup, exact: Setup) -> None:
    for context, keys in (small, exact):
        x = np.arange(6).reshape(2, 3)
        ct = pickle.loads(pickle.dumps(keys.encrypt(x)))
        assert ct.shape == (2, 3) and ct.context.params == context.params
        np.testing.assert_allclose(keys.decrypt(ct), x, atol=0.05)
        np.testing.assert_allclose(keys.decrypt(copy.deepcopy(ct).sum(axis=1)), x.sum(axis=1), atol=0.1)
        total = pickle.loads(pickle.dumps(keys.encrypt([1, 2]).sum()))
        assert total.shape == () and abs(keys.decrypt(total) - 3) < 0.1
        # One number per row, and the padding after the values of a row.
        per_row = keys.encrypt(x).sum(axis=1)
        for again in (
            pickle.loads(pickle.dumps(per_row)),
            he.Ciphertext.from_bytes(context, per_row.to_bytes(), shape=(2,)),
        ):
            assert again.shape == (2,)
            np.testing.assert_allclose(keys.decrypt(again), x.sum(axis=1), atol=0.1)
        assert ct.key_set == keys.secret.key_set == keys.public.key_set == keys.evaluation.key_set
        assert isinstance(pickle.loads(pickle.dumps(keys.public)), he.PublicKey)
        assert isinstance(pickle.loads(pickle.dumps(keys.evaluation)), he.EvaluationKeys)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_secrets_are_neither_pickled_nor_copied(small: Setup, protocol: int) -> None:
    context, keys = small
    for secret in (keys, keys.secret, [keys.secret], {"key": keys}):
        with pytest.raises(TypeError, match="secret"):
            pickle.dumps(secret, protocol)
        with pytest.raises(TypeError, match="secret"):
            copy.deepcopy(secret)
    with pytest.raises(TypeError, match="secret"):
        copy.copy(keys.secret)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(context, protocol)
    coefficients = bytes(keys.secret.to_bytes())
    assert coefficients not in repr(keys).encode() and "SecretKey: ckks" in repr(keys.secret)


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ("text", TypeError, "dtype <U4"),
        ([None], TypeError, "dtype object"),
        (np.array(["2026-11-22"], dtype="datetime64[D]"), TypeError, "datetime64"),
        (np.zeros((2, 2, 2)), ValueError, "3 dimensions"),
        (np.zeros(0), ValueError, r"\(0,\)"),
        (np.zeros((2, 4096)), ValueError, "4096 values for 2048 slots"),
        ([1.0, float("nan")], ValueError, "value 1 is not a finite number"),
        ([float("inf")], ValueError, "value 0 is not a finite number"),
        ([1e300], ValueError, "needs"),
    ],
)
def test_arrays_that_cannot_be_encrypted(small: Setup, values: object, error: type[Exception], text: str) -> None:
    _, keys = small
    with pytest.raises(error, match=text):
        keys.encrypt(values)  # type: ignore[arg-type]


def test_operands_that_do_not_fit(small: Setup, exact: Setup) -> None:
    _, keys = small
    a = keys.encrypt([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"\(3,\) and \(2,\)"):
        a + keys.encrypt([1.0, 2.0])
    with pytest.raises(ValueError, match=r"\(3,\) and \(4,\)"):
        a * np.zeros(4)
    wrong: Any = [lambda: a + "x", lambda: a * None, lambda: {} - a, lambda: a @ 3]  # type: ignore[operator]
    for operation in wrong:
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(ZeroDivisionError):
        a / 0
    with pytest.raises(he.ParameterError, match="bfv|bgv"):
        a + exact[1].encrypt([1, 2, 3])
    with pytest.raises(ValueError, match="not a finite"):
        a + float("nan")
    with pytest.raises(ValueError, match="value 1"):
        a * np.array([1.0, np.inf, 0.0])
    with pytest.raises(he.DepthError, match="level"):
        a * a * a


def test_foreign_keys(small: Setup) -> None:
    context, keys = small
    other = he.Context(context.params, device="cpu").keygen(sums=False)
    a = keys.encrypt([1.0, 2.0])
    with pytest.raises(he.KeySetError, match="key set"):
        other.decrypt(a)
    with pytest.raises(he.KeySetError, match="key set"):
        a + other.encrypt([1.0, 2.0])
    with pytest.raises(he.KeySetError, match="rotation"):
        other.encrypt([1.0, 2.0]).sum()
    empty = he.Context(context.params, device="cpu")
    with pytest.raises(he.KeySetError, match="no evaluation keys"):
        moved = he.Ciphertext.from_bytes(empty, a.to_bytes())
        moved * moved
    deeper = he.Context(he.Params.for_depth(2, precision_bits=10), device="cpu").keygen(sums=False)
    with pytest.raises(he.ParameterError):
        deeper.decrypt(a)
    with pytest.raises(he.ParameterError, match="fingerprint|parameters"):
        he.Ciphertext.from_bytes(deeper.evaluation.context, a.to_bytes())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_hostile_bytes(small: Setup, data: st.DataObject) -> None:
    context, keys = small
    good = keys.encrypt([1.0]).to_bytes()
    at = data.draw(st.integers(0, len(good) - 1))
    bad = data.draw(
        st.one_of(
            st.just(good[:at]),
            st.just(good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]),
            st.just(good + good[at:]),
            st.binary(max_size=200),
        )
    )
    for read in (
        lambda: he.Ciphertext.from_bytes(context, bad),
        lambda: he.Params.from_bytes(bad),
        lambda: he.PublicKey.from_bytes(context, bad),
        lambda: he.SecretKey.from_bytes(context, bad),
        lambda: he.EvaluationKeys.from_bytes(context, bad),
    ):
        with pytest.raises(he.Error):
            read()
    with pytest.raises((he.Error, ValueError)):
        # Without checksums a changed residue is another ciphertext, and all else is refused.
        found = he.Ciphertext.from_bytes(context, bad, verified=True)
        raise ValueError(found.shape)


ANY_ARRAY = hnp.arrays(
    dtype=st.one_of(hnp.scalar_dtypes(), hnp.byte_string_dtypes(), hnp.unicode_string_dtypes()),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
)
ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(max_size=3),
    st.binary(max_size=3), st.lists(st.floats(), max_size=4), ANY_ARRAY,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::Warning")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=ANYTHING, number=st.integers(-(2**70), 2**70))
def test_anything_ends_in_a_result_or_an_ordinary_exception(small: Setup, value: Any, number: int) -> None:
    _, keys = small
    a = keys.encrypt([1.0, 2.0, 3.0])
    b = keys.encrypt([[1.0, 2.0], [3.0, 4.0]])
    calls: list[Callable[[], object]] = [
        lambda: keys.encrypt(value),
        lambda: a + value,
        lambda: value - a,
        lambda: b * value,
        lambda: b @ value,
        lambda: a / value,
        lambda: a[number],
        lambda: b[number, :number],
        lambda: a.rotate(number),
        lambda: a.sum(axis=number),
        lambda: a.drop_to_level(number),
        lambda: a.polynomial(value),
        lambda: a ** number if abs(number) < 9 else None,
        lambda: he.Params.for_depth(number),
        lambda: he.Ciphertext.from_bytes(a.context, value),
        lambda: he.Ciphertext.from_bytes(a.context, a.to_bytes(), shape=(number,)),
    ]
    for call in calls:
        try:
            call()
        except he.InternalError:
            raise
        except Exception:  # noqa: S110
            pass


def test_panics_are_exceptions() -> None:
    with pytest.raises(he.InternalError, match="of a test.*report"):
        _he._panic("of a test")
    assert issubclass(he.InternalError, he.Error)


def test_threads_share_a_context(small: Setup) -> None:
    _, keys = small
    x = np.linspace(-1, 1, 500)
    failed: list[BaseException] = []

    def work(factor: int) -> None:
        try:
            for _ in range(5):
                found = keys.decrypt((keys.encrypt(x) * factor).sum())
                assert abs(found - (factor * x).sum()) < 1
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_python_goes_on_while_work_is_done() -> None:
    """The interpreter is free during a computation: another thread counts."""
    context = he.Context(he.Params.for_depth(3), device="cpu")
    done, counted = threading.Event(), 0

    def work() -> None:
        context.keygen()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        counted += 1
        done.wait(0.001)
    thread.join()
    assert counted > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are of Unix")
def test_forks_compute(small: Setup) -> None:
    """A child has none of its parent's threads, and computes all the same; encryptions differ."""
    _, keys = small
    x = np.linspace(-1, 1, 5000)
    keys.decrypt(keys.encrypt(x).sum())
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)

    def child() -> None:
        found = float(keys.decrypt(keys.encrypt(x + 1).sum()))
        writer.send((found, keys.encrypt(x).to_bytes()))

    children = [context.Process(target=child) for _ in range(2)]
    for process in children:
        process.start()
    answers = []
    for _ in children:
        assert reader.poll(120), "a forked child hangs"
        answers.append(reader.recv())
    for process in children:
        process.join(30)
        assert process.exitcode == 0
    for found, _ in answers:
        assert abs(found - (x + 1).sum()) < 5
    assert len({data for _, data in answers} | {keys.encrypt(x).to_bytes()}) == 3


def test_one_key_is_of_one_context(small: Setup) -> None:
    context, keys = small
    assert keys.evaluation.context.params == context.params == keys.secret.params
    assert context.evaluation_keys is not None and context.bootstrap_keys is None
    assert he.Context.latest(context.params).params == context.params
    assert "cpu" in he.devices() and context.device == "cpu"
