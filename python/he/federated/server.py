"""The server of federated averaging, which has no secret."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Union

import numpy as np

import he._he as _he
from he.federated import layout, rounds
from he.federated.client import without_tags
from he.files import EncryptedFile
from he.party import Party

#: Carries a question to clients: a step of `Client.answer`, the numbers of the clients, and what
#: all of them get, files by numbers and the quorum. It returns the answers that came, by numbers.
Ask = Callable[[str, Sequence[int], Mapping[int, bytes], Sequence[int]], Mapping[int, bytes]]

_log = logging.getLogger(__name__)


class RoundFailed(_he.Error):
    """Too few clients were left to decrypt the sum of a round: go on with the next one."""


class Server:
    """A server: a folder with the `session.he` and the `eval.key` of the clients.

    It sees updates encrypted, and learns the average and which clients are in it.

    Parameters
    ----------
    folder : path
        The folder.
    bound : float
        That of the clients.
    """

    def __init__(self, folder: Union[str, os.PathLike[str]], *, bound: float = 8.0) -> None:
        self._party = Party.open(folder)
        self.bound = float(bound)

    @property
    def clients(self) -> list[int]:
        """The numbers of all clients."""
        return self._party.parties

    @property
    def threshold(self) -> int:
        """How many clients have to stay in a round until its end."""
        return self._party.threshold

    def fault(self, update: bytes, shapes: Sequence[layout.Shape]) -> str | None:
        """Say why an update is not one of a client with a model of these shapes, or None."""
        name, rows = layout.column_name(shapes, self.bound), layout.numbers(shapes) + 2
        try:
            file = EncryptedFile(bytes(update))
            # Only a file of the key set of the evaluation key adds up.
            file.add(self._party.evaluation_key, file, device="cpu")
        except (_he.Error, ValueError) as error:
            return str(error)
        content = file.info["content"]
        if [column["name"] for column in content.get("columns", ())] != [name] or content["rows"] != rows:
            return f"an update of another model or another bound than {self.bound}"
        return "an update that was computed on" if file.history else None

    def _sound(self, updates: Mapping[int, bytes], shapes: Sequence[layout.Shape]) -> dict[int, bytes]:
        sound = {}
        for number, update in updates.items():
            fault = "no such client" if number not in self.clients else self.fault(update, shapes)
            if fault is None:
                sound[number] = bytes(update)
            else:
                _log.warning("the update of client %d is left out: %s", number, fault)
        return sound

    def _enough(self, numbers: Iterable[int], what: str) -> list[int]:
        there = sorted(numbers)
        if len(there) < self.threshold:
            raise RoundFailed(f"{what} of {len(there)} clients, where {self.threshold} are needed: {there}")
        return there

    def average(
        self, updates: Mapping[int, bytes], ask: Ask, shapes: Sequence[layout.Shape]
    ) -> list[layout.Array]:
        """Average the updates of a round.

        Updates that are not what clients encrypt are left out, and so are those of clients that
        drop out before all have computed the sum again. The quorum then decrypts it.

        Parameters
        ----------
        updates : mapping of int to bytes
            What `Client.update` returned to the clients that took part, by their numbers.
        ask : callable
            What carries questions to clients, and returns the answers that came.
        shapes : sequence of tuple
            The shapes of the arrays.

        Raises
        ------
        RoundFailed
            If fewer clients than the threshold were left, or one of the quorum dropped out.
        """
        shapes = [tuple(shape) for shape in shapes]
        inside = self._sound(updates, shapes)
        while True:
            numbers = self._enough(inside, "sound updates")
            transcripts = dict(ask("check", numbers, inside, []))
            left = {number: inside[number] for number in numbers if number in transcripts}
            if len(left) == len(inside):
                break
            inside = left
        quorum = numbers[: self.threshold]
        transcripts = {number: transcripts[number] for number in numbers}
        shares = ask("share", quorum, transcripts, quorum)
        self._enough(set(shares) & set(quorum), "shares")
        inputs = rounds.opened(inside)
        result = rounds.summed(self._party, inputs)
        found = self._party.combine(
            result, without_tags(transcripts), [bytes(shares[number]) for number in quorum], quorum=quorum
        )
        return self._divided(np.asarray(next(iter(found.values()))), shapes, len(inside))

    def _divided(
        self, total: layout.Array, shapes: Sequence[layout.Shape], count: int
    ) -> list[layout.Array]:
        if not (abs(total[-1] - count) < 0.25 and total[-2] > 0):
            raise RoundFailed(f"the sum counts {total[-1]:.2f} updates of weight {total[-2]:.2f}, not {count}")
        return layout.averages(total, shapes, self.bound)
