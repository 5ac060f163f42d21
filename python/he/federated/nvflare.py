"""Federated averaging in NVIDIA FLARE (``pip install nvflare``) on encrypted updates.

`FedAvg` is the workflow of the server. A training script, which uses FLARE's client API, gives what
it receives to `Encryption.answer` and what it trained to `Encryption.encrypted`. Metrics travel in
the clear.

Examples
--------
>>> encryption = nvflare.Encryption(client, most_examples=5000)
>>> while flare.is_running():
...     received = flare.receive()
...     reply = encryption.answer(received)
...     if reply is None:
...         params, examples = train(received.params)
...         reply = encryption.encrypted(FLModel(params=params), examples)
...     flare.send(reply)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from he.federated import layout
from he.federated.client import Client
from he.federated.server import RoundFailed, Server

try:
    from nvflare.app_common.abstract.fl_model import (  # type: ignore[import-not-found, unused-ignore]
        FLModel,
    )
    from nvflare.app_common.workflows.model_controller import (  # type: ignore[import-not-found, unused-ignore]
        ModelController,
    )
except ImportError as error:
    raise ImportError("he.federated.nvflare needs NVIDIA FLARE: pip install 'nvflare>=2.5'") from error

__all__ = ["Encryption", "FedAvg"]

_STEP, _CLIENT, _QUORUM = "he_step", "he_client", "he_quorum"
Params = Mapping[str, npt.NDArray[Any]]


class FedAvg(ModelController):  # type: ignore[misc, unused-ignore]
    """A workflow that averages encrypted updates.

    The model comes from the persistor of the job, and goes back to it after every round. A round in
    which too few clients are left keeps it.

    Parameters
    ----------
    folder : str
        The folder of `Server`.
    num_clients, num_rounds : int
        As in FLARE's `FedAvg`.
    bound : float
        That of the clients.
    timeout : int
        Seconds to wait for the answers of a step.
    persistor_id : str
        The name of the persistor.
    """

    def __init__(
        self,
        folder: str,
        *,
        num_clients: int = 3,
        num_rounds: int = 5,
        bound: float = 8.0,
        timeout: int = 600,
        persistor_id: str = "persistor",
    ) -> None:
        # A client that cannot answer drops out.
        super().__init__(persistor_id=persistor_id, ignore_result_error=True)
        self.folder = folder
        self.num_clients = num_clients
        self.num_rounds = num_rounds
        self.bound = bound
        self.timeout = timeout

    def run(self) -> None:
        """Run all rounds."""
        server = Server(self.folder, bound=self.bound)
        model = self.load_model()
        model.total_rounds = self.num_rounds
        for model.current_round in range(self.num_rounds):
            targets = self.sample_clients(self.num_clients)
            results = self.send_model_and_wait(data=model, targets=targets, timeout=self.timeout)
            try:
                model.params = self.averaged(server, results, model.params)
            except RoundFailed as error:
                self.warning(f"round {model.current_round}: {error}")
            self.save_model(model)

    def averaged(self, server: Server, results: Sequence[Any], params: Params) -> dict[str, Any]:
        """The parameters that follow from the replies of a round."""
        updates = {result.meta[_CLIENT]: result.params["update"] for result in results}
        names = {result.meta[_CLIENT]: result.meta["client_name"] for result in results}
        shapes = [array.shape for array in params.values()]
        found = server.average(updates, self._asking(names), shapes)
        pairs = zip(params.items(), found, strict=True)
        return {name: layout.typed(array, old.dtype) for (name, old), array in pairs}

    def _asking(self, names: Mapping[int, str]) -> Callable[..., dict[int, bytes]]:
        def ask(
            step: str, numbers: Sequence[int], files: Mapping[int, bytes], quorum: Sequence[int]
        ) -> dict[int, bytes]:
            given = {str(number): file for number, file in files.items()}
            asked = FLModel(params=given, meta={_STEP: step, _QUORUM: list(quorum)})
            targets = [names[number] for number in numbers]
            replies = self.send_model_and_wait(data=asked, targets=targets, timeout=self.timeout)
            return {reply.meta[_CLIENT]: reply.params["answer"] for reply in replies}

        return ask


class Encryption:
    """What a training script needs to send encrypted updates.

    Parameters
    ----------
    client : Client
        The client.
    most_examples : int
        The greatest number of examples that a client has, on which all agree: an update weighs as
        much as its share of it.
    """

    def __init__(self, client: Client, *, most_examples: int) -> None:
        self._client = client
        self._most = most_examples

    def encrypted(self, model: Any, examples: int) -> Any:
        """The reply with the parameters of a model encrypted, and its metrics as they are."""
        arrays = [np.asarray(array) for array in model.params.values()]
        update = self._client.update(arrays, examples / self._most)
        return FLModel(
            params={"update": update}, metrics=model.metrics, meta={_CLIENT: self._client.number}
        )

    def answer(self, asked: Any) -> Any:
        """The reply to a question of the workflow; None for a model that is to be trained."""
        if _STEP not in asked.meta:
            return None
        files = {int(number): file for number, file in asked.params.items()}
        answer = self._client.answer(asked.meta[_STEP], files, asked.meta[_QUORUM])
        return FLModel(params={"answer": answer}, meta={_CLIENT: self._client.number})
