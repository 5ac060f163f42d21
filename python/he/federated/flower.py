"""Federated averaging in Flower (``pip install flwr``) on encrypted updates.

`FedAvg` is a strategy for the server, and `Encryption` has what a `ClientApp` needs. The training
function stays as it is: its arrays are encrypted before they leave the client. Metrics, and with
them the number of examples, travel in the clear, as in Flower.

Examples
--------
>>> encryption = flower.Encryption(open_client, most_examples=5000)
>>> app = ClientApp()
>>> encryption.register(app)
>>> @app.train(mods=[encryption.train])
... def train(message, context): ...
>>> strategy = flower.FedAvg(federated.Server("server"))   # in the ServerApp
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from he.federated import layout
from he.federated.client import Client
from he.federated.server import RoundFailed, Server

try:
    from flwr.app import (  # type: ignore[import-not-found, unused-ignore]
        Array,
        ArrayRecord,
        ConfigRecord,
        Message,
        RecordDict,
    )
    from flwr.serverapp import strategy  # type: ignore[import-not-found, unused-ignore]
except ImportError as error:
    raise ImportError("he.federated.flower needs Flower: pip install 'flwr>=1.20'") from error

__all__ = ["Encryption", "FedAvg"]

_RECORD = "he.federated"
_QUESTION = "query.he_federated"
_log = logging.getLogger(__name__)


def _restored(like: Any, arrays: Sequence[layout.Array]) -> Any:
    """The averages under the names and in the types of the record of a model."""
    pairs = zip(like.items(), like.to_numpy_ndarrays(), arrays, strict=True)
    return ArrayRecord(OrderedDict((name, Array(layout.typed(found, old.dtype))) for (name, _), old, found in pairs))


class FedAvg(strategy.FedAvg):  # type: ignore[misc, unused-ignore]
    """Flower's `FedAvg`, whose server sees updates encrypted.

    A round in which too few clients are left keeps the model.

    Parameters
    ----------
    server : Server
        The server of the session.
    timeout : float
        Seconds to wait for the answers of a step.
    options
        Those of Flower's `FedAvg`.
    """

    def __init__(self, server: Server, *, timeout: float = 600.0, **options: Any) -> None:
        super().__init__(**options)
        self._server = server
        self._timeout = timeout
        self._grid: Any = None
        self._model: Any = None

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:
        """As in Flower, and keep the grid for the steps of decryption."""
        self._grid, self._model = grid, arrays
        messages: Iterable[Any] = super().configure_train(server_round, arrays, config, grid)
        return messages

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> tuple[Any, Any]:
        """Add up the encrypted updates, and have the quorum decrypt the sum."""
        sound = [reply for reply in replies if not reply.has_error()]
        nodes: dict[int, int] = {}
        updates: dict[int, bytes] = {}
        for reply in sound:
            record = reply.content[_RECORD]
            nodes[record["client"]] = reply.metadata.src_node_id
            updates[record["client"]] = record["update"]
        old = self._model.to_numpy_ndarrays()
        try:
            found = self._server.average(updates, self._asking(nodes), [array.shape for array in old])
        except RoundFailed as error:
            _log.warning("round %d: %s", server_round, error)
            return None, None
        metrics = self.train_metrics_aggr_fn([reply.content for reply in sound], self.weighted_by_key)
        return _restored(self._model, found), metrics

    def _asking(self, nodes: Mapping[int, int]) -> Callable[..., dict[int, bytes]]:
        def ask(
            step: str, numbers: Sequence[int], files: Mapping[int, bytes], quorum: Sequence[int]
        ) -> dict[int, bytes]:
            record = {str(number): file for number, file in files.items()}
            question = {"step": step, "quorum": list(quorum)}
            content = RecordDict({_RECORD: ConfigRecord(question), "files": ConfigRecord(record)})
            messages = [
                Message(content, message_type=_QUESTION, dst_node_id=nodes[number]) for number in numbers
            ]
            replies = self._grid.send_and_receive(messages, timeout=self._timeout)
            found = [reply.content[_RECORD] for reply in replies if not reply.has_error()]
            return {record["client"]: record["answer"] for record in found}

        return ask


class Encryption:
    """What a `ClientApp` needs to send encrypted updates.

    Parameters
    ----------
    open_client : callable
        Makes the `Client` of a context of Flower.
    most_examples : int
        The greatest number of examples that a client has, on which all agree: an update weighs as
        much as its share of it.
    weighted_by_key : str
        The metric with the number of examples.
    """

    def __init__(
        self,
        open_client: Callable[[Any], Client],
        *,
        most_examples: int,
        weighted_by_key: str = "num-examples",
    ) -> None:
        self._open = open_client
        self._most = most_examples
        self._key = weighted_by_key

    def register(self, app: Any) -> None:
        """Let an app answer the questions of the strategy."""
        app.query("he_federated")(self.answer)

    def train(self, message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        """Encrypt what a training function replies: a mod of Flower."""
        reply = call_next(message, context)
        if reply.has_error():
            return reply
        (arrays,) = reply.content.array_records.values()
        examples = [metrics[self._key] for metrics in reply.content.metric_records.values()][0]
        client = self._open(context)
        update = client.update(arrays.to_numpy_ndarrays(), examples / self._most)
        content = RecordDict(dict(reply.content.metric_records))
        content[_RECORD] = ConfigRecord({"client": client.number, "update": update})
        return Message(content, reply_to=message)

    def answer(self, message: Any, context: Any) -> Any:
        """Answer a question of the strategy."""
        client = self._open(context)
        question, given = message.content[_RECORD], message.content["files"]
        files = {int(number): file for number, file in given.items()}
        answer = client.answer(question["step"], files, question["quorum"])
        record = ConfigRecord({"client": client.number, "answer": answer})
        return Message(RecordDict({_RECORD: record}), reply_to=message)
