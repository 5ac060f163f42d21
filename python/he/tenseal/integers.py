"""Integers modulo t."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import he._he as _he

__all__ = ["centred"]


def centred(values: npt.NDArray[Any], params: _he.Params) -> npt.NDArray[np.int64]:
    """The representatives of integers modulo the plaintext modulus t of BFV that are nearest to 0."""
    modulus = params.plain_modulus or 1
    residues = np.mod(values.astype(np.int64), modulus)
    return np.where(residues > modulus // 2, residues - modulus, residues).astype(np.int64)
