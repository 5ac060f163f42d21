"""Files that SEAL wrote are read, and written as SEAL writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import he
from he import seal

FILES = Path(__file__).parents[2] / "tests/data/seal"


def file(name: str) -> bytes:
    return (FILES / f"{name}.seal").read_bytes()


@pytest.mark.parametrize(("scheme", "slots"), [("ckks", 32), ("bfv", 64)])
def test_ciphertexts_are_read_and_written(scheme: str, slots: int) -> None:
    params = seal.params(file(f"{scheme}_parameters"), insecure=True)
    assert (params.scheme, params.slots, params.security) == (scheme, slots, 0)
    context = he.Context(params, "cpu")
    data = file(f"{scheme}_ciphertext")
    x = seal.ciphertext(context, data)
    assert x.shape == (slots,) and seal.to_bytes(x) == data
    assert seal.to_bytes(seal.ciphertext(context, file(f"{scheme}_ciphertext_zstd"))) == data
    assert seal.version(data) == (4, 1)
    reply = seal.to_bytes(x, minor=3)
    assert seal.version(reply) == (4, 3) and seal.to_bytes(seal.ciphertext(context, reply)) == data
    # A ciphertext of zeros, and one that is twice as large and halved again.
    assert seal.to_bytes(x + seal.arranged(params, np.zeros(3, dtype=np.int64))) == data
    assert seal.to_bytes((x + x) - x) == data


def test_values_are_arranged() -> None:
    params = seal.params(file("bfv_parameters"), insecure=True)
    order = seal.arranged(params, np.arange(64))
    assert sorted(order.tolist()) == list(range(64)) and order[0] == 0 and order[32] == 32
    # Slot 1 is the value at the root to the power of 5, which is 3^i or -(3^i) modulo 128.
    assert (pow(3, int(order[1]) % 32, 128) * (1 if order[1] < 32 else -1)) % 128 == 5
    with pytest.raises(ValueError, match="shape"):
        seal.arranged(params, np.zeros(65))


def test_keys_are_read_and_compute() -> None:
    params = seal.params(file("ckks_parameters"), insecure=True)
    assert seal.params_to_bytes(params) == file("ckks_parameters")
    stated = seal.params_to_bytes(params, minor=3)
    assert seal.version(stated) == (4, 3) and seal.params(stated, insecure=True) == params
    context = he.Context(params, "cpu")
    for name in ("ckks_public_key", "ckks_public_key_seeded"):
        key = seal.public_key(context, file(name))
        assert key.key_set is None
        encrypted = key.encrypt(np.ones(32))
        sent = seal.to_bytes(encrypted)
        assert seal.to_bytes(seal.ciphertext(context, sent)) == sent
        assert he.PublicKey.from_bytes(context, key.to_bytes()).to_bytes() == key.to_bytes()
    relin, galois = file("ckks_relin_keys"), file("ckks_galois_keys")
    keys = seal.evaluation_keys(context, relin=relin, galois=galois)
    assert keys.has_relinearisation and keys.galois_count == 2
    context.evaluation_keys = keys
    x = seal.ciphertext(context, file("ckks_ciphertext"))
    assert (x * x).level == x.level - 1
    assert seal.rotate(x, 3).shape == x.shape
    with pytest.raises(he.Error, match="5"):
        seal.rotate(x, 5)
    with pytest.raises(ValueError, match="neither"):
        seal.evaluation_keys(context)
    assert he.EvaluationKeys.from_bytes(context, keys.to_bytes()).galois_count == 2
    for name in ("ckks_ciphertext", "bfv_public_key"):
        with pytest.raises(he.FormatError):
            seal.public_key(context, file(name))
    with pytest.raises(he.FormatError):
        seal.evaluation_keys(context, relin=galois)


def test_other_files_are_refused() -> None:
    params = seal.params(file("ckks_parameters"), insecure=True)
    context = he.Context(params, "cpu")
    for name in ("ckks_product", "bfv_ciphertext", "ckks_parameters"):
        with pytest.raises(he.FormatError):
            seal.ciphertext(context, file(name))
    with pytest.raises(he.FormatError):
        seal.params(file("ckks_ciphertext"))
    with pytest.raises(ValueError, match="SEAL"):
        seal.version(b"not a file of it")
    with pytest.raises(he.Error):
        seal.params(file("ckks_parameters"))
    other = he.Context(he.Params.for_depth(1), "cpu")
    with pytest.raises(he.FormatError):
        seal.to_bytes(other.keygen().encrypt(np.ones((2, 3)), layout="rows"))
