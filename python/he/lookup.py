"""Private look-up: one record of a large database, from a server that does not learn which one.

The files are those of ``he-cli lookup``. The owner of the records prepares a `Database` in a folder
and serves it; clients need its public `Description` and a `ClientKey` of their own. Records are
looked up by their numbers or by keys, and an answer for a key that is absent says so.

Examples
--------
>>> import numpy as np
>>> from he import lookup
>>> records = np.arange(4000, dtype=np.uint32).reshape(-1, 1)
>>> database = lookup.Database.prepare("numbers", records, device="cpu")
>>> server = database.serve(device="cpu")
>>> client = lookup.Client(database.description, lookup.ClientKey.generate())
>>> query = client.query(1234)                               # bytes, for the server
>>> answer = server.answer(query)                            # no secret
>>> np.frombuffer(client.read(answer, 1234), np.uint32)
array([1234], dtype=uint32)
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from he import _he
from he.files import Progress

__all__ = ["Client", "ClientKey", "Database", "Description", "Server"]

#: A record by its number, or by its key as bytes or text.
Record = Union[int, bytes, str]
#: Records of one size: bytes, or an array whose first axis counts them.
Records = Union[bytes, bytearray, memoryview, npt.NDArray[Any]]
#: Values by their keys.
Entries = Union[Mapping[str, bytes], Mapping[bytes, bytes], Mapping[Union[str, bytes], bytes]]


def _record(record: Record) -> int | bytes:
    return record.encode() if isinstance(record, str) else record


def _content(place: bytes | str | os.PathLike[str]) -> bytes:
    if isinstance(place, bytes):
        return place
    with open(place, "rb") as file:
        return file.read()


class ClientKey:
    """The secret of a client, which serves any number of queries to any databases.

    Parameters
    ----------
    source : path or bytes
        The file of ``he-cli lookup keygen``, or what `expose_bytes` returned.
    """

    def __init__(self, source: bytes | str | os.PathLike[str]) -> None:
        self._bytes = _content(source)

    def __repr__(self) -> str:
        return "<he.lookup.ClientKey>"

    def __reduce__(self) -> Any:
        raise TypeError("a client's key is secret and is not pickled: use expose_bytes")

    @classmethod
    def generate(cls) -> ClientKey:
        """Return a fresh key."""
        return cls(_he._lookup_keygen())

    def expose_bytes(self) -> bytes:
        """Return the key as bytes, which are as secret as the key."""
        return self._bytes


class Description:
    """The public description of a version of a database: all that clients need to ask.

    Parameters
    ----------
    source : path or bytes
        The file ``description.lookup``, or the bytes of it. Descriptions of parameters without
        security are refused with `he.ParameterError`.

    Attributes
    ----------
    database : str
        The name of this version, which queries and answers carry.
    version : int
        The changes since the first version.
    digest : str
        The hash of all records.
    by : {"number", "key"}
        The way in which records are looked up.
    records, planned_records, record_bytes : int
        How many records there are and may be, and the bytes of each.
    query_bytes, answer_bytes, scanned_bytes : int
        The bytes of a query with its keys, of an answer, and those that an answer reads.
    log2_failure : float
        log2 of a bound on the probability that a record is read wrongly.
    """

    def __init__(self, source: bytes | str | os.PathLike[str]) -> None:
        self._bytes = _content(source)
        stated: dict[str, Any] = json.loads(_he._lookup_info(self._bytes))
        self.database: str = stated["database"]
        self.version: int = stated["version"]
        self.digest: str = stated["digest"]
        self.by: str = stated["by"]
        self.records: int = stated["records"]
        self.planned_records: int = stated["planned_records"]
        self.record_bytes: int = stated["record_bytes"]
        self.query_bytes: int = stated["query_bytes"]
        self.answer_bytes: int = stated["answer_bytes"]
        self.scanned_bytes: int = stated["scanned_bytes"]
        self.log2_failure: float = stated["log2_failure"]

    def __bytes__(self) -> bytes:
        return self._bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Description) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"<he.lookup.Description of {self.records} records by {self.by}, {self.database}>"

    def __reduce__(self) -> Any:
        return Description, (self._bytes,)


class Client:
    """A client of one version of a database.

    Parameters
    ----------
    description : Description
        What the server publishes.
    key : ClientKey
        The secret of this client.
    """

    def __init__(self, description: Description, key: ClientKey) -> None:
        self.description = description
        self._client = _he._LookupClient(bytes(description), key.expose_bytes())

    def __repr__(self) -> str:
        return f"<he.lookup.Client of {self.description.database}>"

    def query(self, record: Record) -> bytes:
        """Encrypt a query, by the number or the key of a record.

        All queries to a database are of one size, and none can be linked to another.

        Raises
        ------
        ValueError
            There is no record of this number, or the database is looked up the other way.
        """
        return self._client.query(_record(record))

    def read(self, answer: bytes, record: Record) -> bytes | None:
        """Read the answer to a query: the record, or None for a key that is absent.

        Raises
        ------
        he.ParameterError
            The answer is of another database, or of another version.
        he.KeySetError
            It is to a query of another client, or for another record.
        he.FormatError
            It is damaged.
        """
        return self._client.read(answer, _record(record))


class Server:
    """A version of a database on a device, which keeps nothing of a query.

    `Database.serve` makes one.
    """

    def __init__(self, server: _he._LookupServer, description: Description) -> None:
        self._server = server
        self.description = description

    def __repr__(self) -> str:
        return f"<he.lookup.Server of {self.description.database}>"

    def answer(self, query: bytes) -> bytes:
        """Answer a query.

        Raises
        ------
        he.ParameterError
            It is for another database, or for another version: fetch the present description.
        he.FormatError
            It is damaged.
        """
        return self.answers([query])[0]

    def answers(self, queries: Sequence[bytes]) -> list[bytes]:
        """Answer queries of one client or of many together, which costs little more than one."""
        return self._server.answer(list(queries))


class Database:
    """A database in a folder.

    Parameters
    ----------
    folder : path
        The folder that `prepare` or ``he-cli lookup prepare`` made.

    Raises
    ------
    FileNotFoundError
        The folder is not a database.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.description = self._described()

    def __repr__(self) -> str:
        return f"<he.lookup.Database {self.folder!r}>"

    def _described(self) -> Description:
        return Description(_he._lookup_description(self.folder))

    @classmethod
    def prepare(
        cls,
        folder: str | os.PathLike[str],
        records: Records,
        *,
        record_bytes: int | None = None,
        planned: int | None = None,
        device: str = "auto",
        progress: Progress | None = None,
    ) -> Database:
        """Prepare records that are looked up by their numbers.

        Parameters
        ----------
        folder : path
            The folder to make.
        records : array or bytes
            An array has a record in each row; bytes are records one after the other.
        record_bytes : int, optional
            The bytes of each record; those of a row by default.
        planned : int, optional
            The most records that there will ever be; those that are given by default.
        device, progress : optional
            As for `he.EncryptedFile.evaluate`.
        """
        data, size = _rows(records, record_bytes)
        count = planned if planned is not None else len(data) // size if size else 0
        _he._lookup_prepare(os.fspath(folder), data, size, count, device, progress)
        return cls(folder)

    @classmethod
    def prepare_keys(
        cls,
        folder: str | os.PathLike[str],
        entries: Entries,
        *,
        value_bytes: int | None = None,
        planned: int | None = None,
        device: str = "auto",
    ) -> Database:
        """Prepare values that are looked up by their keys.

        Parameters
        ----------
        folder : path
            The folder to make.
        entries : mapping of bytes or text to bytes
            Keys and values; shorter values are filled with zeros.
        value_bytes : int, optional
            The bytes of each value; those of the longest by default.
        planned : int, optional
            The number of keys that the database is planned for; those that are given by default.
        device : str
            As for `he.Context`.
        """
        longest = max((len(value) for value in entries.values()), default=1)
        size = value_bytes if value_bytes is not None else max(longest, 1)
        rows = [
            (key.encode() if isinstance(key, str) else key, value.ljust(size, b"\0"))
            for key, value in entries.items()
        ]
        count = planned if planned is not None else max(len(rows), 1)
        _he._lookup_prepare_keys(os.fspath(folder), rows, size, count, device)
        return cls(folder)

    def append(self, records: Records, *, device: str = "auto") -> int:
        """Append records, and return how many packs of rows were prepared again.

        Each change makes a new version: clients fetch the description again.
        """
        return self._changed(records, None, device)

    def update(self, first: int, records: Records, *, device: str = "auto") -> int:
        """Overwrite records from the number `first` on; as `append`."""
        return self._changed(records, first, device)

    def _changed(self, records: Records, first: int | None, device: str) -> int:
        data, _ = _rows(records, self.description.record_bytes)
        packs = _he._lookup_change(self.folder, data, first, device)
        self.description = self._described()
        return packs

    def serve(self, *, queries: int = 8, device: str = "auto") -> Server:
        """Bring the database to a device, for any number of answers.

        Parameters
        ----------
        queries : int
            The most queries of one scan.
        device : str
            As for `he.Context`.
        """
        if queries < 1:
            raise ValueError(f"{queries} queries of a scan, where one at least is needed")
        return Server(_he._LookupServer(self.folder, queries, device), self.description)


def _rows(records: Records, record_bytes: int | None) -> tuple[bytes, int]:
    """Records as bytes, one after the other, and the bytes of each."""
    if isinstance(records, np.ndarray):
        if records.ndim < 1 or records.dtype.hasobject:
            raise ValueError(f"records of shape {records.shape} and dtype {records.dtype}")
        size = records.dtype.itemsize * int(np.prod(records.shape[1:], dtype=np.int64))
        if record_bytes is not None and record_bytes != size:
            raise ValueError(f"rows of {size} bytes, where records have {record_bytes}")
        return records.tobytes(), size
    data = bytes(records)
    if record_bytes is None:
        raise ValueError("records as bytes have no size of their own: give record_bytes")
    return data, record_bytes
