"""Operations that vectors and tensors have in common."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

import he._he as _he
from he.tenseal.enc_context import Context, SecretKey
from he.tenseal.errors import BytesError, MissingKeyError, OperandError, translated
from he.tenseal.parameters import SCHEME_TYPE
from he.tenseal.plaintensor import PlainTensor

__all__ = ["EncryptedTensor"]

Self = TypeVar("Self", bound="EncryptedTensor")
Values = npt.NDArray[Any]


class EncryptedTensor(ABC):
    """Encrypted values with the context that computes with them.

    Operations return a new object. Those whose names end in ``_``, and operators such as ``+=``,
    change the object itself.
    """

    scheme: ClassVar[SCHEME_TYPE]

    def __init__(self, context: Context, scale: float | None) -> None:
        if not isinstance(context, Context):
            raise TypeError("context must be a tenseal.Context")
        if context.scheme is not self.scheme:
            raise OperandError(f"a context of {context.scheme.name}, where one of {self.scheme.name} is expected")
        self._context: Context | None = context
        self._lazy: bytes | None = None
        self._pending = 0.0
        self._scale = 1.0
        if self.scheme is SCHEME_TYPE.CKKS:
            self._scale = float(context.global_scale if scale is None else scale)

    # The ciphertext of the package.
    _cipher: _he.Ciphertext

    @abstractmethod
    def _encrypted(self, values: Values) -> _he.Ciphertext:
        """Values of the tensor's own shape, encrypted."""

    @abstractmethod
    def _constant(self, value: float) -> Values:
        """A value in every place of the tensor's shape."""

    @abstractmethod
    def _met(self, other: object) -> tuple[_he.Ciphertext, Any, list[int]]:
        """Both sides of an operation in shapes that fit together, and the shape of the result."""

    @abstractmethod
    def _with(self: Self, cipher: _he.Ciphertext, shape: list[int]) -> Self:
        """A tensor of another ciphertext, of a shape."""

    @classmethod
    @abstractmethod
    def _read(cls: type[Self], context: Context, data: bytes) -> Self:
        """A tensor from its bytes."""

    @abstractmethod
    def _bytes(self) -> bytes:
        """The bytes of the tensor."""

    @property
    @abstractmethod
    def shape(self) -> list[int]:
        """The lengths of the axes."""

    # Contexts, copies and bytes.

    def context(self) -> Context:
        """The context.

        Raises
        ------
        ValueError
            If there is none yet.
        """
        if self._context is None:
            raise MissingKeyError("missing context")
        return self._context

    def link_context(self, ctx: Context) -> None:
        """Set the context that computes with the tensor, of the same parameters.

        Raises
        ------
        ValueError
            If the tensor does not belong to it.
        """
        data = self._lazy if self._lazy is not None else self._bytes()
        self._become(self._read(ctx, data))

    def has_context(self) -> bool:
        """Whether there is a context."""
        return self._context is not None

    def _become(self: Self, other: Self) -> Self:
        self.__dict__ = dict(other.__dict__)
        return self

    def copy(self: Self) -> Self:
        """A copy, which changes apart from this tensor."""
        other = type(self).__new__(type(self))
        other.__dict__ = dict(self.__dict__)
        return other

    def __copy__(self: Self) -> Self:
        return self.copy()

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        other = self.copy()
        if self._context is not None:
            other.link_context(self._context.copy())
        return other

    def serialize(self) -> bytes:
        """The tensor as bytes.

        The format is that of this package, which TenSEAL does not read.
        """
        return self._bytes() if self._lazy is None else self._lazy

    @classmethod
    def load(cls: type[Self], context: Context, data: bytes) -> Self:
        """A tensor from the bytes of `serialize`.

        Raises
        ------
        TypeError
            For anything but a context and bytes.
        ValueError
            For bytes that are not those of such a tensor, or of another context.
        """
        if not isinstance(context, Context) or not isinstance(data, bytes):
            raise TypeError(f"Invalid input types context: {type(context)} and vector: {type(data)}")
        return cls._read(context, data)

    @classmethod
    def lazy_load(cls: type[Self], data: bytes) -> Self:
        """A tensor from the bytes of `serialize`, which are read when it gets a context.

        Raises
        ------
        TypeError
            For anything but bytes.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"Invalid input types vector: {type(data)}")
        tensor = cls.__new__(cls)
        tensor._context, tensor._lazy = None, data
        return tensor

    def ciphertext(self) -> list[_he.Ciphertext]:
        """The ciphertexts of the package."""
        self.context()
        return [self._cipher]

    def _decrypted(self, secret_key: SecretKey | None) -> Values:
        context = self.context()
        if secret_key is not None and not isinstance(secret_key, SecretKey):
            raise TypeError(f"incorrect type: {type(secret_key)} != SecretKey")
        key = context.decryptor() if secret_key is None else secret_key.data
        with self._translated():
            return key.decrypt(self._cipher)

    def _translated(self) -> AbstractContextManager[None]:
        """Errors as those of this package, and as TenSEAL names a chain that is at its end."""
        return translated("scale out of bounds" if self.scheme is SCHEME_TYPE.CKKS else None)

    # What the flags of a context say.

    def _product(self, other: object) -> float:
        """The bits of scale that a product is left with where nothing is rescaled."""
        if self.scheme is not SCHEME_TYPE.CKKS:
            return 0.0
        pending = self._pending + (other._pending if isinstance(other, EncryptedTensor) else 0.0)
        if self.context().auto_rescale:
            return pending
        return pending + math.log2(other._scale if isinstance(other, EncryptedTensor) else self._scale)

    def _check_aligned(self, other: object) -> None:
        """Refuses operands whose scales or levels differ where they are not to be aligned."""
        if self.scheme is not SCHEME_TYPE.CKKS:
            return
        context, tensor = self.context(), isinstance(other, EncryptedTensor)
        level = other._cipher.level if isinstance(other, EncryptedTensor) else context.he.params.depth
        if not context.auto_mod_switch and self._cipher.level != level:
            raise OperandError("encrypted1 and encrypted2 parameter mismatch")
        pending = other._pending if isinstance(other, EncryptedTensor) else 0.0
        if pending != self._pending:
            raise OperandError("scale mismatch")
        if tensor and not isinstance(other, type(self)):
            raise TypeError(f"can't operate with object of type {type(other)}")

    def _check_polynomial(self) -> None:
        """Refuses a polynomial whose terms would not be aligned."""
        context = self.context()
        if self.scheme is SCHEME_TYPE.CKKS and not context.auto_rescale:
            raise OperandError("scale mismatch")
        if self.scheme is SCHEME_TYPE.CKKS and not context.auto_mod_switch:
            raise OperandError("encrypted1 and encrypted2 parameter mismatch")

    def _made(self: Self, cipher: _he.Ciphertext, shape: list[int], pending: float) -> Self:
        made = self._with(cipher, shape)
        made._pending = pending
        return made

    # Operations, value by value.

    def _number(self, other: object) -> float | int | None:
        """An operand that is one number."""
        if isinstance(other, bool) or not isinstance(other, numbers.Real):
            return None
        if self.scheme is SCHEME_TYPE.BFV and not isinstance(other, numbers.Integral):
            raise TypeError(f"can't operate with object of type {type(other)}: integers are expected")
        return int(other) if isinstance(other, numbers.Integral) else float(other)

    def _array(self, other: object) -> Values:
        """An operand in the clear."""
        if isinstance(other, PlainTensor):
            return other.array
        name = "float" if self.scheme is SCHEME_TYPE.CKKS else "int"
        try:
            return PlainTensor(other, dtype=name).array
        except TypeError as error:
            raise TypeError(f"can't operate with object of type {type(other)}") from error

    def add(self: Self, other: object) -> Self:
        """The sum with a tensor, an array or a number."""
        self._check_aligned(other)
        with self._translated():
            left, right, shape = self._met(other)
            return self._made(left + right, shape, self._pending)

    def sub(self: Self, other: object) -> Self:
        """The difference from a tensor, an array or a number."""
        self._check_aligned(other)
        with self._translated():
            left, right, shape = self._met(other)
            return self._made(left - right, shape, self._pending)

    def mul(self: Self, other: object) -> Self:
        """The product with a tensor, an array or a number."""
        pending = self._product(other)
        if isinstance(other, EncryptedTensor):
            self.context().evaluation_keys(relinearisation=True)
        with self._translated():
            left, right, shape = self._met(other)
            return self._made(left * right, shape, pending)

    def neg(self: Self) -> Self:
        """The opposite."""
        self.context()
        with self._translated():
            return self._made(-self._cipher, self.shape, self._pending)

    def square(self: Self) -> Self:
        """The squares."""
        self.context().evaluation_keys(relinearisation=True)
        with self._translated():
            return self._made(self._cipher.square(), self.shape, self._product(self))

    def pow(self: Self, power: int) -> Self:
        """A power, of depth ceil(log2 power).

        Raises
        ------
        ValueError
            For an exponent below 0, and where levels are missing.
        """
        if power < 0:
            raise OperandError(f"a power of {power}, where an exponent from 0 on is expected")
        if power < 2:
            return self.copy() if power else self._fresh(1.0)
        half = self.pow(power // 2).square()
        return half if power % 2 == 0 else half.mul(self)

    def _fresh(self: Self, value: float) -> Self:
        """An encryption of a value in every place."""
        with self._translated():
            return self._made(self._encrypted(self._constant(value)), self.shape, 0.0)

    def polyval(self: Self, coefficients: Sequence[float]) -> Self:
        """The values of a polynomial: c[0] + c[1] x + c[2] x^2 and so on.

        Raises
        ------
        ValueError
            Without coefficients, and where levels are missing.
        """
        found = [float(x) if self.scheme is SCHEME_TYPE.CKKS else int(x) for x in coefficients]
        if not found:
            raise OperandError("the coefficients vector need to have at least one element")
        while found and found[-1] == 0:
            found.pop()
        if len(found) < 2:
            return self._fresh(found[0] if found else 0)
        self._check_polynomial()
        with self._translated():
            return self._made(self._cipher.polynomial(found), self.shape, 0.0)

    @abstractmethod
    def sum(self: Self, axis: int = 0) -> Self:
        """The sum along an axis."""

    @abstractmethod
    def dot(self: Self, other: object) -> Self:
        """The inner product with a tensor or an array."""

    # The same in place, and as operators.

    def add_(self: Self, other: object) -> Self:
        """`add` in place."""
        return self._become(self.add(other))

    def sub_(self: Self, other: object) -> Self:
        """`sub` in place."""
        return self._become(self.sub(other))

    def mul_(self: Self, other: object) -> Self:
        """`mul` in place."""
        return self._become(self.mul(other))

    def neg_(self: Self) -> Self:
        """`neg` in place."""
        return self._become(self.neg())

    def square_(self: Self) -> Self:
        """`square` in place."""
        return self._become(self.square())

    def pow_(self: Self, power: int) -> Self:
        """`pow` in place."""
        return self._become(self.pow(power))

    def polyval_(self: Self, coefficients: Sequence[float]) -> Self:
        """`polyval` in place."""
        return self._become(self.polyval(coefficients))

    def sum_(self: Self, axis: int = 0) -> Self:
        """`sum` in place."""
        return self._become(self.sum(axis))

    def dot_(self: Self, other: object) -> Self:
        """`dot` in place."""
        return self._become(self.dot(other))

    def __add__(self: Self, other: object) -> Self:
        return self.add(other)

    def __radd__(self: Self, other: object) -> Self:
        return self.add(other)

    def __iadd__(self: Self, other: object) -> Self:
        return self.add_(other)

    def __sub__(self: Self, other: object) -> Self:
        return self.sub(other)

    def __rsub__(self: Self, other: object) -> Self:
        return self.neg().add(other)

    def __isub__(self: Self, other: object) -> Self:
        return self.sub_(other)

    def __mul__(self: Self, other: object) -> Self:
        return self.mul(other)

    def __rmul__(self: Self, other: object) -> Self:
        return self.mul(other)

    def __imul__(self: Self, other: object) -> Self:
        return self.mul_(other)

    def __neg__(self: Self) -> Self:
        return self.neg()

    def __pow__(self: Self, power: int) -> Self:
        return self.pow(power)

    def __ipow__(self: Self, power: int) -> Self:
        return self.pow_(power)

    # An array of NumPy on the left leaves the operation to the tensor.
    __array_ufunc__ = None


def read_cipher(context: Context, data: memoryview, scheme: SCHEME_TYPE) -> _he.Ciphertext:
    """The ciphertext of a part of the bytes of a tensor.

    Raises
    ------
    BytesError
        For other bytes.
    """
    if context.scheme is not scheme:
        raise OperandError(f"a context of {context.scheme.name}, where one of {scheme.name} is expected")
    with translated():
        try:
            return _he.Ciphertext.from_bytes(context.he, data)
        except ValueError as error:
            raise BytesError(str(error)) from error


def encrypt(context: Context, values: Values, layout: str | None = None) -> _he.Ciphertext:
    """Values under the key of a context, without bounds: nothing tells how large they are."""
    key = context.encryptor()
    with translated():
        return key.encrypt(values, layout=layout).bounded()
