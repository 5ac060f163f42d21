"""Parquet files with encrypted columns beside clear ones."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import he

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from he import parquet  # noqa: E402

Setup = tuple[he.Context, he.Keys]


@pytest.fixture(scope="module")
def bfv() -> Setup:
    context = he.Context(he.Params.for_depth(1, scheme="bfv", bits=20), device="cpu")
    return context, context.keygen()


def rows(keys: he.Keys, count: int) -> tuple[np.ndarray, list[he.Ciphertext]]:
    values = np.arange(5 * count).reshape(count, 5)
    return values, [keys.encrypt(row) for row in values]


def test_a_table_comes_back(bfv: Setup, tmp_path: Path) -> None:
    context, keys = bfv
    values, cells = rows(keys, 5)
    path = tmp_path / "t.parquet"
    region = ["north", None, "south", "north", "east"]
    parquet.write(
        path,
        {"region": region, "n": np.arange(5)},
        encrypted={"x": [*cells[:2], None, *cells[3:]]},
        row_group_size=2,
    )
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]
    table = parquet.read(path, context=context)
    assert list(table) == ["region", "n", "x"]
    assert table["region"].to_pylist() == region and table["n"].to_pylist() == list(range(5))
    assert table["x"][2] is None and len(table["x"]) == 5
    for found, cell, row in zip(table["x"], cells, values):
        if found is not None:
            # Columns keep the shape, and no bounds.
            assert found.to_bytes(layout=False) == cell.to_bytes(layout=False) and found.shape == (5,)
            assert found.bounds is None and cell.bounds is not None
            assert found.key_set == keys.evaluation.key_set
            np.testing.assert_array_equal(keys.decrypt(found), row)
            # The zeros after the values are still known, so that sums are right.
            assert int(keys.decrypt(found.sum())) == row.sum()
    assert list(parquet.read(path, ["n"])) == ["n"]
    groups = parquet.row_groups(path, ["x"])
    assert [group.rows for group in groups] == [2, 2, 1]
    assert groups[2].read(context)["x"][0].to_bytes(layout=False) == cells[4].to_bytes(layout=False)
    assert [len(part["x"]) for part in parquet.iterate(path, ["x"], context=context)] == [2, 2, 1]
    assert len(parquet.row_groups(tmp_path)) == len(parquet.row_groups(str(tmp_path / "*.parquet"))) == 3


def test_layouts_of_reals_and_other_kinds(ckks: Setup, tmp_path: Path) -> None:
    context, keys = ckks
    matrix = np.linspace(-1, 1, 12).reshape(3, 4)
    columns = {
        "batch": keys.encrypt(matrix),
        "sums": keys.encrypt(matrix).sum(axis=1),
        "total": keys.encrypt(matrix[0]).sum(),
        "column": keys.encrypt(np.linspace(0, 1, 5000)),
    }
    path = tmp_path / "t.parquet"
    parquet.write(path, {}, encrypted={name: [cell] for name, cell in columns.items()})
    for name, cells in parquet.read(path, context=context).items():
        assert cells[0].shape == columns[name].shape, name
        np.testing.assert_array_equal(keys.decrypt(cells[0]), keys.decrypt(columns[name]))
    tfhe = he.Context(he.Params.tfhe("insecure_small"), device="cpu")
    secret = tfhe.keygen()
    numbers = secret.encrypt_uint([3, 250], bits=8)
    signed = secret.encrypt_int([-3, 100], bits=8)
    parquet.write(path, {}, encrypted={"n": [numbers], "less": [numbers < 7], "s": [signed]})
    table = parquet.read(path, context=tfhe, keys=secret)
    assert list(secret.decrypt_uint(table["n"][0])) == [3, 250]
    assert secret.decrypt_bool(table["less"][0]).tolist() == [True, False]
    assert list(secret.decrypt_int(table["s"][0])) == [-3, 100]


def test_other_readers_see_bytes_and_names(bfv: Setup, tmp_path: Path) -> None:
    context, keys = bfv
    _, cells = rows(keys, 1)
    path = tmp_path / "t.parquet"
    parquet.write(path, {"n": [1]}, encrypted={"x": cells})
    kind = pq.read_table(path).schema.field("x").type
    assert isinstance(kind, parquet.CiphertextType) and kind.storage_type == pa.large_binary()
    assert (kind.scheme, kind.params) == ("bfv", context.params.fingerprint)
    assert kind.key_set == keys.secret.key_set
    raw = pq.ParquetFile(path).schema_arrow.serialize().to_pybytes()
    assert b"he.ciphertext" in raw
    # Nothing secret, and nothing of the machine, is in the file.
    assert bytes(keys.secret.to_bytes())[48:-32] not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


def test_foreign_columns_are_refused_by_name(bfv: Setup, ckks: Setup, tmp_path: Path) -> None:
    context, keys = bfv
    _, cells = rows(keys, 2)
    path = tmp_path / "t.parquet"
    parquet.write(path, {}, encrypted={"price": cells})
    with pytest.raises(he.ParameterError, match="'price'.*bfv.*ckks"):
        parquet.read(path, context=ckks[0])
    other = he.Context(context.params, device="cpu")
    stranger = other.keygen()
    with pytest.raises(he.KeySetError, match=f"'price'.*{keys.secret.key_set}.*{stranger.secret.key_set}"):
        parquet.read(path, context=other)
    for keyring in (stranger, stranger.secret, stranger.public, stranger.evaluation, stranger.secret.key_set):
        with pytest.raises(he.KeySetError):
            parquet.read(path, context=context, keys=keyring)
    assert len(parquet.read(path, context=context, keys=keys)["price"]) == 2
    wrong: list[tuple[Any, type[Exception]]] = [
        (ckks[1].encrypt([1.0]), he.ParameterError),
        (stranger.encrypt(np.arange(5)), he.KeySetError),
        (keys.encrypt(np.arange(4)), ValueError),
        (b"bytes", TypeError),
    ]
    for cell, error in wrong:
        with pytest.raises(error, match="price"):
            parquet.write(tmp_path / "u.parquet", {}, encrypted={"price": [cells[0], cell]})
    with pytest.raises(TypeError, match="'price'.*context"):
        parquet.read(path)
    with pytest.raises(KeyError, match="'cost'"):
        parquet.read(path, ["cost"])
    with pytest.raises(TypeError, match="keys: int"):
        parquet.read(path, context=context, keys=3)  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]


def test_columns_that_do_not_fit(bfv: Setup, tmp_path: Path) -> None:
    _, keys = bfv
    _, cells = rows(keys, 3)
    path = tmp_path / "t.parquet"
    for size in (1, 2, 64):
        with pytest.raises(ValueError, match="different lengths"):
            parquet.write(path, {"n": [1, 2]}, encrypted={"x": iter(cells)}, row_group_size=size)
    with pytest.raises(ValueError, match="all NULL"):
        parquet.write(path, {"n": [1]}, encrypted={"x": [None]})
    with pytest.raises(ValueError, match="both"):
        parquet.write(path, {"x": [1]}, encrypted={"x": cells[:1]})
    with pytest.raises(ValueError, match="row_group_size is 0"):
        parquet.write(path, {"x": [1]}, row_group_size=0)
    with pytest.raises(ValueError, match="no row group"), parquet.Writer(path):
        pass
    with pytest.raises(ValueError, match="'n' is of type string"), parquet.Writer(path) as writer:
        writer.write({"n": [1]})
        writer.write({"n": ["x"]})
    with pytest.raises(RuntimeError), parquet.Writer(path) as writer:
        writer.write({"n": [1]})
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_damaged_files(bfv: Setup, tmp_path: Path) -> None:
    context, keys = bfv
    _, cells = rows(keys, 2)
    path = tmp_path / "t.parquet"
    parquet.write(path, {"n": [1, 2]}, encrypted={"x": cells})
    good = path.read_bytes()
    rng = np.random.default_rng(3)
    ends = [0, 4, len(good) // 2, len(good) - 1]
    positions = [*rng.integers(0, len(good), 40), *(len(good) - rng.integers(1, 2000, 40))]
    for end in ends:
        path.write_bytes(good[:end])
        with pytest.raises(he.FormatError):
            parquet.read(path, context=context)
    refused = 0
    for position in positions:
        bad = bytearray(good)
        bad[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        try:
            found = parquet.read(path, ["x"], context=context)["x"]
        except (he.Error, KeyError):
            refused += 1
            continue
        # Otherwise what was hit does not matter: statistics, or the clear column.
        assert all(
            a is None or a.to_bytes(layout=False) == b.to_bytes(layout=False) for a, b in zip(found, cells)
        ), position
    assert refused > 40


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"kind": "key"},
        {"layout": None},
        {"layout": [None, 0, False, 0.0]},
        {"layout": [None, 1 << 60, False, 0.0]},
        {"layout": [None, 5, 1, 0.0]},
        {"layout": [None, 5, False, "0"]},
        {"layout": [3, 5, False, 0.0]},
        {"params": 7},
        {"key_set": 7},
    ],
)
def test_hostile_metadata(bfv: Setup, tmp_path: Path, change: dict[str, Any]) -> None:
    context, keys = bfv
    _, cells = rows(keys, 1)
    kind = parquet.CiphertextType.of(cells[0])
    fields = {**json.loads(kind.__arrow_ext_serialize__()), **change}
    meta = {"ARROW:extension:name": kind.NAME, "ARROW:extension:metadata": json.dumps(fields)}
    schema = pa.schema([pa.field("x", pa.large_binary(), metadata=meta)])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([cells[0].to_bytes()], pa.large_binary())], schema=schema), path)
    with pytest.raises(he.FormatError):
        parquet.read(path, context=context)


def test_cells_that_are_not_what_the_column_says(bfv: Setup, tmp_path: Path) -> None:
    context, keys = bfv
    _, cells = rows(keys, 1)
    stranger = he.Context(context.params, device="cpu").keygen()
    kind = parquet.CiphertextType.of(cells[0])
    path = tmp_path / "t.parquet"
    for data, error in (
        (b"", he.FormatError),
        (b"HEWF", he.FormatError),
        (keys.public.to_bytes(), he.Error),
        (stranger.encrypt(np.arange(5)).to_bytes(), he.KeySetError),
        (keys.encrypt(np.arange(90000)).to_bytes(), he.FormatError),
    ):
        array = pa.ExtensionArray.from_storage(kind, pa.array([data], pa.large_binary()))
        pq.write_table(pa.table([array], names=["x"]), path)
        with pytest.raises(error, match="'x', row 0"):
            parquet.read(path, context=context)


def test_memory_holds_one_group(bfv: Setup, tmp_path: Path) -> None:
    context, keys = bfv
    cell = keys.encrypt(np.arange(5))
    size = len(cell.to_bytes())
    path = tmp_path / "t.parquet"

    def endless(count: int) -> Iterator[he.Ciphertext]:
        for _ in range(count):
            yield cell

    def memory() -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
        return 0

    def peak(count: int) -> int:
        most = 0
        parquet.write(path, {}, encrypted={"x": endless(count)}, row_group_size=8)
        for part in parquet.iterate(path, context=context):
            most = max(most, memory())
            del part
        return most

    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc here")
    first = peak(32)
    # 256 more ciphertexts would be 256 times their size.
    assert peak(288) - first < 64 * size
