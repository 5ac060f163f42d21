"""What travels to workers and back, and what must not: see `he.ray`."""

from __future__ import annotations

import importlib
import importlib.util
import io
import pickle
import sys
import traceback
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from he import _he
from he._he import (
    AesKey,
    BootstrapKeys,
    Ciphertext,
    Context,
    EncryptedBool,
    EncryptedInt,
    EncryptedUint,
    EvaluationKeys,
    Keys,
    Params,
    PublicKey,
    SecretKey,
)

SECRETS = (SecretKey, Keys, AesKey)
#: Integers and conditions of TFHE.
_INTEGERS = (EncryptedUint, EncryptedInt, EncryptedBool)
_PUBLIC = (Ciphertext, *_INTEGERS, EvaluationKeys, BootstrapKeys, PublicKey, Params)
#: What the first bytes of secret keys are: a frame of version 1 of one of four kinds, and what a
#: passphrase seals.
_SECRET_FRAMES = [b"HEWF\x01\x00" + bytes([kind]) + b"\x00" for kind in (2, 10, 21, 26)] + [b"HESEALED"]


def imported(name: str) -> Any:
    """A module that need not be installed."""
    return importlib.import_module(name)


def is_available() -> bool:
    """Whether Ray is installed."""
    return importlib.util.find_spec("ray") is not None


@dataclass
class Payload:
    """A value on its way: a pickle, and the bytes of its ciphertexts, which are not copied."""

    stream: npt.NDArray[np.uint8]
    cells: list[npt.NDArray[np.uint8]]
    #: Whether a worker of this pool made it, so that its checksums need not be computed again.
    own: bool = False
    failed: bool = False


def secret_refused(what: str) -> TypeError:
    return TypeError(
        f"{what} on its way to a worker: secrets stay in the process that owns them; send public and "
        "evaluation keys, ciphertexts and clear values, and decrypt what comes back"
    )


def check_bytes(data: bytes | memoryview, where: str) -> None:
    data = bytes(data) if isinstance(data, memoryview) else data
    if any(data.find(frame) >= 0 for frame in _SECRET_FRAMES):
        raise secret_refused(f"the bytes of a secret key ({where})")


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


class Guard(pickle.Pickler):
    """Visits all that a value, or a function with its closure, would take along."""

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, SECRETS):
            raise secret_refused(f"a he.{type(obj).__name__}")
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


def check_no_secrets(value: Any, where: str) -> None:
    """Refuse a value that would take a secret along.

    Raises
    ------
    TypeError
        If it does, or if it holds the bytes of a secret key.
    """
    stream = io.BytesIO()
    Guard(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    check_bytes(stream.getvalue(), where)


def _base() -> Any:
    """Ray's pickler, which takes functions of any kind; Python's where Ray is not installed."""
    if not is_available():
        return pickle.Pickler
    return imported("ray.cloudpickle").CloudPickler


def pack(value: Any, params: Params | None, where: str, *, own: bool = False) -> Payload:
    """A value as what travels."""
    cells: list[npt.NDArray[np.uint8]] = []

    def persistent_id(_: object, obj: Any) -> Any:
        if isinstance(obj, SECRETS):
            raise secret_refused(f"a he.{type(obj).__name__}")
        if params is None or type(obj) not in (Ciphertext, *_INTEGERS):
            return None
        if obj.context.params != params:
            found = obj.context.params
            raise _he.ParameterError(
                f"{where}: a ciphertext of {found.scheme} parameters {found.fingerprint[:8]}, where "
                f"{params.scheme} parameters {params.fingerprint[:8]} of the pool are expected"
            )
        cells.append(np.frombuffer(obj.to_bytes(), np.uint8))
        return type(obj).__name__, len(cells) - 1

    stream = io.BytesIO()
    packer: Any = type("Packer", (_base(),), {"persistent_id": persistent_id})
    packer(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    data = stream.getvalue()
    if not own:
        check_bytes(data, where)
    return Payload(np.frombuffer(data, np.uint8), cells, own)


class Unpacker(pickle.Unpickler):
    def __init__(self, payload: Payload, at: Context | None, verified: bool) -> None:
        super().__init__(io.BytesIO(payload.stream.tobytes()))
        self._payload, self._context, self._verified = payload, at, verified

    def persistent_load(self, pid: Any) -> Any:
        name, index = pid
        assert self._context is not None
        data = self._payload.cells[index]
        if name == "Ciphertext":
            return Ciphertext.from_bytes(self._context, data, verified=self._verified)
        kind = next(kind for kind in _INTEGERS if kind.__name__ == name)
        return kind.from_bytes(self._context, data)


def unpack(payload: Payload, at: Context | None, *, verified: bool | None = None) -> Any:
    """The value; its ciphertexts are verified unless a worker of the pool made them."""
    return Unpacker(payload, at, payload.own if verified is None else verified).load()


class _RemoteTraceback(Exception):
    """Where an error was raised in a worker."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def pack_error(error: BaseException) -> Payload:
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        payload = pack((error, text), None, "an exception", own=True)
        unpack(payload, None)
    except Exception:
        payload = pack((RuntimeError(f"{type(error).__name__}: {error}"), text), None, "", own=True)
    payload.failed = True
    return payload


def raise_again(payload: Payload) -> None:
    error, text = unpack(payload, None)
    raise error from _RemoteTraceback(text)
