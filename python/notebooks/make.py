"""Execute the notebooks: each is checked by its own assertions, and its outputs are not kept.

``python notebooks/make.py`` runs all of them; ``--write FOLDER`` writes them with their outputs,
for a look at the pictures.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", help="notebooks, all by default")
    options = parser.parse_args()
    paths = [HERE / name for name in options.names] or sorted(HERE.glob("*.ipynb"))
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        if any(cell.get("outputs") for cell in notebook.cells):
            print(f"{path.name} has outputs; clear them", file=sys.stderr)
            return 1
        start = time.monotonic()
        resources = {"metadata": {"path": str(HERE)}}
        NotebookClient(notebook, timeout=300, resources=resources).execute()
        pictures = sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
        print(f"{path.name}: {time.monotonic() - start:.1f} s, {pictures} picture(s)")
        if pictures == 0:
            print(f"{path.name} shows no picture", file=sys.stderr)
            return 1
        if options.write:
            options.write.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, options.write / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
