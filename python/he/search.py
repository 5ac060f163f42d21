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

Segments of an index on a disk that all machines share are searched by the workers of a
`he.ray.Pool`, and their answers are read as one:

>>> from he import ray                                                        # doctest: +SKIP
>>> with ray.Pool() as pool:                                                  # doctest: +SKIP
...     answers = index.answers("matches", query, "keys/eval.key", pool)
>>> he.search.fetched(answers, "keys/secret.key").texts()                     # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from he import _he
from he.files import Place, Progress, _kept

if TYPE_CHECKING:
    from he.ray import Pool

__all__ = ["Answers", "Count", "Index", "Matches", "Ranking", "counted", "fetched", "top_k"]

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


@dataclass(frozen=True, eq=False)
class Answers:
    """Encrypted answers of parts of an index, which `counted`, `fetched` and `top_k` read as one.

    Attributes
    ----------
    parts : tuple of bytes
        The answer of each part.
    segments : tuple of int
        The first segment of each part.
    is_distance : bool
        Whether the least values are the nearest.
    """

    parts: tuple[bytes, ...]
    segments: tuple[int, ...]
    is_distance: bool


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
        probabilities that a random record lies outside of its band (``outside``; ``None`` where
        there is no bound) and that 32 matches cannot be told apart (``tangled``).
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

    def answers(
        self,
        wanted: str,
        query: Place,
        key: Place,
        pool: Pool,
        *,
        segments: int = 1,
        progress: bool | Callable[[int, int | None], None] = False,
    ) -> Answers:
        """Answer a query by the workers of a pool, without any secret.

        A task whose worker is lost is computed again, so that nothing is lost with it. The folder
        must be where all workers find it, and so must a key that is given by its path.

        Parameters
        ----------
        wanted : {"count", "matches", "scores"}
            What is asked for.
        query : path or bytes
            The result of `query`.
        key : path or bytes
            The evaluation key: workers read it from a path, or get it once.
        pool : he.ray.Pool
            The workers.
        segments : int
            The segments of a task. A worker has one at a time in memory, and expands the query once
            for a task.
        progress : bool or callable
            As for `he.ray.Pool.map`, in tasks.

        Raises
        ------
        ValueError
            If the index has no records, or nothing of this kind is answered.
        he.ray.WorkerLost
            If a task loses its worker more often than the pool allows.
        """
        if wanted not in ("count", "matches", "scores"):
            raise ValueError(f"{wanted!r}, where \"count\", \"matches\" or \"scores\" is expected")
        if segments < 1:
            raise ValueError(f"segments is {segments}, where at least 1 is expected")
        described = _description(self.folder)
        count = len(segments_of(described["segments"]))
        if count == 0:
            raise ValueError(f"{self.folder} has no records")
        first = range(0, count, segments)
        shared = {
            "folder": os.path.abspath(self.folder),
            "query": _content(query),
            "key": key if isinstance(key, bytes) else os.path.abspath(key),
            "wanted": wanted,
            "segments": segments,
        }
        parts = tuple(pool.map(_answer_of, first, shared=shared, progress=progress))
        return Answers(parts, tuple(first), described["plan"]["metric"] == "euclidean")

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


def segments_of(parts: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Group the entries of ``index.json`` by segments.

    An entry whose first slot is the one after the records before it belongs to the same segment.
    """
    found: list[list[dict[str, Any]]] = []
    end = 0
    for part in parts:
        start = part["occupancy"]["start"]
        if start == 0 or start != end:
            found.append([])
        found[-1].append(part)
        end = start + part["occupancy"]["records"]
    return found


def _description(folder: str) -> dict[str, Any]:
    with open(os.path.join(folder, "index.json"), "rb") as file:
        found: dict[str, Any] = json.load(file)
    return found


def _content(place: Place) -> bytes:
    if isinstance(place, bytes):
        return place
    with open(place, "rb") as file:
        return file.read()


def _answer_of(
    first: int, *, folder: str, query: bytes, key: Place, wanted: str, segments: int
) -> bytes:
    """Answer for some segments: for an index of their files alone, in a folder of links to them."""
    described = _description(folder)
    parts = segments_of(described["segments"])[first : first + segments]
    described["segments"] = [part for of in parts for part in of]
    with tempfile.TemporaryDirectory(prefix="he-") as scratch:
        for part in described["segments"]:
            name = f"{part['file']:06}.he"
            os.symlink(os.path.join(folder, name), os.path.join(scratch, name))
        with open(os.path.join(scratch, "index.json"), "w", encoding="utf-8") as file:
            json.dump(described, file)
        made = Index(scratch)._answer(wanted, query, key)
    assert isinstance(made, bytes)
    return made


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
    answer: Place | Answers,
    key: Place,
    *,
    passphrase: str | None = None,
    allow_cost: bool = False,
    device: str = "auto",
) -> Count:
    """Decrypt the answer of `Index.count`.

    Parameters
    ----------
    answer : path, bytes or Answers
        The answer, or those of parts.
    key : path or bytes
        The secret key.
    passphrase, allow_cost, device
        As for `he.EncryptedFile.decrypt`.
    """
    parts, _ = _parts(answer)
    read = [_read("count", part, key, 0, passphrase, allow_cost, device) for part in parts]
    return Count(*(sum(numbers) for numbers in zip(*read)))


def fetched(
    answer: Place | Answers,
    key: Place,
    *,
    passphrase: str | None = None,
    allow_cost: bool = False,
    device: str = "auto",
) -> Matches:
    """Decrypt the answer of `Index.fetch`. Parameters are as for `counted`."""
    parts, segments = _parts(answer)
    read = [Matches(*_read("matches", part, key, 0, passphrase, allow_cost, device)) for part in parts]
    return Matches(
        np.concatenate([_moved(found.positions, by) for found, by in zip(read, segments)]),
        np.concatenate([found.payloads for found in read]),
        sum(found.undecided for found in read),
    )


def top_k(
    answer: Place | Answers,
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
    parts, segments = _parts(answer)
    read = [Ranking(*_read("scores", part, key, k, passphrase, allow_cost, device)) for part in parts]
    positions = np.concatenate([_moved(found.positions, by) for found, by in zip(read, segments)])
    values = np.concatenate([found.values for found in read])
    if isinstance(answer, Answers):
        nearest = np.argsort(values if answer.is_distance else -values, kind="stable")[:k]
        positions, values = positions[nearest], values[nearest]
    return Ranking(positions, values, max(found.error for found in read))


def _parts(answer: Place | Answers) -> tuple[Sequence[Place], Sequence[int]]:
    """The answers of parts, and the first segment of each."""
    return (answer.parts, answer.segments) if isinstance(answer, Answers) else ([answer], [0])


def _moved(positions: npt.NDArray[np.int64], segments: int) -> npt.NDArray[np.int64]:
    return np.asarray(positions + np.array([segments, 0]))
