"""Sets in common: which of a client's items are in the set of a server, and with which labels.

The messages and folders are those of ``he-cli intersect``. A client learns nothing about other items
of the server, and the server learns how many items a client asks for, not which. There are two
rounds: a request of blinded items and a response, then an encrypted query and an answer.

Examples
--------
>>> from he import intersect
>>> users = {f"user {i}": b"id %d" % i for i in range(1000)}
>>> server = intersect.Set.prepare("users", users, client_items=10, device="cpu")
>>> client = intersect.Client(server.plan, ["user 7", "nobody"])
>>> response = server.respond(client.request())
>>> answer = server.answer(client.query(response), device="cpu")
>>> client.read(response, answer)
{b'user 7': b'id 7'}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from he import _he

__all__ = ["Client", "Plan", "Set"]

#: An item, as bytes or text.
Item = Union[bytes, str]


def _item(item: Item) -> bytes:
    return item.encode() if isinstance(item, str) else bytes(item)


class Plan:
    """The public plan of a set, which both parties have.

    Parameters
    ----------
    source : path or bytes
        The file ``plan.psi``, or the bytes of it.

    Attributes
    ----------
    items, client_items : int
        The most items of the server, and of a client at a time.
    label_bytes : int
        The bytes of each label; 0 in a set without labels.
    query_bytes, answer_bytes : int
        The predicted bytes of a query, and of an answer of a full set.
    memory_bytes : int
        The predicted memory of the prepared set.
    false_positive_log2 : float
        log2 of a bound on the probability that an item is taken for one in common.
    """

    def __init__(self, source: bytes | str | os.PathLike[str]) -> None:
        if isinstance(source, bytes):
            self._bytes = source
        else:
            with open(source, "rb") as file:
                self._bytes = file.read()
        stated: dict[str, Any] = json.loads(_he._intersect_info(self._bytes))
        self.items: int = stated["items"]
        self.client_items: int = stated["client_items"]
        self.label_bytes: int = stated["label_bytes"]
        self.query_bytes: int = stated["query_bytes"]
        self.answer_bytes: int = stated["answer_bytes"]
        self.memory_bytes: int = stated["memory_bytes"]
        self.false_positive_log2: float = stated["false_positive_log2"]

    def __bytes__(self) -> bytes:
        return self._bytes

    def __repr__(self) -> str:
        return f"<he.intersect.Plan of {self.items} items, asked for {self.client_items} at a time>"

    def __reduce__(self) -> Any:
        return Plan, (self._bytes,)


class Set:
    """The set of a server, in a folder with its secret key.

    Parameters
    ----------
    folder : path
        The folder that `prepare` or ``he-cli intersect prepare`` made.

    Raises
    ------
    FileNotFoundError
        The folder has no set.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.plan = Plan(_he._intersect_plan(self.folder))

    def __repr__(self) -> str:
        return f"<he.intersect.Set {self.folder!r}>"

    @classmethod
    def prepare(
        cls,
        folder: str | os.PathLike[str],
        items: Iterable[Item] | Mapping[Item, bytes],
        *,
        client_items: int,
        label_bytes: int | None = None,
        planned: int | None = None,
        device: str = "auto",
    ) -> Set:
        """Make a set under a fresh key.

        Parameters
        ----------
        folder : path
            The folder to make.
        items : iterable, or mapping of items to labels
            The items. Shorter labels are filled with zeros.
        client_items : int
            The most items that a client may ask for at a time.
        label_bytes : int, optional
            The bytes of each label; those of the longest by default.
        planned : int, optional
            The most items of the set; those that are given by default.
        device : str
            As for `he.Context`.
        """
        labels = dict(items) if isinstance(items, Mapping) else dict.fromkeys(items, b"")
        size = max((len(label) for label in labels.values()), default=0)
        size = label_bytes if label_bytes is not None else size
        entries = [(_item(item), label.ljust(size, b"\0")) for item, label in labels.items()]
        count = planned if planned is not None else max(len(entries), 1)
        _he._intersect_prepare(os.fspath(folder), entries, count, client_items, size, device)
        return cls(folder)

    def respond(self, request: bytes) -> bytes:
        """Respond to the request of a client."""
        return _he._intersect_respond(self.folder, request)

    def answer(self, query: bytes, *, device: str = "auto") -> bytes:
        """Answer the query of a client."""
        return _he._intersect_answer(self.folder, query, device)


class Client:
    """A client that asks for some items, once.

    Parameters
    ----------
    plan : Plan
        The plan of the set.
    items : iterable of bytes or text
        The items to look for; each counts once.
    """

    def __init__(self, plan: Plan, items: Iterable[Item]) -> None:
        self.plan = plan
        self._client = _he._IntersectClient(bytes(plan), [_item(item) for item in items])

    def __repr__(self) -> str:
        return f"<he.intersect.Client of {self.plan!r}>"

    def request(self) -> bytes:
        """Return the first message."""
        return self._client.request()

    def query(self, response: bytes) -> bytes:
        """Return the second message, by the server's response to the first."""
        return self._client.query(response)

    def read(self, response: bytes, answer: bytes) -> dict[bytes, bytes]:
        """Read the answer: the items in common with their labels, without the zeros that fill them."""
        return {
            item: label.rstrip(b"\0") for item, label in self._client.read(response, answer)
        }
