"""The sum of a round, which server and clients compute alike."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from he.files import EncryptedFile
from he.party import Party, Step


def total(*updates: Step) -> Step:
    """The sum of the updates: the program of a round."""
    return functools.reduce(Step.add, updates)


def opened(updates: Mapping[int, bytes]) -> list[tuple[int, EncryptedFile]]:
    """The updates by the numbers of their clients, in order."""
    return [(number, EncryptedFile(bytes(updates[number]))) for number in sorted(updates)]


def summed(party: Party, inputs: list[tuple[int, EncryptedFile]]) -> EncryptedFile:
    """The encrypted sum, the same bytes wherever it is computed."""
    return party.compute(total, *(file for _, file in inputs), device="cpu")
