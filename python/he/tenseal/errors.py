"""Errors of the package under names that TenSEAL's users catch: each is a `ValueError` as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import he._he as _he

__all__ = ["BytesError", "ChainError", "MissingKeyError", "OperandError", "SecurityError"]


class OperandError(_he.Error, ValueError):
    """An operand, a shape or an argument that an operation does not take."""


class ChainError(_he.DepthError, ValueError):
    """No prime of the chain, or no noise budget, is left for an operation."""


class MissingKeyError(_he.KeySetError, ValueError):
    """A context that does not have the key that is needed."""


class SecurityError(_he.ParameterError, ValueError):
    """Parameters that do not exist, or that have less than 128 bits of security."""


class BytesError(_he.FormatError, ValueError):
    """Bytes that are not those of a context or of a tensor."""


@contextmanager
def translated(spent: str | None = None) -> Iterator[None]:
    """Raises the errors of the package as those of this module, with their texts, or with that of
    `spent` where no level is left."""
    try:
        yield
    except ValueError:
        raise
    except _he.DepthError as error:
        raise ChainError(spent or str(error)) from error
    except _he.KeySetError as error:
        raise MissingKeyError(str(error)) from error
    except _he.ParameterError as error:
        raise SecurityError(str(error)) from error
    except _he.FormatError as error:
        raise BytesError(str(error)) from error
