"""Encryption of images and matrices in the order in which products in the clear need them."""

from __future__ import annotations

from typing import Any

import numpy as np

from he.tenseal.enc_context import Context
from he.tenseal.errors import OperandError
from he.tenseal.plaintensor import PlainTensor
from he.tenseal.vectors import CKKSVector

__all__ = ["enc_matmul_encoding", "im2col_encoding"]


def _columns(context: Context, matrix: Any) -> CKKSVector:
    """The columns of a matrix behind each other, as many as a power of two."""
    width = 1 << max(matrix.shape[1] - 1, 0).bit_length()
    padded = np.pad(matrix, ((0, 0), (0, width - matrix.shape[1])))
    return CKKSVector(context, padded.T.ravel())


def _matrix(context: Context, tensor: Any) -> Any:
    if not isinstance(context, Context):
        raise TypeError("context must be of type tenseal.Context")
    matrix = PlainTensor(tensor).array
    if matrix.ndim != 2:
        raise OperandError("tensor must be a matrix")
    return matrix


def im2col_encoding(
    context: Context, tensor: Any, kernel_n_rows: int, kernel_n_cols: int, stride: int
) -> tuple[CKKSVector, int]:
    """An encrypted image for `CKKSVector.conv2d_im2col`, and the number of its windows.

    Parameters
    ----------
    context : Context
        A context of CKKS.
    tensor : array_like
        The image, a matrix.
    kernel_n_rows, kernel_n_cols : int
        The shape of the kernels.
    stride : int
        The step from window to window, in both directions.

    Raises
    ------
    ValueError
        For anything but a matrix, and for kernels or strides that do not fit it.
    """
    image, kernel = _matrix(context, tensor), (kernel_n_rows, kernel_n_cols)
    if stride < 1 or min(kernel) < 1 or kernel > image.shape or kernel_n_cols > image.shape[1]:
        raise OperandError(f"a kernel of shape {kernel} and stride {stride} for an image of shape {image.shape}")
    windows = np.lib.stride_tricks.sliding_window_view(image, kernel)[::stride, ::stride]
    count = windows.shape[0] * windows.shape[1]
    return _columns(context, windows.reshape(count, -1)), count


def enc_matmul_encoding(context: Context, tensor: Any) -> CKKSVector:
    """An encrypted matrix for `CKKSVector.enc_matmul_plain`.

    Raises
    ------
    ValueError
        For anything but a matrix.
    """
    return _columns(context, _matrix(context, tensor))
