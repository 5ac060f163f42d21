"""``SELECT region, sum(price * qty) GROUP BY region`` over encrypted columns of Parquet.

The regions are clear; prices and quantities are encrypted, a vector of sales in each cell. Workers
take row groups by path, and the partial sums are added by a tree.

    python grouped_sum.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import he
from he import parquet, ray

Sums = dict[str, he.Ciphertext]


def revenue(table: parquet.Table) -> Sums:
    """The sums of a row group."""
    sums: Sums = {}
    for region, price, qty in zip(table["region"].to_pylist(), table["price"], table["qty"]):
        product = price * qty
        sums[region] = sums[region] + product if region in sums else product
    return sums


def merged(a: Sums, b: Sums) -> Sums:
    """The sums of two parts of the table."""
    sums = dict(a)
    for region, part in b.items():
        sums[region] = sums[region] + part if region in sums else part
    return sums


def main(rows: int = 48, sales: int = 1000) -> None:
    """Encrypt a table, compute on it, and check what was computed."""
    context = he.Context(he.Params.for_depth(1, scheme="bfv", bits=32))
    keys = context.keygen()
    rng = np.random.default_rng(7)
    region = rng.choice(["north", "south", "east", "west"], rows)
    price, qty = rng.integers(1, 1000, (rows, sales)), rng.integers(1, 20, (rows, sales))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sales.parquet"
        parquet.write(
            path,
            {"region": region},
            encrypted={
                "price": (keys.encrypt(row) for row in price),
                "qty": (keys.encrypt(row) for row in qty),
            },
            row_group_size=8,
        )
        groups = parquet.row_groups(path, ["region", "price", "qty"])
        with ray.Pool(context.params, keys.evaluation) as pool:
            sums = pool.map_reduce(revenue, merged, groups)
    for name in sorted(sums):
        found = int(keys.decrypt(sums[name]).sum())
        assert found == int((price * qty)[region == name].sum())
        print(f"{name:8}{found:14,}")


if __name__ == "__main__":
    main()
