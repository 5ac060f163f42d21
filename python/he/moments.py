"""Second moments of encrypted columns: covariances, and least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from he._he import Ciphertext, Keys, SecretKey

__all__ = ["LeastSquares", "cov", "lstsq"]


def cov(m: Ciphertext, *, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Ciphertext:
    """Compute the covariances of variables, as ``numpy.cov`` does, in three levels.

    The variables are centred under encryption, so that means far from zero cost no digits beyond
    those of the numbers themselves. For p variables with a ciphertext each, which are at least 16
    observations in columns, that takes p^2 products of two ciphertexts, each with a sum over the
    slots.

    Parameters
    ----------
    m : Ciphertext
        An array of two dimensions under CKKS.
    rowvar : bool
        Whether the variables are the rows, as in NumPy; otherwise the columns.
    bias : bool
        Whether sums are divided by the number of observations in place of one less.
    ddof : int, optional
        What is subtracted from that number, in place of `bias`.

    Returns
    -------
    Ciphertext
        A symmetric matrix with a row and a column per variable.

    Examples
    --------
    >>> table = keys.encrypt(features)                  # samples by features
    >>> keys.decrypt(he.cov(table, rowvar=False))       # numpy.cov(features, rowvar=False)
    """
    if m.ndim != 2:
        raise ValueError(f"m: {m.ndim} dimension(s), where two are expected; x.var() is that of one variable")
    x = m.T if rowvar else m
    count = x.shape[0]
    freedom = count - (int(not bias) if ddof is None else ddof)
    if freedom <= 0:
        raise ValueError(f"{count} observation(s) leave {freedom} degrees of freedom: at least 1 is expected")
    scale = 1.0 / np.sqrt(freedom)
    # Means times a column have zeros in the slots after the values, as the values themselves.
    means = x.sum(axis=0, keepdims=True) * np.full((count, 1), scale / count)
    centred = x * float(scale) - means
    return centred.T @ centred


@dataclass(frozen=True)
class LeastSquares:
    """The normal equations of a least squares problem, encrypted.

    They are sums over rows: those of several tables add up to those of all rows.

    Attributes
    ----------
    gram : Ciphertext
        ``a.T @ a``.
    moments : Ciphertext
        ``a.T @ b``.
    """

    gram: Ciphertext
    moments: Ciphertext

    def __add__(self, other: LeastSquares) -> LeastSquares:
        """The equations of the rows of both."""
        return LeastSquares(self.gram + other.gram, self.moments + other.moments)

    def solve(self, keys: Keys | SecretKey, *, rcond: float = 1e-5) -> npt.NDArray[np.float64]:
        """Decrypt the equations, and solve them.

        Whoever has the secret key learns both sums, and not only the solution. The error of the
        solution is up to that of the sums times the condition number of ``gram``, which is the
        square of that of ``a``.

        Parameters
        ----------
        keys : Keys or SecretKey
            The owner of the data.
        rcond : float
            The least ratio of the smallest eigenvalue of ``gram`` to the greatest.

        Raises
        ------
        numpy.linalg.LinAlgError
            If columns depend on each other linearly as far as this ratio tells.
        """
        gram = np.asarray(keys.decrypt(self.gram), dtype=np.float64)
        moments = np.asarray(keys.decrypt(self.moments), dtype=np.float64)
        gram = (gram + gram.T) / 2
        values = np.linalg.eigvalsh(gram)
        if values[0] <= rcond * values[-1]:
            raise np.linalg.LinAlgError(
                f"the eigenvalues of a.T @ a are from {values[0]:.3g} to {values[-1]:.3g}: leave out columns that "
                "follow from others, scale columns alike, or give a smaller rcond"
            )
        return np.asarray(np.linalg.solve(gram, moments), dtype=np.float64)


def lstsq(a: Ciphertext, b: Ciphertext) -> LeastSquares:
    """Sum up the normal equations of ``a @ x = b``, in two levels.

    The solution is computed by the owner of the secret key: an encrypted one would take tens of
    levels, and its precision would depend on secret values. A column of ones in `a` makes an
    intercept.

    Parameters
    ----------
    a : Ciphertext
        Rows of features, under CKKS: at least 16 and more than twice as many as there are features,
        or encrypted with ``layout="columns"``.
    b : Ciphertext
        A number for each row.

    Returns
    -------
    LeastSquares
        What `LeastSquares.solve` decrypts.

    Examples
    --------
    >>> fit = he.lstsq(keys.encrypt(features), keys.encrypt(target))
    >>> fit.solve(keys)                 # numpy.linalg.lstsq(features, target)[0]
    """
    if a.ndim != 2 or b.ndim != 1 or a.shape[0] != b.shape[0]:
        raise ValueError(f"shapes {a.shape} and {b.shape}, where (rows, features) and (rows,) are expected")
    return LeastSquares(a.T @ a, a.T @ b)
