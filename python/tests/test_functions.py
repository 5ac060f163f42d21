"""Functions, comparisons and refreshes, with keys of insecure but fast bootstrapping."""

from __future__ import annotations

import numpy as np
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
