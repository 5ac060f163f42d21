"""A client of federated averaging."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence

import numpy.typing as npt

from he.federated import layout, rounds
from he.party import Party

_TAG = hashlib.sha256().digest_size
_CONTEXT = b"he.federated transcript, version 1\0"


class Client:
    """A client: the folder of its `he.Party`, and a secret that all clients have in common.

    The folder remembers the update of a round, so that a client may be made anew for every message.
    A client helps to decrypt one sum that its update is in, and none of fewer updates than the
    threshold: the server cannot ask for two sums and subtract them.

    Parameters
    ----------
    party : Party
        The party, with its keys.
    number : int
        The number of the party.
    common : bytes
        At least 32 random bytes that all clients know, and the server does not. Clients see by it
        that transcripts are from clients, although the server carries them.
    bound : float
        The greatest magnitude of a weight, on which all agree.
    """

    def __init__(self, party: Party, number: int, common: bytes, *, bound: float = 8.0) -> None:
        if number not in party.parties:
            raise ValueError(f"number: {number}, where one of {party.parties} is expected")
        if len(common) < 32:
            raise ValueError(f"common: {len(common)} bytes, where at least 32 are expected")
        if not 0 < bound < float("inf"):
            raise ValueError(f"bound: {bound}, where a finite number above 0 is expected")
        self.party = party
        self.number = number
        self.bound = float(bound)
        self._common = bytes(common)

    def _file(self, name: str) -> str:
        return os.fspath(self.party._party.path(name))

    def _forget(self) -> None:
        for name in ("update.he", "total.he"):
            if os.path.exists(self._file(name)):
                os.remove(self._file(name))

    def _kept(self, name: str) -> bytes:
        try:
            with open(self._file(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            what = "has no update" if name == "update.he" else "has checked no sum of this round"
            raise ValueError(f"this client {what}: it helps to decrypt one sum of each update") from None

    def update(self, arrays: Sequence[npt.ArrayLike], weight: float = 1.0) -> bytes:
        """Encrypt the weights of a round; the update of the round before is forgotten.

        Parameters
        ----------
        arrays : sequence of array_like
            The weights, in the shapes that all clients have, of magnitude up to the bound.
        weight : float
            What the average weights them by, above 0 and at most 1: the client's number of
            examples, divided by the greatest number that a client may have.

        Raises
        ------
        ValueError
            For numbers and weights beyond their bounds, and for numbers that are none.
        """
        name, column = layout.column(arrays, weight, self.bound)
        self._forget()
        return self.party.encrypt({name: column}, output=self._file("update.he")).to_bytes()

    def check(self, updates: Mapping[int, bytes]) -> bytes:
        """Compute the sum of a round, and return this client's transcript of it.

        Parameters
        ----------
        updates : mapping of int to bytes
            The updates of all clients that are in the sum, by their numbers.

        Raises
        ------
        ValueError
            If the client's update is not among them, or they are fewer than the threshold.
        Error
            If one is not what a client encrypts.
        """
        own = self._kept("update.he")
        if bytes(updates.get(self.number, b"")) != own:
            raise ValueError("the update of this client is not in the sum")
        if len(updates) < self.party.threshold:
            raise ValueError(
                f"a sum of {len(updates)} updates, where at least {self.party.threshold} are expected"
            )
        inputs = rounds.opened(updates)
        result = rounds.summed(self.party, inputs)
        transcript = self.party.check(rounds.total, inputs, result)
        with open(self._file("total.he"), "wb") as file:
            file.write(result.to_bytes())
        assert isinstance(transcript, bytes)
        return self._tag(transcript) + transcript

    def share(self, transcripts: Mapping[int, bytes], quorum: Sequence[int]) -> bytes:
        """Help to decrypt the sum that this client has checked, once.

        Parameters
        ----------
        transcripts : mapping of int to bytes
            What `check` returned to the clients whose updates are in the sum.
        quorum : sequence of int
            The numbers of the clients that decrypt, as many as the threshold.

        Raises
        ------
        ValueError
            If a transcript is not from a client, or no sum was checked.
        Error
            If the transcripts differ or one is missing.
        """
        result = self._kept("total.he")
        checked = [self._untagged(number, transcripts[number]) for number in sorted(transcripts)]
        # First, so that no crash leaves an update that another sum could be made of.
        self._forget()
        share = self.party.share(result, checked, quorum=quorum)
        assert isinstance(share, bytes)
        return share

    def answer(self, step: str, files: Mapping[int, bytes], quorum: Sequence[int]) -> bytes:
        """Answer a question of the server: `check` or `share`, by its name."""
        if step == "check":
            return self.check(files)
        if step == "share":
            return self.share(files, quorum)
        raise ValueError(f"the step {step!r}, where 'check' or 'share' is expected")

    def _tag(self, transcript: bytes) -> bytes:
        return hmac.digest(self._common, _CONTEXT + transcript, "sha256")

    def _untagged(self, number: int, tagged: bytes) -> bytes:
        transcript = bytes(tagged[_TAG:])
        if not hmac.compare_digest(self._tag(transcript), bytes(tagged[:_TAG])):
            raise ValueError(f"the transcript of client {number} was not made by a client of this federation")
        return transcript


def without_tags(transcripts: Mapping[int, bytes]) -> list[bytes]:
    """The transcripts of clients as `he.Party.combine` takes them."""
    return [bytes(transcripts[number][_TAG:]) for number in sorted(transcripts)]
