"""Three clients train a classifier of handwritten digits; the server averages encrypted weights.

    python federated_average.py ../../models/mnist --examples 200 --rounds 3

The last client drops out of the last round before the sum is decrypted.
"""

from __future__ import annotations

import argparse
import gzip
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from he import federated

Array = npt.NDArray[np.float64]
CLIENTS, PIXELS, DIGITS = 3, 784, 10


def digits(path: Path, count: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Pictures between 0 and 1, and their labels."""
    records = np.frombuffer(gzip.open(path).read(), np.uint8).reshape(-1, 1 + PIXELS)[:count]
    return records[:, 1:] / 255.0, records[:, 0].astype(np.int64)


def trained(model: Sequence[Array], pictures: Array, labels: npt.NDArray[np.int64]) -> list[Array]:
    """Softmax regression, ten steps of gradient descent further."""
    weights, bias = model
    for _ in range(10):
        scores = pictures @ weights + bias
        wrong = np.exp(scores - scores.max(axis=1, keepdims=True))
        wrong /= wrong.sum(axis=1, keepdims=True)
        wrong[np.arange(len(labels)), labels] -= 1
        weights = weights - 0.5 * pictures.T @ wrong / len(labels)
        bias = bias - 0.5 * wrong.mean(axis=0)
    return [weights, bias]


class Network:
    """Carries questions to clients, and counts bytes."""

    def __init__(self, clients: Mapping[int, federated.Client]) -> None:
        self.clients = clients
        self.gone: set[int] = set()
        self.sent = self.received = 0

    def ask(
        self, step: str, numbers: Sequence[int], files: Mapping[int, bytes], quorum: Sequence[int]
    ) -> dict[int, bytes]:
        """The answers of clients that are there."""
        answers = {i: self.clients[i].answer(step, files, quorum) for i in numbers if i not in self.gone}
        self.received += len(numbers) * sum(map(len, files.values()))
        self.sent += sum(map(len, answers.values()))
        return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mnist", type=Path, help="the folder of train.gz and test.gz")
    parser.add_argument("--examples", type=int, default=6000, help="of all clients together")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    pictures, labels = digits(options.mnist / "train.gz", options.examples)
    # Shares of different sizes, which the average weights.
    ends = [options.examples // 2, options.examples * 5 // 6]
    shares = dict(enumerate(zip(np.split(pictures, ends), np.split(labels, ends), strict=True), 1))
    most = max(len(part) for _, part in shares.values())

    model = plain = [np.zeros((PIXELS, DIGITS)), np.zeros(DIGITS)]
    shapes = [array.shape for array in model]
    with tempfile.TemporaryDirectory() as folder:
        parties = federated.simulated(folder, CLIENTS, numbers=sum(array.size for array in model))
        common = secrets.token_bytes(32)
        network = Network({i: federated.Client(party, i, common) for i, party in parties.items()})
        server = federated.Server(Path(folder) / "server")
        start = time.perf_counter()
        for at in range(options.rounds):
            network.gone = {CLIENTS} if at == options.rounds - 1 else set()
            there = [i for i in shares if i not in network.gone]
            local = {i: trained(model, *share) for i, share in shares.items()}
            updates = {
                i: network.clients[i].update(local[i], len(shares[i][1]) / most) for i in shares
            }
            network.sent += sum(map(len, updates.values()))
            model = server.average(updates, network.ask, shapes)
            weights = [len(shares[i][1]) for i in there]
            beside = [trained(plain, *shares[i]) for i in there]
            plain = [np.average(layer, axis=0, weights=weights) for layer in zip(*beside, strict=True)]
        seconds = time.perf_counter() - start

    pictures, labels = digits(options.mnist / "test.gz", 1000)
    right = np.mean((pictures @ model[0] + model[1]).argmax(axis=1) == labels)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(model, plain, strict=True))
    print(f"{options.rounds} rounds in {seconds:.1f} s; {100 * right:.1f} % of test digits right")
    print(f"a client and round: {network.sent / CLIENTS / options.rounds / 1e6:.2f} MB to the server,")
    print(f"{network.received / CLIENTS / options.rounds / 1e6:.2f} MB from it")
    print(f"greatest difference from averages in the clear {difference:.1e}")


if __name__ == "__main__":
    main()
