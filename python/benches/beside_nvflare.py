"""A round of encrypted averaging beside NVIDIA FLARE's, which encrypts by TenSEAL.

``pip install tenseal`` and the wheel, then ``RAYON_NUM_THREADS=1 python benches/beside_nvflare.py``. The
other side takes the context of FLARE's `HEBuilder` and the steps of its encryptor, accumulator and
decryptor: a vector for each array, under one secret key that all clients have. Here nobody has the
key, which takes a check and a share more. Each step is timed in turn, and the least processor time
over the rounds is printed, with the bytes that one client sends and receives.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tenseal as ts  # type: ignore[import-not-found, unused-ignore]

from he import federated

T = TypeVar("T")
CLIENTS = 3


class Times:
    """The least processor time of each step."""

    def __init__(self) -> None:
        self.least: dict[str, float] = {}

    def step(self, name: str, work: Callable[[], T]) -> T:
        """Time a step, which may be taken several times in a round."""
        start = time.process_time()
        result = work()
        self.took(name, time.process_time() - start)
        return result

    def took(self, name: str, seconds: float) -> None:
        """Note how long a step took."""
        self.least[name] = min(self.least.get(name, seconds), seconds)


def of_flare(times: Times, context: Any, models: list[list[Any]]) -> dict[str, int]:
    """A round as FLARE does it."""
    server = ts.context_from(context.serialize(save_secret_key=False))

    def update(model: list[Any]) -> list[bytes]:
        return [ts.ckks_vector(context, array.ravel() * 0.5).serialize() for array in model]

    def summed() -> list[bytes]:
        loaded = [[ts.ckks_vector_from(server, array) for array in update] for update in updates]
        return [reduce(lambda a, b: a + b, column).serialize() for column in zip(*loaded, strict=True)]

    def decrypted() -> list[Any]:
        return [ts.ckks_vector_from(context, array).decrypt() for array in total]

    updates = [times.step("FLARE, client: encrypt", lambda model=model: update(model)) for model in models]  # type: ignore[misc]
    total = times.step("FLARE, server: sum", summed)
    found = times.step("FLARE, client: decrypt", decrypted)
    expected = 0.5 * sum(model[0].ravel() for model in models)
    assert np.abs(np.array(found[0]) - expected).max() < 1e-4
    return {"sent": sum(map(len, updates[0])), "received": sum(map(len, total))}


def of_he(
    times: Times, server: federated.Server, clients: dict[int, federated.Client], models: list[list[Any]]
) -> dict[str, int]:
    """A round with `he.federated`."""
    count = {"sent": 0, "received": 0}
    elsewhere = 0.0

    def ask(step: str, numbers: Any, files: Any, quorum: Any) -> dict[int, bytes]:
        nonlocal elsewhere
        start = time.process_time()
        answers = {
            number: times.step(f"he, client: {step}", lambda number=number: clients[number].answer(step, files, quorum))  # type: ignore[misc]
            for number in numbers
        }
        elsewhere += time.process_time() - start
        count["sent"] += len(answers[1])
        count["received"] += sum(map(len, files.values()))
        return answers

    updates = {
        number: times.step("he, client: encrypt", lambda number=number: client.update(models[number - 1], 0.5))  # type: ignore[misc]
        for number, client in clients.items()
    }
    shapes = [array.shape for array in models[0]]
    start = time.process_time()
    found = server.average(updates, ask, shapes)
    times.took("he, server: check, sum and decrypt", time.process_time() - start - elsewhere)
    assert np.abs(found[0] - np.mean([model[0] for model in models], axis=0)).max() < 1e-4
    return {"sent": count["sent"] + len(updates[1]), "received": count["received"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    shapes = [(784, 10), (10,)]
    context = ts.context(
        ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40], encryption_type=ts.ENCRYPTION_TYPE.SYMMETRIC
    )
    context.generate_relin_keys()
    context.global_scale = 2**40
    times = Times()
    with tempfile.TemporaryDirectory() as folder:
        parties = federated.simulated(folder, CLIENTS, numbers=7850)
        common = secrets.token_bytes(32)
        clients = {i: federated.Client(party, i, common) for i, party in parties.items()}
        server = federated.Server(Path(folder) / "server")
        for _ in range(options.rounds):
            models = [[rng.uniform(-1, 1, shape) for shape in shapes] for _ in clients]
            theirs = of_flare(times, context, models)
            ours = of_he(times, server, clients, models)
    for name, seconds in times.least.items():
        print(f"{name}: {1000 * seconds:.1f} ms")
    for side, count in (("FLARE", theirs), ("he", ours)):
        print(f"{side}: a client sends {count['sent']} and receives {count['received']} bytes")


if __name__ == "__main__":
    main()
