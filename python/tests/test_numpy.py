"""Expressions of NumPy on encrypted arrays: they mean what NumPy means, or raise an error."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import he

#: NumPy as its stubs do not have it, which take arrays alone.
np: Any = numpy

Setup = tuple[he.Context, he.Keys]
ATOL = 2e-3


@pytest.fixture(scope="module")
def small() -> Setup:
    context = he.Context(he.Params.for_depth(2), device="cpu")
    return context, context.keygen()


def check(keys: he.Keys, found: Any, expected: Any, atol: float = ATOL) -> None:
    assert isinstance(found, he.Ciphertext)
    assert found.shape == np.shape(expected), (found.shape, np.shape(expected))
    np.testing.assert_allclose(keys.decrypt(found), expected, rtol=1e-4, atol=atol)


# Products of encrypted matrices, and what is made of them.


@pytest.mark.parametrize("left", ["rows", "columns"])
@pytest.mark.parametrize("right", ["rows", "columns"])
def test_encrypted_matrices_multiply(small: Setup, left: Any, right: Any) -> None:
    _, keys = small
    rng = np.random.default_rng(5)
    for m, k, n in [(2, 3, 4), (2, 1, 3), (1, 3, 2)]:
        a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
        x, y = keys.encrypt(a, layout=left), keys.encrypt(b, layout=right)
        # A single row by rows does not meet a column, nor a single column in slots a row.
        if (m == 1 and right == "rows") or (k == 1 and left == "columns"):
            with pytest.raises(ValueError, match="layout"):
                x @ y
            continue
        check(keys, x @ y, a @ b)
    with pytest.raises(ValueError, match="do not fit"):
        keys.encrypt(np.ones((2, 3))) @ keys.encrypt(np.ones((2, 3)))


def test_covariances_and_least_squares_are_those_of_numpy() -> None:
    context = he.Context(he.Params.for_depth(3), device="cpu")
    keys = context.keygen()
    rng = np.random.default_rng(6)
    table = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)) + [3.0, -1.0, 5.0]
    x = keys.encrypt(table)
    check(keys, he.cov(x, rowvar=False), np.cov(table, rowvar=False))
    check(keys, np.cov(x.T, bias=True), np.cov(table.T, bias=True))
    few = table[:4]
    check(keys, he.cov(keys.encrypt(few), rowvar=False), np.cov(few, rowvar=False))
    target = table @ [0.5, -2.0, 1.0] + rng.normal(size=40)
    fit = he.lstsq(x, keys.encrypt(target))
    expected = np.linalg.lstsq(table, target)[0]
    np.testing.assert_allclose(fit.solve(keys), expected, atol=1e-3)
    np.testing.assert_allclose((fit + fit).solve(keys), expected, atol=1e-3)
    with pytest.raises(TypeError, match="he.lstsq"):
        np.linalg.lstsq(x, keys.encrypt(target))
    twice = keys.encrypt(np.column_stack([target, 2 * target]))
    with pytest.raises(np.linalg.LinAlgError, match="follow from others"):
        he.lstsq(twice, keys.encrypt(target)).solve(keys)
    with pytest.raises(ValueError, match="freedom"):
        he.cov(x, rowvar=False, ddof=40)
    with pytest.raises(ValueError, match="shapes"):
        he.lstsq(x, keys.encrypt(target[:9]))


# Ranges.


def test_ordinary_data_keep_their_range(small: Setup) -> None:
    context, keys = small
    x = np.array([30.0, 40.0, 50.0])
    areas = np.linspace(143.5, 2501.0, 569)
    check(keys, keys.encrypt(x).var(), x.var())
    check(keys, keys.encrypt(areas).var(), areas.var(), atol=50)
    check(keys, keys.encrypt([1e3]).drop_to_level(0), [1e3])
    assert context.params.log_n == he.Params.for_depth(2, range_bits=4).log_n
    assert context.params.range is not None and context.params.range > 2**20


def test_what_may_leave_the_range_is_refused() -> None:
    context = he.Context(he.Params.for_depth(1, precision_bits=10, range_bits=4), device="cpu")
    keys = context.keygen()
    x = keys.encrypt([3.0, -4.0])
    assert x.bounds == (-4.0, 3.0)
    refused: list[Callable[[], object]] = [
        lambda: keys.encrypt([17.0]).drop_to_level(0),
        lambda: x.drop_to_level(0) * 5,
        lambda: x.drop_to_level(0) + 13,
        lambda: x @ np.array([3.0, 3.0]),
        lambda: x.polynomial([0.0, 1.0, 2.0]),
        lambda: keys.encrypt(np.full(20, 1.0)).drop_to_level(0).sum(),
    ]
    for compute in refused:
        with pytest.raises(ValueError, match="range"):
            compute()
    with pytest.raises(ValueError, match="range_bits=5"):
        x * np.array([-5.0, 5.0])
    # By following the hint: a closer bound, or parameters of that range.
    y = keys.encrypt([3.0, -2.5], bound=8).drop_to_level(0)
    with pytest.raises(ValueError, match="bounded"):
        y * 5
    np.testing.assert_allclose(keys.decrypt(y.bounded(3.0) * 5), [15, -12.5], atol=0.1)
    wide = he.Context(he.Params.for_depth(1, precision_bits=10, range_bits=5), device="cpu").keygen()
    np.testing.assert_allclose(wide.decrypt(wide.encrypt([3.0, -4.0]) * np.array([-5.0, 5.0])), [-15, -20], atol=0.1)


def test_bounds_are_those_of_results(small: Setup, rng: numpy.random.Generator) -> None:
    _, keys = small
    x, y = rng.uniform(-3, 3, (2, 6)), rng.uniform(0, 2, (2, 6))
    a, b = keys.encrypt(x), keys.encrypt(y)
    for found in (a + b, a - b, a * b, a * -2.5, 1 - b, a.sum(), a.sum(axis=0), b.mean(axis=1), a.var(), a**2,
                  b @ rng.normal(size=6), b @ rng.normal(size=(6, 2)), a[:, 1:3], a[0, 1], -b,
                  b.polynomial([1.0, -2.0, 0.5])):  # fmt: skip
        assert found.bounds is not None
        low, high = found.bounds
        values = keys.decrypt(found)
        assert low - 1e-3 <= values.min() and values.max() <= high + 1e-3
    assert (a * a).bounds == (0.0, a.bounds[0] ** 2)  # type: ignore[index]
    assert keys.encrypt([0.3], bound=2).bounds == (-2, 2)
    with pytest.raises(ValueError, match="bound of 2"):
        keys.encrypt([2.5], bound=2)


def test_integers_do_not_wrap_silently() -> None:
    context = he.Context(he.Params.for_depth(1, scheme="bfv", bits=8), device="cpu")
    keys = context.keygen()
    t = context.params.plain_modulus
    assert t is not None
    x = keys.encrypt([t // 8, -3])
    assert keys.decrypt(x * 3).tolist() == [t // 8 * 3, -9]
    refused: list[Callable[[], object]] = [lambda: x * 9, lambda: x * x, lambda: x * np.array([9, 9])]
    for compute in refused:
        with pytest.raises(ValueError, match="bits="):
            compute()
    wrapped = keys.decrypt(x.bounded() * 9, dtype="uint64")
    np.testing.assert_array_equal(wrapped, np.array([t // 8 * 9 % t, t - 27]))


# Bytes.


def test_bytes_keep_shape_and_bounds(small: Setup, exact: Setup) -> None:
    for context, keys in (small, exact):
        for x in (np.arange(5), np.arange(6).reshape(2, 3), np.array([4]), np.array(3), np.arange(48).reshape(24, 2)):
            ct = keys.encrypt(x)
            data = ct.to_bytes()
            again = he.Ciphertext.from_bytes(context, data)
            assert again.shape == x.shape and again.bounds == ct.bounds and again.to_bytes() == data
            assert pickle.loads(pickle.dumps(ct)).shape == x.shape
            np.testing.assert_allclose(keys.decrypt(again), x, atol=ATOL)
            bare = he.Ciphertext.from_bytes(context, ct.to_bytes(layout=False), shape=x.shape)
            assert bare.bounds is None
            np.testing.assert_allclose(keys.decrypt(bare), x, atol=ATOL)
        row = keys.encrypt(np.arange(6).reshape(2, 3))
        for part in (row[0, 1], row[:, 1], row.sum(axis=1), row.sum(axis=1, keepdims=True), row.T):
            again = he.Ciphertext.from_bytes(context, part.to_bytes())
            assert again.shape == part.shape
            np.testing.assert_allclose(keys.decrypt(again), keys.decrypt(part), atol=ATOL)
    context, keys = small
    assert abs(keys.decrypt(he.Ciphertext.from_bytes(context, keys.encrypt(np.arange(5.0)).to_bytes()).mean()) - 2) < ATOL
    seeded = keys.secret.encrypt_to_bytes(np.arange(5.0))
    assert he.Ciphertext.from_bytes(context, seeded).shape == (5,)


# Comparisons and truth.


def test_comparisons_compute_or_say_what_to_write(small: Setup, exact: Setup) -> None:
    x = small[1].encrypt([1.0, 2.0])
    i = exact[1].encrypt([1, 2])
    for wrong, text in [
        (lambda: x == 1, "isclose"), (lambda: x != x, "isclose"), (lambda: 1.0 == x, "isclose"),
        (lambda: x == np.array([1.0, 2.0]), "isclose"), (lambda: np.array([1.0, 2.0]) != x, "isclose"),
        (lambda: i == 1, "decrypt"), (lambda: i != i, "decrypt"), (lambda: i < 1, "decrypt"),
        (lambda: np.equal(i, 1), "decrypt"), (lambda: 1 in x, "decrypt"), (lambda: x > 4, "Function.step"),
    ]:  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=text):
            wrong()  # type: ignore[no-untyped-call]


def test_encrypted_values_have_no_truth(small: Setup, exact: Setup) -> None:
    for x in (small[1].encrypt([0.5, 0.25]), exact[1].encrypt([1, 0]), small[1].encrypt(0.5)):
        for wrong in (
            lambda x=x: bool(x), lambda x=x: not x, lambda x=x: x and 1, lambda x=x: float(x), lambda x=x: int(x),
            lambda x=x: complex(x), lambda x=x: np.asarray(x), lambda x=x: np.array([x, x]), lambda x=x: any([x]),
        ):  # fmt: skip
            with pytest.raises(TypeError, match="encrypt"):
                wrong()
    with pytest.raises((TypeError, he.DepthError)):
        0 < small[1].encrypt([0.5]) < 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(small[1].encrypt([0.5]))


# NumPy's functions.


def test_functions_of_numpy(small: Setup, ckks: Setup, rng: numpy.random.Generator) -> None:
    _, keys = small
    x, y, rows = rng.normal(size=6), rng.normal(size=6), rng.normal(size=(3, 6))
    a, b, m = keys.encrypt(x), keys.encrypt(y), keys.encrypt(rows)
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (np.dot, (x, y)), (np.inner, (x, y)), (np.vdot, (x, y)), (np.matmul, (x, y)), (np.add, (x, y)),
        (np.subtract, (x, y)), (np.multiply, (x, y)), (np.negative, (x,)), (np.square, (x,)),
        (np.sum, (x,)), (np.mean, (x,)), (np.var, (x,)), (np.average, (x,)),
        (np.sum, (rows,)), (np.mean, (rows,)), (np.var, (rows,)), (np.dot, (rows, y)), (np.transpose, (rows,)),
        (np.ravel, (x,)), (np.copy, (rows,)), (np.add.reduce, (rows,)), (np.concatenate, ((x, y),)),
        (np.stack, ((x, y),)), (np.vstack, ((x, rows),)), (np.hstack, ((x, y),)), (np.roll, (x, 2)),
(np.flip, (x,)), (np.column_stack, ((x, y),)), (np.expand_dims, (x, 0)),
    ]  # fmt: skip

    def encrypted(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(encrypted(of) for of in value)
        known = {id(x): a, id(y): b, id(rows): m}
        return known.get(id(value), value)

    for function, args in calls:
        check(keys, function(*encrypted(args)), function(*args))
    for axis, keep in itertools.product((0, 1, -1, None, (0, 1)), (False, True)):
        for function in (np.sum, np.mean, np.var):
            check(keys, function(m, axis=axis, keepdims=keep), function(rows, axis=axis, keepdims=keep))
    check(ckks[1], np.var(ckks[1].encrypt(x), ddof=1), np.var(x, ddof=1))
    check(keys, np.outer(a, y), np.outer(x, y))
    check(keys, np.dot(x, b), x @ y)
    check(keys, np.dot(rows, b), rows @ y)
    check(keys, np.inner(y, a), x @ y)
    check(keys, np.float64(2) * a, 2 * x)
    check(keys, np.polyval([1.0, 2.0], a), np.polyval([1.0, 2.0], x))
    assert np.shape(m) == (3, 6) and np.ndim(m) == 2 and np.size(m) == 18


def test_functions_without_a_meaning_are_refused_by_name(small: Setup) -> None:
    _, keys = small
    x = keys.encrypt([0.5, 0.25])
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: np.median(x), "numpy.median"), (lambda: np.exp(x), r"x.exp\(interval\)"),
        (lambda: np.sort(x), "numpy.sort"), (lambda: np.where(x, 1, 0), "numpy.where"),
        (lambda: np.linalg.norm(x), "norm"), (lambda: np.cumsum(x), "numpy.cumsum"),
        (lambda: np.add(x, x, out=np.zeros(2)), "y = y \\+ x"), (lambda: np.sum(x, dtype=np.float32), "dtype"),
        (lambda: np.add.accumulate(x), "accumulate"), (lambda: np.std(x), "root"), (lambda: np.divide(1, x), "inverse"),
        (lambda: np.allclose(x, x), "numpy.allclose"), (lambda: np.power(2, x), "power"),
        (lambda: np.einsum("i->", x), "einsum"), (lambda: x.std(), "interval"), (lambda: np.maximum(x, 0), "x.max"),
    ]  # fmt: skip
    for call, text in calls:
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(TypeError, match=r"y = y \+ x"):
        y = np.zeros(2)
        y += x


# Shapes.


def test_names_of_arrays(small: Setup, rng: numpy.random.Generator) -> None:
    _, keys = small
    x = rng.normal(size=(3, 4))
    a = keys.encrypt(x)
    assert (a.size, a.ndim, a.dtype) == (12, 2, np.dtype("float64"))
    check(keys, a.T, x.T)
    check(keys, a.T.sum(axis=0), x.T.sum(axis=0))
    check(keys, a.copy(), x)
    check(keys, a.square(), x**2)
    check(keys, a[1].reshape(4, 1), x[1].reshape(4, 1))
    check(keys, a[1].reshape(-1), x[1])
    check(keys, abs(keys.encrypt([0.5, 2.0])), [0.5, 2.0])
    with pytest.raises(ValueError, match=r"\(3, 4\).*\(4, 3\)"):
        a.reshape(4, 3)
    assert [row.shape for row in a] == [(4,)] * 3
    assert keys.encrypt(np.array(2.0)).shape == () and keys.encrypt([2.0]).shape == (1,)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_indices(small: Setup, rng: numpy.random.Generator, layout: str) -> None:
    _, keys = small
    x, column = rng.normal(size=(4, 8)), rng.normal(size=8)
    a, c = keys.encrypt(x, layout=layout), keys.encrypt(column)
    for index in (
        0, -1, np.int64(2), slice(1, 3), slice(None, None, 2), slice(None, None, -1), [2, 0], np.array([1, 3]),
        np.array([True, False, True, True]), (1, 2), (slice(None), 3), (slice(None), slice(2, 5)), (2, [1, 7, 4]),
        (slice(None), [0, 2]), (Ellipsis, 0), (None, 1), (slice(1, 2), slice(1, 2)),
    ):  # fmt: skip
        check(keys, a[index], x[index])
    places: list[Any] = [
        0, -3, slice(2, 5), slice(None, None, 2), slice(6, 1, -2), [1, 2], [7, 7], None, Ellipsis
    ]  # fmt: skip
    for place in places:
        check(keys, c[place], column[place])
    # A value of one slot broadcasts as a number.
    check(keys, c[2] * c[1:4], column[2] * column[1:4])
    check(keys, c[2] + column, column[2] + column)
    check(keys, c[3] * 2 - 1, column[3] * 2 - 1)
    wrong: list[Any] = [8, [9], slice(3, 3), (0, 0), c, True, np.zeros(3, bool)]
    for index in wrong:
        with pytest.raises((IndexError, TypeError)):
            c[index]


SHAPES = [(), (1,), (4,), (1, 4), (4, 1), (3, 1), (1, 1), (3, 4), (4, 4), (20, 4)]


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_every_pair_of_shapes_broadcasts_as_in_numpy(
    small: Setup, rng: numpy.random.Generator, scheme: str
) -> None:
    if scheme == "ckks":
        keys = small[1]
    else:
        keys = he.Context(he.Params.for_depth(1, scheme="bfv", bits=16), device="cpu").keygen()
    computed = 0
    arrays = [rng.integers(-4, 5, shape) * (1 if scheme == "bfv" else 1.0) for shape in SHAPES]
    encrypted = [keys.encrypt(x) for x in arrays]
    for (x, a), (y, b) in itertools.product(zip(arrays, encrypted), repeat=2):
        try:
            expected = x - y
        except ValueError:
            for left, right in ((a, b), (a, y), (x, b)):
                with pytest.raises(ValueError):
                    left - right
            continue
        for left, right in ((a, b), (a, y), (x, b)):
            try:
                found = left - right
            except ValueError as error:
                assert "axis" in str(error)
                continue
            check(keys, found, expected)
            computed += 1
    assert computed > 120, computed


def test_sums_of_rows_are_no_columns(small: Setup, rng: numpy.random.Generator) -> None:
    """Values that lie over ciphertexts never meet slots in silence."""
    _, keys = small
    x = rng.normal(size=(4, 4))
    a = keys.encrypt(x)
    per_row = a.sum(axis=1)
    with pytest.raises(ValueError, match="keepdims"):
        a - per_row
    check(keys, a - a.sum(axis=1, keepdims=True), x - x.sum(axis=1, keepdims=True))
    check(keys, per_row * np.arange(4.0), x.sum(axis=1) * np.arange(4))
    check(keys, per_row.sum(), x.sum())


# Packing, products and polynomials.


def test_samples_by_features_lie_by_columns(small: Setup, rng: numpy.random.Generator) -> None:
    _, keys = small
    x, w, m = rng.normal(size=(100, 5)), rng.normal(size=5), rng.normal(size=(5, 2))
    a = keys.encrypt(x)
    assert a.batch == 5 and keys.encrypt(x, layout="rows").batch == 100
    check(keys, a @ w, x @ w)
    check(keys, a @ m, x @ m)
    check(keys, np.ones(100) @ a, x.sum(axis=0))
    check(keys, a.mean(axis=0), x.mean(axis=0))
    check(keys, a.var(axis=0), x.var(axis=0))
    check(keys, a - a.mean(axis=0), x - x.mean(axis=0))
    check(keys, a.sum(axis=1), x.sum(axis=1))
    check(keys, a * w + 1, x * w + 1)
    check(keys, a[:, 1] * a[:, 2], x[:, 1] * x[:, 2])
    check(keys, (a @ w) * (a @ w), (x @ w) ** 2, atol=5e-3)
    model = he.LinearRegression(w, 0.5)
    check(keys, model.predict(a), x @ w + 0.5)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_products_with_matrices(small: Setup, exact: Setup, rng: numpy.random.Generator, layout: str) -> None:
    for _, keys in (small, exact):
        x, v = rng.integers(-3, 4, (4, 3)), rng.integers(-3, 4, 3)
        m, n = rng.integers(-3, 4, (3, 2)), rng.integers(-3, 4, (2, 4))
        a, c = keys.encrypt(x, layout=layout), keys.encrypt(v)
        check(keys, c @ m, v @ m)
        check(keys, m.T @ c, m.T @ v)
        check(keys, a @ v, x @ v)
        check(keys, a @ m, x @ m)
        check(keys, n @ a, n @ x)
        check(keys, n[0] @ a, n[0] @ x)
        with pytest.raises(ValueError, match="fit"):
            a @ n
        with pytest.raises((TypeError, ValueError)):
            a @ a


def test_integers_have_polynomials_and_join(exact: Setup) -> None:
    _, keys = exact
    x = np.arange(-3, 4)
    a = keys.encrypt(x)
    check(keys, a.polynomial([1, -2, 0, 3]), 1 - 2 * x + 3 * x**3)
    check(keys, np.concatenate([a, a[:2]]), np.concatenate([x, x[:2]]))
    with pytest.raises(TypeError, match="sum"):
        a.mean()
    with pytest.raises(TypeError, match="integers"):
        a.polynomial([0.5, 1.0])


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_arrays_join(small: Setup, rng: numpy.random.Generator, layout: str) -> None:
    _, keys = small
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    a, b = keys.encrypt(x, layout=layout), keys.encrypt(y, layout=layout)
    for axis in (0, 1, -1):
        check(keys, he.concatenate([a, b], axis), np.concatenate([x, y], axis))
    with pytest.raises(ValueError, match="concatenate"):
        he.concatenate([a, keys.encrypt(np.zeros(3))])


# Key sets, complex numbers, models.


def test_two_key_sets_of_one_context_work(rng: numpy.random.Generator) -> None:
    context = he.Context(he.Params.for_depth(1, precision_bits=10), device="cpu")
    first, second = context.keygen(), context.keygen()
    x = rng.uniform(-1, 1, 4)
    for keys in (first, second):
        a = keys.encrypt(x)
        np.testing.assert_allclose(keys.decrypt(a * a), x * x, atol=0.05)
        np.testing.assert_allclose(keys.decrypt(a.sum()), x.sum(), atol=0.05)
    lost = first.encrypt(x)
    del first
    with pytest.raises(he.KeySetError, match="evaluation_keys"):
        lost * lost


def test_imaginary_parts_are_never_dropped(small: Setup) -> None:
    context, keys = small
    z = np.array([1 + 2j, -0.5j])
    a = keys.encrypt(z)
    assert a.dtype == np.complex128
    for found, expected in [(a, z), (a * 2, z * 2), (keys.encrypt([1.0, 2.0]) * 1j, [1j, 2j]), (a[0], z[0]),
                            (he.Ciphertext.from_bytes(context, a.to_bytes()), z)]:  # fmt: skip
        np.testing.assert_allclose(keys.decrypt(found), expected, atol=ATOL)
    np.testing.assert_allclose(keys.decrypt(keys.encrypt([1.0, 2.0]) + z), z + [1, 2], atol=ATOL)
    with pytest.raises(ValueError, match="complex128"):
        keys.decrypt(a, dtype="float64")
    calls: list[Callable[[], object]] = [lambda: a.var(), lambda: a.sigmoid(), lambda: a > 0, lambda: abs(a)]
    for wrong in calls:
        with pytest.raises(TypeError, match="complex"):
            wrong()


def test_probabilities_stay_between_0_and_1(rng: numpy.random.Generator) -> None:
    model = he.LogisticRegression([2.0, -1.0], 0.25, bound=4)
    keys = he.Context(he.Params.for_depth(model.depth, precision_bits=16), device="cpu").keygen()
    x = np.array([[1.0, -1.0], [-1.0, 1.0], [0.25, 0.0]])
    found = keys.decrypt(model.predict_proba(keys.encrypt(x)))
    assert (found >= 0).all() and (found <= 1).all()
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-(x @ [2.0, -1.0] + 0.25))), atol=2**-8)
    grid = model.sigmoid(np.linspace(-4, 4, 999))
    assert grid.min() >= 0 and grid.max() <= 1
    wide = keys.encrypt(x * 8)
    with pytest.raises(ValueError, match="bound=25"):
        model.predict_proba(wide)
    with pytest.raises(TypeError, match="decision_function"):
        model.predict(wide)  # type: ignore[arg-type]

    class Fitted:
        coef_, intercept_ = np.array([[2.0, -1.0]]), np.array([0.25])

    assert he.LogisticRegression.from_estimator(Fitted, bound=25).bound == 25
    assert model.score_bound([1.0, 1.0]) == 3.25


def test_functions_refuse_values_outside_of_their_interval(small: Setup) -> None:
    _, keys = small
    x = keys.encrypt([3.0, -1.0])
    calls: list[Callable[[], object]] = [
        lambda: x.sigmoid(), lambda: x.tanh(), lambda: x.polynomial([0.0, 1.0], (-1, 1)),
        lambda: x.sqrt((0.5, 4)), lambda: x.max(bits=4),
    ]  # fmt: skip
    for wrong in calls:
        with pytest.raises(ValueError, match="interval|bounded"):
            wrong()


def test_the_version_is_there() -> None:
    assert he.__version__.count(".") == 2


def test_integer_multiples_of_powers_take_no_level(small: Setup, rng: numpy.random.Generator) -> None:
    _, keys = small
    x = rng.uniform(-1, 1, 5)
    found = keys.encrypt(x).polynomial([0, 1, 1, 0, 1])
    assert found.level == 0
    check(keys, found, x + x**2 + x**4)
    check(keys, keys.encrypt(x).polynomial([2.0, -3.0]), 2 - 3 * x)


def test_ctrl_c_ends_encryption_and_key_generation(
    small: Setup, ended_by_a_signal: Callable[[str, Callable[[], object], float], None]
) -> None:
    _, keys = small
    column = np.zeros(4_000_000)
    ended_by_a_signal("encrypt", lambda: keys.encrypt(column), 0.2)
    deep = he.Context(he.Params.for_depth(8), device="cpu")
    ended_by_a_signal("keygen", deep.keygen, 0.2)
