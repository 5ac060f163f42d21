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
>>> query = query_file.read_bytes()
>>> x = seal.ciphertext(context, query)
>>> answer = x * 0.5 + seal.arranged(params, weights)
>>> reply = seal.to_bytes(answer, minor=seal.version(query)[1])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import he._he as _he
from he._he import Ciphertext, Context, Params

__all__ = ["arranged", "ciphertext", "params", "to_bytes", "version"]

# Where a ciphertext that is not compressed has its minor version: in its own header, and in that of
# its words, which follows 16 bytes of header and 73 of fields.
_MINOR_AT = (4, 16 + 73 + 4)


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
        The file: of two polynomials, the second of which may be a seed of SEAL's default
        generator, as symmetric encryption saves it.

    Raises
    ------
    FormatError
        For other bytes, and for ciphertexts of other parameters.
    """
    return _he._seal_ciphertext(context, data)


def version(data: bytes) -> tuple[int, int]:
    """The version of the SEAL that wrote a file: 4, and the minor version that `to_bytes` takes.

    Raises
    ------
    ValueError
        For bytes that are not a file of SEAL.
    """
    if len(data) < 16 or bytes(data[:3]) != b"\x5e\xa1\x10":
        raise ValueError("these bytes are not a file of SEAL")
    return data[3], data[4]


def to_bytes(ciphertext: Ciphertext, *, minor: int = 1) -> bytes:
    """A ciphertext as a file that SEAL's ``Ciphertext`` loads.

    Parameters
    ----------
    ciphertext : Ciphertext
        The ciphertext.
    minor : int
        The minor version of SEAL 4 that the file states, by default that of SEAL 4.1. Some versions
        load files of their own minor version alone: take that of the client's, ``version(query)``.

    Raises
    ------
    FormatError
        For several ciphertexts, and for parameters that SEAL does not have.
    """
    if not 0 <= minor <= 255:
        raise ValueError(f"minor: {minor}, where a version from 0 to 255 is expected")
    data = bytearray(_he._seal_bytes(ciphertext))
    for at in _MINOR_AT:
        data[at] = minor
    return bytes(data)


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
