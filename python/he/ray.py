"""Jobs over many ciphertexts, on all cores, GPUs and machines of a Ray cluster.

A `Pool` starts workers, each of which loads the parameters and the evaluation keys once, maps
functions over batches of ciphertexts and reduces the results by a tree. Batches come from this
process, from the object store, or by path: row groups of Parquet (`he.parquet.row_groups`) and
encrypted files. Without a cluster it starts Ray on this machine; where Ray is not installed it
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

import importlib
import importlib.util
import io
import itertools
import os
import pickle
import sys
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from functools import reduce
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, TypeVar, Union

import numpy as np
import numpy.typing as npt

from he import _he
from he._he import (
    AesKey,
    BootstrapKeys,
    Ciphertext,
    Context,
    EncryptedBool,
    EncryptedUint,
    EvaluationKeys,
    Keys,
    Params,
    PublicKey,
    SecretKey,
)

__all__ = ["Pool", "Stored", "WorkerLost", "context", "is_available"]

T = TypeVar("T")
KeySource = Union[EvaluationKeys, bytes, bytearray, str, "os.PathLike[str]"]
BootstrapSource = Union[BootstrapKeys, bytes, bytearray, str, "os.PathLike[str]"]
Progress = Union[bool, Callable[[int, Union[int, None]], None], None]

_SECRETS = (SecretKey, Keys, AesKey)
_PUBLIC = (Ciphertext, EncryptedUint, EncryptedBool, EvaluationKeys, BootstrapKeys, PublicKey, Params)
#: What the first bytes of secret keys are: a frame of version 1 of one of four kinds, and what a
#: passphrase seals.
_SECRET_FRAMES = [b"HEWF\x01\x00" + bytes([kind]) + b"\x00" for kind in (2, 10, 21, 26)] + [b"HESEALED"]
_JOBS_KEPT = 4


class WorkerLost(_he.Error):
    """A task whose workers died again and again: out of memory, or killed by what it computes."""


def _import(name: str) -> Any:
    """A module that need not be installed."""
    return importlib.import_module(name)


def is_available() -> bool:
    """Whether Ray is installed."""
    return importlib.util.find_spec("ray") is not None


# ---------------------------------------------------------------------------------------------
# What travels.


@dataclass
class _Payload:
    """A value on its way: a pickle, and the bytes of its ciphertexts, which are not copied."""

    stream: npt.NDArray[np.uint8]
    cells: list[npt.NDArray[np.uint8]]
    #: Whether a worker of this pool made it, so that its checksums need not be computed again.
    own: bool = False
    failed: bool = False


def _refuse_secret(what: str) -> TypeError:
    return TypeError(
        f"{what} on its way to a worker: secrets stay in the process that owns them; send public and "
        "evaluation keys, ciphertexts and clear values, and decrypt what comes back"
    )


def _check_bytes(data: bytes | memoryview, where: str) -> None:
    data = bytes(data) if isinstance(data, memoryview) else data
    if any(data.find(frame) >= 0 for frame in _SECRET_FRAMES):
        raise _refuse_secret(f"the bytes of a secret key ({where})")


#: What stands for objects that are visited, not pickled: any builtin does.
_VISITED = len


def _by_value(thing: Any) -> bool:
    """Whether a function or class travels with its contents, not as a name in a module."""
    module = getattr(thing, "__module__", None) or ""
    found: Any = sys.modules.get(module)
    if found is None or module == "__main__":
        return True
    pickler = sys.modules.get("ray.cloudpickle")
    if pickler is not None and module in pickler.list_registry_pickle_by_value():
        return True
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is not thing


def _names(code: CodeType) -> set[str]:
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)


class _Guard(pickle.Pickler):
    """Visits all that a value, or a function with its closure, would take along."""

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, _SECRETS):
            raise _refuse_secret(f"a he.{type(obj).__name__}")
        return 0 if isinstance(obj, _PUBLIC) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType):
            contents: list[Any] = [obj.__defaults__, obj.__kwdefaults__, dict(vars(obj))]
            for cell in obj.__closure__ or ():
                try:
                    contents.append(cell.cell_contents)
                except ValueError:
                    pass
            contents.append(_constants(obj.__code__))
            if _by_value(obj):
                used = _names(obj.__code__) & obj.__globals__.keys()
                contents += [obj.__globals__[name] for name in sorted(used)]
            # As a state, which comes after the object itself is known: functions call themselves.
            return _VISITED, (), contents
        if isinstance(obj, ModuleType):
            return _VISITED, ()
        if isinstance(obj, type):
            inside = dict(vars(obj)) if _by_value(obj) else {}
            return _VISITED, (), list(inside.values())
        try:
            obj.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        except Exception:
            return _VISITED, (), [dict(getattr(obj, "__dict__", {})), *_slots(obj)]
        return NotImplemented


def _constants(code: CodeType) -> list[Any]:
    return [
        _constants(const) if isinstance(const, CodeType) else const for const in code.co_consts
    ]


def _slots(obj: Any) -> list[Any]:
    """What an object that refuses to be pickled holds all the same: a bound method, a view."""
    names = ("__self__", "__func__", "__wrapped__", "func", "args", "keywords", "obj")
    return [getattr(obj, name) for name in names if hasattr(obj, name)]


def _check_no_secrets(value: Any, where: str) -> None:
    """Refuse a value that would take a secret along.

    Raises
    ------
    TypeError
        If it does, or if it holds the bytes of a secret key.
    """
    stream = io.BytesIO()
    _Guard(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    _check_bytes(stream.getvalue(), where)


def _base() -> Any:
    """Ray's pickler, which takes functions of any kind; Python's where Ray is not installed."""
    if not is_available():
        return pickle.Pickler
    return _import("ray.cloudpickle").CloudPickler


def _pack(value: Any, params: Params | None, where: str, *, own: bool = False) -> _Payload:
    """A value as what travels."""
    base = _base()

    class Packer(base):  # type: ignore[misc, valid-type]
        def persistent_id(self, obj: Any) -> Any:
            if isinstance(obj, _SECRETS):
                raise _refuse_secret(f"a he.{type(obj).__name__}")
            if params is None or type(obj) not in (Ciphertext, EncryptedUint, EncryptedBool):
                return None
            if obj.context.params != params:
                found = obj.context.params
                raise _he.ParameterError(
                    f"{where}: a ciphertext of {found.scheme} parameters {found.fingerprint[:8]}, where "
                    f"{params.scheme} parameters {params.fingerprint[:8]} of the pool are expected"
                )
            cells.append(np.frombuffer(obj.to_bytes(), np.uint8))
            layout = obj._layout if isinstance(obj, Ciphertext) else None
            return type(obj).__name__, len(cells) - 1, layout

    cells: list[npt.NDArray[np.uint8]] = []
    stream = io.BytesIO()
    Packer(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    data = stream.getvalue()
    if not own:
        _check_bytes(data, where)
    return _Payload(np.frombuffer(data, np.uint8), cells, own)


class _Unpacker(pickle.Unpickler):
    def __init__(self, payload: _Payload, at: Context | None, verified: bool) -> None:
        super().__init__(io.BytesIO(payload.stream.tobytes()))
        self._payload, self._context, self._verified = payload, at, verified

    def persistent_load(self, pid: Any) -> Any:
        name, index, layout = pid
        assert self._context is not None
        data = self._payload.cells[index]
        if name == "Ciphertext":
            return _he._decode(self._context, data, layout, self._verified)
        kind = EncryptedUint if name == "EncryptedUint" else EncryptedBool
        return kind.from_bytes(self._context, data)


def _unpack(payload: _Payload, at: Context | None, *, verified: bool | None = None) -> Any:
    """The value; its ciphertexts are verified unless a worker of the pool made them."""
    return _Unpacker(payload, at, payload.own if verified is None else verified).load()


class _RemoteTraceback(Exception):
    """Where an error was raised in a worker."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def _pack_error(error: BaseException) -> _Payload:
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        payload = _pack((error, text), None, "an exception", own=True)
        _unpack(payload, None)
    except Exception:
        payload = _pack((RuntimeError(f"{type(error).__name__}: {error}"), text), None, "", own=True)
    payload.failed = True
    return payload


def _raise(payload: _Payload) -> None:
    error, text = _unpack(payload, None)
    raise error from _RemoteTraceback(text)


# ---------------------------------------------------------------------------------------------
# Workers.

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
class _Job:
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
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._facts: dict[str, Any] = {"pid": os.getpid(), "key_loads": 0, "tasks": 0, "seconds": 0.0}
        self._failed: _Payload | None = None
        self._context: Context | None = None
        try:
            start = time.perf_counter()
            self._context = _opened(params, evaluation, bootstrap, device)
            if evaluation is not None:
                self._facts["key_loads"] += 1
            self._facts["load_seconds"] = time.perf_counter() - start
            self._facts["device"] = None if self._context is None else self._context.device
        except Exception as error:
            self._failed = _pack_error(error)

    def facts(self) -> dict[str, Any] | _Payload:
        """What the worker is and has done."""
        self._facts["cpu_seconds"] = time.process_time()
        return self._facts if self._failed is None else self._failed

    def run(self, job: tuple[str, list[Any]], step: str, *args: Any) -> _Payload:
        """Compute one task; errors are values, which pass through the tree."""
        start = time.perf_counter()
        _CURRENT.context = self._context
        try:
            name, where = job
            if name not in self._jobs:
                self._jobs[name] = _unpack(_import("ray").get(where[0]), self._context)
                while len(self._jobs) > _JOBS_KEPT:
                    self._jobs.popitem(last=False)
            values = []
            for arg in args:
                if isinstance(arg, _Payload) and arg.failed:
                    return arg
                values.append(_unpack(arg, self._context) if isinstance(arg, _Payload) else arg)
            kept = self._jobs[name]
            if step == "leaf":
                # A reference of somebody else's holds one item.
                batches = [value.items if isinstance(value, _Batch) else [value] for value in values]
                result = kept.leaf(self._context, list(itertools.chain(*batches)))
            else:
                result = kept.node(self._context, values)
            params = None if self._context is None else self._context.params
            return _pack(result, params, "a result", own=True)
        except Exception as error:
            return _pack_error(error)
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


# ---------------------------------------------------------------------------------------------
# Engines.


class _InProcess:
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
        return _pack(value, self._params, "a stored value")

    def job(self, job: _Job) -> Any:
        return job

    def leaf(self, job: _Job, items: list[Any]) -> Any:
        def own(item: Any) -> Any:
            if isinstance(item, Stored):
                return _unpack(item._ref, self._context)
            # The context of the pool, with its keys, as in a worker.
            return _unpack(_pack(item, self._params, "an item"), self._context, verified=True)

        values = [own(item) for item in items]
        return self._run(lambda: job.leaf(self._context, values))

    def node(self, job: _Job, parts: list[Any]) -> Any:
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


class _Cluster:
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
        ray = _import("ray")
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
                if isinstance(facts, _Payload):
                    _raise(facts)
        except BaseException:
            self.close()
            raise

    def _sent(self, source: Any) -> Any:
        """Keys in the object store, once for all workers; a path stays one."""
        if source is None or isinstance(source, (str, os.PathLike)):
            return None if source is None else os.path.abspath(source)
        known = isinstance(source, (EvaluationKeys, BootstrapKeys))
        data = source.to_bytes() if known else bytes(memoryview(source))
        _check_bytes(data, "evaluation keys")
        return self._ray.put(np.frombuffer(data, np.uint8))

    def put(self, value: Any) -> Any:
        return self._ray.put(_pack(_Batch([value]), self._params, "a stored value"))

    def job(self, job: _Job) -> Any:
        self._jobs += 1
        return f"{id(self)}-{self._jobs}", [self._ray.put(_pack(job, self._params, "a function"))]

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
                args.append(_pack(_Batch(list(run)), self._params, "an item"))
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
            _raise(payload)
        # What comes from outside this process is verified.
        return _unpack(payload, self._home, verified=False)

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


# ---------------------------------------------------------------------------------------------
# The pool.


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
            if isinstance(source, _SECRETS):
                raise _refuse_secret(f"a he.{type(source).__name__}")
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
            self._engine = _InProcess(params, evaluation_keys, bootstrap_keys, home)
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
            self._engine = _Cluster(params, evaluation_keys, bootstrap_keys, home, options)

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
        _check_no_secrets(value, "a stored value")
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
        job = _Job(function, combine, dict(shared or {}))
        _check_no_secrets([function, combine, job.shared], "a function or its shared arguments")
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
