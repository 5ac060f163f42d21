"""Passwords checked on the page against a list of the service, which sees none of them."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from selenium import webdriver

from conftest import ROOT, WORK, Line, Server, he_cli
from page import Page

SCREENSHOTS = WORK / "screenshots"
#: Entries of the list.
COUNT = 1 << 12


@pytest.fixture(scope="session")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with a small list: `letmein` is in it 17 times, and thousands of others once."""
    folder = tmp_path_factory.mktemp("passwords")
    lines = ["letmein"] * 17 + [f"word {i}" for i in range(COUNT - 1)]
    (folder / "leaked.txt").write_text("\n".join(lines) + "\n")
    made = subprocess.run(
        [sys.executable, ROOT / "web/passwords.py", folder / "leaked.txt"], capture_output=True, check=True
    )
    (folder / "list.tsv").write_bytes(made.stdout)
    assert len(made.stdout.splitlines()) == COUNT
    he_cli("lookup", "prepare", folder / "passwords", folder / "list.tsv", "--by-key", "--record-bytes", 8)
    server = Server(folder, "--lookups", str(folder / "passwords"))
    yield server
    server.kill()


def ask(page: Page, password: str) -> tuple[str, str]:
    page.set("#password-text", password)
    page.start()
    page.finish()
    page.wait(lambda: page.text("#password-answer") or page.problem)
    return page.text("#password-answer"), page.text("#password-note")


def test_a_password_is_found_and_not_told(chromium: webdriver.Chrome, checker: Server) -> None:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print("seed", seed)
    rng = np.random.default_rng(seed)
    line = Line(checker.port)
    try:
        page = Page(chromium, line.url, "password")
        page.wait(lambda: page.find("#password-form").is_displayed())
        assert f"{COUNT:,} passwords" in page.text("#password-list")
        answer, note = ask(page, "letmein")
        assert answer == "It is in the list." and "17 times" in note
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.browser.save_screenshot(str(SCREENSHOTS / "password.png"))
        answer, note = ask(page, f"word {rng.integers(COUNT - 1)}")
        assert answer == "It is in the list." and "times" not in note
        before = len(line.sent)
        answer, _ = ask(page, "correct horse battery staple")
        assert answer == "It is not in the list."
        assert set(page.steps().values()) == {"done"}
        # All questions are alike, and none has the password or its hash.
        sizes = len(line.sent) - before
        before = len(line.sent)
        ask(page, "x")
        assert abs(len(line.sent) - before - sizes) < 2000
        for told in (b"letmein", b"correct horse", b"B7A875FC1EA228B9061041B7CEC4BD3C52AB3CE3"):
            assert told not in line.sent and told.lower() not in line.sent
        page.assert_accessible(WORK / "axe.min.js")
        page.set("#password-text", "")
        page.start()
        page.wait(lambda: page.problem)
        assert "no password" in page.problem.lower()
        assert not [entry for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"]
    finally:
        line.close()


def test_a_service_without_a_list_says_so(chromium: webdriver.Chrome, server: Server) -> None:
    page = Page(chromium, server.url, "password")
    page.wait(lambda: "no list" in page.text("#password-none-text"))
    assert not page.find("#password-form").is_displayed()
