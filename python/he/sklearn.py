"""Models of scikit-learn on encrypted inputs, fitted in the clear.

`wrap` takes a fitted estimator, `Wrapped.compile` a sample of its inputs, and predictions then come
from ciphertexts: linear and logistic models, support vector machines, multi-layer perceptrons,
trees, forests, gradient boosting, and pipelines of them behind scalers. The estimator is converted
by skl2onnx (``pip install skl2onnx``) and read as the guide describes; it is refused, by name, if
it has something that is not computed.

Examples
--------
>>> from he import sklearn
>>> model = sklearn.wrap(LogisticRegression().fit(X_train, y_train)).compile(X_train)
>>> model.simulate(X_test)                  # in the clear, to measure accuracy
>>> keys = model.keygen()                   # of the client
>>> inputs = model.encrypt(keys.public, X_test)
>>> outputs = model.predict(inputs)         # at the server, with keys.evaluation
>>> model.decrypt(keys, outputs)            # labels, as the estimator has them
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from he._he import Ciphertext, Context, Keys, Model, PublicKey, SecretKey

__all__ = ["Encrypted", "Wrapped", "wrap"]

METHODS = ("predict", "predict_proba")


@dataclass(frozen=True)
class Encrypted:
    """Encrypted inputs or outputs: ciphertexts, how many examples they hold, and of what method."""

    ciphertexts: list[Ciphertext]
    examples: int
    method: str | None = None


def wrap(estimator: Any) -> Wrapped:
    """Wrap a fitted estimator, classifier or regressor, for encrypted inputs.

    Parameters
    ----------
    estimator
        The estimator: of scikit-learn, or one that skl2onnx converts alike.
    """
    return Wrapped(estimator)


class Wrapped:
    """A fitted estimator that predicts from encrypted inputs.

    It holds weights and no keys. Whoever may encrypt for it can read its weights.
    """

    def __init__(self, estimator: Any) -> None:
        if not hasattr(estimator, "n_features_in_"):
            raise ValueError(f"{type(estimator).__name__} is not fitted: call its method fit first")
        self.estimator = estimator
        self._method = "predict"
        self._model: Model | None = None

    @property
    def model(self) -> Model:
        """The compiled model, with its parameters, facts and layers."""
        if self._model is None:
            raise ValueError("the model is not compiled: call compile with a sample of inputs first")
        return self._model

    @property
    def _classes(self) -> npt.NDArray[Any] | None:
        found = getattr(self.estimator, "classes_", None)
        return None if found is None else np.asarray(found)

    def _labels(self) -> bool:
        """Whether the network gives labels, which are then places of classes."""
        classes = self._classes
        counted = classes is not None and classes.dtype.kind in "iu"
        return self._method == "predict" and counted and np.array_equal(classes, np.arange(len(classes)))  # type: ignore[arg-type]

    def compile(
        self,
        X: npt.ArrayLike,
        *,
        method: str = "predict",
        bits: int | None = None,
        margin: float | None = None,
        batch: int | None = None,
    ) -> Wrapped:
        """Choose polynomials, levels and parameters for inputs like those of a sample.

        Parameters
        ----------
        X : array_like
            A sample of inputs, a hundred or more, such as those of training: inputs far
            from it are refused.
        method : str
            ``"predict"``, or ``"predict_proba"``, from which labels follow as well.
        bits, margin, batch
            As for `Model.compile`.

        Raises
        ------
        ModelError
            If a part of the estimator is not computed on encrypted inputs.
        ValueError
            If the estimator lacks the method.
        """
        if method not in METHODS or not hasattr(self.estimator, method):
            raise ValueError(f"{type(self.estimator).__name__} has no method {method!r} to compile")
        self._method = method
        sample = np.asarray(X, dtype=np.float64)
        onnx, output = self._converted(sample)
        self._model = Model.compile(
            onnx, sample, bits=bits, margin=margin, output_name=output, batch=batch
        )
        return self

    def _converted(self, sample: npt.NDArray[np.float64]) -> tuple[bytes, str]:
        try:
            skl2onnx = importlib.import_module("skl2onnx")
        except ImportError as error:
            raise ImportError("he.sklearn needs skl2onnx: pip install skl2onnx") from error
        classifies = self._classes is not None
        options = {id(self.estimator): {"zipmap": False}} if classifies else None
        onnx = skl2onnx.to_onnx(self.estimator, sample[:1].astype(np.float32), options=options)
        outputs = [output.name for output in onnx.graph.output]
        return onnx.SerializeToString(), outputs[1 if classifies and not self._labels() else 0]

    def simulate(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """What the compiled method returns for inputs in the clear, computed as the network is read."""
        return self._restored(self.model(np.asarray(X, dtype=np.float64)), self._method)

    def keygen(self, *, device: str = "auto") -> Keys:
        """Make keys with what the model needs."""
        return Context(self.model.params, device=device).keygen(sums=False, needs=[self.model])

    def encrypt(self, key: Keys | SecretKey | PublicKey, X: npt.ArrayLike) -> Encrypted:
        """Encrypt inputs, a row for each.

        Raises
        ------
        ModelError
            If an input leads an activation or a comparison out of its range over the sample. A
            linear model has none: `decrypt` warns of outputs beyond those of the sample.
        """
        inputs = np.asarray(X, dtype=np.float64)
        return Encrypted(self.model.encrypt(key, inputs), len(inputs))

    def predict(self, inputs: Encrypted) -> Encrypted:
        """Predict from encrypted inputs; `decrypt` makes labels or numbers of it."""
        return replace(inputs, ciphertexts=self.model.infer(inputs.ciphertexts), method="predict")

    def predict_proba(self, inputs: Encrypted) -> Encrypted:
        """Compute probabilities of the classes of encrypted inputs.

        Raises
        ------
        ValueError
            If the model was compiled for another method.
        """
        if self._method != "predict_proba":
            raise ValueError('the model is compiled for labels: compile(X, method="predict_proba")')
        return replace(self.predict(inputs), method="predict_proba")

    def decrypt(self, key: Keys | SecretKey, outputs: Encrypted) -> npt.NDArray[Any]:
        """Decrypt predictions, in the shape and with the labels of the estimator."""
        if outputs.method is None:
            raise ValueError("these are inputs: decrypt takes what predict returned")
        found = self.model.decrypt(key, outputs.ciphertexts, count=outputs.examples)
        return self._restored(found, outputs.method)

    def _restored(self, found: npt.NDArray[np.float64], method: str) -> npt.NDArray[Any]:
        classes = self._classes
        if classes is None:
            return found[:, 0] if found.shape[1] == 1 else found
        if method == "predict_proba":
            return found
        places = np.rint(found[:, 0]).astype(int) if self._labels() else self._greatest(found)
        return np.asarray(classes[np.clip(places, 0, len(classes) - 1)])

    @staticmethod
    def _greatest(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)
