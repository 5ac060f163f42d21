"""What sensors send under AES-CTR becomes encrypted integers, under parameters that protect nothing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import he

Setup = tuple[he.Context, he.Keys, he.TranscipherKey]


@pytest.fixture(scope="module")
def owner() -> Setup:
    context = he.Context(he.Params.tfhe("insecure_phases"), device="cpu")
    keys = context.keygen()
    return context, keys, keys.secret.transcipher_key()


def decrypted(keys: he.Keys, x: he.EncryptedInt | he.EncryptedUint) -> npt.NDArray[Any]:
    if isinstance(x, he.EncryptedInt):
        return np.asarray(keys.secret.decrypt_int(x))
    return np.asarray(keys.secret.decrypt_uint(x))


@pytest.mark.parametrize(
    ("bits", "dtype", "values"),
    [
        (128, "int16", [2150, -340, -32768, 32767, 0, -1, 7, 8, 9]),
        (192, "uint8", [0, 255, 17]),
        (256, "int64", [-(2**63), 2**63 - 1]),
        (128, ">u4", [2**32 - 1, 5]),
    ],
)
def test_integers_of_sensors(owner: Setup, bits: int, dtype: str, values: list[int]) -> None:
    context, keys, key = owner
    sensor = he.SensorKey.generate(bits)
    assert sensor.bits == bits
    counter, data = sensor.encrypt(np.array(values, dtype=dtype))
    assert len(counter) == 16 and len(data) == len(values) * np.dtype(dtype).itemsize
    transcipher = he.Transcipher(context, key, keys.secret.encrypt_sensor_key(sensor))
    x = transcipher.decrypt(counter, data, np.dtype(dtype))
    assert isinstance(x, he.EncryptedInt if np.dtype(dtype).kind == "i" else he.EncryptedUint)
    assert x.bits == 8 * np.dtype(dtype).itemsize
    assert np.array_equal(decrypted(keys, x), np.array(values, dtype=dtype))
    # It is one like any other.
    assert np.array_equal(decrypted(keys, x.sort()), np.sort(np.array(values, dtype=dtype)))
    # No two encryptions are alike.
    again = sensor.encrypt(np.array(values, dtype=dtype))
    assert again[0] != counter and again[1] != data


def test_the_vectors_of_nist(owner: Setup) -> None:
    """SP 800-38A, F.5.1: two blocks."""
    context, keys, key = owner
    sensor = he.SensorKey.from_key(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"))
    transcipher = he.Transcipher(context, key, keys.secret.encrypt_sensor_key(sensor))
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    sent = bytes.fromhex("874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff")
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    found = decrypted(keys, transcipher.decrypt(counter, sent, "uint8"))
    assert np.array_equal(found, np.frombuffer(plain, dtype=np.uint8))


def test_the_keys_of_a_server_are_bytes(owner: Setup) -> None:
    context, keys, key = owner
    sensor = he.SensorKey.generate()
    encrypted = keys.secret.encrypt_sensor_key(sensor)
    assert encrypted.key_set == key.key_set == keys.secret.key_set
    server = he.Context(context.params, device="cpu", evaluation_keys=keys.evaluation.to_bytes())
    transcipher = he.Transcipher(server, key.to_bytes(), encrypted.to_bytes())
    counter, data = sensor.encrypt(np.array([7, 200], dtype=np.uint8))
    x = transcipher.decrypt(counter, bytearray(data), np.uint8)
    assert isinstance(x, he.EncryptedUint)
    answer = he.EncryptedUint.from_bytes(context, (x + x).to_bytes())
    assert np.array_equal(keys.secret.decrypt_uint(answer), [14, 144])
    for made in (key, encrypted):
        again = pickle.loads(pickle.dumps(made))
        assert again.to_bytes() == made.to_bytes()
        assert type(made).from_bytes(server, made.to_bytes()).key_set == made.key_set


def test_what_is_refused(owner: Setup) -> None:
    context, keys, key = owner
    sensor = he.SensorKey.generate()
    encrypted = keys.secret.encrypt_sensor_key(sensor)
    with pytest.raises(ValueError, match="128, 192 or 256"):
        he.SensorKey.generate(100)
    with pytest.raises(TypeError, match="float64"):
        sensor.encrypt(np.array([1.5]))
    transcipher = he.Transcipher(context, key, encrypted)
    counter, data = sensor.encrypt(np.array([1, 2, 3], dtype=np.uint8))
    with pytest.raises(ValueError, match="not integers of 16 bits"):
        transcipher.decrypt(counter, data, "int16")
    with pytest.raises(ValueError, match="15 bytes, where 16"):
        transcipher.decrypt(counter[1:], data, "uint8")
    with pytest.raises(TypeError, match="float32"):
        transcipher.decrypt(counter, data, "float32")
    with pytest.raises(he.KeySetError):
        he.Transcipher(context, key, he.Context(context.params, device="cpu").keygen().secret.encrypt_sensor_key(sensor))
    with pytest.raises(he.FormatError):
        he.Transcipher(context, key.to_bytes()[:-1], encrypted)
    small = he.Context(he.Params.tfhe("insecure_small"), device="cpu")
    with pytest.raises(he.ParameterError):
        he.TranscipherKey.from_bytes(small, key.to_bytes())
    for secret in (sensor, transcipher):
        with pytest.raises(TypeError):
            pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.copy(sensor)
    assert he.SensorKey.from_bytes(sensor.to_bytes()).to_bytes() == sensor.to_bytes()
