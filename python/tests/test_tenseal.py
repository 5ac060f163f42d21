"""TenSEAL's names over the package, against NumPy: a small insecure ring, and random values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import he
import he.tenseal as ts
from he.tenseal.enc_context import GaloisKeys, RelinKeys

T = 12289  # 1 modulo 2048 and 4096

Floats = npt.NDArray[np.float64]


def ckks(**options: Any) -> ts.Context:
    context = ts.context(
        ts.SCHEME_TYPE.CKKS, 1024, coeff_mod_bit_sizes=[50, 35, 35, 35, 50], insecure=True, **options
    )
    context.global_scale = 2**35
    return context


@pytest.fixture(scope="module")
def context() -> ts.Context:
    made = ckks()
    made.generate_galois_keys()
    return made


@pytest.fixture(scope="module")
def bfv() -> ts.Context:
    made = ts.context(ts.SCHEME_TYPE.BFV, 1024, T, [40, 40, 40, 45], insecure=True)
    made.generate_galois_keys()
    return made


@pytest.fixture
def rng() -> np.random.Generator:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def near(found: Any, expected: Any) -> bool:
    return bool(np.allclose(found, expected, rtol=0, atol=1e-3))


def modular(values: Any) -> Any:
    return ((np.asarray(values) + T // 2) % T - T // 2).tolist()


BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: b + a,
    lambda a, b: b - a,
    lambda a, b: b * a,
]


@pytest.mark.parametrize("operate", BINARY)
def test_vectors_of_floats(context: ts.Context, rng: np.random.Generator, operate: Any) -> None:
    a, b = rng.uniform(-3, 3, size=(2, 11))
    x, y = ts.ckks_vector(context, a), ts.ckks_vector(context, b)
    assert near(operate(x, y).decrypt(), operate(a, b))
    assert near(operate(x, b.tolist()).decrypt(), operate(a, b))
    assert near(operate(x, ts.plain_tensor(b)).decrypt(), operate(a, b))
    assert near(operate(x, 2.5).decrypt(), operate(a, 2.5))
    one = ts.ckks_vector(context, [float(b[0])])
    assert near(operate(x, one).decrypt(), operate(a, b[0]))
    assert near(x.decrypt(), a)


@pytest.mark.parametrize("operate", BINARY)
def test_vectors_of_integers(bfv: ts.Context, rng: np.random.Generator, operate: Any) -> None:
    a, b = rng.integers(-70, 70, size=(2, 11))
    x, y = ts.bfv_vector(bfv, a), ts.bfv_vector(bfv, b)
    assert operate(x, y).decrypt() == operate(a, b).tolist()
    assert operate(x, b.tolist()).decrypt() == operate(a, b).tolist()
    assert operate(x, 7).decrypt() == operate(a, 7).tolist()
    wide = rng.integers(-(2**40), 2**40, size=5)
    assert ts.bfv_vector(bfv, wide).decrypt() == modular(wide)
    with pytest.raises(TypeError):
        x + 0.5


def test_sums_and_products_of_vectors(context: ts.Context, bfv: ts.Context, rng: np.random.Generator) -> None:
    a, b = rng.uniform(-1, 1, size=(2, 13))
    x, y = ts.ckks_vector(context, a), ts.ckks_vector(context, b)
    assert near(x.sum().decrypt(), [a.sum()])
    assert near(x.dot(y).decrypt(), [a @ b]) and near(x.dot(b).decrypt(), [a @ b])
    assert near((x * x.dot(y)).decrypt(), a * (a @ b))
    matrix, last = rng.uniform(-1, 1, size=(13, 6)), rng.uniform(-1, 1, size=(6, 3))
    assert near((x @ matrix).decrypt(), a @ matrix)
    assert near((x.mm(matrix) @ last).decrypt(), a @ matrix @ last)
    c, d = rng.integers(-20, 20, size=(2, 13))
    v, w = ts.bfv_vector(bfv, c), ts.bfv_vector(bfv, d)
    assert v.sum().decrypt() == modular([c.sum()])
    assert v.dot(w).decrypt() == modular([c @ d]) == v.dot(d).decrypt()


def test_powers_and_polynomials(context: ts.Context, bfv: ts.Context, rng: np.random.Generator) -> None:
    a, c = rng.uniform(-1, 1, size=9), rng.integers(-9, 10, size=9)
    x, v = ts.ckks_vector(context, a), ts.bfv_vector(bfv, c)
    for power in range(5):
        assert near((x**power).decrypt(), a**power)
    assert v.pow(2).decrypt() == modular(c**2) and v.pow(0).decrypt() == [1] * 9
    for coefficients in ([0.5, 0.197, 0, -0.004], [1, 2], [3], [0, 0], [0, 1, 1, 0]):
        assert near(x.polyval(coefficients).decrypt(), np.polyval(coefficients[::-1], a))
    assert v.polyval([3, -1, 2]).decrypt() == modular(3 - c + 2 * c**2)
    with pytest.raises(ValueError, match="at least one element"):
        x.polyval([])


def test_vectors_over_several_ciphertexts(context: ts.Context, rng: np.random.Generator) -> None:
    a = rng.uniform(-1, 1, size=1300)
    x = ts.ckks_vector(context, a)
    assert x.shape == [1300] and near((x * x + a).decrypt(), a * a + a)
    assert near(x.sum().decrypt(), [a.sum()])
    with pytest.raises(ValueError):
        x.mm(np.ones((1300, 2)))


def test_packed_vectors(context: ts.Context, bfv: ts.Context, rng: np.random.Generator) -> None:
    parts = [rng.uniform(-1, 1, size=n) for n in (3, 1, 8)]
    packed = ts.CKKSVector.pack_vectors([ts.ckks_vector(context, part) for part in parts])
    assert near(packed.decrypt(), np.concatenate(parts))
    whole = [rng.integers(-99, 99, size=n) for n in (2, 5)]
    joined = ts.BFVVector.pack_vectors([ts.bfv_vector(bfv, part) for part in whole])
    assert joined.decrypt() == np.concatenate(whole).tolist()
    with pytest.raises(TypeError):
        ts.CKKSVector.pack_vectors([ts.bfv_vector(bfv, [1])])  # type: ignore[list-item]


@pytest.mark.parametrize(("side", "kernel", "stride"), [(5, 2, 1), (9, 3, 2), (4, 4, 1)])
def test_convolutions(
    context: ts.Context, rng: np.random.Generator, side: int, kernel: int, stride: int
) -> None:
    image, weights = rng.uniform(-1, 1, size=(side, side)), rng.uniform(-1, 1, size=(kernel, kernel))
    x, count = ts.im2col_encoding(context, image, kernel, kernel, stride)
    places = range(0, side - kernel + 1, stride)
    expected = [(image[i : i + kernel, j : j + kernel] * weights).sum() for i in places for j in places]
    assert count == len(expected)
    assert near(x.conv2d_im2col(weights, count).decrypt(), expected)
    with pytest.raises(ValueError):
        ts.im2col_encoding(context, image, side + 1, 1, 1)


def test_encrypted_matrices_with_plain_vectors(context: ts.Context, rng: np.random.Generator) -> None:
    matrix, vector = rng.uniform(-1, 1, size=(6, 5)), rng.uniform(-1, 1, size=5)
    x = ts.enc_matmul_encoding(context, matrix)
    assert near(x.enc_matmul_plain(vector, 6).decrypt(), matrix @ vector)
    with pytest.raises(ValueError, match="shape"):
        x.enc_matmul_plain(vector, 7)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("operate", BINARY)
def test_tensors(context: ts.Context, rng: np.random.Generator, operate: Any, batch: bool) -> None:
    a, b = rng.uniform(-2, 2, size=(2, 3, 2, 4))
    x, y = ts.ckks_tensor(context, a, batch=batch), ts.ckks_tensor(context, b, batch=batch)
    assert x.shape == ([2, 4] if batch else [3, 2, 4])
    assert near(operate(x, y).decrypt().tolist(), operate(a, b))
    assert near(operate(x, b).decrypt().tolist(), operate(a, b))
    assert near(operate(x, 1.5).decrypt().tolist(), operate(a, 1.5))
    row = b[0, 0]
    assert near(operate(x, row.tolist()).decrypt().tolist(), operate(a, row))


@pytest.mark.parametrize("batch", [False, True])
def test_axes_of_tensors(context: ts.Context, rng: np.random.Generator, batch: bool) -> None:
    a = rng.uniform(-1, 1, size=(3, 2, 4))
    x = ts.ckks_tensor(context, a, batch=batch)
    for axis in range(3):
        found = x.sum(axis)
        assert near(found.decrypt().tolist(), a.sum(axis))
    for axis in (-1, 3):
        with pytest.raises(ValueError, match="axis"):
            x.sum(axis)
    assert near(x.polyval([1, 0, 2]).decrypt().tolist(), 1 + 2 * a**2)
    if batch:
        assert near(x.transpose().decrypt().tolist(), a.transpose(0, 2, 1))
        assert near(x.sum_batch().decrypt().tolist(), a.sum(0))
    else:
        assert near(x.transpose().decrypt().tolist(), a.T)
        assert near(x.reshape([4, 6]).decrypt().tolist(), a.reshape(4, 6))
        assert near(x[1, 0:2].decrypt().tolist(), a[1:2, 0:2])
        assert near(x.broadcast([2, 3, 2, 4]).decrypt().tolist(), np.broadcast_to(a, (2, 3, 2, 4)))


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_products_of_matrices(
    context: ts.Context, bfv: ts.Context, rng: np.random.Generator, scheme: str
) -> None:
    a, b, v = rng.integers(-5, 6, (2, 3)), rng.integers(-5, 6, (3, 4)), rng.integers(-5, 6, 3)

    def tensor(values: Any) -> ts.CKKSTensor | ts.BFVTensor:
        if scheme == "ckks":
            return ts.ckks_tensor(context, values)
        return ts.bfv_tensor(bfv, values)

    x = tensor(a)
    for right in (b, tensor(b)):
        assert near((x @ right).decrypt().tolist(), a @ b)
    for right in (v, tensor(v)):
        assert near(x.dot(right).decrypt().tolist(), a @ v)
    assert near(tensor(v).dot(tensor(b)).decrypt().tolist(), v @ b)
    assert near(tensor(v).dot(v).decrypt().tolist(), v @ v)
    with pytest.raises(ValueError, match="mismatch"):
        x.dot(x)
    with pytest.raises(ValueError, match="matrix"):
        x.mm(v)


def test_tensors_of_integers(bfv: ts.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-50, 50, size=(4, 3))
    x = ts.bfv_tensor(bfv, a, batch=True)
    assert (x * x + 5).decrypt().tolist() == (a * a + 5).tolist()
    assert x.sum(0).decrypt().tolist() == a.sum(0).tolist()
    assert x.decrypt().dtype == "int"


def test_in_place_operations_change_the_object_alone(context: ts.Context) -> None:
    x = ts.ckks_vector(context, [1.0, 2.0])
    kept, same = x.copy(), x
    x += 1
    x.square_().neg_()
    x *= [1.0, 0.5]
    assert same is x and near(x.decrypt(), [-4, -4.5]) and near(kept.decrypt(), [1, 2])


def test_a_public_context_has_no_secret_key() -> None:
    private = ckks()
    secret = bytes(private.secret_key().data.to_bytes())
    x = ts.ckks_vector(private, [1.0, 2.0])
    whole = private.serialize(save_secret_key=True)
    assert secret in whole and secret not in private.serialize()

    public = private.copy()
    public.make_context_public(generate_galois_keys=True)
    assert public.is_public() and private.is_private() and not private.has_galois_keys()
    assert secret not in public.serialize(save_secret_key=True)
    assert isinstance(public.galois_keys(), GaloisKeys) and isinstance(public.relin_keys(), RelinKeys)
    for call in (public.secret_key, public.generate_galois_keys, ts.ckks_vector(public, [1.0]).decrypt):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(he.KeySetError):
        public.secret_key()
    server = ts.context_from(public.serialize(), insecure=True)
    y = ts.ckks_vector_from(server, x.serialize()).dot([3.0, 4.0])
    assert near(ts.ckks_vector_from(private, y.serialize()).decrypt(), [11])
    assert near(y.decrypt(private.secret_key()), [11])


def test_keys_that_are_dropped_are_gone() -> None:
    context = ckks()
    context.generate_galois_keys()
    x = ts.ckks_vector(context, [1.0, 2.0, 3.0]).serialize()
    for relin, galois in [(True, False), (False, True), (False, False)]:
        data = context.serialize(save_relin_keys=relin, save_galois_keys=galois, save_public_key=False)
        server = ts.context_from(data, insecure=True)
        assert (server.has_relin_keys(), server.has_galois_keys()) == (relin, galois)
        assert not server.has_public_key() and not server.has_secret_key()
        y = ts.ckks_vector_from(server, x)
        for has, call in [(relin, y.square), (galois, y.sum)]:
            if has:
                call()
            else:
                with pytest.raises(he.KeySetError):
                    call()
        with pytest.raises(ValueError, match="encryption"):
            ts.ckks_vector(server, [1.0])
    other = ckks()
    with pytest.raises(he.Error):
        context.generate_relin_keys(other.secret_key())


def test_symmetric_contexts_have_no_public_key() -> None:
    context = ckks(encryption_type=ts.ENCRYPTION_TYPE.SYMMETRIC)
    assert near(ts.ckks_vector(context, [0.5]).decrypt(), [0.5])
    again = ts.context_from(context.serialize(save_secret_key=True), insecure=True)
    assert near(ts.ckks_vector(again, [0.5]).decrypt(), [0.5])
    for call in (context.public_key, context.has_public_key, context.make_context_public):
        with pytest.raises(ValueError, match="symmetric"):
            call()


def test_flags_refuse_what_is_not_aligned() -> None:
    context = ckks()
    x = ts.ckks_vector(context, [1.0, 2.0])
    context.auto_rescale = False
    with pytest.raises(ValueError, match="scale mismatch"):
        x * x + x
    with pytest.raises(ValueError, match="scale mismatch"):
        x.polyval([0, 1, 1])
    context.auto_rescale, context.auto_mod_switch = True, False
    with pytest.raises(ValueError, match="parameter mismatch"):
        x * x + x
    assert near((x * x + x * x).decrypt(), [2, 8])
    context.auto_mod_switch = True
    assert near((x * x + x).decrypt(), [2, 6])
    with pytest.raises(he.DepthError, match="scale out of bounds"):
        x**16


def test_copies_and_links(context: ts.Context, bfv: ts.Context) -> None:
    x, v = ts.ckks_tensor(context, [[1.0, 2.0]]), ts.bfv_vector(bfv, [1, 2])
    for duplicate in (copy.copy, copy.deepcopy):
        assert near((duplicate(x) + x).decrypt().tolist(), [[2, 4]])
        assert (duplicate(v) + v).decrypt() == [2, 4]
    lazy = ts.lazy_ckks_tensor_from(x.serialize())
    assert not lazy.has_context() and lazy.serialize() == x.serialize()
    with pytest.raises(ValueError, match="missing context"):
        lazy.decrypt()
    lazy.link_context(context)
    assert near(lazy.decrypt().tolist(), [[1, 2]])
    with pytest.raises(ValueError):
        ts.lazy_ckks_tensor_from(x.serialize()).link_context(bfv)
    with pytest.raises(ValueError):
        ts.bfv_vector_from(bfv, ts.bfv_tensor(bfv, [1, 2]).serialize())


def test_damaged_bytes_are_refused(context: ts.Context, bfv: ts.Context, rng: np.random.Generator) -> None:
    whole: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
        "context": (context.serialize(save_secret_key=True), lambda data: ts.context_from(data, insecure=True)),
        "vector": (ts.bfv_vector(bfv, [1, 2]).serialize(), lambda data: ts.bfv_vector_from(bfv, data)),
        "tensor": (ts.ckks_tensor(context, [1.0]).serialize(), lambda data: ts.ckks_tensor_from(context, data)),
        "plain": (ts.plain_tensor([1.0, 2.0]).serialize(), ts.plain_tensor_from),
    }
    for data, read in whole.values():
        read(data)
        for length in {0, 3, 12, len(data) - 1, *rng.integers(0, len(data), 8).tolist()}:
            with pytest.raises(ValueError):
                read(data[:length])
        with pytest.raises(ValueError):
            read(data + b"\0")
        for at in rng.integers(0, min(len(data), 400), 24):
            damaged = bytearray(data)
            damaged[at] ^= 1 << int(rng.integers(0, 8))
            try:
                read(bytes(damaged))
            except ValueError:
                pass
    with pytest.raises(TypeError):
        ts.context_from("text")  # type: ignore[arg-type]


def test_insecure_parameters_are_asked_for_by_name(context: ts.Context) -> None:
    sizes = [31, 26, 26, 26, 26, 26, 26, 31]
    with pytest.raises(he.ParameterError, match="insecure=True"):
        ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=sizes)
    with pytest.raises(ValueError):
        ts.context_from(context.serialize())
    ts.allow_insecure()
    try:
        assert ts.context_from(context.serialize()).global_scale == 2**35
    finally:
        ts.allow_insecure(False)
    for degree, bits in [(1000, [30, 20, 30]), (1024, []), (1024, [0, 20]), (1024, [70, 30])]:
        with pytest.raises(ValueError):
            ts.context(ts.SCHEME_TYPE.CKKS, degree, coeff_mod_bit_sizes=bits, insecure=True)
    with pytest.raises(ValueError, match="plain_modulus"):
        ts.context(ts.SCHEME_TYPE.BFV, 1024)


@pytest.mark.parametrize(("degree", "modulus"), [(1024, 2**11 * 6 + 1), (2048, 12289), (4096, 65537), (8192, 65537)])
def test_bfv_has_secure_widths(degree: int, modulus: int) -> None:
    context = ts.context(ts.SCHEME_TYPE.BFV, degree, modulus)
    assert context.he.params.security == 128
    assert ts.bfv_vector(context, [-3, 4]).decrypt() == [-3, 4]


def test_plain_tensors(rng: np.random.Generator) -> None:
    a = rng.integers(-9, 9, size=(2, 3, 5))
    x = ts.plain_tensor(a, dtype="int")
    assert x.raw == a.ravel().tolist() and x.strides() == [15, 5, 1] and len(x) == x.size() == 2
    assert x.transpose().tolist() == a.T.tolist() and x.batch(1)[0] == a[0, :, 0].tolist()
    assert ts.plain_tensor_from(x.serialize(), dtype="int").tolist() == a.tolist()
    assert x.at([1, 2, 3]) == a[1, 2, 3] and x.reshape([30]).shape == [30]
    with pytest.raises(TypeError):
        ts.plain_tensor([[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="dtype"):
        ts.plain_tensor([1], dtype="str")
