"""Contexts and keys that tests share."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import numpy as np
import pytest

import he


@pytest.fixture(scope="session")
def ckks() -> tuple[he.Context, he.Keys]:
    context = he.Context(he.Params.for_depth(4, precision_bits=20), device="cpu")
    return context, context.keygen()


@pytest.fixture(scope="session", params=["bfv", "bgv"])
def exact(request: pytest.FixtureRequest) -> tuple[he.Context, he.Keys]:
    context = he.Context(he.Params.for_depth(2, scheme=request.param, bits=20), device="cpu")
    return context, context.keygen()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def ended_by_a_signal() -> Callable[[str, Callable[[], object], float], None]:
    """Checks that a signal ends a function of the library at work."""
    return _ended_by_a_signal


def _ended_by_a_signal(name: str, work: Callable[[], object], after: float) -> None:
    class Alarmed(Exception):
        pass

    def raises(*_: object) -> None:
        raise Alarmed

    before = signal.signal(signal.SIGALRM, raises)
    calls: list[tuple[str, object]] = []
    sys.setprofile(lambda _, event, what: calls.append((event, getattr(what, "__name__", None))))
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        with pytest.raises(Alarmed):
            work()
    finally:
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # It was the call that raised, rather than the interpreter after the call.
    assert ("c_exception", name) in calls
