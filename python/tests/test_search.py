"""Indexes of encrypted vectors, against plain scores."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path
from typing import Callable

import numpy as np
import numpy.typing as npt
import pytest

import he
from he import ray, search

DIMENSION = 4
THRESHOLD, MARGIN = 0.7, 0.2
SLOTS = 8192

needs_ray = pytest.mark.skipif(not ray.is_available(), reason="Ray is not installed")
ENGINES = ["process", pytest.param("ray", marks=needs_ray)]

Vectors = npt.NDArray[np.float64]


def unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def cosines(vectors: Vectors, query: Vectors) -> Vectors:
    return np.asarray(unit(vectors) @ unit(query))


class Case:
    """An index of vectors about a query and elsewhere, none within the margin of the threshold."""

    def __init__(self, folder: Path) -> None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
        print("seed", seed)
        rng = np.random.default_rng(seed)
        self.query = rng.normal(size=DIMENSION) * 3
        drawn = rng.normal(size=(400, DIMENSION))
        drawn[::8] = unit(drawn[::8]) * 0.2 + unit(self.query)
        distance = np.abs(cosines(drawn, self.query) - THRESHOLD)
        self.vectors = drawn[distance > MARGIN + 0.01][:60]
        self.payloads = rng.integers(0, 256, (len(self.vectors), 6), dtype=np.uint8)
        self.near = np.flatnonzero(cosines(self.vectors, self.query) > THRESHOLD)
        assert 0 < len(self.near) < len(self.vectors)
        self.index = he.Index.create(
            folder / "index", DIMENSION, threshold=THRESHOLD, margin=MARGIN, payload=6, records=100
        )
        self.index.keygen(folder / "keys", device="cpu")
        self.secret, self.keys = folder / "keys/secret.key", folder / "keys/eval.key"
        written = self.index.append(self.vectors, self.payloads, self.secret, device="cpu")
        assert written > 1 << 20
        self.asked = self.index.query(self.query, self.secret, device="cpu")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("search"))


def test_counts_payloads_and_rankings(case: Case) -> None:
    index = pickle.loads(pickle.dumps(case.index))
    assert len(index) == len(case.vectors) and "index" in repr(index)
    told: list[tuple[int, int]] = []
    answer = index.count(case.asked, case.keys, device="cpu", progress=lambda *at: told.append(at))
    assert search.counted(answer, case.secret, device="cpu") == search.Count(len(case.near), 0)
    assert told[-1] == (2, 2)

    found = search.fetched(index.fetch(case.asked, case.keys, device="cpu"), case.secret, device="cpu")
    assert len(found) == len(case.near) and found.undecided == 0
    np.testing.assert_array_equal(found.positions, np.stack([0 * case.near, case.near], axis=1))
    np.testing.assert_array_equal(found.payloads, case.payloads[case.near])

    answer = index.scores(case.asked, case.keys, device="cpu")
    ranking = search.top_k(answer, case.secret, 7, device="cpu")
    scores = cosines(case.vectors, case.query)
    assert ranking.error < 1e-4 and len(ranking) == 7
    np.testing.assert_allclose(ranking.values, np.sort(scores)[::-1][:7], atol=2 * ranking.error)
    np.testing.assert_allclose(scores[ranking.positions[:, 1]], ranking.values, atol=ranking.error)
    assert len(search.top_k(answer, case.secret, 10**6, device="cpu")) == len(case.vectors)


def test_records_are_appended_merged_and_deleted(case: Case, tmp_path: Path) -> None:
    index = he.Index.create(tmp_path / "more", DIMENSION, threshold=THRESHOLD, margin=MARGIN, payload=12)
    # The plan is another one, with the same parameters: keys of one serve the other.
    index.append(case.vectors[:9], ["Zoë", b"\xff", "", *"abcdef"], case.secret, device="cpu")
    index.append(case.vectors[9:20].tolist(), None, case.secret, device="cpu")
    assert index.info["files"] == 2 and index.merge(device="cpu") == 1 and len(index) == 20
    at = int(case.near[case.near < 9][0]) if (case.near < 9).any() else 0
    asked = tmp_path / "query.he"
    assert index.query(case.vectors[at], case.secret, output=asked, device="cpu") == str(asked)
    with pytest.raises(FileExistsError):
        index.query(case.vectors[at], case.secret, output=asked, device="cpu")
    found = search.fetched(index.fetch(asked, case.keys, device="cpu"), case.secret, device="cpu")
    text = ["Zoë", "�", "", *"abcdef"][at]
    where = found.positions.tolist().index([0, at])
    assert found.texts()[where] == text and found.payloads.shape[1] == 12
    index.delete([[0, at]])
    left = search.fetched(index.fetch(asked, case.keys, device="cpu"), case.secret, device="cpu")
    assert [0, at] not in left.positions.tolist() and len(left) == len(found) - 1
    with pytest.raises(ValueError, match="holds no record"):
        index.delete([[0, at]])
    assert len(index) == 19


@pytest.mark.parametrize("metric", ["dot", "euclidean"])
def test_other_metrics_rank(metric: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(len(metric))
    vectors, query = rng.uniform(-1, 1, (30, 3)), rng.uniform(-1, 1, 3)
    index = he.Index.create(tmp_path / "index", 3, metric=metric, norm=2.0)
    index.keygen(tmp_path / "keys", passphrase="a long word", device="cpu")
    key = {"key": tmp_path / "keys/secret.key", "passphrase": "a long word", "device": "cpu"}
    index.append(vectors, None, **key)  # type: ignore[arg-type]
    asked = index.query(query, **key)  # type: ignore[arg-type]
    answer = index.scores(asked, tmp_path / "keys/eval.key", device="cpu")
    ranking = search.top_k(answer, k=3, **key)  # type: ignore[arg-type]
    values = vectors @ query if metric == "dot" else np.linalg.norm(vectors - query, axis=1)
    order = np.argsort(-values if metric == "dot" else values)
    np.testing.assert_allclose(ranking.values, values[order[:3]], atol=1e-4)
    with pytest.raises(he.ParameterError, match="rankings do not serve matches"):
        index.fetch(asked, tmp_path / "keys/eval.key", device="cpu")


@pytest.mark.parametrize("engine", ENGINES)
def test_segments_are_searched_by_workers(engine: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    query, count = np.array([1.0, 0.2, 0.0]), SLOTS + 40
    vectors = rng.normal(size=(count, 3))
    vectors[:, 0] = -np.abs(vectors[:, 0]) - 1
    near = np.array([7, SLOTS - 1, SLOTS, SLOTS + 39])
    vectors[near] = query
    index = he.Index.create(
        tmp_path / "index", 3, threshold=0.6, margin=0.3, payload=2, records=count
    )
    index.keygen(tmp_path / "keys", device="cpu")
    secret, keys = tmp_path / "keys/secret.key", tmp_path / "keys/eval.key"
    index.append(vectors, rng.integers(0, 256, (count, 2), dtype=np.uint8), secret, device="cpu")
    index.delete([[1, 0]])
    asked = index.query(query, secret, device="cpu")
    with ray.Pool(engine=engine) as pool:
        pids = [worker["pid"] for worker in pool.workers() if worker["pid"] != os.getpid()]

        def kill(count: int, total: int | None) -> None:
            if pids:
                os.kill(pids.pop(), signal.SIGKILL)

        counts, matches, scores = (
            index.answers(wanted, asked, keys, pool, progress=kill)
            for wanted in ("count", "matches", "scores")
        )
        with pytest.raises(ValueError, match="at least 1"):
            index.answers("count", asked, keys, pool, segments=0)
        with pytest.raises(ValueError, match="'all'"):
            index.answers("all", asked, keys, pool)
    assert counts.segments == (0, 1) and counts.parts[0] != counts.parts[1]
    assert search.counted(counts, secret, device="cpu") == search.Count(3, 0)
    whole = search.fetched(index.fetch(asked, keys, device="cpu"), secret, device="cpu")
    found = search.fetched(matches, secret, device="cpu")
    assert found.positions.tolist() == [[0, 7], [0, SLOTS - 1], [1, 39]] == whole.positions.tolist()
    np.testing.assert_array_equal(found.payloads, whole.payloads)
    ranking = search.top_k(scores, secret, 3, device="cpu")
    assert {tuple(at) for at in ranking.positions.tolist()} == {(0, 7), (0, SLOTS - 1), (1, 39)}
    np.testing.assert_allclose(ranking.values, 1, atol=ranking.error)


REFUSED: list[tuple[type[Exception], str, Callable[[Case, Path], object]]] = [
    (ValueError, "dimension 1 ", lambda _, to: he.Index.create(to, 1)),
    (ValueError, "metric 'hamming'|metric \"hamming\"", lambda _, to: he.Index.create(to, 4, metric="hamming")),
    (ValueError, "leave norm out", lambda _, to: he.Index.create(to, 4, norm=1.0)),
    (ValueError, "belong together", lambda _, to: he.Index.create(to, 4, threshold=0.5)),
    (ValueError, "without a threshold", lambda _, to: he.Index.create(to, 4, payload=3)),
    (ValueError, "ascending", lambda _, to: he.Index.create(to, 4, threshold=2.0, margin=0.1)),
    (ValueError, "ascending", lambda _, to: he.Index.create(to, 4, threshold=float("nan"), margin=0.1)),
    (ValueError, "widen the margin", lambda _, to: he.Index.create(to, 4, threshold=0.5, margin=1e-7)),
    (ValueError, "too many", lambda _, to: he.Index.create(to, 4, records=1 << 40)),
    (ValueError, "not planned", lambda _, to: he.Index.create(to, 4, threshold=0.5, margin=0.1, payload=257)),
    (ValueError, "greatest norm", lambda _, to: he.Index.create(to, 4, metric="dot", norm=-1.0)),
    (OverflowError, "negative", lambda _, to: he.Index.create(to, -4)),
    (FileExistsError, "already", lambda case, _: he.Index.create(case.index.folder, 4)),
    (FileNotFoundError, "not the folder of an index", lambda _, to: he.Index(to)),
    (ValueError, "coordinates", lambda case, _: case.index.append(np.ones((2, 5)), None, case.secret)),
    (ValueError, "not a finite", lambda case, _: case.index.query([1, np.nan, 0, 0], case.secret)),
    (ValueError, "norm", lambda case, _: case.index.query(np.zeros(4), case.secret)),
    (ValueError, "2 vectors, where a query is one", lambda case, _: case.index.query(np.ones((2, 4)), case.secret)),
    (ValueError, "dimensions", lambda case, _: case.index.append(np.ones((1, 1, 4)), None, case.secret)),
    (TypeError, "dtype", lambda case, _: case.index.append(np.ones((1, 4), complex), None, case.secret)),
    (ValueError, "1 payloads for 2", lambda case, _: case.index.append(np.ones((2, 4)), ["a"], case.secret)),
    (ValueError, "has 7 bytes", lambda case, _: case.index.append(np.ones((1, 4)), ["1234567"], case.secret)),
    (ValueError, "uint8", lambda case, _: case.index.append(np.ones((1, 4)), np.ones((1, 6)), case.secret)),  # type: ignore[arg-type]
    (TypeError, "one text", lambda case, _: case.index.append(np.ones((1, 4)), "text", case.secret)),
    (TypeError, "payloads: int", lambda case, _: case.index.append(np.ones((1, 4)), [5], case.secret)),  # type: ignore[list-item]
    (ValueError, "planned", lambda case, _: case.index.append(np.ones((SLOTS, 4)), None, case.secret)),
    (he.KeySetError, "not a secret key", lambda case, _: case.index.append(np.ones((1, 4)), None, case.keys)),
    (he.KeySetError, "not a secret key", lambda case, _: case.index.query(np.ones(4), case.keys)),
    (he.KeySetError, "not an evaluation key", lambda case, _: case.index.count(case.asked, case.secret)),
    (he.FormatError, "neither", lambda case, _: case.index.count(b"noise", case.keys)),
    (he.FormatError, "empty", lambda case, _: search.counted(b"", case.secret)),
    (he.FormatError, "a query", lambda case, _: search.counted(case.asked, case.secret)),
    (ValueError, "shape", lambda case, _: case.index.delete([0, 1])),
    (ValueError, "shape", lambda case, _: case.index.delete([[0.5, 1.0]])),
    (ValueError, "holds no record", lambda case, _: case.index.delete([[7, 0]])),
    (OverflowError, "negative", lambda case, _: case.index.delete([[-1, 0]])),
]


@pytest.mark.parametrize(("error", "words", "attempt"), REFUSED)
def test_what_searches_refuse(
    case: Case,
    tmp_path: Path,
    error: type[Exception],
    words: str,
    attempt: Callable[[Case, Path], object],
) -> None:
    with pytest.raises(error, match=words):
        attempt(case, tmp_path / "new")
    assert len(case.index) == len(case.vectors)


def test_damaged_files_are_refused(case: Case, tmp_path: Path) -> None:
    answer = case.index.count(case.asked, case.keys, device="cpu")
    assert isinstance(answer, bytes)
    with pytest.raises(ValueError, match="an answer by count, where one by matches is expected"):
        search.fetched(answer, case.secret, device="cpu")
    at = len(answer) * 2 // 3
    for damaged in (answer[:-50], answer[:at] + bytes([answer[at] ^ 1]) + answer[at + 1 :], answer + b"x"):
        with pytest.raises(he.FormatError):
            search.counted(damaged, case.secret, device="cpu")
    other = he.Index.create(tmp_path / "other", DIMENSION, threshold=THRESHOLD, margin=MARGIN, payload=6)
    with pytest.raises(he.ParameterError, match="another plan"):
        other.count(case.asked, case.keys, device="cpu")
    other.keygen(tmp_path / "keys", device="cpu")
    with pytest.raises(he.KeySetError):
        case.index.append(np.ones((1, 4)), None, tmp_path / "keys/secret.key", device="cpu")
    with pytest.raises(he.KeySetError):
        search.counted(answer, tmp_path / "keys/secret.key", device="cpu")
    (tmp_path / "other/index.json").write_text("{}")
    with pytest.raises(he.FormatError, match="does not describe an index"):
        he.Index(tmp_path / "other")


def test_a_signal_ends_an_answer(
    case: Case,
    ended_by_a_signal: Callable[[str, Callable[[], object], float], None],
) -> None:
    ended_by_a_signal(
        "_search_answer", lambda: case.index.scores(case.asked, case.keys, device="cpu"), 0.01
    )
