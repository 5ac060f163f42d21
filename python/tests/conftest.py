"""Contexts and keys that tests share."""

from __future__ import annotations

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
