"""The programs of the guide's chapters on Python and of the READMEs run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import he

ROOT = Path(__file__).parents[2]


CHAPTERS = [
    "docs/guide/src/python.md",
    "docs/guide/src/lookup.md",
    "docs/guide/src/intersection.md",
    "docs/guide/src/columns.md",
    "docs/guide/src/tenseal.md",
    "README.md",
    "python/README.md",
]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_programs_run(chapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", (ROOT / chapter).read_text(), re.MULTILINE | re.DOTALL)
    assert programs
    monkeypatch.chdir(tmp_path)
    context = he.Context(he.Params.for_depth(2), device="cpu")
    keys = context.keygen()
    names: dict[str, Any] = {
        "params": context.params.to_bytes(),
        "evaluation_keys": keys.evaluation.to_bytes(),
        "data": keys.encrypt(np.ones(1000)).to_bytes(),
    }
    for program in programs:
        exec(compile(program, chapter, "exec"), names)  # noqa: S102
