"""Filter a folder of encrypted photographs, on all workers of a Ray cluster.

    python photographs.py encrypted/ eval.key filtered/ --radius 2

The photographs are those of ``he-cli encrypt`` or `he.files.encrypt`; the folders are on storage
that all machines share. No secret is needed, and none could be sent.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import he
from he import ray


def blurred(photo: he.EncryptedFile, key: bytes, radius: int, folder: str) -> str:
    """Blur a photograph, and write it into a folder."""
    output = Path(folder) / Path(str(photo.source)).name
    photo.blur(key, radius, output=output, force=True)
    return str(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("key", type=Path, help="the evaluation key")
    parser.add_argument("output", type=Path)
    parser.add_argument("--radius", type=int, default=1)
    options = parser.parse_args()
    options.output.mkdir(exist_ok=True)
    photos = [he.EncryptedFile(path.resolve()) for path in sorted(options.photographs.glob("*.he"))]
    shared = {
        "key": options.key.read_bytes(),
        "radius": options.radius,
        "folder": str(options.output.resolve()),
    }
    with ray.Pool() as pool:
        for path in pool.map(blurred, photos, shared=shared, progress=True):
            print(path)


if __name__ == "__main__":
    main()
