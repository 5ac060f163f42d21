"""The bytes of contexts and tensors: a description in JSON, and parts of the package's own format.

====== ======================================================================
bytes  contents
====== ======================================================================
8      ``he.ts`` and the version, 0 and 1
4      the length of the description, little-endian, at most 2^20
...    the description: a JSON object
4      the number of parts, at most 16
8 each the lengths of the parts
...    the parts
====== ======================================================================
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

from he.tenseal.errors import BytesError

__all__ = ["opened", "sealed"]

_MAGIC = b"he.ts\x00\x00\x01"
_MOST_DESCRIPTION = 1 << 20
_MOST_PARTS = 16


def sealed(kind: str, description: dict[str, Any], parts: Sequence[bytes]) -> bytes:
    """The bytes of an object of a kind."""
    text = json.dumps({"kind": kind, **description}).encode()
    lengths = b"".join(struct.pack("<Q", len(part)) for part in parts)
    head = [_MAGIC, struct.pack("<I", len(text)), text, struct.pack("<I", len(parts)), lengths]
    return b"".join([*head, *parts])


def _description(kind: str, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise BytesError("a description that is no JSON") from error
    if not isinstance(found, dict) or found.get("kind") != kind:
        raise BytesError(f"bytes of another kind than {kind}, which is expected")
    return found


def opened(kind: str, data: bytes) -> tuple[dict[str, Any], list[memoryview]]:
    """The description and the parts of an object of a kind.

    Raises
    ------
    BytesError
        For bytes that are not exactly those of such an object.
    """
    view, at = memoryview(data), 0

    def take(count: int) -> memoryview:
        nonlocal at
        if count > len(view) - at:
            raise BytesError(f"failed to parse: the bytes end after {len(view)}, and {at + count} are expected")
        at += count
        return view[at - count : at]

    def number(most: int) -> int:
        found: int = struct.unpack("<I", take(4))[0]
        if found > most:
            raise BytesError(f"failed to parse: a length of {found}, and {most} is the most")
        return found

    if bytes(take(len(_MAGIC))) != _MAGIC:
        raise BytesError("failed to parse: these are no bytes of he.tenseal")
    description = _description(kind, bytes(take(number(_MOST_DESCRIPTION))))
    count = number(_MOST_PARTS)
    lengths: tuple[int, ...] = struct.unpack(f"<{count}Q", take(8 * count))
    parts = [take(length) for length in lengths]
    if at != len(view):
        raise BytesError(f"failed to parse: {len(view) - at} bytes follow the last part")
    return description, parts


def field(description: dict[str, Any], name: str, kind: type, *, optional: bool = False) -> Any:
    """A field of a description, of a type.

    Raises
    ------
    BytesError
        If it is missing, or of another type.
    """
    found = description.get(name)
    if optional and found is None:
        return None
    expected = (int, float) if kind is float else kind
    if not isinstance(found, expected) or (isinstance(found, bool) and kind is not bool):
        raise BytesError(f"failed to parse: {name} is {found!r}, where {kind.__name__} is expected")
    return found


def lengths(description: dict[str, Any], name: str) -> list[int]:
    """A list of lengths in a description.

    Raises
    ------
    BytesError
        If there is none.
    """
    found = field(description, name, list)
    if len(found) > 64 or not all(type(length) is int and 0 <= length < 1 << 32 for length in found):
        raise BytesError(f"failed to parse: {name} is no list of lengths")
    return list(found)
