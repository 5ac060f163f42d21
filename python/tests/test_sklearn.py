"""Models of scikit-learn on encrypted inputs, beside scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import he
from he import sklearn as encrypted

pytest.importorskip("sklearn")
pytest.importorskip("skl2onnx")

import sklearn.linear_model as linear  # type: ignore[import-untyped, import-not-found, unused-ignore]
from sklearn.neural_network import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    MLPClassifier,
)
from sklearn.pipeline import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    make_pipeline,
)
from sklearn.preprocessing import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    StandardScaler,
)
from sklearn.svm import SVR  # type: ignore[import-untyped, import-not-found, unused-ignore]
from sklearn.tree import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    DecisionTreeClassifier,
)

MODELS = Path(__file__).parents[2] / "models"


def table(name: str) -> npt.NDArray[np.float64]:
    return np.loadtxt(MODELS / f"{name}.csv", delimiter=",", skiprows=1)


@pytest.fixture(scope="module")
def wine() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Wines for fitting with their labels, of which the test set of models/ has some, and others."""
    inputs, labels = table("wine_test"), table("wine_test_labels").astype(int)
    return inputs[8:], labels[8:], inputs[:8]


def executed(model: encrypted.Wrapped, X: npt.ArrayLike, method: str = "predict") -> npt.NDArray[Any]:
    keys = model.keygen(device="cpu")
    outputs = getattr(model, method)(model.encrypt(keys.public, X))
    return model.decrypt(keys, outputs)


def test_classifiers(wine: Any) -> None:
    X, y, some = wine
    names = np.array(["barolo", "grignolino", "barbera"])
    logistic = make_pipeline(StandardScaler(), linear.LogisticRegression())
    for labels in (y, names[y]):
        fitted = logistic.fit(X, labels)
        model = encrypted.wrap(fitted).compile(X)
        assert model.simulate(X).tolist() == fitted.predict(X).tolist()
        assert executed(model, some).tolist() == fitted.predict(some).tolist()
    model = encrypted.wrap(fitted).compile(X, method="predict_proba")
    found = executed(model, some, "predict_proba")
    np.testing.assert_allclose(found, fitted.predict_proba(some), atol=1e-2)
    assert executed(model, some).tolist() == fitted.predict(some).tolist()


def test_two_classes(wine: Any) -> None:
    """A sigmoid is computed; labels other than 0 and 1 come back as they are."""
    X, y, some = wine
    fitted = make_pipeline(StandardScaler(), linear.LogisticRegression()).fit(X, np.where(y == 1, 7, -3))
    model = encrypted.wrap(fitted).compile(X, method="predict_proba")
    inputs = np.concatenate([some, X[:4]])
    found = executed(model, inputs, "predict_proba")
    np.testing.assert_allclose(found, fitted.predict_proba(inputs), atol=1e-2)
    assert encrypted.wrap(fitted).compile(X).simulate(inputs).tolist() == fitted.predict(inputs).tolist()


def test_a_perceptron(wine: Any) -> None:
    X, y, some = wine
    network = MLPClassifier((8,), activation="tanh", max_iter=2000, random_state=1)
    fitted = make_pipeline(StandardScaler(), network).fit(X, y)
    model = encrypted.wrap(fitted).compile(X)
    assert executed(model, X[:8]).tolist() == fitted.predict(X[:8]).tolist()


def test_regressors(wine: Any) -> None:
    X, _, _ = wine
    for estimator in (linear.Ridge(), SVR(kernel="poly", degree=2)):
        fitted = make_pipeline(StandardScaler(), estimator).fit(X[:, 1:], X[:, 0])
        model = encrypted.wrap(fitted).compile(X[:, 1:])
        expected = fitted.predict(X[:8, 1:])
        np.testing.assert_allclose(model.simulate(X[:8, 1:]), expected, rtol=1e-4)
        found = executed(model, X[:8, 1:])
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=2e-2)


def test_a_tree_is_simulated(wine: Any) -> None:
    X, y, _ = wine
    fitted = DecisionTreeClassifier(max_depth=3, random_state=1).fit(X, y)
    model = encrypted.wrap(fitted).compile(X, bits=8)
    assert model.simulate(X).tolist() == fitted.predict(X).tolist()


def test_refusals(wine: Any) -> None:
    X, y, some = wine
    with pytest.raises(ValueError, match="is not fitted"):
        encrypted.wrap(linear.LogisticRegression())
    model = encrypted.wrap(linear.LinearRegression().fit(X, y))
    with pytest.raises(ValueError, match="not compiled"):
        model.simulate(X)
    with pytest.raises(ValueError, match="no method 'predict_proba'"):
        model.compile(X, method="predict_proba")
    keys = model.compile(X).keygen(device="cpu")
    inputs = model.encrypt(keys, X[:2])
    with pytest.raises(ValueError, match="these are inputs"):
        model.decrypt(keys, inputs)
    with pytest.raises(ValueError, match="compiled for labels"):
        model.predict_proba(inputs)
    with pytest.warns(UserWarning, match="beyond those of the calibration"):
        model.decrypt(keys, model.predict(model.encrypt(keys, some * 1e3)))
    model = encrypted.wrap(linear.LogisticRegression(max_iter=5000).fit(X, y == 1))
    model.compile(X, method="predict_proba")
    keys = model.keygen(device="cpu")
    with pytest.raises(he.ModelError):
        model.encrypt(keys, some * 1e6)
