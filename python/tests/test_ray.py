"""Jobs of many ciphertexts: in this process, and on workers of Ray."""

from __future__ import annotations

import functools
import logging
import operator
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import he
from he import files
from he import ray as jobs

Setup = tuple[he.Context, he.Keys]
needs_ray = pytest.mark.skipif(not jobs.is_available(), reason="Ray is not installed")
ENGINES = ["process", pytest.param("ray", marks=needs_ray)]


@pytest.fixture(scope="module")
def real() -> Setup:
    context = he.Context(he.Params.for_depth(2, precision_bits=20), device="cpu")
    return context, context.keygen()


@pytest.fixture(scope="module")
def whole() -> Setup:
    context = he.Context(he.Params.for_depth(1, scheme="bfv", bits=20), device="cpu")
    return context, context.keygen()


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A Ray of two CPUs, whatever this machine has, for all tests of this file."""
    if not jobs.is_available():
        yield
        return
    import ray
    import ray.cloudpickle

    # Workers cannot import the tests.
    cloudpickle: Any = ray.cloudpickle
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What other tests put into the environment of pytest must not decide where workers look.
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=512 << 20,
    )
    yield
    ray.shutdown()


def square(x: he.Ciphertext) -> he.Ciphertext:
    return x * x


def listed(x: list[he.Ciphertext]) -> list[he.Ciphertext]:
    return list(x)


def numbers(count: int) -> np.ndarray:
    return np.arange(3 * count).reshape(count, 3) % 97


def pools(setup: Setup) -> Iterator[jobs.Pool]:
    context, keys = setup
    with jobs.Pool(context.params, keys.evaluation, engine="process") as pool:
        yield pool
    if jobs.is_available():
        for actors in (1, 2):
            with jobs.Pool(context.params, keys.evaluation, actors=actors, engine="ray") as pool:
                yield pool


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_read_ranges_of_files(engine: str, tmp_path: Path) -> None:
    params = he.Params.for_depth(1)
    files.keygen(params, tmp_path, device="cpu")
    assert params.slots is not None
    # A file has up to 64 vectors per ciphertext.
    rows = "".join(f"{i % 100 / 100}\n" for i in range(2 * 64 * params.slots + 1))
    path = tmp_path / "table.he"
    files.encrypt(f"x\n{rows}".encode(), tmp_path / "public.key", output=path, device="cpu")
    context = he.Context(params, device="cpu")
    evaluation = files.evaluation_keys(tmp_path / "eval.key", context)
    parts = files.ranges(path)
    assert len(parts) == 3
    with jobs.Pool(params, evaluation, engine=engine) as pool:
        found = list(pool.map(lambda cts: [ct + ct for ct in cts], parts))
    whole = files.EncryptedFile(path)
    whole.add(tmp_path / "eval.key", whole, output=tmp_path / "sum.he", device="cpu")
    (expected,) = files.ranges(tmp_path / "sum.he", len(parts))
    twice = [ct.to_bytes() for part in found for ct in part]
    assert twice == [ct.to_bytes() for ct in expected.read(context)]
    with jobs.Pool(engine=engine) as pool, pytest.raises(ValueError, match="with parameters"):
        list(pool.map(listed, parts))


def test_results_are_the_same_everywhere(real: Setup, whole: Setup) -> None:
    for setup in (real, whole):
        context, keys = setup
        values = numbers(11) / (97 if setup is real else 1)
        values = values if setup is real else values.astype(np.int64)
        items = [keys.encrypt(row) for row in values]
        direct = [square(item).to_bytes() for item in items]
        sums = set()
        for pool in pools(setup):
            squares = list(pool.map(square, items))
            assert [found.to_bytes() for found in squares] == direct
            assert squares[3].shape == (3,)
            tolerance = 1e-3 if setup is real else 0
            np.testing.assert_allclose(keys.decrypt(squares[3]), values[3] ** 2, atol=tolerance)
            batched = pool.map(square, iter(items), batch=4)
            assert [found.to_bytes() for found in batched] == direct
            loose = pool.map(square, items, ordered=False)
            assert sorted(found.to_bytes() for found in loose) == sorted(direct)
            total = pool.map_reduce(square, operator.add, items, batch=2, fan_in=3)
            np.testing.assert_allclose(
                keys.decrypt(total), (values**2).sum(axis=0), atol=11 * tolerance
            )
            sums.add(total.to_bytes())
            # Sums of rows, whose shape and padding come back as they are.
            means = list(pool.map(lambda x: {"mean": x.sum()}, items[:2]))
            assert means[0]["mean"].shape == ()
            np.testing.assert_allclose(
                keys.decrypt(means[1]["mean"]), values[1].sum(), atol=10 * tolerance
            )
        assert len(sums) == 1


def test_an_order_that_matters_is_kept(whole: Setup) -> None:
    texts = [str(i) for i in range(50)]
    for pool in pools(whole):
        for fan_in in (2, 3, 8, 100):
            assert pool.map_reduce(str, operator.add, texts, fan_in=fan_in) == "".join(texts)
        assert pool.map_reduce(str, operator.add, ["one"]) == "one"
        with pytest.raises(ValueError, match="no items"):
            pool.map_reduce(str, operator.add, [])
        assert list(pool.map(str, [])) == []


def test_batches_by_reference_and_by_path(whole: Setup, tmp_path: Path) -> None:
    parquet = pytest.importorskip("he.parquet")
    context, keys = whole
    values = numbers(20)
    names = ["north", "south", "east"]
    region = [names[i % 3] for i in range(20)]
    cells = [keys.encrypt(row) for row in values]
    parquet.write(
        tmp_path / "a.parquet",
        {"region": region},
        encrypted={"price": cells, "qty": cells[::-1]},
        row_group_size=3,
    )
    groups = parquet.row_groups(tmp_path, ["region", "price", "qty"])

    def revenue(table: dict[str, Any]) -> dict[str, he.Ciphertext]:
        sums: dict[str, he.Ciphertext] = {}
        for name, price, qty in zip(table["region"].to_pylist(), table["price"], table["qty"]):
            sums[name] = sums[name] + price * qty if name in sums else price * qty
        return sums

    def merged(a: dict[str, he.Ciphertext], b: dict[str, he.Ciphertext]) -> dict[str, he.Ciphertext]:
        sums = {**a, **b}
        sums.update({name: a[name] + b[name] for name in a.keys() & b.keys()})
        return sums

    found = []
    for pool in pools(whole):
        sums = pool.map_reduce(revenue, merged, groups, fan_in=2)
        found.append({name: sums[name].to_bytes() for name in names})
        for name in names:
            mine = np.array([name == other for other in region])
            expected = (values[mine] * values[::-1][mine]).sum(axis=0)
            np.testing.assert_array_equal(keys.decrypt(sums[name]), expected)
        stored = pool.put(cells[:4])
        assert [x.to_bytes() for x in next(pool.map(listed, [stored]))] == [x.to_bytes() for x in cells[:4]]
    assert all(one == found[0] for one in found)


@needs_ray
def test_references_of_ray(whole: Setup) -> None:
    import ray

    context, keys = whole
    cell = keys.encrypt([1, 2, 3])
    with jobs.Pool(context, actors=1) as pool:
        found = list(pool.map(square, [ray.put(cell), cell]))
    assert found[0].to_bytes() == found[1].to_bytes() == square(cell).to_bytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_encrypted_files_and_shared_arguments(engine: str, tmp_path: Path) -> None:
    files.keygen(he.Params.for_depth(1), tmp_path, device="cpu")
    key = (tmp_path / "eval.key").read_bytes()
    photos = []
    for index in range(3):
        image = np.full((8, 8), 40 * index, np.uint8)
        path = tmp_path / f"{index}.he"
        photos.append(files.encrypt(image, tmp_path / "public.key", output=path, device="cpu"))

    def inverted(photo: he.EncryptedFile, key: bytes) -> he.EncryptedFile:
        return photo.invert(key, device="cpu")

    with jobs.Pool(engine=engine, actors=2) as pool:
        found = list(pool.map(inverted, photos, shared={"key": key}))
    for index, photo in enumerate(found):
        image = photo.decrypt(tmp_path / "secret.key", device="cpu")
        assert np.abs(image.astype(int) - (255 - 40 * index)).max() <= 1


@needs_ray
def test_a_killed_worker_changes_nothing(whole: Setup) -> None:
    context, keys = whole
    items = [keys.encrypt(row) for row in numbers(40)]
    with jobs.Pool(context, engine="process") as pool:
        expected = pool.map_reduce(square, operator.add, items, fan_in=4).to_bytes()
        mapped = [found.to_bytes() for found in pool.map(square, items)]
    with jobs.Pool(context, actors=2) as pool:
        pids = [worker["pid"] for worker in pool.workers()]
        done = 0

        def kill(count: int, total: int | None) -> None:
            nonlocal done
            done = count
            if count >= 10 and len(pids) == 2:
                os.kill(pids.pop(), signal.SIGKILL)

        assert pool.map_reduce(square, operator.add, items, fan_in=4, progress=kill).to_bytes() == expected
        assert done == 40 and len(pids) == 1
        pids = [worker["pid"] for worker in pool.workers()]
        assert [found.to_bytes() for found in pool.map(square, items, progress=kill)] == mapped
        workers = pool.workers()
    assert len(workers) == 2 and all(worker["key_loads"] == 1 for worker in workers)


@needs_ray
def test_a_task_that_kills_its_workers_ends(whole: Setup) -> None:
    with jobs.Pool(whole[0], actors=1, retries=1) as pool, pytest.raises(jobs.WorkerLost, match="again and again"):
        list(pool.map(lambda _: os._exit(1), range(3)))


@needs_ray
def test_keys_reach_each_worker_once(whole: Setup) -> None:
    context, keys = whole
    items = [keys.encrypt(row) for row in numbers(12)]
    with jobs.Pool(context, actors=2) as pool:
        for _ in range(3):
            list(pool.map(square, items))
        workers = pool.workers()
    assert [worker["key_loads"] for worker in workers] == [1, 1]
    assert all(worker["tasks"] > 0 for worker in workers) and sum(worker["tasks"] for worker in workers) == 36
    assert len({worker["pid"] for worker in workers} | {os.getpid()}) == 3


@needs_ray
def test_keys_by_path(whole: Setup, tmp_path: Path) -> None:
    context, keys = whole
    (tmp_path / "eval.key").write_bytes(keys.evaluation.to_bytes())
    cell = keys.encrypt([1, 2])
    with jobs.Pool(context.params, tmp_path / "eval.key", actors=1) as pool:
        assert next(pool.map(square, [cell])).to_bytes() == square(cell).to_bytes()
    (tmp_path / "eval.key").write_bytes(b"HEWF")
    with pytest.raises(he.FormatError):
        jobs.Pool(context.params, tmp_path / "eval.key", actors=1)
    with pytest.raises(FileNotFoundError):
        jobs.Pool(context.params, tmp_path / "other.key", actors=1)


def resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_of_the_driver_does_not_grow(whole: Setup, engine: str) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    context, keys = whole
    cell = keys.encrypt(np.ones((8, 3), np.int64))
    size = len(cell.to_bytes())

    def items(count: int) -> Iterator[he.Ciphertext]:
        for _ in range(count):
            yield cell

    with jobs.Pool(context, engine=engine, actors=2) as pool:

        def peak(count: int) -> int:
            most = 0
            for _ in pool.map(operator.neg, items(count)):
                most = max(most, resident())
            pool.map_reduce(operator.neg, operator.add, items(count))
            return max(most, resident())

        first = peak(40)
        second = peak(240)
        # All of them would be 200 times their size.
        assert second - first < 100 * size, (first, second, size)


class Holder:
    def __init__(self, held: object) -> None:
        self.held = held

    def __call__(self, _: object) -> object:
        return self.held

    def method(self, _: object) -> object:
        return self.held


HELD: Any = None


def by_global(secret: Any) -> Callable[[object], object]:
    global HELD
    HELD = secret
    return lambda _: HELD


def by_closure(secret: Any) -> Callable[[object], object]:
    return lambda _: secret


def by_default(secret: Any) -> Callable[[object], object]:
    def function(_: object, held: Any = secret) -> object:
        return held

    return function


def by_attribute(secret: Any) -> Callable[[object], object]:
    def function(_: object) -> object:
        return None

    function.secret = secret  # type: ignore[attr-defined]
    return function


def by_inner_closure(secret: Any) -> Callable[[object], object]:
    inner = by_closure({"a": [secret]})
    return lambda x: inner(x)


def by_class(secret: Any) -> Callable[[object], object]:
    class Local:
        held = secret

    return lambda _: Local()


@pytest.mark.parametrize("engine", ENGINES)
def test_no_secret_reaches_a_worker(whole: Setup, engine: str, tmp_path: Path) -> None:
    context, keys = whole
    aes = he.AesKey.generate()
    bits = he.Context(he.Params.tfhe("insecure_small"), device="cpu").keygen()
    files.keygen(context.params, tmp_path, passphrase="a passphrase", device="cpu")
    sealed = (tmp_path / "secret.key").read_bytes()
    plain = keys.secret.to_bytes()
    secrets: list[Any] = [
        keys, keys.secret, aes, bits, bits.secret,
        bytes(plain), plain, memoryview(plain), np.frombuffer(plain, np.uint8), b"before" + bytes(plain),
        bytes(aes.to_bytes()), bytes(bits.secret.to_bytes()), sealed,
    ]  # fmt: skip
    ways: list[Callable[[Any], Callable[..., object]]] = [
        by_closure, by_default, by_attribute, by_global, by_inner_closure, by_class, Holder,
        lambda secret: Holder(secret).method,
        lambda secret: functools.partial(operator.is_, secret),
        lambda secret: functools.partial(Holder, held=[{"x": (secret,)}]),
    ]  # fmt: skip
    boxes: list[Callable[[Any], Any]] = [
        lambda x: x, lambda x: [x], lambda x: {"deep": [(1, {"er": x})]}, Holder, by_closure,
    ]  # fmt: skip
    with jobs.Pool(context, engine=engine, actors=1) as pool:
        for secret in secrets:
            for way in ways:
                if isinstance(secret, memoryview):
                    continue
                with pytest.raises(TypeError, match="secret"):
                    pool.map(way(secret), [1])
                with pytest.raises(TypeError, match="secret"):
                    pool.map_reduce(str, way(secret), [1, 2])
            for box in boxes:
                if isinstance(secret, memoryview):
                    continue
                with pytest.raises(TypeError, match="secret"):
                    list(pool.map(str, [box(secret)]))
                with pytest.raises(TypeError, match="secret"):
                    pool.map(str, [1], shared={"key": box(secret)})
                with pytest.raises(TypeError, match="secret"):
                    pool.put(box(secret))
            with pytest.raises(TypeError):
                list(pool.map(str, [secret]))
            with pytest.raises((TypeError, he.Error)):
                jobs.Pool(context.params, secret, engine=engine, actors=1)
        assert list(pool.map(str, [1])) == ["1"]
        assert all(worker["tasks"] == 1 for worker in pool.workers())
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(pool)


@needs_ray
def test_a_worker_can_neither_make_nor_read_secrets(whole: Setup, tmp_path: Path) -> None:
    context, keys = whole
    path = str(tmp_path / "secret.key")
    Path(path).write_bytes(keys.secret.to_bytes())
    picture = np.zeros((4, 4), np.uint8)
    files.keygen(he.Params.for_depth(1), tmp_path / "k", device="cpu")
    secret, encrypted = tmp_path / "k/secret.key", tmp_path / "p.he"
    files.encrypt(picture, secret, output=encrypted, device="cpu")
    attempts: list[Callable[[object], object]] = [
        lambda _: he.SecretKey.from_bytes(jobs.context(), Path(path).read_bytes()),
        lambda _: jobs.context().keygen(),
        lambda _: he.AesKey.generate(),
        lambda _: files.EncryptedFile(encrypted).decrypt(secret, device="cpu"),
        lambda _: files.encrypt(picture, secret, device="cpu"),
        lambda _: files.aes_encrypt(b"text", passphrase="passphrase"),
    ]
    with jobs.Pool(context, actors=1) as pool:
        for attempt in attempts:
            with pytest.raises(TypeError, match="in a worker, which takes no secrets"):
                list(pool.map(attempt, [0]))


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_are_those_of_the_function(whole: Setup, real: Setup, engine: str) -> None:
    context, keys = whole
    cell = keys.encrypt([1, 2, 3])
    with jobs.Pool(context.params, None, engine=engine, actors=1) as pool:
        with pytest.raises(he.KeySetError, match="no evaluation keys"):
            list(pool.map(square, [cell]))
    with jobs.Pool(context, engine=engine, actors=1) as pool:

        def wrong(x: int) -> int:
            if x == 3:
                raise LookupError("three")
            return x

        results = pool.map(wrong, range(6))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(LookupError, match="three"):
            next(results)
        with pytest.raises(LookupError, match="three"):
            pool.map_reduce(wrong, operator.add, range(6), fan_in=2)
        with pytest.raises(he.ParameterError, match="ckks.*bfv"):
            list(pool.map(square, [real[1].encrypt([1.0])]))
        assert list(pool.map(wrong, [1])) == [1]
        with pytest.raises(ValueError, match="batch is 0"):
            pool.map(square, [cell], batch=0)
        with pytest.raises(ValueError, match="fan_in is 1"):
            pool.map_reduce(square, operator.add, [cell], fan_in=1)
    with pytest.raises(RuntimeError, match="closed"):
        pool.map(square, [cell])
    with pytest.raises(he.ParameterError, match="ckks.*bfv"):
        jobs.Pool(context.params, real[1].evaluation, engine=engine, actors=1)
    with pytest.raises(he.Error):
        jobs.Pool(context.params, real[1].evaluation.to_bytes(), engine=engine, actors=1)
    with pytest.raises(RuntimeError, match="Pool"):
        jobs.context()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"actors": 0}, "actors is 0"),
        ({"in_flight": 0}, "in_flight is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"num_gpus": -1}, "num_gpus -1"),
        ({"engine": "spark"}, "spark"),
        ({"evaluation_keys": b""}, "without the parameters"),
    ],
)
def test_pools_that_cannot_be(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        jobs.Pool(**options)


def test_without_ray_it_computes_here(whole: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    context, keys = whole
    monkeypatch.setattr(jobs, "is_available", lambda: False)
    cell = keys.encrypt([1, 2, 3])
    with jobs.Pool(context) as pool:
        assert pool.engine == "process"
        assert next(pool.map(lambda x: x * x, [cell])).to_bytes() == square(cell).to_bytes()
        with pytest.raises(TypeError, match="secret"):
            pool.map(by_closure(keys), [cell])
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        jobs.Pool(context, engine="ray")


@pytest.mark.parametrize("engine", ENGINES)
def test_progress_and_iterators_that_stop(whole: Setup, engine: str, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, int | None]] = []
    taken: list[int] = []

    def source() -> Iterator[int]:
        for index in range(1000):
            taken.append(index)
            yield index

    with jobs.Pool(engine=engine, actors=1) as pool:
        results = pool.map(str, source(), progress=lambda done, total: seen.append((done, total)))
        assert next(results) == "0" and len(taken) < 20
        results.close()  # type: ignore[attr-defined]
        assert len(taken) < 20 and seen == [(1, None)]
        seen.clear()
        assert pool.map_reduce(abs, operator.add, [1, 2, 3], progress=lambda *at: seen.append(at)) == 6
        assert seen[-1] == (3, 3)
        assert list(pool.map(str, [1, 2], progress=True)) == ["1", "2"]
    assert "2 of 2 items" in capfd.readouterr().err


@pytest.mark.parametrize("engine", ENGINES)
def test_pools_of_several_threads(whole: Setup, engine: str) -> None:
    context, keys = whole
    items = [keys.encrypt(row) for row in numbers(6)]
    expected = [square(item).to_bytes() for item in items]
    found: list[list[bytes]] = []
    with jobs.Pool(context, engine=engine, actors=1) as pool:
        work = lambda: found.append([x.to_bytes() for x in pool.map(square, items)])  # noqa: E731
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [expected] * 3
