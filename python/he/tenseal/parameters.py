"""Parameters as TenSEAL states them: a degree and the widths of primes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import he._he as _he
from he.tenseal.errors import OperandError, SecurityError, translated

__all__ = ["SCHEME_TYPE", "allow_insecure", "parameters"]


class SCHEME_TYPE(Enum):
    """The schemes."""

    NONE = 0
    BFV = 1
    CKKS = 2


# The widths for BFV where none are given, by log2 of the degree: as many primes as SEAL takes, with
# the total that the table of 2024 grants for 128 bits of security. The last is the special prime.
_BFV_BITS: dict[int, list[int]] = {
    10: [26],
    11: [53],
    12: [35, 35, 36],
    13: [42, 43, 43, 43, 43],
    14: [47, 47, 48, 48, 48, 48, 48, 48, 48],
    15: [54] * 12 + [55] * 4,
}

# The bits that the first prime leaves above the scale where no prime after it says how wide the
# scale is.
_RANGE_BITS = 20


class _Policy:
    """Whether contexts of this process may have less than 128 bits of security."""

    insecure = False


def allow_insecure(allowed: bool = True) -> None:
    """Let contexts of this process have less than 128 bits of security, by the table of 2024.

    Such contexts protect nothing. Without it, they are refused unless they are made with
    ``context(..., insecure=True)``.

    Parameters
    ----------
    allowed : bool
        Whether they may.
    """
    _Policy.insecure = bool(allowed)


def is_allowed(insecure: bool) -> bool:
    """Whether a context may be insecure, of which that is stated."""
    return insecure or _Policy.insecure


def _log_degree(degree: object) -> int:
    if not isinstance(degree, int) or degree < 2 or degree & (degree - 1):
        raise OperandError(f"poly_modulus_degree: {degree!r}, where a power of two is expected")
    return degree.bit_length() - 1


def chain(scheme: SCHEME_TYPE, degree: int, sizes: Sequence[int]) -> list[int]:
    """The widths of all primes, those of the degree where none are given for BFV.

    Raises
    ------
    OperandError
        For a degree that is no power of two, and for widths that are not possible.
    """
    bits, log_n = [int(size) for size in sizes], _log_degree(degree)
    if not bits and scheme is SCHEME_TYPE.BFV:
        bits = list(_BFV_BITS.get(log_n, []))
    if not bits:
        raise OperandError(f"coeff_mod_bit_sizes: none, where widths for the degree {1 << log_n} are expected")
    if min(bits) < 1:
        raise OperandError(f"coeff_mod_bit_sizes: {bits}, where widths of at least one bit are expected")
    return bits


def scale_bits(bits: Sequence[int]) -> float:
    """log2 of the scale of CKKS, which the primes between the first and the last are about."""
    return float(bits[1] if len(bits) > 2 else max(bits[0] - _RANGE_BITS, bits[0] / 2))


def parameters(
    scheme: SCHEME_TYPE,
    degree: int,
    plain_modulus: int | None,
    bits: Sequence[int],
    insecure: bool,
) -> _he.Params:
    """The parameters of a context with a `chain`, the last prime of which is the special one.

    Raises
    ------
    SecurityError
        For widths without primes, and for less than 128 bits of security.
    """
    log_n = _log_degree(degree)
    q_bits, p_bits = (bits, []) if len(bits) == 1 else (bits[:-1], bits[-1:])
    try:
        with translated():
            if scheme is SCHEME_TYPE.BFV:
                return _he.Params.from_bits(
                    log_n, q_bits, p_bits, scheme="bfv", plain_modulus=plain_modulus, insecure=is_allowed(insecure)
                )
            return _he.Params.from_bits(
                log_n, q_bits, p_bits, scale_bits=scale_bits(bits), insecure=is_allowed(insecure)
            )
    except SecurityError as error:
        hint = "context(..., insecure=True) takes parameters below 128 bits of security, which protect nothing"
        raise SecurityError(f"{error}; {hint}") from error
