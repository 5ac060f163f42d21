"""Encrypted files of images and tables, and files under AES."""

from __future__ import annotations

import pickle
import re
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import he
from he import files


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("keys")
    files.keygen(he.Params.for_depth(2), folder / "ckks", passphrase=None, device="cpu")
    files.keygen(he.Params.for_depth(1, scheme="bfv", bits=30), folder / "bfv", device="cpu")
    return {name: folder / name for name in ("ckks", "bfv")}


def picture(height: int = 24, width: int = 40) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    return np.stack([5 * x, 8 * y, 2 * (x + y)], axis=-1).astype(np.uint8)


def test_pictures(keys: dict[str, Path], tmp_path: Path) -> None:
    folder = keys["ckks"]
    image = picture()
    encrypted = files.encrypt(image, folder / "public.key", halo=2, device="cpu")
    assert encrypted.kind == "image" and encrypted.scheme == "ckks" and encrypted.history == []
    back = encrypted.decrypt(folder / "secret.key", device="cpu")
    assert back.shape == image.shape and back.dtype == np.uint8
    assert np.abs(back.astype(int) - image).max() <= 1

    blurred = pickle.loads(pickle.dumps(encrypted)).blur(folder / "eval.key", device="cpu")
    found = blurred.decrypt(folder / "secret.key", device="cpu").astype(float)
    padded = np.pad(image.astype(float), ((1, 1), (1, 1), (0, 0)), mode="edge")
    expected = sum(padded[i : i + 24, j : j + 40] for i in range(3) for j in range(3)) / 9
    assert blurred.history == ["blur"]
    assert np.abs(found - expected).max() < 1.5

    path = tmp_path / "gray.he"
    gray = encrypted.grayscale(folder / "eval.key", output=path, device="cpu").invert(folder / "eval.key", device="cpu")
    assert path.is_file()
    luma = 255 - image @ np.array([0.299, 0.587, 0.114])
    assert np.abs(gray.decrypt(folder / "secret.key", device="cpu") - luma).max() < 2
    out = tmp_path / "out.png"
    files.EncryptedFile(path).decrypt(folder / "secret.key", output=out, device="cpu")
    assert out.read_bytes().startswith(b"\x89PNG") and stat.S_IMODE(out.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        files.EncryptedFile(path).decrypt(folder / "secret.key", output=out, device="cpu")


def test_ctrl_c_ends_computations(
    keys: dict[str, Path],
    ended_by_a_signal: Callable[[str, Callable[[], object], float], None],
) -> None:
    folder = keys["ckks"]
    encrypted = files.encrypt(picture(512, 512), folder / "public.key", halo=1, device="cpu")
    key = str(folder / "eval.key")
    ended_by_a_signal("_file_evaluate", lambda: encrypted.edges(key, device="cpu"), 0.05)
    assert encrypted.edges(key, device="cpu").history == ["edges"]


def test_tables(keys: dict[str, Path]) -> None:
    folder = keys["ckks"]
    table = b"x,y\n1.5,2\n-3,4\n6,0.25\n"
    encrypted = files.encrypt(table, folder / "secret.key", device="cpu")
    columns = encrypted.decrypt(folder / "secret.key", device="cpu")
    assert list(columns) == ["x", "y"]
    np.testing.assert_allclose(columns["x"], [1.5, -3, 6], atol=1e-3)
    for operation, expected in [("sum", 4.5), ("mean", 1.5), ("variance", 13.5)]:
        result = encrypted.evaluate(operation, folder / "eval.key", device="cpu")
        assert abs(result.decrypt(folder / "secret.key", device="cpu")["x"][0] - expected) < 0.05
    both = encrypted.dot(folder / "eval.key", columns=("x", "y"), device="cpu")
    assert abs(next(iter(both.decrypt(folder / "secret.key", device="cpu").values()))[0] + 7.5) < 0.05
    pairs = encrypted.covariance(folder / "eval.key", device="cpu").decrypt(folder / "secret.key", device="cpu")
    matrix = np.cov([[1.5, -3, 6], [2, 4, 0.25]], bias=True)
    np.testing.assert_allclose([pairs["x x"][0], pairs["x y"][0]], matrix[0], atol=0.05)
    fit = encrypted.regression(folder / "eval.key", target="x", device="cpu")
    line = fit.decrypt(folder / "secret.key", device="cpu")
    slope, intercept = np.polyfit([2, 4, 0.25], [1.5, -3, 6], 1)
    np.testing.assert_allclose([line["y"][0], line["intercept"][0]], [slope, intercept], atol=0.05)
    twice = encrypted.add(folder / "eval.key", encrypted, device="cpu")
    np.testing.assert_allclose(twice.decrypt(folder / "secret.key", device="cpu")["y"], [4, 8, 0.5], atol=1e-2)


def test_counts(keys: dict[str, Path]) -> None:
    folder = keys["bfv"]
    votes = b"party,age\nred,30\nblue,41\nred,52\n"
    encrypted = files.encrypt(votes, folder / "public.key", categories=["party"], device="cpu")
    counts = encrypted.count(folder / "eval.key", device="cpu").decrypt(folder / "secret.key", device="cpu")
    assert counts["category"] == ["blue", "red"]
    np.testing.assert_array_equal(counts["count"], [1, 2])
    ages = encrypted.sum(folder / "eval.key", device="cpu").decrypt(folder / "secret.key", device="cpu")
    assert any(int(column[0]) == 123 for column in ages.values() if not isinstance(column[0], str))


def test_traces(keys: dict[str, Path], tmp_path: Path) -> None:
    folder = keys["ckks"]
    image = files.encrypt(picture(), folder / "public.key", device="cpu")
    traces = [tmp_path / "first.trace", tmp_path / "second.trace"]
    for trace in traces:
        image.invert(folder / "eval.key", record=trace, device="cpu")
    first, second = (trace.read_bytes() for trace in traces)
    assert first.startswith(b"HE-TRACE") and first == second
    with pytest.raises(FileExistsError, match="exists"):
        image.invert(folder / "eval.key", record=traces[0], device="cpu")


def test_what_files_refuse(keys: dict[str, Path], tmp_path: Path) -> None:
    folder = keys["ckks"]
    image = files.encrypt(picture(), folder / "public.key", device="cpu")
    with pytest.raises(ValueError, match="tables"):
        image.sum(folder / "eval.key", device="cpu")
    with pytest.raises(ValueError, match="halo"):
        image.blur(folder / "eval.key", radius=3, device="cpu")
    with pytest.raises(ValueError, match="`melt`.*`blur`"):
        image.evaluate("melt", folder / "eval.key", device="cpu")
    with pytest.raises(ValueError, match="sort is for tables in digits"):
        image.evaluate("sort", folder / "eval.key", device="cpu")
    with pytest.raises(TypeError, match="`raduis`.*`radius`"):
        image.evaluate("blur", folder / "eval.key", raduis=3)
    with pytest.raises(ValueError, match="JSON"):
        image.brightness(folder / "eval.key", float("nan"), device="cpu")
    with pytest.raises(ValueError, match="takes 2 encrypted files"):
        image.evaluate("add", folder / "eval.key", device="cpu")
    with pytest.raises(he.KeySetError):
        image.decrypt(folder / "public.key", device="cpu")
    with pytest.raises(he.Error):
        image.decrypt(keys["bfv"] / "secret.key", device="cpu")
    with pytest.raises(FileNotFoundError):
        files.EncryptedFile(tmp_path / "none.he")
    with pytest.raises(he.Error):
        files.EncryptedFile(image.to_bytes()[:40])
    damaged = bytearray(image.to_bytes())
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises(he.FormatError):
        files.EncryptedFile(bytes(damaged)).decrypt(folder / "secret.key", device="cpu")
    for wrong, error in [(np.zeros((4, 4)), TypeError), (np.zeros(4, np.uint8), ValueError), (b"\0\1", ValueError)]:
        with pytest.raises(error):
            files.encrypt(wrong, folder / "public.key", device="cpu")  # type: ignore[arg-type]


def test_sealed_keys(tmp_path: Path) -> None:
    files.keygen(he.Params.for_depth(0), tmp_path / "k", passphrase="open", device="cpu")
    encrypted = files.encrypt(b"x\n1\n2\n", tmp_path / "k/public.key", device="cpu")
    found = encrypted.decrypt(tmp_path / "k/secret.key", passphrase="open", device="cpu")
    np.testing.assert_allclose(found["x"], [1, 2], atol=1e-3)
    assert stat.S_IMODE((tmp_path / "k/secret.key").stat().st_mode) == 0o600
    for wrong in (None, "shut"):
        with pytest.raises(he.Error):
            encrypted.decrypt(tmp_path / "k/secret.key", passphrase=wrong, device="cpu")


def test_bytes_under_aes(tmp_path: Path) -> None:
    key, data = he.AesKey.generate(), np.random.default_rng(1).bytes(3_000_000)
    sealed = files.aes_encrypt(data, key=key)
    assert sealed is not None and files.aes_decrypt(sealed, key=key) == data
    again = he.AesKey.from_bytes(key.to_bytes())
    assert files.aes_decrypt(sealed, key=again, range=(1_000_000, 1_000_100)) == data[1_000_000:1_000_100]
    path = tmp_path / "data.he"
    path.write_bytes(sealed)
    assert files.aes_decrypt(path, key=key, range=(1_000_000, 1_000_100)) == data[1_000_000:1_000_100]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a.txt").write_text("a")
    assert files.aes_encrypt(tmp_path / "folder", passphrase="open", output=tmp_path / "folder.he") is None
    files.aes_decrypt(tmp_path / "folder.he", passphrase="open", output=tmp_path / "unpacked")
    assert (tmp_path / "unpacked/a.txt").read_text() == "a"
    calls: list[Callable[[], object]] = [
        lambda: files.aes_decrypt(sealed[:-1], key=key),
        lambda: files.aes_decrypt(sealed, key=he.AesKey.generate()),
        lambda: files.aes_decrypt(b"no", key=key),
    ]
    for call in calls:
        with pytest.raises(he.Error):
            call()
    with pytest.raises(ValueError, match="one of them"):
        files.aes_encrypt(data)
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(key)


def test_ranges(keys: dict[str, Path], tmp_path: Path) -> None:
    """Ciphertexts of ranges are those of the file: what is computed with them leaves its words."""
    folder, path = keys["bfv"], tmp_path / "numbers.he"
    context = he.Context(he.Params.for_depth(1, scheme="bfv", bits=30), device="cpu")
    assert context.params.slots is not None
    # A file has up to 64 vectors per ciphertext.
    rows = "".join(f"{i % 1009}\n" for i in range(4 * 64 * context.params.slots + 1))
    files.encrypt(f"x\n{rows}".encode(), folder / "public.key", output=path, device="cpu")
    context.evaluation_keys = files.evaluation_keys(folder / "eval.key", context)

    parts = files.ranges(files.EncryptedFile(path), 2)
    assert [(part.first, len(part)) for part in parts] == [(0, 2), (2, 2), (4, 1)]
    parts = pickle.loads(pickle.dumps(parts))
    operations: dict[str, Callable[[he.Ciphertext], he.Ciphertext]] = {
        "add": lambda ct: ct + ct,
        "mul": lambda ct: ct * ct,
    }
    for operation, compute in operations.items():
        whole = tmp_path / f"{operation}.he"
        file = files.EncryptedFile(path)
        file.evaluate(operation, folder / "eval.key", file, output=whole, device="cpu")
        (expected,) = files.ranges(whole, 1000)
        found = [compute(ct).to_bytes() for part in parts for ct in part.read(context)]
        assert found == [ct.to_bytes() for ct in expected.read(context)]

    other = he.Context(he.Params.for_depth(1), device="cpu")
    with pytest.raises(he.FormatError):
        parts[0].read(other)
    with pytest.raises(he.ParameterError, match="of ckks"):
        files.evaluation_keys(folder / "eval.key", other)
    with pytest.raises(TypeError, match="in memory has no ranges"):
        files.ranges(files.EncryptedFile(path.read_bytes()))
    with pytest.raises(ValueError, match="at least 1"):
        files.ranges(path, 0)
    with pytest.raises(FileNotFoundError):
        files.ranges(tmp_path / "none.he")

    data = bytearray(path.read_bytes())
    start, length, _ = parts[1].places[0]
    data[start + length // 2] ^= 1
    path.write_bytes(data)
    assert files.ranges(path, 2) == parts, "bodies are read by whoever computes with them"
    parts[0].read(context)
    with pytest.raises(he.FormatError, match="checksum"):
        parts[1].read(context)
    path.write_bytes(data[:-1])
    with pytest.raises(he.FormatError):
        files.ranges(path)
    path.write_bytes(data[: start + length] + data[start:])
    with pytest.raises(he.FormatError):
        files.ranges(path)


def test_costly_passphrases_are_allowed_by_name() -> None:
    sealed = files.aes_encrypt(b"data", passphrase="open")
    assert sealed is not None
    costly = sealed[:12] + (256 * 1024 + 1).to_bytes(4, "little") + (1).to_bytes(4, "little") + sealed[20:]
    with pytest.raises(he.Error, match="allow_cost=True"):
        files.aes_decrypt(costly, passphrase="open")
    # By following the hint, the passphrase is stretched; the header was changed.
    with pytest.raises(he.Error, match="wrong passphrase"):
        files.aes_decrypt(costly, passphrase="open", allow_cost=True)


def test_columns_from_arrays(keys: dict[str, Path]) -> None:
    """A dict of arrays is the table of these columns; names that are numbers stay names."""
    real = {"1": np.array([1.5, -3.0, 1e-9]), '=a,"b"': np.arange(3), "2": np.zeros(3)}
    encrypted = files.encrypt(real, keys["ckks"] / "public.key", device="cpu")
    found = encrypted.decrypt(keys["ckks"] / "secret.key", device="cpu")
    assert list(found) == list(real)
    for name, column in real.items():
        np.testing.assert_allclose(found[name], column, atol=1e-3)
    whole = {"x": np.array([2**20, -7]), "y": np.array([3, 4], np.uint8)}
    encrypted = files.encrypt(whole, keys["bfv"] / "public.key", device="cpu")
    found = encrypted.decrypt(keys["bfv"] / "secret.key", device="cpu")
    for name, column in whole.items():
        np.testing.assert_array_equal(found[name], column.astype(np.int64))
    with pytest.raises(ValueError, match="less than 2\\*\\*63"):
        files.encrypt({"x": np.array([2**63], np.uint64)}, keys["bfv"] / "public.key")
    with pytest.raises(ValueError, match="not a finite number"):
        files.encrypt({"x": [float("nan")]}, keys["ckks"] / "public.key", device="cpu")


def test_the_list_of_operations_is_complete() -> None:
    """The description of `evaluate` names what the table of operations has, and nothing else."""
    text = files.EncryptedFile.evaluate.__doc__
    assert text is not None
    text = text.split("operation : str")[1].split("key : path")[0]
    listed = files.operations()
    assert set(re.findall(r"``([a-z]+)``", text)) == {operation["name"] for operation in listed}
    named = set(re.findall(r"`([a-z]+)`", text.replace("``", ""))) - {"other", "otherwise", "operations"}
    assert named == {name for operation in listed for name in operation["parameters"]} - {"levels"}


def test_progress(keys: dict[str, Path]) -> None:
    told: list[tuple[int, int]] = []
    folder = keys["ckks"]
    encrypted = files.encrypt(
        picture(256, 256), folder / "public.key", halo=1, device="cpu", progress=lambda *at: told.append(at)
    )
    assert told[0][0] == 0 and told[-1][0] == told[-1][1] > 0
    for raised in (KeyboardInterrupt, ZeroDivisionError):

        def ends(done: int, total: int, error: type[BaseException] = raised) -> None:
            told.append((done, total))
            raise error

        told.clear()
        with pytest.raises(raised):
            encrypted.edges(folder / "eval.key", device="cpu", progress=ends)
        assert len(told) == 1
    told.clear()
    encrypted.edges(folder / "eval.key", device="cpu", progress=lambda *at: told.append(at))
    assert told == sorted(told) and told[-1][0] == told[-1][1]
