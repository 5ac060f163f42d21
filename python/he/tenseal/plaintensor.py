"""Tensors in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from he.tenseal.envelope import field, lengths, opened, sealed
from he.tenseal.errors import BytesError, OperandError

__all__ = ["PlainTensor"]

_DTYPES: dict[str, type] = {"float": np.float64, "int": np.int64}


def _dtype(name: str) -> type:
    if name not in _DTYPES:
        raise OperandError(f"wrong dtype {name!r}, must be either 'float' or 'int'")
    return _DTYPES[name]


class PlainTensor:
    """An array in the clear of floats or of integers, in any number of dimensions.

    Parameters
    ----------
    tensor : array_like
        The values.
    shape : sequence of int, optional
        Their shape; by default that of the values.
    dtype : {"float", "int"}
        The type of the values.

    Raises
    ------
    ValueError
        For another dtype, and for a shape of another number of values.
    TypeError
        For values that are no array of numbers.
    """

    def __init__(self, tensor: Any, shape: Sequence[int] | None = None, dtype: str = "float") -> None:
        kind = _dtype(dtype)
        given = tensor.array if isinstance(tensor, PlainTensor) else tensor
        try:
            array: npt.NDArray[Any] = np.array(given, dtype=kind)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError("input isn't a well structured tensor") from error
        self._array = array if shape is None else array.reshape(shape)
        self._name = dtype

    @property
    def array(self) -> npt.NDArray[Any]:
        """The values as an array of NumPy."""
        return self._array

    @property
    def raw(self) -> list[Any]:
        """The values in one list."""
        return list(self._array.ravel().tolist())

    @property
    def dtype(self) -> str:
        """``float`` or ``int``."""
        return self._name

    @dtype.setter
    def dtype(self, name: str) -> None:
        self._array = self._array.astype(_dtype(name))
        self._name = name

    @property
    def shape(self) -> list[int]:
        """The lengths of the axes."""
        return list(self._array.shape)

    def at(self, index: Sequence[int]) -> Any:
        """The value at a place."""
        return self._array[tuple(index)].item()

    def strides(self) -> list[int]:
        """How many values lie between neighbours along each axis."""
        products = np.cumprod([1, *self._array.shape[:0:-1]])
        return [int(stride) for stride in products[::-1]] if self._array.ndim else []

    def empty(self) -> bool:
        """Whether there are no values."""
        return self._array.size == 0

    def size(self) -> int:
        """The length of the first axis."""
        return len(self)

    def __len__(self) -> int:
        return int(self._array.shape[0]) if self._array.ndim else 0

    def tolist(self) -> Any:
        """The values in nested lists."""
        return self._array.tolist()

    def batch(self, dim: int) -> list[list[Any]]:
        """The values along an axis, for each place of the others."""
        moved = np.moveaxis(self._array, dim, -1)
        return list(moved.reshape(-1, moved.shape[-1]).tolist())

    def _other(self, array: npt.NDArray[Any]) -> PlainTensor:
        return PlainTensor(array, dtype=self._name)

    def reshape(self, shape: Sequence[int]) -> PlainTensor:
        """The values in another shape."""
        return self._other(self._array.reshape(shape))

    def reshape_(self, shape: Sequence[int]) -> PlainTensor:
        """The same in place."""
        self._array = self._array.reshape(shape)
        return self

    def broadcast(self, shape: Sequence[int]) -> PlainTensor:
        """The values repeated along new axes and those of length one."""
        return self._other(np.broadcast_to(self._array, tuple(shape)))

    def broadcast_(self, shape: Sequence[int]) -> PlainTensor:
        """The same in place."""
        self._array = np.broadcast_to(self._array, tuple(shape)).copy()
        return self

    def transpose(self) -> PlainTensor:
        """The axes in the opposite order."""
        return self._other(self._array.T)

    def transpose_(self) -> PlainTensor:
        """The same in place."""
        self._array = self._array.T.copy()
        return self

    def serialize(self) -> bytes:
        """The tensor as bytes."""
        little = self._array.astype(self._array.dtype.newbyteorder("<"))
        return sealed("plain tensor", {"shape": self.shape, "dtype": self._name}, [little.tobytes()])

    @classmethod
    def load(cls, data: bytes, dtype: str = "float") -> PlainTensor:
        """A tensor from the bytes of `serialize`, with its values as `dtype`.

        Raises
        ------
        TypeError
            For anything but bytes.
        ValueError
            For bytes that are not those of a tensor in the clear.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"Invalid input types: vector: {type(data)}")
        _dtype(dtype)
        description, parts = opened("plain tensor", data)
        shape, name = lengths(description, "shape"), field(description, "dtype", str)
        count = int(np.prod([int(length) for length in shape], dtype=object))
        if name not in _DTYPES or len(parts) != 1 or len(parts[0]) != 8 * count:
            raise BytesError(f"failed to parse: a tensor of shape {shape} and of dtype {name!r}")
        values = np.frombuffer(parts[0], dtype=np.dtype(_DTYPES[name]).newbyteorder("<"))
        return cls(values.reshape(shape), dtype=dtype)
