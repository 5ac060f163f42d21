"""TenSEAL's names and meanings over this package: ``import he.tenseal as ts``.

Contexts, vectors and tensors take the arguments that they take there, and programs that use them
run unchanged. The guide has a page on what differs. Bytes are those of this package.

Examples
--------
>>> import he.tenseal as ts
>>> context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40, 60])
>>> context.global_scale = 2**40
>>> context.generate_galois_keys()
>>> x = ts.ckks_vector(context, [1.0, 2.0, 3.0])
>>> [round(value, 3) for value in x.dot([0.5, 0.5, 0.5]).decrypt()]
[3.0]
"""

from __future__ import annotations

from typing import Any

from he._he import __version__
from he.tenseal.enc_context import ENCRYPTION_TYPE, Context
from he.tenseal.encodings import enc_matmul_encoding, im2col_encoding
from he.tenseal.parameters import SCHEME_TYPE, allow_insecure
from he.tenseal.plaintensor import PlainTensor
from he.tenseal.tensors import BFVTensor, CKKSTensor
from he.tenseal.vectors import BFVVector, CKKSVector

__all__ = [
    "ENCRYPTION_TYPE",
    "SCHEME_TYPE",
    "BFVTensor",
    "BFVVector",
    "CKKSTensor",
    "CKKSVector",
    "Context",
    "PlainTensor",
    "__version__",
    "allow_insecure",
    "bfv_tensor",
    "bfv_tensor_from",
    "bfv_vector",
    "bfv_vector_from",
    "ckks_tensor",
    "ckks_tensor_from",
    "ckks_vector",
    "ckks_vector_from",
    "context",
    "context_from",
    "enc_matmul_encoding",
    "im2col_encoding",
    "lazy_bfv_tensor_from",
    "lazy_bfv_vector_from",
    "lazy_ckks_tensor_from",
    "lazy_ckks_vector_from",
    "plain_tensor",
    "plain_tensor_from",
]


def context(*args: Any, **kwargs: Any) -> Context:
    """A new `Context`."""
    return Context(*args, **kwargs)


def context_from(data: bytes, n_threads: int | None = None, *, insecure: bool = False) -> Context:
    """A `Context` from its bytes."""
    return Context.load(data, n_threads, insecure=insecure)


def plain_tensor(*args: Any, **kwargs: Any) -> PlainTensor:
    """A new `PlainTensor`."""
    return PlainTensor(*args, **kwargs)


def plain_tensor_from(data: bytes, dtype: str = "float") -> PlainTensor:
    """A `PlainTensor` from its bytes."""
    return PlainTensor.load(data, dtype)


def bfv_vector(*args: Any, **kwargs: Any) -> BFVVector:
    """A new `BFVVector`."""
    return BFVVector(*args, **kwargs)


def bfv_vector_from(context: Context, data: bytes) -> BFVVector:
    """A `BFVVector` from its bytes."""
    return BFVVector.load(context, data)


def lazy_bfv_vector_from(data: bytes) -> BFVVector:
    """A `BFVVector` from its bytes, which waits for its context."""
    return BFVVector.lazy_load(data)


def ckks_vector(*args: Any, **kwargs: Any) -> CKKSVector:
    """A new `CKKSVector`."""
    return CKKSVector(*args, **kwargs)


def ckks_vector_from(context: Context, data: bytes) -> CKKSVector:
    """A `CKKSVector` from its bytes."""
    return CKKSVector.load(context, data)


def lazy_ckks_vector_from(data: bytes) -> CKKSVector:
    """A `CKKSVector` from its bytes, which waits for its context."""
    return CKKSVector.lazy_load(data)


def ckks_tensor(*args: Any, **kwargs: Any) -> CKKSTensor:
    """A new `CKKSTensor`."""
    return CKKSTensor(*args, **kwargs)


def ckks_tensor_from(context: Context, data: bytes) -> CKKSTensor:
    """A `CKKSTensor` from its bytes."""
    return CKKSTensor.load(context, data)


def lazy_ckks_tensor_from(data: bytes) -> CKKSTensor:
    """A `CKKSTensor` from its bytes, which waits for its context."""
    return CKKSTensor.lazy_load(data)


def bfv_tensor(*args: Any, **kwargs: Any) -> BFVTensor:
    """A new `BFVTensor`."""
    return BFVTensor(*args, **kwargs)


def bfv_tensor_from(context: Context, data: bytes) -> BFVTensor:
    """A `BFVTensor` from its bytes."""
    return BFVTensor.load(context, data)


def lazy_bfv_tensor_from(data: bytes) -> BFVTensor:
    """A `BFVTensor` from its bytes, which waits for its context."""
    return BFVTensor.lazy_load(data)
