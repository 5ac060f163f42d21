"""Workers, and the engines that give them tasks: see `he.ray`."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from he import _he
from he._he import BootstrapKeys, Context, EvaluationKeys, Params
from he.files import FileRange
from he._travel import Payload, check_bytes, imported, pack, pack_error, raise_again, unpack

_JOBS_KEPT = 4


class WorkerLost(_he.Error):
    """A task whose workers died again and again: out of memory, or killed by what it computes."""


_CURRENT = threading.local()


def context() -> Context:
    """The context of the worker that computes: for functions that read bytes or encode values.

    Raises
    ------
    RuntimeError
        Outside a function that a `Pool` computes, or if the pool has no parameters.
    """
    found: Context | None = getattr(_CURRENT, "context", None)
    if found is None:
        raise RuntimeError("he.ray.context() is for functions that a he.ray.Pool with parameters computes")
    return found


@dataclass
class Job:
    """What all tasks of one call have in common."""

    function: Callable[..., Any]
    combine: Callable[[Any, Any], Any] | None
    shared: Mapping[str, Any]

    def leaf(self, at: Context | None, items: list[Any]) -> Any:
        """The results of a batch, or what they are reduced to."""
        results = (self.function(_loaded(item, at), **self.shared) for item in items)
        return list(results) if self.combine is None else reduce(self.combine, results)

    def node(self, at: Context | None, parts: list[Any]) -> Any:
        """An inner node of the tree."""
        assert self.combine is not None
        return reduce(self.combine, parts)


def _loaded(item: Any, at: Context | None) -> Any:
    """An item that is given by path is read where it is used."""
    parquet = sys.modules.get("he.parquet")
    if parquet is not None and isinstance(item, parquet.RowGroup):
        return item.read(at)
    if isinstance(item, FileRange):
        if at is None:
            raise ValueError("ranges of encrypted files need a he.ray.Pool with parameters")
        return item.read(at)
    return item


def _read_key(source: Any) -> Any:
    """The bytes of a key that is given by path."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return file.read()
    return source


def _opened(
    params: Params | None, evaluation: Any, bootstrap: Any, device: str
) -> Context | None:
    """The context of a worker."""
    if params is None:
        return None
    made = Context(params, device)
    if evaluation is not None:
        made.evaluation_keys = _read_key(evaluation)
    if bootstrap is not None:
        made.bootstrap_keys = _read_key(bootstrap)
    return made


class _Actor:
    """A worker of a Ray cluster."""

    def __init__(self, params: Params | None, evaluation: Any, bootstrap: Any, device: str) -> None:
        _he._renounce_secrets()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._facts: dict[str, Any] = {"pid": os.getpid(), "key_loads": 0, "tasks": 0, "seconds": 0.0}
        self._failed: Payload | None = None
        self._context: Context | None = None
        try:
            start = time.perf_counter()
            self._context = _opened(params, evaluation, bootstrap, device)
            if evaluation is not None:
                self._facts["key_loads"] += 1
            self._facts["load_seconds"] = time.perf_counter() - start
            self._facts["device"] = None if self._context is None else self._context.device
        except Exception as error:
            self._failed = pack_error(error)

    def facts(self) -> dict[str, Any] | Payload:
        """What the worker is and has done."""
        self._facts["cpu_seconds"] = time.process_time()
        return self._facts if self._failed is None else self._failed

    def run(self, job: tuple[str, list[Any]], step: str, *args: Any) -> Payload:
        """Compute one task; errors are values, which pass through the tree."""
        start = time.perf_counter()
        _CURRENT.context = self._context
        try:
            name, where = job
            if name not in self._jobs:
                self._jobs[name] = unpack(imported("ray").get(where[0]), self._context)
                while len(self._jobs) > _JOBS_KEPT:
                    self._jobs.popitem(last=False)
            values = []
            for arg in args:
                if isinstance(arg, Payload) and arg.failed:
                    return arg
                values.append(unpack(arg, self._context) if isinstance(arg, Payload) else arg)
            kept = self._jobs[name]
            if step == "leaf":
                # A reference of somebody else's holds one item.
                batches = [value.items if isinstance(value, _Batch) else [value] for value in values]
                result = kept.leaf(self._context, list(itertools.chain(*batches)))
            else:
                result = kept.node(self._context, values)
            params = None if self._context is None else self._context.params
            return pack(result, params, "a result", own=True)
        except Exception as error:
            return pack_error(error)
        finally:
            self._facts["tasks"] += 1
            self._facts["seconds"] += time.perf_counter() - start


@dataclass
class _Batch:
    """The items of a task."""

    items: list[Any]


@dataclass(frozen=True)
class Stored:
    """A value in the object store, for items of jobs: see `Pool.put`."""

    _ref: Any = field(repr=False)


class InProcess:
    """Computes where it is asked."""

    name = "process"
    window = 1

    def __init__(self, params: Params | None, evaluation: Any, bootstrap: Any, home: Context | None) -> None:
        start = time.perf_counter()
        self._params = params
        self._context = _opened(params, evaluation, bootstrap, "auto" if home is None else home.device)
        self._facts = {
            "pid": os.getpid(),
            "key_loads": int(evaluation is not None),
            "tasks": 0,
            "seconds": 0.0,
            "load_seconds": time.perf_counter() - start,
            "device": None if self._context is None else self._context.device,
        }

    def put(self, value: Any) -> Any:
        return pack(value, self._params, "a stored value")

    def job(self, job: Job) -> Any:
        return job

    def leaf(self, job: Job, items: list[Any]) -> Any:
        def own(item: Any) -> Any:
            if isinstance(item, Stored):
                return unpack(item._ref, self._context)
            # The context of the pool, with its keys, as in a worker.
            return unpack(pack(item, self._params, "an item"), self._context, verified=True)

        values = [own(item) for item in items]
        return self._run(lambda: job.leaf(self._context, values))

    def node(self, job: Job, parts: list[Any]) -> Any:
        return self._run(lambda: job.node(self._context, parts))

    def _run(self, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        outer, _CURRENT.context = getattr(_CURRENT, "context", None), self._context
        try:
            return work()
        finally:
            _CURRENT.context = outer
            self._facts["tasks"] += 1  # type: ignore[operator]
            self._facts["seconds"] += time.perf_counter() - start  # type: ignore[operator]

    def first_done(self, refs: list[Any]) -> int:
        return 0

    def fetch(self, ref: Any) -> Any:
        return ref

    def cancel(self, refs: Iterable[Any]) -> None:
        pass

    def facts(self) -> list[dict[str, Any]]:
        return [{**self._facts, "cpu_seconds": time.process_time()}]

    def close(self) -> None:
        self._context = None


class Cluster:
    """Computes by actors of Ray."""

    name = "ray"

    def __init__(
        self,
        params: Params | None,
        evaluation: Any,
        bootstrap: Any,
        home: Context | None,
        options: Mapping[str, Any],
    ) -> None:
        ray = imported("ray")
        self._ray, self._params, self._home = ray, params, home
        lost = ray.exceptions
        self._lost = (lost.RayActorError, lost.WorkerCrashedError, lost.OutOfMemoryError)
        num_cpus, num_gpus = options["num_cpus"], options["num_gpus"]
        local = _start(ray, options["address"])
        have = ray.cluster_resources()
        cpus, gpus = have.get("CPU", 0.0), have.get("GPU", 0.0)
        count = options["actors"]
        if count is None:
            most = cpus / num_cpus if num_cpus else float("inf")
            most = min(most, gpus / num_gpus) if num_gpus else most
            count = max(1, int(most if most != float("inf") else cpus))
        for unit, needed, there in (("CPUs", num_cpus, cpus), ("GPUs", num_gpus, gpus)):
            if local and count * needed > there:
                raise ValueError(
                    f"{count} actors with {needed:g} {unit} each on a machine with {there:g}; ask for fewer"
                )
        self._evaluation, self._bootstrap = self._sent(evaluation), self._sent(bootstrap)
        threads = max(1, int(num_cpus))
        actor = ray.remote(_Actor).options(
            num_cpus=num_cpus,
            num_gpus=num_gpus,
            max_restarts=-1,
            max_task_retries=options["retries"],
            runtime_env={"env_vars": {"RAYON_NUM_THREADS": str(threads), **options["env"]}},
        )
        device = "cuda:0" if num_gpus else "cpu"
        # References at the top are resolved by Ray: each worker reads the keys where they lie.
        self._actors = [
            actor.remote(params, self._evaluation, self._bootstrap, device) for _ in range(count)
        ]
        self._load = [0] * count
        self._at: dict[Any, int] = {}
        self._jobs = 0
        self.window = count * options["in_flight"]
        try:
            for facts in ray.get([actor.facts.remote() for actor in self._actors]):
                if isinstance(facts, Payload):
                    raise_again(facts)
        except BaseException:
            self.close()
            raise

    def _sent(self, source: Any) -> Any:
        """Keys in the object store, once for all workers; a path stays one."""
        if source is None or isinstance(source, (str, os.PathLike)):
            return None if source is None else os.path.abspath(source)
        known = isinstance(source, (EvaluationKeys, BootstrapKeys))
        data = source.to_bytes() if known else bytes(memoryview(source))
        check_bytes(data, "evaluation keys")
        return self._ray.put(np.frombuffer(data, np.uint8))

    def put(self, value: Any) -> Any:
        return self._ray.put(pack(_Batch([value]), self._params, "a stored value"))

    def job(self, job: Job) -> Any:
        self._jobs += 1
        return f"{id(self)}-{self._jobs}", [self._ray.put(pack(job, self._params, "a function"))]

    def _submit(self, job: Any, step: str, args: list[Any]) -> Any:
        index = min(range(len(self._actors)), key=self._load.__getitem__)
        ref = self._actors[index].run.remote(job, step, *args)
        self._load[index] += 1
        self._at[ref] = index
        return ref

    def leaf(self, job: Any, items: list[Any]) -> Any:
        args: list[Any] = []
        references = (Stored, self._ray.ObjectRef)
        for stored, run in itertools.groupby(items, lambda item: isinstance(item, references)):
            if stored:
                args += [item._ref if isinstance(item, Stored) else item for item in run]
            else:
                args.append(pack(_Batch(list(run)), self._params, "an item"))
        return self._submit(job, "leaf", args)

    def node(self, job: Any, parts: list[Any]) -> Any:
        return self._submit(job, "node", parts)

    def first_done(self, refs: list[Any]) -> int:
        done, _ = self._ray.wait(refs, num_returns=1, fetch_local=False)
        self._forget(done[0])
        return refs.index(done[0])

    def _forget(self, ref: Any) -> None:
        if (index := self._at.pop(ref, None)) is not None:
            self._load[index] -= 1

    def fetch(self, ref: Any) -> Any:
        try:
            payload = self._ray.get(ref)
        except self._lost as error:
            raise WorkerLost(
                "a task whose workers died again and again; it may need more memory than a machine has "
                f"(smaller batches help), or end its process: {str(error).splitlines()[0]}"
            ) from error
        finally:
            self._forget(ref)
        if payload.failed:
            raise_again(payload)
        # What comes from outside this process is verified.
        return unpack(payload, self._home, verified=False)

    def cancel(self, refs: Iterable[Any]) -> None:
        for ref in refs:
            self._forget(ref)
            try:
                self._ray.cancel(ref)
            except Exception:
                pass

    def facts(self) -> list[dict[str, Any]]:
        return list(self._ray.get([actor.facts.remote() for actor in self._actors]))

    def close(self) -> None:
        for actor in self._actors:
            try:
                self._ray.kill(actor)
            except Exception:
                pass
        self._actors = []


def _start(ray: Any, address: str | None) -> bool:
    """Join the cluster, or start Ray on this machine; whether it was started here."""
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is None and "RAY_ADDRESS" not in os.environ:
        ray.init(address="local", include_dashboard=False, logging_level="warning")
        return True
    ray.init(address=address, logging_level="warning")
    return False
