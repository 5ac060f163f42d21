#!/usr/bin/env python3
"""Exchanges Parquet files between he-sql and the Python package, in both directions.

    tests/exchange.py PROGRAM      the program he-sql; the package `he` must be installed
"""

import pathlib
import subprocess
import sys
import tempfile

import he
from he import parquet


def main(program: str) -> None:
    folder = pathlib.Path(tempfile.mkdtemp())
    for scheme, price in [("bfv", [30, -4, None, 7]), ("ckks", [0.5, -0.25, None, 0.125])]:
        params = he.Params.for_depth(1, scheme=scheme)
        context = he.Context(params, device="cpu")
        keys = context.keygen()
        (folder / "params").write_bytes(params.to_bytes())
        (folder / "eval").write_bytes(keys.evaluation.to_bytes())
        columns = {"price": [[x, 1, 2] if x is not None else None for x in price], "qty": [[2, 0, 1]] * 4}
        encrypted = {
            name: [None if cell is None else keys.encrypt(cell) for cell in cells]
            for name, cells in columns.items()
        }
        table = str(folder / f"{scheme}.parquet")
        parquet.write(table, {"region": ["n", "s", "n", "n"]}, encrypted)

        # Written by Python, computed on by SQL, read by Python.
        answer = str(folder / "answer.parquet")
        query = f"""SELECT region, he_sum(price) AS total, he_dot(price, qty) AS dot
                    FROM '{table}' GROUP BY region ORDER BY region"""
        options = ["--params", str(folder / "params"), "--keys", str(folder / "eval"), "-o", answer, "--force"]
        subprocess.run([program, "query", query, *options], check=True)
        found = parquet.read(answer, context=context, keys=keys)
        assert found["region"].to_pylist() == ["n", "s"]
        for at, rows in enumerate([[0, 3], [1]]):
            total = [sum(columns["price"][row][i] for row in rows) for i in range(3)]
            dot = [sum(columns["price"][row][i] * columns["qty"][row][i] for row in rows) for i in range(3)]
            for cell, expected in [(found["total"][at], total), (found["dot"][at], dot)]:
                values = keys.decrypt(cell)
                assert len(values) == 3, values
                assert all(abs(x - y) < 1e-4 for x, y in zip(values, expected)), (values, expected)
                # Zeros after the values are known, so that sums are right.
                assert abs(float(keys.decrypt(cell.sum())) - sum(expected)) < 1e-3

        # What Python wrote of an answer is a table again.
        again = str(folder / "again.parquet")
        parquet.write(again, {"region": ["n", "s"]}, {"total": found["total"]})
        options = ["--params", str(folder / "params"), "--keys", str(folder / "eval"), "-o", answer, "--force"]
        subprocess.run([program, "query", f"SELECT he_sum(total) AS total FROM '{again}'", *options], check=True)
        values = keys.decrypt(parquet.read(answer, context=context, keys=keys)["total"][0])
        expected = [sum(cell[i] for cell in columns["price"] if cell is not None) for i in range(3)]
        assert all(abs(x - y) < 1e-4 for x, y in zip(values, expected)), (values, expected)

        # Keys of another set are refused by both.
        other = he.Context(params, device="cpu")
        strange = other.keygen()
        try:
            parquet.read(answer, context=other, keys=strange)
            raise SystemExit("Python read a column of another key set")
        except he.KeySetError as error:
            assert "total" in str(error)
        (folder / "eval").write_bytes(strange.evaluation.to_bytes())
        refused = subprocess.run(
            [program, "query", query, *options], check=False, capture_output=True, text=True
        )
        assert refused.returncode == 1 and "price" in refused.stderr and "key set" in refused.stderr, refused
    print("exchange: tables of bfv and ckks, both ways")


if __name__ == "__main__":
    main(sys.argv[1])
