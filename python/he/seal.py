"""Files of SEAL 4: what its clients send, and what they read.

A client of SEAL encrypts, and saves parameters, keys and ciphertexts by the methods ``save`` of
SEAL. A server reads them here, computes, encrypts what it knows by the client's public key, and
writes the results for the client, who decrypts them in SEAL. Files may be compressed by zlib or
zstd.

Examples
--------
>>> import he
>>> from he import seal
>>> params = seal.params(parameters_file.read_bytes())
>>> context = he.Context(params)
>>> query = query_file.read_bytes()
>>> x = seal.ciphertext(context, query)
>>> answer = x * 0.5 + seal.arranged(params, weights)
>>> context.evaluation_keys = seal.evaluation_keys(context, relin=relin_keys, galois=galois_keys)
>>> answer += seal.rotate(x * x, 1)
>>> reply = seal.to_bytes(answer, minor=seal.version(query)[1])
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

import he._he as _he
from he._he import Ciphertext, Context, EvaluationKeys, Params, PublicKey

__all__ = [
    "arranged",
    "ciphertext",
    "evaluation_keys",
    "params",
    "params_to_bytes",
    "public_key",
    "rotate",
    "to_bytes",
    "version",
]

# The start of every object, up to its minor version.
_MAGIC = b"\x5e\xa1\x10\x04"
# Where a ciphertext that is not compressed has objects: itself, and its words, which follow 16
# bytes of header and 73 of fields.
_IN_CIPHERTEXT = (0, 16 + 73)


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


def params_to_bytes(params: Params, *, minor: int = 1) -> bytes:
    """Parameters as a file that SEAL's ``EncryptionParameters`` loads.

    Parameters
    ----------
    params : Params
        Parameters of CKKS or BFV with at most one special prime.
    minor : int
        The minor version of SEAL 4 that the file states, as in `to_bytes`.

    Raises
    ------
    FormatError
        For parameters that SEAL does not have.
    """
    data = _he._seal_params_bytes(params)
    # The scheme and two numbers, then the primes and the plaintext modulus, an object each.
    inside = range(16 + 17, len(data), 24)
    return _of_version(data, (0, *inside), minor)


def public_key(context: Context, data: bytes) -> PublicKey:
    """A public key from a file of SEAL's ``PublicKey``, which encrypts for the client.

    Its key set is not known, as that of ciphertexts of SEAL. As bytes it is twice as long as a key
    of this package.

    Parameters
    ----------
    context : Context
        A context of the client's parameters.
    data : bytes-like
        The file; its second polynomial may be a seed of SEAL's default generator.

    Raises
    ------
    FormatError
        For other bytes, and for keys of other parameters.
    """
    return _he._seal_public_key(context, data)


def evaluation_keys(
    context: Context, *, relin: bytes | None = None, galois: bytes | None = None
) -> EvaluationKeys:
    """Evaluation keys from files of SEAL's ``RelinKeys``, ``GaloisKeys`` or both.

    ``context.evaluation_keys = keys`` makes products of ciphertexts use them. Those of rotations
    are for `rotate`: other functions of this package rotate by other steps.

    Parameters
    ----------
    context : Context
        A context of the client's parameters.
    relin, galois : bytes-like, optional
        The files; second polynomials may be seeds of SEAL's default generator.

    Raises
    ------
    ValueError
        Without a file.
    FormatError
        For other bytes, and for keys of other parameters.
    """
    files = [(relin, False), (galois, True)]
    keys = [_he._seal_keys(context, data, rotations) for data, rotations in files if data is not None]
    if not keys:
        raise ValueError("neither relin nor galois is given")
    return keys[0] if len(keys) == 1 else keys[0].merged(keys[1])


def rotate(ciphertext: Ciphertext, steps: int) -> Ciphertext:
    """A ciphertext whose values are rotated to the left as SEAL's ``rotate_vector`` does it.

    Place i of each row of what SEAL decodes has the value of place i + steps, cyclically.

    Parameters
    ----------
    ciphertext : Ciphertext
        The ciphertext, of `ciphertext` or computed from such ones.
    steps : int
        The steps; to the right if negative. They are composed of steps that have keys.

    Raises
    ------
    KeySetError
        If the context's evaluation keys do not lead there.
    """
    return _he._seal_rotate(ciphertext, steps)


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
    if len(data) < 16 or bytes(data[:3]) != _MAGIC[:3]:
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
    return _of_version(_he._seal_bytes(ciphertext), _IN_CIPHERTEXT, minor)


def _of_version(data: bytes, objects: Iterable[int], minor: int) -> bytes:
    """A file whose objects, which begin at these places, state a minor version."""
    if not 0 <= minor <= 255:
        raise ValueError(f"minor: {minor}, where a version from 0 to 255 is expected")
    changed = bytearray(data)
    for at in objects:
        changed[at + 4] = minor
    return bytes(changed)


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
