"""Linear models on encrypted inputs, trained in the clear elsewhere.

The models take the attributes ``coef_`` and ``intercept_`` of those of scikit-learn, and have its
methods but for ``fit``.
"""

from __future__ import annotations

import math
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
    def from_estimator(cls, estimator: Any, **options: Any) -> Any:
        """Take the coefficients of a fitted model of scikit-learn.

        Parameters
        ----------
        estimator
            The fitted model.
        options
            What else the class takes, such as ``bound``.
        """
        return cls(estimator.coef_, estimator.intercept_, **options)

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
        The greatest magnitude of scores for which probabilities are computed: beyond it, the
        polynomial leaves [0, 1]. `predict_proba` refuses inputs whose public bounds allow for
        greater scores; ``score_bound(bound of inputs)`` says what these reach.
    bits : int
        The precision of probabilities.

    Examples
    --------
    >>> model = LogisticRegression([2.0, -1.0], 0.5, bound=4)
    >>> model.score_bound(1.0)
    3.5
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
        self.bound = float(bound)
        # Half of the error is that of the polynomial, and the other half keeps it inside of [0, 1].
        error = 2.0 ** -(bits + 1)

        def inside(x: float) -> float:
            return 1.0625 * error + (1 - 2.125 * error) / (1 + math.exp(-x))

        self.sigmoid = Function.approximate(inside, (-self.bound, self.bound), bits + 1)

    def score_bound(self, inputs: npt.ArrayLike) -> float:
        """Compute the greatest magnitude of scores of inputs.

        Parameters
        ----------
        inputs : array_like
            The greatest magnitude of inputs, or one for each feature.
        """
        bounds = np.abs(np.asarray(inputs, dtype=np.float64))
        reach = np.abs(np.atleast_2d(self.coef_)) * bounds
        return float((reach.sum(axis=1) + np.abs(self.intercept_)).max())

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
        divided by their sum: divide after decryption. Nothing is refused where bounds of the inputs
        are not known, as of bytes from elsewhere.

        Raises
        ------
        ValueError
            If scores may leave the bound of this model.
        """
        scores = self._scores(x)
        if scores.bounds is not None:
            reach = max(-scores.bounds[0], scores.bounds[1])
            if reach > self.bound * (1 + 1e-9):
                raise ValueError(
                    f"scores may reach {reach:.6g} in magnitude, and probabilities are computed up to "
                    f"bound={self.bound:.6g}: make the model with bound={np.ceil(reach):.0f}, which takes "
                    "more levels, or state what scores reach and apply "
                    "model.decision_function(x).bounded(bound).apply(model.sigmoid)"
                )
        return scores.apply(self.sigmoid)

    def predict(self, scores: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Choose classes by decrypted scores.

        A comparison under encryption would take many levels; the owner of the key compares for
        nothing.

        Parameters
        ----------
        scores : array_like
            What was decrypted of `decision_function`, or of `predict_proba` minus 1/2, a number or a row of them per example.
        """
        if isinstance(scores, Ciphertext):
            raise TypeError(
                "predict takes decrypted scores: model.predict(keys.decrypt(model.decision_function(x)))"
            )
        found = np.asarray(scores, dtype=np.float64)
        if self.coef_.ndim == 1 or self.coef_.shape[0] == 1:
            return np.asarray(found > 0, dtype=np.int64)
        return np.asarray(np.argmax(found, axis=-1), dtype=np.int64)
