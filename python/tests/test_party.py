"""Several parties who decrypt together."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import he
from he.party import Party, Step


def total(first: Step, second: Step, third: Step) -> Step:
    return first.add(second).add(third)


class Session:
    """Three parties with keys, each with a table of its own."""

    def __init__(self, folder: Path) -> None:
        first = Party.create(folder / "1", 1, parties=3, depth=2, precision_bits=12)
        with open(first.session, "rb") as file:
            session = file.read()
        self.parties = [first, *(Party.create(folder / str(i), i, session=session) for i in (2, 3))]
        self.first = [party.share_keys() for party in self.parties]
        self.second = [party.share_relinearisation(self.first) for party in self.parties]
        for party in self.parties:
            party.combine_keys(self.first, self.second)
        rng = np.random.default_rng(5)
        self.data = [rng.normal(size=40) for _ in self.parties]
        self.tables = [party.encrypt({"x": x}) for party, x in zip(self.parties, self.data, strict=True)]
        self.inputs = list(enumerate(self.tables, 1))
        self.result = first.compute(total, *self.tables, device="cpu")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return Session(tmp_path_factory.mktemp("session"))


def test_a_federated_mean(session: Session, tmp_path: Path) -> None:
    parties, result = session.parties, session.result
    transcripts = [party.check(total, session.inputs, result) for party in parties]
    with pytest.raises(he.Error, match="party 2"):
        parties[0].share(result, [transcripts[0], transcripts[2]])
    shares = [party.share(result, transcripts, output=tmp_path / f"{i}") for i, party in enumerate(parties)]
    # Somebody without a secret combines.
    (tmp_path / "anybody").mkdir()
    (tmp_path / "anybody/session.he").write_bytes(Path(parties[0].session).read_bytes())
    anybody = Party.open(tmp_path / "anybody")
    found = anybody.combine(result, transcripts[:1], shares)
    np.testing.assert_allclose(found["x"] / 3, np.mean(session.data, axis=0), atol=2**-10)

    with pytest.raises(he.Error, match="has made its share"):
        parties[1].share(result, transcripts)
    with pytest.raises(he.Error, match="no share of party 3"):
        anybody.combine(result, transcripts[:1], shares[:2])
    with pytest.raises(he.Error, match="second share of party 1"):
        anybody.combine(result, transcripts[:1], [shares[0], *shares])
    with pytest.raises(FileNotFoundError):
        anybody.share_keys()


def test_what_is_not_the_result_is_refused(session: Session) -> None:
    """A ciphertext that somebody chose, under the name of the sum: a share of it would be a key."""
    victim = session.parties[1]
    first, second, third = session.tables
    for other in (first, first.add(victim.evaluation_key, second, device="cpu")):
        with pytest.raises(he.Error, match="is not what the program computes"):
            victim.check(total, session.inputs, other)
    # It is not made a result by calling it an input of the victim, or one of somebody else.
    with pytest.raises(he.Error, match="is not a table that party 2 has encrypted"):
        victim.check(None, [(2, first)], first)
    with pytest.raises(he.Error, match="was encrypted by this party, 2"):
        victim.check(None, [(1, second)], second)
    with pytest.raises(he.Error, match="is not an input, as encryption makes it"):
        victim.check(None, [(1, session.result)], session.result)
    with pytest.raises(ValueError, match="are the same input"):
        victim.check(total, [(1, first), (2, second), (3, first)], session.result)
    transcripts = [party.check(None, [(3, third)], third) for party in session.parties]
    with pytest.raises(he.Error, match="is not what the program computes"):
        victim.share(first, transcripts)
    others = [party.check(None, [(1, first)], first) for party in session.parties]
    with pytest.raises(he.Error, match="differs from the transcript"):
        victim.share(third, [transcripts[1], others[2]])


def test_messages_belong_to_a_session(session: Session, tmp_path: Path) -> None:
    other = Party.create(tmp_path / "other", 1, parties=2, depth=0, precision_bits=12)
    foreign = other.share_keys()
    party = session.parties[0]
    with pytest.raises(he.Error, match="session"):
        other.share_relinearisation([foreign, session.first[1]])
    with pytest.raises(he.Error, match="session"):
        party.combine_keys([foreign, *session.first[1:]], session.second)
    with pytest.raises(he.Error, match="session"):
        other.check(None, [(2, session.tables[0])], session.tables[0])
    with pytest.raises(FileNotFoundError, match="public.key"):
        other.encrypt({"x": [1.0]})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"x": [[1.0]]}, "one axis"),
        ({"x": [1.0], "y": [1.0, 2.0]}, "rows"),
        ({}, "numbers"),
    ]
    for columns, error in wrong:
        with pytest.raises(ValueError, match=error):
            party.encrypt(columns)
    damaged = bytearray(Path(foreign).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises(he.FormatError):
        other.share_relinearisation([bytes(damaged)])
    with pytest.raises(TypeError, match="holds a secret"):
        pickle.dumps(party)


def test_any_two_of_three_with_sealed_secrets(tmp_path: Path) -> None:
    folders = [tmp_path / str(i) for i in (1, 2, 3)]
    needs: dict[str, Any] = {"parties": 3, "threshold": 2, "depth": 0, "precision_bits": 12}
    first = Party.create(folders[0], 1, passphrase="open", **needs)
    parties = [first, *(Party.create(folders[i - 1], i, session=first.session) for i in (2, 3))]
    messages = [party.share_keys() for party in parties]
    seconds = [party.share_relinearisation(messages) for party in parties]
    dealt = [party.share_secret() for party in parties]
    for number, party in enumerate(parties, 1):
        party.combine_keys(messages, seconds)
        party.combine_secret([shares[number] for shares in dealt])
    table = parties[2].encrypt({"x": [0.5, -1.5]})
    with pytest.raises(he.Error, match="no passphrase is given"):
        Party.open(folders[0]).check(None, [(3, table)], table)
    first = Party.open(folders[0], passphrase="open")
    transcripts = [party.check(None, [(3, table)], table) for party in (first, parties[2])]
    with pytest.raises(he.Error, match="2 of 3|quorum|2 parties"):
        first.share(table, transcripts)
    shares = [party.share(table, transcripts, quorum=[1, 3]) for party in (first, parties[2])]
    found = parties[1].combine(table, transcripts, shares, quorum=[1, 3])
    np.testing.assert_allclose(found["x"], [0.5, -1.5], atol=2**-10)


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_integers(tmp_path: Path, scheme: str) -> None:
    """Sums, products and counts of two parties are exact, and nothing that differs is shared."""
    needs: dict[str, Any] = {"depth": 1, "bits": 16, "statistical_security": 10, "decryptions": 16}
    first = Party.create(tmp_path / "1", 1, parties=2, scheme=scheme, **needs)
    parties = [first, Party.create(tmp_path / "2", 2, session=first.session)]
    assert first.params.scheme == parties[1].params.scheme == scheme
    messages = [party.share_keys() for party in parties]
    seconds = [party.share_relinearisation(messages) for party in parties]
    for party in parties:
        party.combine_keys(messages, seconds)
    x, y = np.array([3, -7, 11, 0]), np.array([-5, 2, 9, 4])
    tables = [party.encrypt({"x": of}) for party, of in zip(parties, (x, y), strict=True)]
    inputs = list(enumerate(tables, 1))

    def decrypted(program: Callable[..., Step] | None, inputs: list[Any]) -> dict[str, Any]:
        files = [file for _, file in inputs]
        result = first.compute(program, *files, device="cpu") if program else files[0]
        transcripts = [party.check(program, inputs, result) for party in parties]
        shares = [party.share(result, transcripts) for party in parties]
        with pytest.raises(he.Error, match="no share of party 2"):
            first.combine(result, transcripts, shares[:1])
        return dict(parties[1].combine(result, transcripts, shares))

    found = decrypted(lambda a, b: a.mul(b).sum(), inputs)
    assert found["x"].tolist() == [int(x @ y)]
    assert decrypted(None, inputs[1:])["x"].tolist() == y.tolist()
    votes = parties[1].encrypt(b"vote\nyes\nno\nyes\n", categories=["vote"])
    found = decrypted(lambda a: a.count(), [(2, votes)])
    assert {name: list(column) for name, column in found.items()} == {
        "column": ["vote", "vote"],
        "category": ["no", "yes"],
        "count": [1, 2],
    }

    def total(a: Step, b: Step) -> Step:
        return a.add(b)

    wrong = tables[0].sub(first.evaluation_key, tables[1], device="cpu")
    with pytest.raises(he.Error, match="is not what the program computes"):
        first.check(total, inputs, wrong)
    with pytest.raises(he.Error, match="is not an input, as encryption makes it"):
        first.check(None, [(2, wrong)], wrong)
    with pytest.raises(ValueError, match="not for the scheme"):
        Party.create(tmp_path / "3", 1, parties=2, scheme=scheme, precision_bits=12)
    with pytest.raises(ValueError, match="not for the scheme ckks"):
        Party.create(tmp_path / "3", 1, parties=2, bits=12)
    with pytest.raises(ValueError, match='"bgv" are possible'):
        Party.create(tmp_path / "3", 1, parties=2, scheme="tfhe")
    with pytest.raises(he.ParameterError, match="room"):
        Party.create(tmp_path / "3", 1, parties=2, scheme=scheme, bits=58, depth=60)


def test_programs(session: Session) -> None:
    party = session.parties[0]
    wrong: list[tuple[Callable[..., Any], type[Exception], str]] = [
        (lambda a, b, c: 3, TypeError, "returns 3"),
        (lambda a, b, c: (a.add(b), a.add(c))[0], ValueError, "last step"),
        (lambda a, b, c: a.add(b), ValueError, "does not use"),
        (lambda a, b, c: a.evaluate("melt").add(b).add(c), ValueError, "`melt`"),
        (lambda a, b, c: a.add(session.tables[1]), TypeError, "its own inputs"),
    ]
    for program, error, text in wrong:
        with pytest.raises(error, match=text):
            party.check(program, session.inputs, session.result)
    with pytest.raises(ValueError, match="begin a session"):
        Party.create("nowhere", 1)
