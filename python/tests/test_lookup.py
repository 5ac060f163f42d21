"""Private look-ups, against the records themselves."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import he
from he import lookup


def _seeded() -> np.random.Generator:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print("seed", seed)
    return np.random.default_rng(seed)


def _client(database: lookup.Database) -> lookup.Client:
    return lookup.Client(database.description, lookup.ClientKey.generate())


def test_records_by_number(tmp_path: Path) -> None:
    rng = _seeded()
    records = rng.integers(0, 256, (600, 20), dtype=np.uint8)
    database = lookup.Database.prepare(
        tmp_path / "db", records[:500], planned=600, device="cpu"
    )
    assert database.append(records[500:], device="cpu") >= 1
    records[17] = 9
    database.update(17, records[17:18].tobytes(), device="cpu")
    described = database.description
    assert (described.by, described.records, described.version) == ("number", 600, 3)
    assert described.log2_failure <= -40
    server = database.serve(queries=3, device="cpu")
    client = _client(database)
    numbers = [17, 599, *map(int, rng.integers(0, 600, 3))]
    queries = [client.query(number) for number in numbers]
    assert {len(query) for query in queries} == {described.query_bytes}
    for number, answer in zip(numbers, server.answers(queries)):
        assert len(answer) == described.answer_bytes
        assert client.read(answer, number) == records[number].tobytes()
    again = lookup.Description(pickle.loads(pickle.dumps(bytes(described))))
    assert again == described and lookup.Database(tmp_path / "db").description == described
    with pytest.raises(ValueError, match="no record 600"):
        client.query(600)
    with pytest.raises(ValueError, match="looked up by number"):
        client.query("salt")


def test_values_by_key(tmp_path: Path) -> None:
    entries = {f"word {i}": bytes([i, i + 1]) for i in range(100)}
    entries["short"] = b"x"
    database = lookup.Database.prepare_keys(tmp_path / "db", entries, value_bytes=3, device="cpu")
    server, client = database.serve(device="cpu"), _client(database)
    answers = server.answers([client.query(key) for key in ("word 7", "short", "word 100")])
    found = [client.read(a, k) for a, k in zip(answers, ("word 7", "short", "word 100"))]
    assert found == [b"\x07\x08\0", b"x\0\0", None]


def test_objects_that_do_not_belong_together(tmp_path: Path) -> None:
    rng = _seeded()
    records = rng.integers(0, 1 << 32, (50, 2), dtype=np.uint32)
    database = lookup.Database.prepare(tmp_path / "db", records, device="cpu")
    server, client = database.serve(device="cpu"), _client(database)
    query = client.query(3)
    answer = server.answer(query)
    assert client.read(answer, 3) == records[3].tobytes()
    with pytest.raises(he.KeySetError, match="another query"):
        _client(database).read(answer, 3)
    with pytest.raises(he.KeySetError, match="another query"):
        client.read(answer, 4)
    at = int(rng.integers(0, len(query)))
    damaged = query[:at] + bytes([query[at] ^ 1]) + query[at + 1 :]
    for bad in (b"", b"x", damaged, bytes(database.description)):
        with pytest.raises(he.FormatError, match="damaged"):
            server.answer(bad)
    database.update(0, records[:1] + 1, device="cpu")
    with pytest.raises(he.ParameterError, match="query again"):
        database.serve(device="cpu").answer(query)
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(lookup.ClientKey.generate())
    with pytest.raises(FileNotFoundError, match="Database.prepare"):
        lookup.Database(tmp_path)
    with pytest.raises(FileExistsError):
        lookup.Database.prepare(tmp_path / "db", records, device="cpu")
    with pytest.raises(ValueError, match="not a multiple"):
        lookup.Database.prepare(tmp_path / "x", b"abcde", record_bytes=2, device="cpu")
    with pytest.raises(ValueError, match="record_bytes"):
        lookup.Database.prepare(tmp_path / "x", b"abcde", device="cpu")
    with pytest.raises(he.FormatError):
        lookup.Description(b"HELK")
