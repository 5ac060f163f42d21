"""Sets in common, against the sets themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import he
from he import intersect


def test_items_and_labels_in_common(tmp_path: Path) -> None:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print("seed", seed)
    rng = np.random.default_rng(seed)
    users = {f"user {i}": str(i).encode() for i in rng.choice(10_000, 200, replace=False)}
    server = intersect.Set.prepare(
        tmp_path / "users", users, client_items=8, label_bytes=6, device="cpu"
    )
    assert (server.plan.items, server.plan.client_items, server.plan.label_bytes) == (200, 8, 6)
    asked = [*list(users)[:3], "user x", "user 10001"]
    client = intersect.Client(server.plan, asked)
    response = server.respond(client.request())
    answer = server.answer(client.query(response), device="cpu")
    expected = {item.encode(): users[item] for item in asked[:3]}
    assert client.read(response, answer) == expected
    for bad in (b"", answer[:-1], client.request()):
        with pytest.raises(he.Error):
            client.read(response, bad)
    with pytest.raises(ValueError, match="not planned"):
        intersect.Client(server.plan, [str(i) for i in range(9)])
    with pytest.raises(FileNotFoundError, match="Set.prepare"):
        intersect.Set(tmp_path)
    with pytest.raises(he.FormatError):
        intersect.Plan(b"plan")
