"""Homomorphic encryption over NumPy arrays.

Encrypted arrays of the schemes CKKS, BFV and BGV have the operators of NumPy; integers of TFHE have
those of Python's integers, and sort; columns of machine integers under CKKS with bootstrapping have
a dtype; files, images, tables and neural networks are computed on
while they stay encrypted. Everything runs on CPUs and on NVIDIA GPUs, with the same bytes.

Examples
--------
>>> import he, numpy as np
>>> context = he.Context(he.Params.for_depth(2), device="cpu")
>>> keys = context.keygen()
>>> x = keys.encrypt(np.array([0.5, -1.25, 3.0]))
>>> keys.decrypt((x * x).mean()).round(3)
array(3.604)
"""

from he import files, intersect, linear, lookup, moments, search
from he._he import (
    AesKey,
    BootstrapKeys,
    Ciphertext,
    Context,
    DecryptionError,
    DepthError,
    DeviceError,
    EncryptedArray,
    EncryptedBool,
    EncryptedInt,
    EncryptedSensorKey,
    EncryptedUint,
    Error,
    EvaluationKeys,
    ForkError,
    FormatError,
    Function,
    InternalError,
    Keys,
    KeySetError,
    Model,
    ModelError,
    ParameterError,
    Params,
    PublicKey,
    SecretKey,
    SensorKey,
    Transcipher,
    TranscipherKey,
    __version__,
    concatenate,
    devices,
    stack,
    where,
)
from he.files import EncryptedFile
from he.linear import LinearRegression, LogisticRegression
from he.moments import LeastSquares, cov, lstsq
from he.party import Party
from he.search import Index

__all__ = [
    "AesKey",
    "BootstrapKeys",
    "Ciphertext",
    "Context",
    "DecryptionError",
    "DepthError",
    "DeviceError",
    "EncryptedArray",
    "EncryptedBool",
    "EncryptedFile",
    "EncryptedInt",
    "EncryptedSensorKey",
    "EncryptedUint",
    "Error",
    "EvaluationKeys",
    "ForkError",
    "FormatError",
    "Function",
    "Index",
    "InternalError",
    "KeySetError",
    "Keys",
    "LeastSquares",
    "LinearRegression",
    "LogisticRegression",
    "Model",
    "ModelError",
    "ParameterError",
    "Params",
    "Party",
    "PublicKey",
    "SecretKey",
    "SensorKey",
    "Transcipher",
    "TranscipherKey",
    "__version__",
    "concatenate",
    "cov",
    "devices",
    "files",
    "intersect",
    "linear",
    "lookup",
    "lstsq",
    "moments",
    "search",
    "stack",
    "where",
]
