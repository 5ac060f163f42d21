"""Encrypted vectors, whose values lie in the slots of as few ciphertexts as they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

import he._he as _he
from he.tenseal.enc_context import Context, SecretKey
from he.tenseal.encrypted import EncryptedTensor, Values, encrypt, read_cipher
from he.tenseal.envelope import field, opened, sealed
from he.tenseal.errors import BytesError, OperandError
from he.tenseal.integers import centred
from he.tenseal.parameters import SCHEME_TYPE
from he.tenseal.plaintensor import PlainTensor

__all__ = ["BFVVector", "CKKSVector"]

Vector = TypeVar("Vector", bound="_Vector")


class _Vector(EncryptedTensor):
    """What vectors of both schemes have in common."""

    def __init__(self, context: Context, vector: Any, scale: float | None = None) -> None:
        super().__init__(context, scale)
        values = self._array(vector)
        if values.ndim != 1:
            raise OperandError("can only encrypt a vector")
        if values.size == 0:
            raise OperandError("Attempting to encrypt an empty vector")
        self._cipher = self._encrypted(values)

    def _encrypted(self, values: Values) -> _he.Ciphertext:
        return encrypt(self.context(), values)

    def _constant(self, value: float) -> Values:
        dtype = np.float64 if self.scheme is SCHEME_TYPE.CKKS else np.int64
        return np.full(self.size(), value, dtype=dtype)

    def _with(self: Vector, cipher: _he.Ciphertext, shape: list[int]) -> Vector:
        made = self.copy()
        made._cipher = cipher
        return made

    def size(self) -> int:
        """The number of values."""
        self.context()
        return self._cipher.size

    @property
    def shape(self) -> list[int]:
        """The number of values, as the shape of one axis."""
        return [self.size()]

    def __len__(self) -> int:
        return self.size()

    def _scalar(self) -> _he.Ciphertext:
        """The only value of a vector of one, for an operation with all values of another."""
        return self._cipher.sum() if self._cipher.ndim else self._cipher

    def _column(self) -> _he.Ciphertext:
        """The values with an axis, also where there is one value."""
        return self._cipher if self._cipher.ndim else self._cipher.reshape(1)

    def _met(self, other: object) -> tuple[_he.Ciphertext, Any, list[int]]:
        number = self._number(other)
        if number is not None:
            return self._cipher, number, self.shape
        if isinstance(other, type(self)):
            return self._met_vector(other)
        values = self._plain_vector(other)
        if values.size != self.size():
            raise OperandError(f"vectors of different sizes: {self.size()} and {values.size}")
        return self._column(), values, self.shape

    def _met_vector(self, other: _Vector) -> tuple[_he.Ciphertext, Any, list[int]]:
        sizes = (self.size(), other.size())
        if sizes[0] == sizes[1]:
            return self._column(), other._column(), self.shape
        if 1 not in sizes:
            raise OperandError(f"vectors of different sizes: {sizes[0]} and {sizes[1]}")
        left = self._scalar() if sizes[0] == 1 else self._cipher
        right = other._scalar() if sizes[1] == 1 else other._cipher
        return left, right, [max(sizes)]

    def _plain_vector(self, other: object) -> Values:
        values = self._array(other)
        if values.ndim != 1:
            raise OperandError("can only operate with a vector")
        return values

    def decrypt(self, secret_key: SecretKey | None = None) -> list[Any]:
        """The values, by the secret key of the context or by a given one.

        Raises
        ------
        ValueError
            If there is no secret key, and for one of another key set.
        """
        return list(np.atleast_1d(self._decrypted(secret_key)).tolist())

    def sum(self: Vector, axis: int = 0) -> Vector:
        """The sum of all values, as a vector of one."""
        if axis != 0:
            raise OperandError(f"invalid axis {axis} of a vector")
        self.context()
        with self._translated():
            return self._made(self._scalar(), [1], self._pending)

    def dot(self: Vector, other: object) -> Vector:
        """The inner product with a vector, encrypted or in the clear, as a vector of one."""
        pending = self._product(other)
        if isinstance(other, type(self)):
            if other.size() != self.size():
                return self.mul(other).sum()
            right: Any = other._column()
        else:
            right = self._plain_vector(other)
            if right.size != self.size():
                raise OperandError(f"vectors of different sizes: {self.size()} and {right.size}")
        with self._translated():
            return self._made(self._column() @ right, [1], pending)

    @classmethod
    def pack_vectors(cls: type[Vector], vectors: Sequence[Vector]) -> Vector:
        """The values of several vectors behind each other, in one ciphertext. It takes a level.

        Raises
        ------
        TypeError
            For anything but vectors of this class.
        ValueError
            Without vectors, and for more values than there are slots.
        """
        if not all(isinstance(vector, cls) for vector in vectors):
            raise TypeError(f"vectors to pack must be of type tenseal.{cls.__name__}")
        if not vectors:
            raise OperandError("no vectors to pack")
        with vectors[0]._translated():
            packed = _he.concatenate([vector._column() for vector in vectors])
            return vectors[0]._made(packed, list(packed.shape), vectors[0]._product(None))

    def _bytes(self) -> bytes:
        description = {"scale": self._scale, "pending": self._pending}
        with self._translated():
            return sealed(type(self).__name__, description, [self._cipher.to_bytes()])

    @classmethod
    def _read(cls: type[Vector], context: Context, data: bytes) -> Vector:
        description, parts = opened(cls.__name__, data)
        if len(parts) != 1:
            raise BytesError(f"failed to parse: {len(parts)} parts of a vector, where 1 is expected")
        vector = cls.__new__(cls)
        EncryptedTensor.__init__(vector, context, field(description, "scale", float))
        vector._pending = float(field(description, "pending", float))
        vector._cipher = read_cipher(context, parts[0], cls.scheme)
        if vector._cipher.ndim > 1:
            raise BytesError(f"failed to parse: a vector of shape {vector._cipher.shape}")
        return vector


class CKKSVector(_Vector):
    """A vector of floats.

    Parameters
    ----------
    context : Context
        A context of CKKS.
    vector : array_like or PlainTensor
        The values: any number of them, in as many ciphertexts as they need.
    scale : float, optional
        What `scale` says; by default the global scale of the context. The scale of ciphertexts is
        that of the primes of the context.
    """

    scheme = SCHEME_TYPE.CKKS

    def scale(self) -> float:
        """The scale that was stated."""
        self.context()
        return self._scale

    def mm(self, other: object) -> CKKSVector:
        """The product with a matrix in the clear, which has a row for each value. It takes a level.

        Raises
        ------
        ValueError
            For another shape, and where levels or keys of rotations are missing.
        """
        matrix = self._array(other)
        if matrix.ndim != 2:
            raise OperandError("can only operate with a matrix")
        if matrix.shape[0] != self.size():
            raise OperandError(f"matrix shape {matrix.shape} doesn't match with vector size {self.size()}")
        self.context().evaluation_keys(galois=True)
        with self._translated():
            return self._made(self._column() @ matrix, [matrix.shape[1]], self._product(None))

    def mm_(self, other: object) -> CKKSVector:
        """`mm` in place."""
        return self._become(self.mm(other))

    def matmul(self, other: object) -> CKKSVector:
        """The same as `mm`."""
        return self.mm(other)

    def matmul_(self, other: object) -> CKKSVector:
        """`mm` in place."""
        return self.mm_(other)

    def __matmul__(self, other: object) -> CKKSVector:
        return self.mm(other)

    def __imatmul__(self, other: object) -> CKKSVector:
        return self.mm_(other)

    def conv2d_im2col(self, other: object, windows_nb: int) -> CKKSVector:
        """The convolution of an image of `im2col_encoding` with a kernel in the clear.

        Parameters
        ----------
        other : array_like
            The kernel, a matrix.
        windows_nb : int
            The number of windows, which `im2col_encoding` returns.

        Raises
        ------
        ValueError
            For other shapes, and where levels or keys of rotations are missing.
        """
        kernel = self._array(other)
        if kernel.ndim != 2:
            raise OperandError("can only operate with a matrix")
        if windows_nb <= 0:
            raise OperandError("Windows number can't be zero")
        return self._folded(kernel.ravel(), windows_nb)

    def conv2d_im2col_(self, other: object, windows_nb: int) -> CKKSVector:
        """`conv2d_im2col` in place."""
        return self._become(self.conv2d_im2col(other, windows_nb))

    def enc_matmul_plain(self, other: object, row_size: int) -> CKKSVector:
        """The product of a matrix of `enc_matmul_encoding` with a vector in the clear.

        Parameters
        ----------
        other : array_like
            The vector, with a value for each column.
        row_size : int
            The number of rows.

        Raises
        ------
        ValueError
            For other shapes, and where levels or keys of rotations are missing.
        """
        return self._folded(self._plain_vector(other), row_size)

    def enc_matmul_plain_(self, other: object, row_size: int) -> CKKSVector:
        """`enc_matmul_plain` in place."""
        return self._become(self.enc_matmul_plain(other, row_size))

    def _folded(self, weights: Values, count: int) -> CKKSVector:
        """The sum of the parts of `count` values each, weighted, in log2 rotations."""
        parts = 1 << max(int(weights.size) - 1, 0).bit_length()
        if weights.size == 0 or count <= 0 or self.size() != parts * count:
            raise OperandError("Matrix shape doesn't match with vector size")
        self.context().evaluation_keys(galois=True)
        padded = np.pad(weights, (0, parts - weights.size))
        with self._translated():
            total = self._column() * np.repeat(padded, count)
            if parts > 1 and total.batch > 1:
                raise OperandError(f"{self.size()} values do not fit the {total.slots} slots of a ciphertext")
            while parts > 1:
                parts //= 2
                total = total + total.rotate(count * parts)
            return self._made(total[:count], [count], self._product(None))


class BFVVector(_Vector):
    """A vector of integers modulo t, from -t / 2 to t / 2.

    Parameters
    ----------
    context : Context
        A context of BFV.
    vector : array_like or PlainTensor
        The values: any number of them, in as many ciphertexts as they need.
    """

    scheme = SCHEME_TYPE.BFV

    def __init__(self, context: Context, vector: Any) -> None:
        super().__init__(context, vector)

    def _array(self, other: object) -> Values:
        values = super()._array(other)
        if isinstance(other, PlainTensor) and other.dtype != "int":
            values = values.astype(np.int64)
        return centred(values, self.context().he.params)
