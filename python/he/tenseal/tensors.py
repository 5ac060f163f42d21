"""Encrypted tensors in any number of dimensions, whose values lie in a ciphertext each.

With ``batch=True`` the first axis lies in the slots instead: there is a ciphertext for each place
of the others, and an operation takes the same time for one example and for as many as there are
slots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import he._he as _he
from he.tenseal.enc_context import Context, SecretKey
from he.tenseal.encrypted import EncryptedTensor, Values, encrypt, read_cipher
from he.tenseal.envelope import field, lengths, opened, sealed
from he.tenseal.errors import BytesError, OperandError
from he.tenseal.integers import centred
from he.tenseal.parameters import SCHEME_TYPE
from he.tenseal.plaintensor import PlainTensor

__all__ = ["BFVTensor", "CKKSTensor"]

Tensor = TypeVar("Tensor", bound="_Tensor")
Places = npt.NDArray[np.int64]


class _Tensor(EncryptedTensor):
    """What tensors of both schemes have in common: a batch of rows, one for each place."""

    _shape: list[int]
    _batch: int | None

    def _encrypt_tensor(self, tensor: Any, batch: bool) -> None:
        values = self._array(tensor)
        if values.size == 0:
            raise OperandError("Attempting to encrypt an empty tensor")
        if batch and values.ndim == 0:
            raise OperandError("a tensor without axes has no batch")
        self._batch = values.shape[0] if batch else None
        self._shape = list(values.shape[1:] if batch else values.shape)
        self._cipher = self._encrypted(values)

    def _encrypted(self, values: Values) -> _he.Ciphertext:
        return encrypt(self.context(), self._rows(values), "rows")

    def _rows(self, values: Values) -> Values:
        """Values of the whole shape, with a row for each place."""
        rows = values.reshape(-1, 1) if self._batch is None else values.reshape(self._batch, -1).T
        return np.ascontiguousarray(rows)

    def _constant(self, value: float) -> Values:
        batch = [] if self._batch is None else [self._batch]
        dtype = np.float64 if self.scheme is SCHEME_TYPE.CKKS else np.int64
        return np.full(batch + self._shape, value, dtype=dtype)

    def _with(self: Tensor, cipher: _he.Ciphertext, shape: list[int]) -> Tensor:
        made = self.copy()
        made._cipher, made._shape = cipher, [int(length) for length in shape]
        return made

    @property
    def shape(self) -> list[int]:
        """The lengths of the axes, without that of the batch."""
        self.context()
        return list(self._shape)

    def size(self) -> int:
        """The length of the first axis."""
        return self.shape[0] if self._shape else 0

    def __len__(self) -> int:
        return self.size()

    def _places(self) -> Places:
        """The places in the batch of rows, in the shape of the tensor."""
        return np.arange(math.prod(self._shape), dtype=np.int64).reshape(self._shape)

    def _picked(self, places: Places) -> _he.Ciphertext:
        """The rows at places."""
        flat, count = places.ravel(), math.prod(self._shape)
        if flat.size == count and bool((flat == np.arange(count)).all()):
            return self._cipher
        return self._cipher[flat.tolist()]

    def _moved(self: Tensor, places: Places) -> Tensor:
        """The values at places, in the shape of these."""
        self.context()
        with self._translated():
            return self._made(self._picked(places), list(places.shape), self._pending)

    def _met(self, other: object) -> tuple[_he.Ciphertext, Any, list[int]]:
        number = self._number(other)
        if number is not None:
            return self._cipher, number, self.shape
        if isinstance(other, type(self)):
            left, right = np.broadcast_arrays(self._places(), other._places())
            return self._picked(left), other._picked(right), list(left.shape)
        values = self._array(other)
        if self._batch is not None and list(values.shape) == [self._batch, *self._shape]:
            return self._cipher, self._rows(values), self.shape
        places, spread = np.broadcast_arrays(self._places(), values)
        return self._picked(places), np.ascontiguousarray(spread.reshape(-1, 1)), list(places.shape)

    def decrypt(self, secret_key: SecretKey | None = None) -> PlainTensor:
        """The values, by the secret key of the context or by a given one.

        Raises
        ------
        ValueError
            If there is no secret key, and for one of another key set.
        """
        values = self._decrypted(secret_key)
        if self._batch is None:
            array = values[:, 0].reshape(self._shape)
        else:
            array = values.T.reshape([self._batch, *self._shape])
        return PlainTensor(array, dtype="float" if self.scheme is SCHEME_TYPE.CKKS else "int")

    # Axes.

    def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
        """The values in another shape."""
        return self._moved(self._places().reshape(shape))

    def broadcast(self: Tensor, shape: Sequence[int]) -> Tensor:
        """The values repeated along new axes and those of length one."""
        return self._moved(np.broadcast_to(self._places(), tuple(shape)))

    def transpose(self: Tensor) -> Tensor:
        """The axes in the opposite order."""
        return self._moved(self._places().T)

    def __getitem__(self: Tensor, item: Any) -> Tensor:
        """Some of the values: an index keeps its axis, of length one."""
        items = item if isinstance(item, tuple) else (item,)
        slices = [slice(at, at + 1) if isinstance(at, int) and at >= 0 else at for at in items]
        if not all(isinstance(at, slice) for at in slices):
            raise OperandError("indices from 0 on and slices are expected")
        places = self._places()[tuple(slices)]
        if places.size == 0:
            raise OperandError(f"indices that pick nothing of the shape {self._shape}")
        return self._moved(places)

    def reshape_(self: Tensor, shape: Sequence[int]) -> Tensor:
        """`reshape` in place."""
        return self._become(self.reshape(shape))

    def broadcast_(self: Tensor, shape: Sequence[int]) -> Tensor:
        """`broadcast` in place."""
        return self._become(self.broadcast(shape))

    def transpose_(self: Tensor) -> Tensor:
        """`transpose` in place."""
        return self._become(self.transpose())

    # Sums and products of matrices.

    def sum(self: Tensor, axis: int = 0) -> Tensor:
        """The sum along an axis; with a batch, axis 0 is that of the batch."""
        batched = self._batch is not None
        if not 0 <= axis < len(self.shape) + batched:
            raise OperandError(f"invalid axis {axis} of a tensor of shape {self._shape}")
        if batched and axis == 0:
            return self.sum_batch()
        parts = np.moveaxis(self._places(), axis - batched, 0)
        with self._translated():
            total = self._picked(parts[0])
            for part in parts[1:]:
                total = total + self._picked(part)
            return self._made(total, list(parts.shape[1:]), self._pending)

    def sum_batch(self: Tensor) -> Tensor:
        """The sum over the batch.

        Raises
        ------
        ValueError
            For a tensor without a batch, and where keys of rotations are missing.
        """
        if self._batch is None:
            raise OperandError("unsupported operation: the tensor has no batch")
        self.context()
        with self._translated():
            total = self._made(self._cipher.sum(1, keepdims=True), self._shape, self._pending)
        total._batch = None
        return total

    def sum_batch_(self: Tensor) -> Tensor:
        """`sum_batch` in place."""
        return self._become(self.sum_batch())

    def mm(self: Tensor, other: object) -> Tensor:
        """The product with a matrix, encrypted or in the clear.

        Raises
        ------
        ValueError
            For shapes that do not fit together, and where levels or keys are missing.
        """
        right = other if isinstance(other, type(self)) else self._array(other)
        if len(self.shape) != 2:
            raise OperandError("this tensor isn't a matrix")
        if len(right.shape) != 2:
            raise OperandError("operand tensor isn't a matrix")
        return self.dot(right)

    def dot(self: Tensor, other: object) -> Tensor:
        """The inner product with a vector, or the product with a matrix, encrypted or in the clear.

        Raises
        ------
        ValueError
            For shapes that do not fit together, and where levels or keys are missing.
        """
        right = other if isinstance(other, type(self)) else self._array(other)
        left_shape, right_shape = list(self.shape), list(right.shape)
        if not (1 <= len(left_shape) <= 2 and 1 <= len(right_shape) <= 2):
            raise OperandError("don't support dot operations of more than 2 dimensions")
        if left_shape[-1] != right_shape[0]:
            raise OperandError(f"can't perform dot: dimension mismatch of {left_shape} and {right_shape}")
        pending = self._product(other)
        if isinstance(right, _Tensor):
            self.context().evaluation_keys(relinearisation=True)
        with self._translated():
            if isinstance(right, _Tensor):
                cipher = self._dot_encrypted(right)
            else:
                cipher = self._dot_plain(right.reshape(right_shape[0], -1))
            return self._made(cipher, left_shape[:-1] + right_shape[1:], pending)

    def _dot_encrypted(self, other: _Tensor) -> _he.Ciphertext:
        """The sum of outer products of columns and rows."""
        inner = self._shape[-1]
        left, right = self._places().reshape(-1, inner), other._places().reshape(inner, -1)
        total: _he.Ciphertext | None = None
        for column, row in zip(left.T, right, strict=True):
            across, down = np.broadcast_arrays(column[:, None], row[None, :])
            part = self._picked(across) * other._picked(down)
            total = part if total is None else total + part
        if total is None:
            raise OperandError("a product of tensors without values")
        return total

    def _dot_plain(self, matrix: Values) -> _he.Ciphertext:
        """The product of each row of the tensor with a matrix in the clear."""
        rows = self._places().reshape(-1, self._shape[-1])
        columns = np.ascontiguousarray(matrix.T)
        return _he.concatenate([self._picked(row).__rmatmul__(columns) for row in rows])

    def mm_(self: Tensor, other: object) -> Tensor:
        """`mm` in place."""
        return self._become(self.mm(other))

    def __matmul__(self: Tensor, other: object) -> Tensor:
        return self.mm(other)

    def __imatmul__(self: Tensor, other: object) -> Tensor:
        return self.mm_(other)

    # Bytes.

    def _bytes(self) -> bytes:
        description = {
            "shape": self._shape,
            "batch": self._batch,
            "scale": self._scale,
            "pending": self._pending,
        }
        with self._translated():
            return sealed(type(self).__name__, description, [self._cipher.to_bytes()])

    @classmethod
    def _read(cls: type[Tensor], context: Context, data: bytes) -> Tensor:
        description, parts = opened(cls.__name__, data)
        if len(parts) != 1:
            raise BytesError(f"failed to parse: {len(parts)} parts of a tensor, where 1 is expected")
        tensor = cls.__new__(cls)
        EncryptedTensor.__init__(tensor, context, field(description, "scale", float))
        tensor._pending = float(field(description, "pending", float))
        tensor._shape = lengths(description, "shape")
        tensor._batch = field(description, "batch", int, optional=True)
        tensor._cipher = read_cipher(context, parts[0], cls.scheme)
        expected = (math.prod(tensor._shape), 1 if tensor._batch is None else tensor._batch)
        if tensor._cipher.shape != expected:
            raise BytesError(f"failed to parse: {tensor._cipher.shape}, where {expected} is expected")
        return tensor


class CKKSTensor(_Tensor):
    """A tensor of floats.

    Parameters
    ----------
    context : Context
        A context of CKKS.
    tensor : array_like or PlainTensor
        The values.
    scale : float, optional
        What `scale` says; by default the global scale of the context. The scale of ciphertexts is
        that of the primes of the context.
    batch : bool
        Whether the first axis lies in the slots.
    """

    scheme = SCHEME_TYPE.CKKS

    def __init__(self, context: Context, tensor: Any, scale: float | None = None, batch: bool = False) -> None:
        super().__init__(context, scale)
        self._encrypt_tensor(tensor, batch)

    def scale(self) -> float:
        """The scale that was stated."""
        self.context()
        return self._scale


class BFVTensor(_Tensor):
    """A tensor of integers modulo t, from -t / 2 to t / 2.

    Parameters
    ----------
    context : Context
        A context of BFV.
    tensor : array_like or PlainTensor
        The values.
    batch : bool
        Whether the first axis lies in the slots.
    """

    scheme = SCHEME_TYPE.BFV

    def __init__(self, context: Context, tensor: Any, batch: bool = False) -> None:
        super().__init__(context, None)
        self._encrypt_tensor(tensor, batch)

    def _array(self, other: object) -> Values:
        values = super()._array(other)
        return centred(values, self.context().he.params)
