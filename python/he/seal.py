"""Files of SEAL 4: what its clients send, and what they read.

A client of SEAL encrypts, and saves parameters and ciphertexts by the methods ``save`` of SEAL. A
server reads them here, computes sums, differences and products with what it knows, and writes the
results for the client, who decrypts them in SEAL. Files may be compressed by zlib or zstd.

Examples
--------
>>> import he
>>> from he import seal
>>> params = seal.params(parameters_file.read_bytes())
>>> context = he.Context(params)
>>> x = seal.ciphertext(context, query_file.read_bytes())
>>> answer = seal.to_bytes(x * 0.5 + seal.arranged(params, weights))
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import he._he as _he
from he._he import Ciphertext, Context, Params

__all__ = ["arranged", "ciphertext", "params", "to_bytes"]


def params(data: bytes, *, scale_bits: float | None = None, insecure: bool = False) -> Params:
    """Parameters from a file of SEAL's ``EncryptionParameters`` of CKKS or BFV.

    Parameters
    ----------
    data : bytes-like
        The file.
    scale_bits : float, optional
        CKKS: log2 of the scale, which all primes after the first are about, by default the width of
        the second.
    insecure : bool
        Accepts parameters below 128 bits of security by the table of 2024, which protect nothing.

    Raises
    ------
    FormatError
        For other bytes.
    ParameterError
        For parameters that this package does not have, and for insecure ones.
    """
    return _he._seal_params(data, scale_bits, insecure)


def ciphertext(context: Context, data: bytes) -> Ciphertext:
    """A ciphertext from a file of SEAL's ``Ciphertext``, as an array of all slots.

    Its values lie in the order of this package's slots: `arranged` brings an array in the clear into
    it. Nothing is known of bounds and of keys. Under BFV it is taken for a fresh encryption.

    Parameters
    ----------
    context : Context
        A context of the client's parameters.
    data : bytes-like
        The file: of two polynomials, the second of which is not a seed.

    Raises
    ------
    FormatError
        For other bytes, and for ciphertexts of other parameters.
    """
    return _he._seal_ciphertext(context, data)


def to_bytes(ciphertext: Ciphertext) -> bytes:
    """A ciphertext as a file that SEAL's ``Ciphertext`` loads.

    Raises
    ------
    FormatError
        For several ciphertexts, and for parameters that SEAL does not have.
    """
    return _he._seal_bytes(ciphertext)


def arranged(params: Params, values: npt.ArrayLike) -> npt.NDArray[np.generic]:
    """An array that SEAL would encode, with its values where they lie in slots of this package.

    Parameters
    ----------
    params : Params
        The parameters.
    values : array_like
        One dimension, at most as many values as there are slots; zeros follow.

    Raises
    ------
    ValueError
        For another shape.
    """
    order = np.asarray(_he._seal_order(params))
    given = np.asarray(values)
    if given.ndim != 1 or given.size > order.size:
        raise ValueError(f"values of shape {given.shape} for {order.size} slots")
    return np.asarray(np.pad(given, (0, order.size - given.size))[order])
