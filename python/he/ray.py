"""Jobs over many ciphertexts, on all cores, GPUs and machines of a Ray cluster.

A `Pool` starts workers, each of which loads the parameters and the evaluation keys once, maps
functions over batches of ciphertexts and reduces the results by a tree. Batches come from this
process, from the object store, or by path: row groups of Parquet (`he.parquet.row_groups`), ranges
of encrypted images and tables (`he.files.ranges`), and whole files. Without a cluster it starts Ray on this machine; where Ray is not installed it
computes in this process. The results are the same, bit for bit, wherever they are computed.

Secrets stay at home: secret keys are refused in functions, their closures and everything that is
sent, and a worker can neither make nor read one.

Examples
--------
>>> from he import parquet, ray
>>> def revenue(table):
...     return sum(price * qty for price, qty in zip(table["price"], table["qty"]))
>>> groups = parquet.row_groups("sales/", ["price", "qty"])
>>> with ray.Pool(keys.evaluation.params, keys.evaluation) as pool:
...     total = pool.map_reduce(revenue, operator.add, groups)
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from types import TracebackType
from typing import Any, TypeVar, Union

from he import _he
from he._he import BootstrapKeys, Context, EvaluationKeys, Params
from he._travel import SECRETS, check_no_secrets, is_available, secret_refused
from he._workers import Cluster, InProcess, Job, Stored, WorkerLost, context

__all__ = ["Pool", "Stored", "WorkerLost", "context", "is_available"]

T = TypeVar("T")
KeySource = Union[EvaluationKeys, bytes, bytearray, str, "os.PathLike[str]"]
BootstrapSource = Union[BootstrapKeys, bytes, bytearray, str, "os.PathLike[str]"]
Progress = Union[bool, Callable[[int, Union[int, None]], None], None]


class _Meter:
    """Progress of a job."""

    def __init__(self, progress: Progress, total: int | None) -> None:
        self._progress, self._total, self._done = progress, total, 0
        self._start = self._shown = time.monotonic()

    def step(self, count: int, *, last: bool = False) -> None:
        self._done += count
        if callable(self._progress):
            if count:
                self._progress(self._done, self._total)
            return
        now = time.monotonic()
        if not self._progress or (now - self._shown < 0.5 and not last):
            return
        self._shown = now
        of = "" if self._total is None else f" of {self._total}"
        rate = self._done / max(now - self._start, 1e-9)
        sys.stderr.write(f"\r{self._done}{of} items, {rate:.3g} per second" + ("\n" if last else ""))
        sys.stderr.flush()


class Pool:
    """Workers that compute on ciphertexts.

    Parameters
    ----------
    params : Params or Context, optional
        The parameters; none for jobs on encrypted files alone, which bring their own. Results belong
        to the context that is given, or to the latest one of the parameters (`Context.latest`).
    evaluation_keys : EvaluationKeys, bytes or path, optional
        What workers compute with: sent to the object store once, or read by each worker from a path
        that all machines share. By default those of the context, if one is given.
    bootstrap_keys : BootstrapKeys, bytes or path, optional
        What workers refresh ciphertexts with.
    actors : int, optional
        The number of workers; by default as many as the cluster has room for.
    num_cpus, num_gpus : float
        What each worker takes. A worker has as many threads as CPUs, and computes on its GPU if it
        has any.
    retries : int
        How often a task is computed again after its worker was lost.
    in_flight : int
        The tasks that wait or are computed, per worker: memory is bounded by them.
    engine : {"auto", "ray", "process"}
        Where to compute; ``auto`` is Ray if it is installed, and this process otherwise.
    address : str, optional
        The cluster, as ``ray.init`` takes it; by default that of ``RAY_ADDRESS`` or of an earlier
        ``ray.init``, or else Ray is started on this machine.
    env : mapping of str to str, optional
        Environment variables of workers.

    Raises
    ------
    ModuleNotFoundError
        If Ray is asked for and not installed.
    ParameterError, KeySetError, FormatError
        If workers cannot load the keys.

    Notes
    -----
    Tasks cost about a millisecond each beyond what they compute, so give them batches that take
    longer: row groups of Parquet, or ``batch=``. Ray that was started here goes on until the process
    ends, or until ``ray.shutdown()``.
    """

    def __init__(
        self,
        params: Params | Context | None = None,
        evaluation_keys: KeySource | None = None,
        *,
        bootstrap_keys: BootstrapSource | None = None,
        actors: int | None = None,
        num_cpus: float = 1,
        num_gpus: float = 0,
        retries: int = 3,
        in_flight: int = 2,
        engine: str = "auto",
        address: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        limits = (("actors", actors, 1), ("in_flight", in_flight, 1), ("retries", retries, 0))
        for name, value, least in limits:
            if value is not None and value < least:
                raise ValueError(f"{name} is {value}, where at least {least} is expected")
        if num_cpus < 0 or num_gpus < 0:
            raise ValueError(f"num_cpus is {num_cpus} and num_gpus {num_gpus}, where neither is below 0")
        if engine not in ("auto", "ray", "process"):
            raise ValueError(f"engine {engine!r}, where \"auto\", \"ray\" or \"process\" is expected")
        for source in (evaluation_keys, bootstrap_keys):
            if isinstance(source, SECRETS):
                raise secret_refused(f"a he.{type(source).__name__}")
        home = None
        if isinstance(params, Context):
            home, params = params, params.params
            evaluation_keys = evaluation_keys or home.evaluation_keys
            bootstrap_keys = bootstrap_keys or home.bootstrap_keys
        elif params is not None:
            home = Context.latest(params)
        if params is None and (evaluation_keys is not None or bootstrap_keys is not None):
            raise ValueError("keys without the parameters that they belong to: give params, too")
        for keys in (evaluation_keys, bootstrap_keys):
            if isinstance(keys, (EvaluationKeys, BootstrapKeys)) and keys.params != params:
                assert params is not None
                raise _he.ParameterError(
                    f"keys of {keys.params.scheme} parameters {keys.params.fingerprint[:8]} for a pool of "
                    f"{params.scheme} parameters {params.fingerprint[:8]}"
                )
        if engine == "ray" and not is_available():
            raise ModuleNotFoundError("Ray is not installed; run: pip install 'he-toolkit[ray]'")
        self._params = params
        self._engine: Any
        if engine == "process" or not is_available():
            self._engine = InProcess(params, evaluation_keys, bootstrap_keys, home)
        else:
            options = {
                "actors": actors,
                "num_cpus": num_cpus,
                "num_gpus": num_gpus,
                "retries": retries,
                "in_flight": in_flight,
                "address": address,
                "env": dict(env or {}),
            }
            self._engine = Cluster(params, evaluation_keys, bootstrap_keys, home, options)

    @property
    def engine(self) -> str:
        """``ray`` or ``process``."""
        return str(self._engine.name)

    def workers(self) -> list[dict[str, Any]]:
        """What each worker is and has done: its process and the CPU time of it, its device, its tasks
        and their seconds, how often it loaded keys and how long that took."""
        self._check_open()
        found: list[dict[str, Any]] = self._engine.facts()
        return found

    def put(self, value: Any) -> Stored:
        """Send a value to the object store, as an item for any number of jobs.

        Raises
        ------
        TypeError
            If it holds a secret.
        """
        self._check_open()
        check_no_secrets(value, "a stored value")
        return Stored(self._engine.put(value))

    def map(
        self,
        function: Callable[..., T],
        items: Iterable[Any],
        *,
        shared: Mapping[str, Any] | None = None,
        batch: int = 1,
        ordered: bool = True,
        progress: Progress = None,
    ) -> Iterator[T]:
        """Compute a function of each item.

        Parameters
        ----------
        function : callable
            What is computed: ``function(item, **shared)``. Ciphertexts of the item belong to the
            context of the worker, with its evaluation keys.
        items : iterable
            Ciphertexts and anything that holds some (lists, dicts, arrays), encrypted files,
            `he.parquet.RowGroup`, which becomes the table that it names, what `put` returned, or
            references of Ray. An iterator is consumed as fast as workers compute.
        shared : mapping of str to object, optional
            Further arguments, which reach each worker once: a model, the key of encrypted files.
        batch : int
            The items of a task.
        ordered : bool
            Whether results come in the order of items, or as soon as they are there.
        progress : bool or callable, optional
            Whether progress is shown on the standard error stream, or what is called with the number
            of items that are done and the number of all, if that is known.

        Returns
        -------
        iterator
            The results. As many tasks are under way as `in_flight` allows: memory of this process
            does not grow with the number of items.

        Raises
        ------
        TypeError
            If a secret is among what is sent.
        WorkerLost
            If a task loses its worker more often than `retries`.
        Exception
            What the function raises, as it was raised.
        """
        job = self._job(function, None, shared)
        return self._results(job, items, _positive(batch), ordered, progress)

    def map_reduce(
        self,
        function: Callable[..., T],
        combine: Callable[[T, T], T],
        items: Iterable[Any],
        *,
        shared: Mapping[str, Any] | None = None,
        batch: int = 1,
        fan_in: int = 8,
        progress: Progress = None,
    ) -> T:
        """Compute a function of each item, and combine the results by a tree.

        The tree depends on the number of items, `batch` and `fan_in` alone, so that every number of
        workers gives the same result, bit for bit. Partial results stay in the object store.

        Parameters
        ----------
        function, items, shared, batch, progress
            As for `map`.
        combine : callable
            What two results become, the earlier one first. It must be associative up to what the
            application takes as equal.
        fan_in : int
            The results that a task combines.

        Raises
        ------
        ValueError
            If there are no items.
        TypeError, WorkerLost, Exception
            As for `map`.
        """
        if fan_in < 2:
            raise ValueError(f"fan_in is {fan_in}, where at least 2 is expected")
        job = self._job(function, combine, shared)
        meter = _Meter(progress, len(items) if isinstance(items, Sized) else None)
        engine, levels = self._engine, list[list[Any]]()
        running: dict[Any, int] = {}
        waiting: list[Any] = []

        def bounded(ref: Any, count: int) -> Any:
            waiting.append(ref)
            running[id(ref)] = count
            while len(waiting) >= engine.window + 1 or (engine.window == 1 and waiting):
                done = waiting.pop(engine.first_done(waiting))
                meter.step(running.pop(id(done)))
            return ref

        def add(level: int, ref: Any) -> None:
            if level == len(levels):
                levels.append([])
            levels[level].append(ref)
            if len(levels[level]) == fan_in:
                parts, levels[level] = levels[level], []
                add(level + 1, bounded(engine.node(job, parts), 0))

        try:
            for chunk in _chunks(items, _positive(batch)):
                add(0, bounded(engine.leaf(job, chunk), len(chunk)))
            if not levels:
                raise ValueError("no items to reduce")
            # What is left, from the latest and lowest to the earliest.
            rest: list[Any] = []
            for level in levels:
                parts = [*level, *rest]
                rest = [bounded(engine.node(job, parts), 0)] if len(parts) > 1 else parts
            result: T = engine.fetch(rest[0])
            for ref in waiting:
                meter.step(running.pop(id(ref)))
            waiting.clear()
            meter.step(0, last=True)
            return result
        finally:
            engine.cancel(waiting)

    def _job(
        self,
        function: Callable[..., Any],
        combine: Callable[[Any, Any], Any] | None,
        shared: Mapping[str, Any] | None,
    ) -> Any:
        self._check_open()
        job = Job(function, combine, dict(shared or {}))
        check_no_secrets([function, combine, job.shared], "a function or its shared arguments")
        return self._engine.job(job)

    def _results(
        self, job: Any, items: Iterable[Any], batch: int, ordered: bool, progress: Progress
    ) -> Iterator[Any]:
        meter = _Meter(progress, len(items) if isinstance(items, Sized) else None)
        engine, chunks = self._engine, _chunks(items, batch)
        waiting: deque[Any] = deque()
        try:
            while True:
                # Ordered results wait for the earliest, behind which workers go on.
                room = engine.window * (2 if ordered else 1) if engine.window > 1 else 1
                for chunk in itertools.islice(chunks, max(0, room - len(waiting))):
                    waiting.append(engine.leaf(job, chunk))
                if not waiting:
                    meter.step(0, last=True)
                    return
                first = 0 if ordered else engine.first_done(list(waiting))
                ref = waiting[first]
                results = engine.fetch(ref)
                del waiting[first], ref
                meter.step(len(results))
                yield from results
        finally:
            engine.cancel(waiting)

    def _check_open(self) -> None:
        if self._engine is None:
            raise RuntimeError("the pool is closed; make another one")

    def close(self) -> None:
        """End the workers."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a he.ray.Pool belongs to its process and is not pickled")

    def __repr__(self) -> str:
        return "<he.ray.Pool: closed>" if self._engine is None else f"<he.ray.Pool: {self.engine}>"


def _positive(batch: int) -> int:
    if batch < 1:
        raise ValueError(f"batch is {batch}, where at least 1 is expected")
    return batch


def _chunks(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    source = iter(items)
    while chunk := list(itertools.islice(source, size)):
        yield chunk
