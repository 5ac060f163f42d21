"""Search among encrypted vectors, in the folders and files of ``he-cli search``.

An `Index` holds vectors and a payload for each, and a query is a vector: all of them are encrypted.
Whoever has the folder and the evaluation key answers how many vectors are near the query, with
which payloads, or how near all of them are, and learns none of it. The owner of the secret key
appends, asks and reads.

Examples
--------
>>> import he, numpy as np
>>> rng = np.random.default_rng(1)
>>> vectors = rng.normal(size=(200, 8))
>>> index = he.Index.create("faces", 8, threshold=0.8, margin=0.15, payload=8, records=200)
>>> index.keygen("keys")
>>> index.append(vectors, [f"face {i}" for i in range(200)], "keys/secret.key")
>>> query = index.query(vectors[17], "keys/secret.key")
>>> answer = index.fetch(query, "keys/eval.key")            # no secret
>>> "face 17" in he.search.fetched(answer, "keys/secret.key").texts()
True
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from he import _he
from he.files import Place, Progress, _kept

__all__ = ["Count", "Index", "Matches", "Ranking", "counted", "fetched", "top_k"]

#: Payloads: a row of uint8 for each vector, or bytes or text.
Payloads = Union[npt.NDArray[np.uint8], Sequence[Union[bytes, str]]]


@dataclass(frozen=True)
class Count:
    """The number of matches.

    Attributes
    ----------
    matches : int
        The records beyond the threshold.
    undecided : int
        The slots with a record within the margin of the threshold, which are not counted.
    """

    matches: int
    undecided: int


@dataclass(frozen=True, eq=False)
class Matches:
    """The records beyond the threshold.

    Attributes
    ----------
    positions : numpy.ndarray
        Segment and slot of each, of shape ``(matches, 2)``: what `Index.delete` takes.
    payloads : numpy.ndarray
        The payloads, a row of uint8 for each.
    undecided : int
        The slots with a record within the margin of the threshold, which are left out.
    """

    positions: npt.NDArray[np.int64]
    payloads: npt.NDArray[np.uint8]
    undecided: int

    def __len__(self) -> int:
        return len(self.positions)

    def texts(self) -> list[str]:
        """Return the payloads as text, without the zeros that fill them."""
        return [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in self.payloads]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The nearest records, the nearest first.

    Attributes
    ----------
    positions : numpy.ndarray
        Segment and slot of each, of shape ``(k, 2)``.
    values : numpy.ndarray
        The cosine, inner product or distance of each.
    error : float
        The bound of errors of scores: a record that is left out has a score of at most this twice
        more than that of the last one here. Scores are cosines; inner products divided by the
        square of the greatest norm r; or 1 - d^2 / (2 r^2) of distances d.
    """

    positions: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    error: float

    def __len__(self) -> int:
        return len(self.positions)


class Index:
    """An index of encrypted vectors in a folder.

    ``index.json`` in it is public and suffices to encrypt queries. An index is pickled as its path.
    One process at a time may change it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._info()

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        dimension: int,
        *,
        metric: str = "cosine",
        norm: float | None = None,
        threshold: float | None = None,
        margin: float | None = None,
        payload: int = 0,
        records: int = 8192,
    ) -> Index:
        """Make the folder of an index without records.

        Parameters
        ----------
        folder : path
            Where to; it is made if it is not there.
        dimension : int
            The coordinates of each vector, from 2 to 4096.
        metric : {"cosine", "dot", "euclidean"}
            The cosine of the angle, the inner product, or the distance.
        norm : float, optional
            The greatest norm of vectors, for ``"dot"`` and ``"euclidean"``; 1 by default.
        threshold, margin : float, optional
            Matches have more than this cosine or inner product, or less than this distance; records
            within the margin of it are reported as undecided. Without both the index only ranks, by
            ciphertexts of about a third of the size.
        payload : int
            The bytes of each payload, up to 256.
        records : int
            The most records of the index, up to 2**23.

        Raises
        ------
        ValueError
            If the plan is out of range, or no polynomial tells matches from others well enough.
        FileExistsError
            If the folder is an index already.
        """
        _he._search_create(
            os.fspath(folder), dimension, metric, norm, threshold, margin, payload, records
        )
        return cls(folder)

    def _info(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(_he._search_info(self.folder))
        return found

    @property
    def info(self) -> dict[str, Any]:
        """The plan, the contents, and predictions of sizes, work and failures, when last changed.

        ``predicted`` has the bytes of keys, index, query and answers, the degree of the polynomial
        that tells matches from others with its error, the bound of errors of scores, and the
        probabilities that a random record lies outside of its band (``outside``) and that 32
        matches cannot be told apart (``tangled``).
        """
        return self._info()

    def __len__(self) -> int:
        return int(self._info()["records"])

    def __reduce__(self) -> tuple[type[Index], tuple[str]]:
        return Index, (self.folder,)

    def __repr__(self) -> str:
        return f"<he.Index: {self.folder}>"

    def keygen(
        self,
        folder: str | os.PathLike[str],
        *,
        passphrase: str | None = None,
        device: str = "auto",
        force: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write ``secret.key``, ``public.key`` and ``eval.key`` into a folder.

        Parameters are as for `he.files.keygen`.
        """
        _he._search_keygen(self.folder, os.fspath(folder), passphrase, device, force, progress)

    def append(
        self,
        vectors: npt.ArrayLike,
        payloads: Payloads | None,
        key: Place,
        *,
        passphrase: str | None = None,
        allow_cost: bool = False,
        device: str = "auto",
        progress: Progress | None = None,
    ) -> int:
        """Encrypt vectors, and append them to the index.

        Parameters
        ----------
        vectors : array_like
            Real numbers, a row for each vector.
        payloads : array of uint8, or sequence of bytes or str, optional
            A payload for each vector; shorter ones are filled with zeros. None leaves all empty.
        key : path or bytes
            The secret key.
        passphrase, allow_cost, device, progress
            As for `he.files.encrypt`.

        Returns
        -------
        int
            The bytes that were written.

        Raises
        ------
        ValueError
            If a vector or a payload does not fit, or there are more records than planned.
        """
        rows = None if payloads is None else list(_bytes_of(payloads))
        return _he._search_append(
            self.folder, vectors, rows, key, passphrase, allow_cost, device, progress
        )

    def delete(self, positions: npt.ArrayLike) -> None:
        """Delete records: answers leave them out from then on. Their ciphertexts stay.

        Parameters
        ----------
        positions : array_like
            Segment and slot of each, as in `Matches.positions`.
        """
        array = np.asarray(positions)
        if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"positions of shape {array.shape} and dtype {array.dtype}, "
                "where integers of shape (n, 2) are expected: segment and slot of each record"
            )
        _he._search_delete(self.folder, [(int(segment), int(slot)) for segment, slot in array])

    def merge(self, *, device: str = "auto") -> int:
        """Merge files of records that were appended one after the other, and count the rest.

        No key is needed, and records keep their positions. It makes later answers faster.
        """
        return _he._search_merge(self.folder, device)

    def query(
        self,
        vector: npt.ArrayLike,
        key: Place,
        *,
        output: str | os.PathLike[str] | None = None,
        passphrase: str | None = None,
        allow_cost: bool = False,
        device: str = "auto",
        force: bool = False,
    ) -> Place:
        """Encrypt a query.

        Parameters
        ----------
        vector : array_like
            The coordinates.
        key : path or bytes
            The secret key.
        output : path, optional
            The file to write; without one the query is returned as bytes.
        passphrase, allow_cost, device, force
            As for `he.files.encrypt`.
        """
        to = None if output is None else os.fspath(output)
        made = _he._search_query(
            self.folder, vector, key, to, passphrase, allow_cost, device, force
        )
        return _kept(made, to)

    def count(self, query: Place, key: Place, **to: Any) -> Place:
        """Count the matches of a query, without any secret.

        Parameters
        ----------
        query : path or bytes
            The result of `query`.
        key : path or bytes
            The evaluation key.
        to
            `output`, `device`, `force` and `progress`, as for `he.EncryptedFile.evaluate`.

        Returns
        -------
        path or bytes
            The encrypted answer, which `counted` reads.
        """
        return self._answer("count", query, key, **to)

    def fetch(self, query: Place, key: Place, **to: Any) -> Place:
        """Fetch positions and payloads of the matches, which `fetched` reads.

        Parameters are as for `count`.
        """
        return self._answer("matches", query, key, **to)

    def scores(self, query: Place, key: Place, **to: Any) -> Place:
        """Compute how near all records are, of which `top_k` reads the nearest.

        Parameters are as for `count`.
        """
        return self._answer("scores", query, key, **to)

    def _answer(
        self,
        wanted: str,
        query: Place,
        key: Place,
        *,
        output: str | os.PathLike[str] | None = None,
        device: str = "auto",
        force: bool = False,
        progress: Progress | None = None,
    ) -> Place:
        to = None if output is None else os.fspath(output)
        made = _he._search_answer(self.folder, query, key, wanted, to, device, force, progress)
        return _kept(made, to)


def _bytes_of(payloads: Payloads) -> Iterable[bytes]:
    if isinstance(payloads, np.ndarray):
        if payloads.dtype != np.uint8 or payloads.ndim != 2:
            raise ValueError(
                f"payloads of shape {payloads.shape} and dtype {payloads.dtype}, "
                "where a row of uint8 is expected for each vector"
            )
        yield from (row.tobytes() for row in payloads)
        return
    if isinstance(payloads, (str, bytes)):
        raise TypeError("payloads: one text, where a sequence of a payload for each vector is expected")
    for payload in payloads:
        if isinstance(payload, str):
            yield payload.encode()
        elif isinstance(payload, (bytes, bytearray, memoryview)):
            yield bytes(payload)
        else:
            raise TypeError(
                f"payloads: {type(payload).__name__}, where bytes, text or rows of uint8 are expected"
            )


def _read(
    wanted: str,
    answer: Place,
    key: Place,
    nearest: int,
    passphrase: str | None,
    allow_cost: bool,
    device: str,
) -> tuple[Any, ...]:
    kind, *parts = _he._search_read(answer, key, nearest, passphrase, allow_cost, device)
    if kind != wanted:
        raise ValueError(f"an answer by {kind}, where one by {wanted} is expected")
    return tuple(parts)


def counted(
    answer: Place,
    key: Place,
    *,
    passphrase: str | None = None,
    allow_cost: bool = False,
    device: str = "auto",
) -> Count:
    """Decrypt the answer of `Index.count`.

    Parameters
    ----------
    answer : path or bytes
        The answer.
    key : path or bytes
        The secret key.
    passphrase, allow_cost, device
        As for `he.EncryptedFile.decrypt`.
    """
    return Count(*_read("count", answer, key, 0, passphrase, allow_cost, device))


def fetched(
    answer: Place,
    key: Place,
    *,
    passphrase: str | None = None,
    allow_cost: bool = False,
    device: str = "auto",
) -> Matches:
    """Decrypt the answer of `Index.fetch`. Parameters are as for `counted`."""
    return Matches(*_read("matches", answer, key, 0, passphrase, allow_cost, device))


def top_k(
    answer: Place,
    key: Place,
    k: int = 10,
    *,
    passphrase: str | None = None,
    allow_cost: bool = False,
    device: str = "auto",
) -> Ranking:
    """Decrypt the answer of `Index.scores`, and rank its k nearest records.

    Parameters are as for `counted`; there may be fewer records.
    """
    return Ranking(*_read("scores", answer, key, k, passphrase, allow_cost, device))
