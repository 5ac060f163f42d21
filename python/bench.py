"""The package beside the same calls in Rust, and beside TenSEAL and openfhe-python.

``RAYON_NUM_THREADS=1 python bench.py overhead`` measures what the binding adds to calls that
benches/overhead.rs makes in turns with this program; it needs Cargo and Linux, and a wheel of the
profile ``release``. ``python bench.py peers`` needs ``pip install tenseal openfhe``, measures what
of both is there, and prints the lines of each program. ``python bench.py cluster`` needs
``pip install ray pyarrow``: a sum of 1000 products of encrypted columns on one worker of Ray and on
two, and what a task costs beyond what it computes. It gives CPU time beside wall time, for machines
that do other things as well.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

# What is measured is the installed wheel, not the sources beside this file.
sys.path.pop(0)
import he  # noqa: E402


#: Turns of the measurements beside Rust.
ROUNDS = 60


def best(work: Callable[[], object], times: int = 5) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


class Rust:
    """The calls of benches/overhead.rs, in a process of their own."""

    def __init__(self) -> None:
        command = ["cargo", "bench", "--quiet", "--profile", "release", "-p", "he-python", "--bench", "overhead"]
        built = subprocess.run([*command, "--no-run", "--message-format=json"], check=True, stdout=subprocess.PIPE)
        messages = [json.loads(line) for line in built.stdout.splitlines()]
        (program,) = {message["executable"] for message in messages if message.get("executable")}
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Linux has a clock for the CPU time of every process.
        self.clock = (~self.process.pid << 3) | 2

    def seconds(self, call: str, count: int) -> float:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        begin = time.clock_gettime(self.clock)
        stdin.write(f"{call} {count}\n")
        stdin.flush()
        stdout.readline()
        return time.clock_gettime(self.clock) - begin


def overhead() -> None:
    tiny = he.Context(he.Params.for_depth(0, precision_bits=10), device="cpu")
    x = tiny.keygen(sums=False).encrypt([1.0])
    context = he.Context(he.Params.for_depth(7, log_n=14), device="cpu")
    a = context.keygen(sums=False).encrypt(np.full(8192, 0.5))
    rust = Rust()
    tasks: list[tuple[str, str, Callable[[], object], int]] = [
        ("negate", "the smallest ciphertext negated", lambda: -x, 500),
        ("add", "a sum at N = 2^14, level 7", lambda: a + a, 50),
        ("multiply", "a product at N = 2^14, level 7", lambda: a * a, 3),
    ]
    for call, name, work, count in tasks:
        # In turns, so that whatever else the computer does disturbs both; CPU time of both
        # processes, the least of all rounds.
        found, expected = [], []
        for _ in range(ROUNDS):
            begin = time.process_time()
            for _ in range(count):
                work()
            found.append((time.process_time() - begin) / count)
            expected.append(rust.seconds(call, count) / count)
        here, there = 1e6 * min(found), 1e6 * min(expected)
        print(f"{name}: {here:.1f} us, in Rust {there:.1f} us: {here - there:+.1f} us, {here / there - 1:+.1%}")
    count = 100_000
    calls = best(lambda: [x.level for _ in range(count)]) / count
    print(f"a property: {1e6 * calls:.2f} us")


N = 1_000_000


def he_encrypt_decrypt() -> tuple[Any, Callable[[], Any]]:
    context = he.Context(he.Params.for_depth(1, precision_bits=20), device="cpu")
    keys = context.keygen()
    return context, lambda x: keys.decrypt(keys.encrypt(x))


def he_mean() -> tuple[Any, Callable[[], Any]]:
    context = he.Context(he.Params.for_depth(1, precision_bits=20), device="cpu")
    keys = context.keygen()
    return context, lambda x: keys.decrypt(keys.encrypt(x).mean())


def he_matrix() -> tuple[Any, Callable[[], Any]]:
    context = he.Context(he.Params.for_depth(1, precision_bits=20), device="cpu")
    keys = context.keygen()
    return context, lambda x, m: keys.decrypt(keys.encrypt(x) @ m)


def tenseal_context() -> Any:
    import tenseal as ts

    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40, 60])
    context.global_scale = 2**40
    context.generate_galois_keys()
    return context


def tenseal_encrypt_decrypt() -> tuple[Any, Callable[[], Any]]:
    import tenseal as ts

    context = tenseal_context()
    return context, lambda x: np.array(ts.ckks_vector(context, x).decrypt())


def tenseal_mean() -> tuple[Any, Callable[[], Any]]:
    import tenseal as ts

    context = tenseal_context()

    def mean(x: Any) -> Any:
        parts = [ts.ckks_vector(context, x[at : at + 4096]).sum() for at in range(0, len(x), 4096)]
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total.decrypt()[0] / len(x)

    return context, mean


def tenseal_matrix() -> tuple[Any, Callable[[], Any]]:
    import tenseal as ts

    context = tenseal_context()
    return context, lambda x, m: np.array(ts.ckks_vector(context, x).mm(m.tolist()).decrypt())


def openfhe_context() -> Any:
    import openfhe

    params = openfhe.CCParamsCKKSRNS()
    params.SetMultiplicativeDepth(1)
    params.SetScalingModSize(40)
    context = openfhe.GenCryptoContext(params)
    for feature in (openfhe.PKESchemeFeature.PKE, openfhe.PKESchemeFeature.KEYSWITCH, openfhe.PKESchemeFeature.LEVELEDSHE, openfhe.PKESchemeFeature.ADVANCEDSHE):
        context.Enable(feature)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalSumKeyGen(keys.secretKey)
    return context, keys, context.GetRingDimension() // 2


def openfhe_encrypt_decrypt() -> tuple[Any, Callable[[], Any]]:
    context, keys, slots = openfhe_context()

    def both(x: Any) -> Any:
        found = []
        for at in range(0, len(x), slots):
            plain = context.MakeCKKSPackedPlaintext(x[at : at + slots].tolist())
            plain = context.Decrypt(context.Encrypt(keys.publicKey, plain), keys.secretKey)
            found.append(plain.GetRealPackedValue())
        return np.concatenate(found)[: len(x)]

    return context, both


def openfhe_mean() -> tuple[Any, Callable[[], Any]]:
    context, keys, slots = openfhe_context()

    def mean(x: Any) -> Any:
        total = None
        for at in range(0, len(x), slots):
            plain = context.MakeCKKSPackedPlaintext(x[at : at + slots].tolist())
            part = context.Encrypt(keys.publicKey, plain)
            total = part if total is None else context.EvalAdd(total, part)
        total = context.EvalMult(context.EvalSum(total, slots), 1 / len(x))
        plain = context.Decrypt(total, keys.secretKey)
        plain.SetLength(1)
        return plain.GetRealPackedValue()[0]

    return context, mean


def openfhe_matrix() -> tuple[Any, Callable[[], Any]]:
    context, keys, slots = openfhe_context()

    def product(x: Any, m: Any) -> Any:
        size = 1 << (len(x) - 1).bit_length()
        context.EvalRotateKeyGen(keys.secretKey, list(range(1, size)))
        padded = np.zeros((size, size))
        padded[: len(x), : m.shape[1]] = m
        plain = context.MakeCKKSPackedPlaintext(np.tile(np.pad(x, (0, size - len(x))), slots // size).tolist())
        vector, total = context.Encrypt(keys.publicKey, plain), None
        for step in range(size):
            diagonal = [padded[(at + step) % size, at] for at in range(size)] * (slots // size)
            turned = context.EvalRotate(vector, step) if step else vector
            part = context.EvalMult(turned, context.MakeCKKSPackedPlaintext(diagonal))
            total = part if total is None else context.EvalAdd(total, part)
        plain = context.Decrypt(total, keys.secretKey)
        return np.array(plain.GetRealPackedValue()[: m.shape[1]])

    return context, product


def peers() -> None:
    rng = np.random.default_rng(1)
    x, short, m = rng.normal(size=N), rng.normal(size=64), rng.normal(size=(64, 16))
    tasks: list[tuple[str, tuple[Any, ...], Any]] = [
        ("encrypt_decrypt", (x,), x),
        ("mean", (x,), x.mean()),
        ("matrix", (short, m), short @ m),
    ]
    for task, inputs, expected in tasks:
        for library in ("he", "tenseal", "openfhe"):
            make = globals()[f"{library}_{task}"]
            lines = len(inspect.getsource(make).splitlines()) - 1
            if library != "he":
                lines += len(inspect.getsource(globals()[f"{library}_context"]).splitlines()) - 1
            try:
                context, work = make()
            except ImportError:
                print(f"{task}: {library} is not installed")
                continue
            seconds = best(lambda: work(*inputs), 3)
            error = float(np.abs(work(*inputs) - expected).max())
            print(f"{task}: {library}: {1e3 * seconds:.0f} ms, {lines} lines, error {error:.1e}")
            del context


def revenue(table: dict[str, Any]) -> he.Ciphertext:
    products = [price * qty for price, qty in zip(table["price"], table["qty"])]
    return sum(products[1:], products[0])


def cluster() -> None:
    import operator
    import tempfile

    from he import parquet, ray

    context = he.Context(he.Params.for_depth(2, scheme="bfv", bits=30), device="cpu")
    keys = context.keygen()
    values = np.arange(context.slots or 0) % 100
    columns = {name: [keys.encrypt(values + shift) for shift in range(20)] for name in ("price", "qty")}
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/t.parquet"
        parquet.write(path, {}, encrypted=columns, row_group_size=10)
        # The same groups again and again, so that no disk is measured.
        groups = parquet.row_groups(path) * 50
        for actors in (1, 2):
            with ray.Pool(context, actors=actors) as pool:
                before = [worker["cpu_seconds"] for worker in pool.workers()]
                wall, driver = time.perf_counter(), time.process_time()
                total = pool.map_reduce(revenue, operator.add, groups).to_bytes()
                wall, driver = time.perf_counter() - wall, time.process_time() - driver
                after = pool.workers()
                cpu = [worker["cpu_seconds"] - start for worker, start in zip(after, before)]
                shown = ", ".join(f"{seconds:.2f}" for seconds in cpu)
                loads = [worker["key_loads"] for worker in after]
                print(f"{actors} workers: {wall:.2f} s; CPU of workers {shown} s, of the driver {driver:.2f} s")
                print(f"key loads {loads}")
                assert expected in (None, total)
                expected = total
        with ray.Pool(context, actors=1) as pool:
            list(pool.map(abs, range(100)))
            wall, driver = time.perf_counter(), time.process_time()
            before = pool.workers()[0]["cpu_seconds"]
            list(pool.map(abs, range(2000)))
            wall, driver = time.perf_counter() - wall, time.process_time() - driver
            worker = pool.workers()[0]["cpu_seconds"] - before
            print(f"a task: {wall / 2:.2f} ms; CPU {worker / 2:.2f} ms (worker), {driver / 2:.2f} ms (driver)")


if __name__ == "__main__":
    {"overhead": overhead, "peers": peers, "cluster": cluster}[sys.argv[1]]()
