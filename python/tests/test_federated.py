"""Federated averaging against NumPy's averages."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import he
from he import federated
from he.federated import Client, RoundFailed, Server

SHAPES = [(3, 4), (5,), ()]
PRECISION = 20
Answers = dict[int, bytes]


class Federation:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        common = secrets.token_bytes(32)
        self.parties = federated.simulated(folder, 3, numbers=18, precision_bits=PRECISION)
        self.clients = {i: Client(party, i, common) for i, party in self.parties.items()}
        self.server = Server(folder / "server")
        self.asked: list[tuple[str, list[int]]] = []

    def ask(
        self, step: str, numbers: Sequence[int], files: Mapping[int, bytes], quorum: Sequence[int]
    ) -> Answers:
        self.asked.append((step, list(numbers)))
        return {number: self.clients[number].answer(step, files, quorum) for number in numbers}

    def without(self, gone: int, when: str) -> Callable[..., Answers]:
        """As `ask`, but client `gone` does not answer one step."""

        def ask(step: str, numbers: Sequence[int], *files: Any) -> Answers:
            return self.ask(step, [n for n in numbers if (n, step) != (gone, when)], *files)

        return ask


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return Federation(tmp_path_factory.mktemp("federation"))


Model = list[npt.NDArray[np.float64]]


@pytest.fixture
def models() -> dict[int, Model]:
    seed = secrets.randbits(32)
    print("seed", seed)
    rng = np.random.default_rng(seed)
    return {i: [rng.uniform(-8, 8, shape) for shape in SHAPES] for i in (1, 2, 3)}


WEIGHTS = {1: 1.0, 2: 0.5, 3: 0.125}


def check_average(found: Model, models: dict[int, Model], numbers: Sequence[int]) -> None:
    weights = [WEIGHTS[i] for i in numbers]
    for at, shape in enumerate(SHAPES):
        expected = np.average([models[i][at] for i in numbers], axis=0, weights=weights)
        assert found[at].shape == shape
        bound = 2.0 ** (4 - PRECISION) * 8 / sum(weights)
        np.testing.assert_allclose(found[at], expected, rtol=0, atol=bound)


def test_the_average_is_that_of_numpy(federation: Federation, models: dict[int, Model]) -> None:
    for _ in range(2):
        updates = {i: federation.clients[i].update(models[i], WEIGHTS[i]) for i in models}
        check_average(federation.server.average(updates, federation.ask, SHAPES), models, [1, 2, 3])
    # Sizes and exponents do not depend on the numbers.
    small = federation.clients[1].update([np.full(shape, 1e-9) for shape in SHAPES], 1e-3)
    assert he.EncryptedFile(small).info == he.EncryptedFile(updates[1]).info and len(small) == len(updates[1])


def test_clients_drop_out(federation: Federation, models: dict[int, Model]) -> None:
    clients, server = federation.clients, federation.server
    # Before the upload, and before the check.
    updates = {i: clients[i].update(models[i], WEIGHTS[i]) for i in (1, 3)}
    check_average(server.average(updates, federation.ask, SHAPES), models, [1, 3])
    updates = {i: clients[i].update(models[i], WEIGHTS[i]) for i in models}
    federation.asked.clear()
    found = server.average(updates, federation.without(1, "check"), SHAPES)
    check_average(found, models, [2, 3])
    assert federation.asked == [("check", [2, 3]), ("check", [2, 3]), ("share", [2, 3])]
    # After it, outside of the quorum: its update is in the average.
    updates = {i: clients[i].update(models[i], WEIGHTS[i]) for i in models}
    found = server.average(updates, federation.without(3, "share"), SHAPES)
    check_average(found, models, [1, 2, 3])
    # One of the quorum: the round fails, and the others do not help with another sum of it.
    updates = {i: clients[i].update(models[i], WEIGHTS[i]) for i in models}
    with pytest.raises(RoundFailed, match="shares of 1 clients"):
        server.average(updates, federation.without(1, "share"), SHAPES)
    with pytest.raises(ValueError, match="has no update"):
        clients[2].check({2: updates[2], 3: updates[3]})
    with pytest.raises(RoundFailed, match="sound updates of 1 clients"):
        server.average({1: updates[1]}, federation.ask, SHAPES)


def test_foreign_keys_and_wrong_shapes(
    federation: Federation, models: dict[int, Model], tmp_path: Path
) -> None:
    clients, server = federation.clients, federation.server
    common = secrets.token_bytes(32)
    foreign = Client(federated.simulated(tmp_path, 2, numbers=18)[1], 1, common).update(models[2])
    updates = {i: clients[i].update(models[i], WEIGHTS[i]) for i in models}
    found = server.average({**updates, 2: foreign}, federation.ask, SHAPES)
    check_average(found, models, [1, 3])
    turned = [np.zeros((4, 3)), np.zeros(5), np.zeros(())]
    faults = {
        "key set": foreign,
        "another model": clients[1].update(turned),
        "another bound": Client(federation.parties[1], 1, common, bound=9.0).update(models[1]),
        "truncated": b"HEWF",
    }
    for text, update in faults.items():
        assert re.search(text, server.fault(update, SHAPES) or ""), text
    assert server.fault(updates[1], SHAPES) is None
    assert server._sound({4: updates[1]}, SHAPES) == {}
    wrong: list[tuple[Any, float, str]] = [
        ([[9.0]], 1.0, "magnitude 9"),
        ([[np.nan]], 1.0, "magnitude nan"),
        ([[1.0]], 0.0, "weight"),
        ([[1.0]], 1.5, "weight"),
    ]
    for arrays, weight, text in wrong:
        with pytest.raises(ValueError, match=text):
            clients[1].update(arrays, weight)


def test_a_server_does_not_choose_what_is_decrypted(
    federation: Federation, models: dict[int, Model]
) -> None:
    one, two = federation.clients[1], federation.clients[2]
    updates = {i: federation.clients[i].update(models[i]) for i in models}
    with pytest.raises(ValueError, match="is not in the sum"):
        one.check({2: updates[2], 3: updates[3]})
    with pytest.raises(ValueError, match="a sum of 1 updates"):
        one.check({1: updates[1]})
    with pytest.raises(ValueError, match="is not in the sum"):
        one.check({1: updates[2], 2: updates[1]})
    with pytest.raises((he.Error, ValueError), match="was encrypted by this party|same input"):
        one.check({1: updates[1], 2: updates[1]})
    with pytest.raises(ValueError, match="has checked no sum"):
        one.share({}, [1, 2])
    pair = {1: updates[1], 2: updates[2]}
    mine, other = one.check(pair), two.check(updates)
    forged = bytearray(two.check(pair))
    forged[-1] ^= 1
    with pytest.raises(ValueError, match="client 2 was not made by a client"):
        one.share({1: mine, 2: bytes(forged)}, [1, 2])
    with pytest.raises(he.Error):
        one.share({1: mine, 2: other}, [1, 2])
    with pytest.raises(ValueError, match="has no update"):
        one.check(pair)
    with pytest.raises(ValueError, match="'check' or 'share'"):
        one.answer("decrypt", {}, [])
    with pytest.raises(ValueError, match="at least 32"):
        Client(federation.parties[1], 1, b"short")
    with pytest.raises(ValueError, match="one of"):
        Client(federation.parties[1], 4, secrets.token_bytes(32))


def test_needs() -> None:
    assert federation_threshold(3) == 2 and federation_threshold(4) == 3 and federation_threshold(2) is None
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"clients": 1, "numbers": 1}, "1 clients"),
        ({"clients": 3, "numbers": 0}, "0 numbers"),
        ({"clients": 4, "numbers": 1, "threshold": 2}, "where 3 to 4"),
    ]
    for given, text in wrong:
        with pytest.raises(ValueError, match=text):
            federated.needs(**given)


def federation_threshold(clients: int) -> Any:
    return federated.needs(clients, numbers=1)["threshold"]


def test_digits() -> None:
    """The example: three clients, of which one drops out of the last round."""
    root = Path(__file__).parents[1]
    command = [sys.executable, root / "examples/federated_average.py", root.parent / "models/mnist"]
    command += ["--examples", "200", "--rounds", "2"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    right = re.search(r"([0-9.]+) % of test digits", done.stdout)
    assert right and float(right[1]) > 60 and float(done.stdout.split()[-1]) < 2**-12
