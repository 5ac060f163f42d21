"""Functions, comparisons and refreshes, with keys of insecure but fast bootstrapping."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import he

Setup = tuple[he.Context, he.Keys]


@pytest.fixture(scope="module")
def deep() -> Setup:
    """2^10 coefficients, which protect nothing, and refreshes whenever levels run out."""
    context = he.Context(he.Params.bootstrapping("insecure_toy"), device="cpu")
    return context, context.keygen()


def test_refreshes(deep: Setup, rng: np.random.Generator) -> None:
    context, keys = deep
    assert context.params.can_refresh and context.params.security == 0
    x = rng.uniform(-1, 1, 300)
    a = keys.encrypt(x)
    low = a.drop_to_level(4)
    fresh = low.refresh()
    assert fresh.level > low.level and fresh.shape == (300,)
    np.testing.assert_allclose(keys.decrypt(fresh), x, rtol=0, atol=2e-3)
    deeper = a
    for _ in range(20):
        deeper = deeper.polynomial([0.0, 1.5, 0.0, -0.5])
    expected = x
    for _ in range(20):
        expected = 1.5 * expected - 0.5 * expected**3
    np.testing.assert_allclose(keys.decrypt(deeper), expected, rtol=0, atol=0.05)


def test_comparisons(deep: Setup, rng: np.random.Generator) -> None:
    _, keys = deep
    x, y = rng.uniform(-1, 1, 64), rng.uniform(-1, 1, 64)
    apart = np.abs(x - y) > 1 / 32
    a, b = keys.encrypt(x), keys.encrypt(y)
    for found, expected in [(a > b, x > y), (a < b, x < y), (b > a, y > x), (a > y, x > y), (a < y, x < y)]:
        np.testing.assert_allclose(keys.decrypt(found)[apart], expected[apart], rtol=0, atol=0.02)
    far = np.abs(x - 0.25) > 1 / 32
    np.testing.assert_allclose(keys.decrypt(a > 0.25)[far], (x > 0.25)[far], rtol=0, atol=0.02)
    np.testing.assert_allclose(keys.decrypt(0.25 > a)[far], (x < 0.25)[far], rtol=0, atol=0.02)
    greatest = he.Function.max((-1, 1), 7)
    np.testing.assert_allclose(keys.decrypt(a.apply(greatest, b)), np.maximum(x, y), rtol=0, atol=0.04)
    np.testing.assert_allclose(greatest(x, y), np.maximum(x, y), rtol=0, atol=greatest.error * 1.01)


def test_functions(deep: Setup, rng: np.random.Generator) -> None:
    _, keys = deep
    x = rng.uniform(-1, 1, 5)
    a = keys.encrypt(x)
    for function, expected in [
        (he.Function.relu(1.0, 6), np.maximum(x, 0)),
        (he.Function.abs(1.0, 6), np.abs(x)),
        (he.Function.sigmoid((-1, 1), 10), 1 / (1 + np.exp(-x))),
        (he.Function.tanh(), np.tanh(x)),
        (he.Function.exp(), np.exp(x)),
        (he.Function.approximate(np.cos, (-1, 1), 10), np.cos(x)),
    ]:
        np.testing.assert_allclose(function(x), expected, rtol=0, atol=2 * function.error + 1e-9)
        np.testing.assert_allclose(keys.decrypt(a.apply(function)), expected, rtol=0, atol=0.05)
        total = keys.decrypt(a.apply(function).sum())
        assert abs(total - expected.sum()) < 0.2, "padding adds nothing"
        assert function.name in repr(function) and function.depth > 0
    positive = rng.uniform(0.5, 2, 8)
    for function, expected in [
        (he.Function.inverse((0.5, 2), 8), 1 / positive),
        (he.Function.sqrt((0.5, 2), 8), np.sqrt(positive)),
        (he.Function.log((0.5, 2), 8), np.log(positive)),
    ]:
        np.testing.assert_allclose(function(positive), expected, rtol=0, atol=0.02)


def test_methods(deep: Setup, rng: np.random.Generator) -> None:
    _, keys = deep
    x, y = rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6)
    a, b = keys.encrypt(x), keys.encrypt(y)
    far = np.abs(x) > 1 / 16
    for found, expected, atol in [
        (a.relu(bits=6), np.maximum(x, 0), 0.03),
        (a.abs(1.0, 6), np.abs(x), 0.03),
        (a.sigmoid(), 1 / (1 + np.exp(-x)), 0.01),
        (a.tanh(bits=8), np.tanh(x), 0.02),
        (a.exp(interval=(-1, 1)), np.exp(x), 0.02),
        (a.max(b, bits=6), np.maximum(x, y), 0.05),
        (a.min(b, bits=6), np.minimum(x, y), 0.05),
        (a.max(0.25, bits=6), np.maximum(x, 0.25), 0.05),
        (a.min(0.25, bits=6), np.minimum(x, 0.25), 0.05),
        (a.max(y, bits=6), np.maximum(x, y), 0.05),
        (a.min(y.tolist(), bits=6), np.minimum(x, y), 0.05),
    ]:
        assert found.shape == (6,)
        np.testing.assert_allclose(keys.decrypt(found), expected, rtol=0, atol=atol)
    np.testing.assert_allclose(keys.decrypt(a.sign(gap=1 / 16))[far], np.sign(x)[far], rtol=0, atol=0.02)
    z = rng.uniform(0.5, 0.9, 4)
    c = keys.encrypt(z)
    for found, expected in [
        (c.inverse((0.5, 1), 8), 1 / z),
        (c.sqrt((0.5, 1), 8), np.sqrt(z)),
        (c.log((0.5, 1), 8), np.log(z)),
    ]:
        np.testing.assert_allclose(keys.decrypt(found), expected, rtol=0, atol=0.03)


def of_vectors(keys: he.Keys, x: npt.NDArray[np.float64], gap: float) -> None:
    a = keys.encrypt(x)
    for found, expected in [
        (a.max(bits=4), x.max(axis=-1)),
        (a.min(bits=4), x.min(axis=-1)),
        (a.sort(bits=4), np.sort(x, axis=-1)),
        (a.argmax(gap=gap, bits=4), (x == x.max(axis=-1, keepdims=True)).astype(float)),
    ]:
        assert found.shape == expected.shape
        np.testing.assert_allclose(keys.decrypt(found), expected, rtol=0, atol=0.15)


@pytest.mark.parametrize("shape", [(4,), (3,), (2, 3)])
def test_methods_of_vectors(deep: Setup, shape: tuple[int, ...]) -> None:
    """With refreshes: a column and rows, with and without padding."""
    size = int(np.prod(shape))
    x = np.random.default_rng(5).permutation(np.linspace(-0.9, 0.8, size)).reshape(shape)
    of_vectors(deep[1], x, 0.25)


def test_methods_of_vectors_without_refreshes() -> None:
    depth = he.Function.argmax(2, 2, gap=0.5, bits=4).depth
    depth = max(depth, he.Function.sort(2, 2, bits=4).depth, he.Function.maximum(2, 2, bits=4).depth)
    context = he.Context(he.Params.for_depth(depth, precision_bits=16), device="cpu")
    keys = context.keygen()
    of_vectors(keys, np.array([0.75, -0.5]), 0.5)
    of_vectors(keys, np.array([[0.75, -0.5], [0.0, 0.875], [-0.25, -0.875]]), 0.5)


def test_maxima_of_slices_and_with_refreshes(deep: Setup) -> None:
    _, keys = deep
    x = np.array([0.9, -0.5, 0.25, 0.5, -0.9])
    a = keys.encrypt(x)
    part = a[1:4].max(bits=4)
    assert part.shape == ()
    assert abs(keys.decrypt(part) - 0.5) < 0.1
    assert abs(keys.decrypt(part + a[:3].min(bits=4))) < 0.2
    total = a.sum() / 4
    assert abs(keys.decrypt(total.max()) - x.sum() / 4) < 0.01, "of one value, itself"
    with pytest.raises(ValueError, match="single value"):
        total.sort()
    with pytest.raises(ValueError, match="encrypt rows"):
        keys.encrypt(np.zeros((a.context.slots or 0) + 1)).max()
    with pytest.raises(TypeError, match="number or an array"):
        a.max(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="interval"):
        a.sqrt()  # type: ignore[call-arg]


def test_ctrl_c_ends_long_calls(
    deep: Setup,
    rng: np.random.Generator,
    ended_by_a_signal: Callable[[str, Callable[[], object], float], None],
) -> None:
    """A signal whose handler raises ends a call at the next step, and nothing is harmed."""
    _, keys = deep
    x = rng.uniform(-1, 1, 64)
    a = keys.encrypt(x)

    # Once kept, so that the alarm comes in the computation on ciphertexts.
    he.Function.sort(a.context.slots or 0, 64, bits=8)
    ended_by_a_signal("sort", lambda: (a.sort(bits=8), a.sort(bits=8)), 0.1)
    np.testing.assert_allclose(keys.decrypt(a.sigmoid()), 1 / (1 + np.exp(-x)), rtol=0, atol=0.01)


def test_groups_sort() -> None:
    x = np.array([0.75, -0.5, 0.25, 0.0])
    sort = he.Function.sort(4, 4, bits=6)
    np.testing.assert_allclose(sort(x), np.sort(x)[::-1] if sort(x)[0] > 0 else np.sort(x), rtol=0, atol=0.1)
    best = he.Function.argmax(4, 4)
    np.testing.assert_allclose(best(x), [1, 0, 0, 0], rtol=0, atol=0.05)


def test_what_functions_refuse(deep: Setup) -> None:
    _, keys = deep
    a = keys.encrypt([0.5])
    with pytest.raises(TypeError, match="two ciphertexts"):
        a.apply(he.Function.max())
    with pytest.raises(TypeError, match="one ciphertext"):
        a.apply(he.Function.tanh(), a)
    with pytest.raises(ValueError):
        he.Function.relu(1.0, 99)
    with pytest.raises(ZeroDivisionError):
        he.Function.approximate(lambda x: 1 / 0, (-1, 1), 8)
    with pytest.raises(ValueError):
        he.Function.approximate(lambda x: float("nan"), (-1, 1), 8)
    plain = he.Context(he.Params.for_depth(1), device="cpu").keygen(sums=False)
    with pytest.raises(he.DepthError, match="level"):
        plain.encrypt([0.5]) > 0.25
    with pytest.raises(he.ParameterError, match="bootstrapping"):
        plain.encrypt([0.5]).refresh()


def test_linear_models(ckks: Setup, rng: np.random.Generator) -> None:
    _, keys = ckks
    x = rng.normal(size=(6, 5))
    coef, intercept = rng.normal(size=5), 0.25
    rows = keys.encrypt(x)
    regression = he.LinearRegression(coef, intercept)
    np.testing.assert_allclose(keys.decrypt(regression.predict(rows)), x @ coef + intercept, rtol=0, atol=1e-3)
    np.testing.assert_allclose(keys.decrypt(regression.predict(rows[2])), x[2] @ coef + intercept, rtol=0, atol=1e-3)
    classes, offsets = rng.normal(size=(3, 5)), rng.normal(size=3)
    several = he.LogisticRegression(classes, offsets)
    scores = keys.decrypt(several.decision_function(rows))
    np.testing.assert_allclose(scores, x @ classes.T + offsets, rtol=0, atol=1e-3)
    np.testing.assert_array_equal(several.predict(scores), np.argmax(x @ classes.T + offsets, axis=1))
    for wrong in ([], [[[1.0]]], [np.nan]):
        with pytest.raises(ValueError):
            he.LinearRegression(wrong)
    with pytest.raises(ValueError, match="features"):
        he.LinearRegression([1.0, 2.0]).predict(rows)


def test_probabilities(rng: np.random.Generator) -> None:
    model = he.LogisticRegression(rng.normal(size=4), 0.1, bound=8)
    context = he.Context(he.Params.for_depth(model.depth, precision_bits=16), device="cpu")
    keys = context.keygen()
    x = rng.normal(size=(3, 4))
    found = keys.decrypt(model.predict_proba(keys.encrypt(x)))
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-(x @ model.coef_ + 0.1))), rtol=0, atol=0.01)
    np.testing.assert_array_equal(model.predict(found - 0.5), (x @ model.coef_ + 0.1 > 0).astype(int))
