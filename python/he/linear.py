"""Linear models on encrypted inputs, trained in the clear elsewhere.

The models take the attributes ``coef_`` and ``intercept_`` of those of scikit-learn, and have its
methods but for ``fit``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from he._he import Ciphertext, Function

__all__ = ["LinearRegression", "LogisticRegression"]


class _Linear:
    """Coefficients, and the sums of features that they weight."""

    def __init__(self, coef: npt.ArrayLike, intercept: npt.ArrayLike = 0.0) -> None:
        self.coef_: npt.NDArray[np.float64] = np.atleast_1d(np.asarray(coef, dtype=np.float64))
        if self.coef_.ndim > 2 or self.coef_.size == 0:
            raise ValueError(f"coef: shape {self.coef_.shape}, where one or two dimensions are expected")
        outputs = 1 if self.coef_.ndim == 1 else self.coef_.shape[0]
        intercepts = np.asarray(intercept, dtype=np.float64)
        if intercepts.ndim > 1 or intercepts.size not in (1, outputs):
            raise ValueError(f"intercept: shape {intercepts.shape} for {outputs} output(s)")
        if not (np.isfinite(self.coef_).all() and np.isfinite(intercepts).all()):
            raise ValueError("coef and intercept: finite numbers are expected")
        self.intercept_: npt.NDArray[np.float64] = np.broadcast_to(intercepts.reshape(-1), (outputs,))

    @classmethod
    def from_estimator(cls, estimator: Any) -> Any:
        """Take the coefficients of a fitted model of scikit-learn."""
        return cls(estimator.coef_, estimator.intercept_)

    @property
    def n_features_in_(self) -> int:
        """The features of an input."""
        return int(self.coef_.shape[-1])

    def _scores(self, x: Ciphertext) -> Ciphertext:
        shape = x.shape
        if not shape or shape[-1] != self.n_features_in_:
            raise ValueError(f"inputs of shape {shape} for {self.n_features_in_} features")
        if self.coef_.ndim == 1 or self.coef_.shape[0] == 1:
            return x @ self.coef_.reshape(-1) + float(self.intercept_[0])
        return x @ np.ascontiguousarray(self.coef_.T) + self.intercept_


class LinearRegression(_Linear):
    """A linear model, on encrypted rows of features.

    Parameters
    ----------
    coef : array_like
        The coefficients: one per feature, or a row of them per output.
    intercept : array_like
        What is added, per output.

    Examples
    --------
    >>> model = LinearRegression([2.0, -1.0], 0.5)
    >>> encrypted = keys.encrypt([[1.0, 2.0], [3.0, 4.0]])     # two examples
    >>> keys.decrypt(model.predict(encrypted)).round(3)
    array([0.5, 2.5])
    """

    def predict(self, x: Ciphertext) -> Ciphertext:
        """Compute ``x @ coef_.T + intercept_``, which takes one level.

        Parameters
        ----------
        x : Ciphertext
            A row of features, or a batch of rows.

        Returns
        -------
        Ciphertext
            A number per row, or a row of outputs.
        """
        return self._scores(x)


class LogisticRegression(_Linear):
    """A logistic model, on encrypted rows of features.

    Parameters
    ----------
    coef, intercept
        As for `LinearRegression`.
    bound : float
        The greatest magnitude of scores for which probabilities are promised.
    bits : int
        The precision of probabilities.
    """

    def __init__(
        self,
        coef: npt.ArrayLike,
        intercept: npt.ArrayLike = 0.0,
        *,
        bound: float = 8.0,
        bits: int = 8,
    ) -> None:
        super().__init__(coef, intercept)
        self.sigmoid = Function.sigmoid((-bound, bound), bits)

    @property
    def depth(self) -> int:
        """The levels that `predict_proba` takes."""
        return 1 + self.sigmoid.depth

    def decision_function(self, x: Ciphertext) -> Ciphertext:
        """Compute the scores, which take one level."""
        return self._scores(x)

    def predict_proba(self, x: Ciphertext) -> Ciphertext:
        """Compute the probability of the second class, or of each class apart, in `depth` levels.

        Notes
        -----
        Of several classes each has the probability of itself against all others, which are not
        divided by their sum: divide after decryption.
        """
        return self._scores(x).apply(self.sigmoid)

    def predict(self, scores: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Choose classes by decrypted scores or probabilities.

        A comparison under encryption would take many levels; the owner of the key compares for
        nothing.

        Parameters
        ----------
        scores : array_like
            What was decrypted of `decision_function`, a number or a row of them per example.
        """
        found = np.asarray(scores, dtype=np.float64)
        if self.coef_.ndim == 1 or self.coef_.shape[0] == 1:
            return np.asarray(found > 0, dtype=np.int64)
        return np.asarray(np.argmax(found, axis=-1), dtype=np.int64)
