"""The workflow of NVIDIA FLARE over encrypted updates, in its simulator."""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
import pytest

from nvflare.app_common.np.np_model_persistor import NPModelPersistor
from nvflare.client.config import ExchangeFormat
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

from he import federated
from he.federated.nvflare import FedAvg

SCRIPT = '''
import sys
from pathlib import Path
import nvflare.client as flare
import he
from he import federated
from he.federated.nvflare import Encryption, FLModel

flare.init()
folder, number = Path(sys.argv[1]), int(flare.get_site_name().split("-")[1])
party = he.Party.open(folder / str(number))
client = federated.Client(party, number, (folder / "common").read_bytes())
encryption = Encryption(client, most_examples=40)
questions = 0
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    # Client 3 drops out of the second round before it has computed the sum.
    questions += "he_step" in received.meta
    if number == 3 and questions == 2:
        raise ConnectionError("gone")
    reply = encryption.answer(received)
    if reply is None:
        params = {name: array + number / 10 for name, array in received.params.items()}
        reply = encryption.encrypted(FLModel(params=params), 10 * number)
    flare.send(reply)
'''


def test_rounds(tmp_path: Path) -> None:
    """The mean of three clients, then that of two: one has dropped out."""
    federated.simulated(tmp_path, 3, numbers=6)
    (tmp_path / "common").write_bytes(secrets.token_bytes(32))
    script = tmp_path / "client_of_he.py"
    script.write_text(SCRIPT)
    job = FedJob(name="he", min_clients=2)
    job.set_app_packages(["he"])
    job.to_server(FedAvg(str(tmp_path / "server"), num_clients=3, num_rounds=2))
    job.to_server(NPModelPersistor(model=[[0.0, 1.0, 2.0], [3.0, 4.0, -5.0]]), id="persistor")
    runner = ScriptRunner(
        str(script),
        script_args=str(tmp_path),
        framework=FrameworkType.RAW,
        server_expected_format=ExchangeFormat.RAW,
    )
    job.to_clients(runner)
    job.simulator_run(str(tmp_path / "work"), n_clients=3)
    (saved,) = (tmp_path / "work").rglob("server.npy")
    steps = (1 + 4 + 9) / 60 + (1 + 4) / 30
    np.testing.assert_allclose(np.load(saved), np.array([[0, 1, 2], [3, 4, -5]]) + steps, atol=1e-3)
