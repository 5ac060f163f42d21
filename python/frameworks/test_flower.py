"""Flower's strategy over encrypted updates, on the messages of Flower without its network."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.supercore.task_identity import TaskIdentity

from he import federated
from he.federated import flower


# The server, whose messages name it.
TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


def sent(message: Message) -> Message:
    """A message as it arrives."""
    return message_from_proto(message_to_proto(message))


class Grid:
    """The nodes of a federation, each of which runs the app."""

    def __init__(self, app: ClientApp, clients: int) -> None:
        self.app = app
        self.contexts = {
            100 + number: Context(1, 100 + number, {"partition-id": number}, RecordDict(), {})
            for number in range(1, clients + 1)
        }
        self.gone: set[tuple[int, str]] = set()

    def get_node_ids(self) -> list[int]:
        return list(self.contexts)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        return [self.reply(message) for message in messages]

    def reply(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        arrived = sent(message)
        try:
            if (node, message.metadata.message_type.split(".")[0]) in self.gone:
                raise ConnectionError("gone")
            return sent(self.app(arrived, self.contexts[node]))
        except Exception as error:  # As Flower does.
            return Message(Error(0, str(error)), reply_to=arrived)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    folder = tmp_path_factory.mktemp("flower")
    parties = federated.simulated(folder, 3, numbers=7)
    common = secrets.token_bytes(32)

    def opened(context: Context) -> federated.Client:
        number = int(context.node_config["partition-id"])
        return federated.Client(parties[number], number, common)

    encryption = flower.Encryption(opened, most_examples=40)
    app = ClientApp()
    encryption.register(app)

    @app.train(mods=[encryption.train])
    def train(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        model = message.content["arrays"].to_numpy_ndarrays()
        arrays = ArrayRecord([array + array.dtype.type(number) for array in model])
        metrics = MetricRecord({"num-examples": 10 * number, "loss": float(number)})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return SimpleNamespace(grid=Grid(app, 3), folder=folder)


def test_rounds(grid: SimpleNamespace) -> None:
    """The model is that of Flower's own strategy; a dropped client is left out, by either step."""
    strategy = flower.FedAvg(federated.Server(grid.folder / "server"), fraction_evaluate=0.0)
    initial = [np.zeros((2, 3), np.float32), np.array([-1], np.int64)]
    result = strategy.start(grid.grid, ArrayRecord(initial), num_rounds=2)
    found = result.arrays.to_numpy_ndarrays()
    mean = (1 * 10 + 2 * 20 + 3 * 30) / 60
    assert [array.dtype for array in found] == [np.float32, np.int64]
    np.testing.assert_allclose(found[0], np.full((2, 3), 2 * mean), atol=1e-3)
    assert found[1].tolist() == [3]
    assert abs(result.train_metrics_clientapp[2]["loss"] - mean) < 1e-9
    for step in ("train", "query"):
        grid.grid.gone = {(103, step)}
        result = strategy.start(grid.grid, ArrayRecord(initial), num_rounds=1)
        np.testing.assert_allclose(result.arrays.to_numpy_ndarrays()[0], np.full((2, 3), 5 / 3), atol=1e-3)
    grid.grid.gone = {(103, "train"), (102, "query")}
    result = strategy.start(grid.grid, ArrayRecord(initial), num_rounds=1)
    assert len(result.arrays) == 0
    grid.grid.gone = set()


def test_the_server_gets_no_arrays(grid: SimpleNamespace) -> None:
    record = RecordDict({"arrays": ArrayRecord([np.ones((2, 3))]), "config": ConfigRecord({})})
    message: Any = Message(record, message_type="train", dst_node_id=101)
    reply = grid.grid.reply(message)
    assert not reply.content.array_records and set(reply.content["he.federated"]) == {"client", "update"}
