"""Handwritten digits on the page: drawn by mouse and finger, read by a network under encryption."""

from __future__ import annotations

import gzip
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from conftest import ROOT, WORK, Server, he_cli
from page import Page

MODELS = ROOT / "models"
SCREENSHOTS = WORK / "screenshots"

#: How people draw these, in parts of the canvas.
STROKES: dict[int, list[list[tuple[float, float]]]] = {
    7: [[(0.25, 0.2), (0.75, 0.2), (0.6, 0.5), (0.45, 0.85)]],
    3: [
        [(0.3, 0.2), (0.5, 0.13), (0.67, 0.25), (0.6, 0.42), (0.45, 0.48), (0.62, 0.52), (0.7, 0.68), (0.6, 0.84),
         (0.45, 0.88), (0.3, 0.8)],
    ],
    4: [[(0.3, 0.2), (0.27, 0.55), (0.7, 0.53)], [(0.66, 0.18), (0.62, 0.85)]],
}  # fmt: skip


def digits(name: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Labels and pictures of MNIST."""
    records = np.frombuffer(gzip.open(MODELS / "mnist" / f"{name}.gz").read(), np.uint8).reshape(-1, 785)
    return records[:, 0], records[:, 1:].reshape(-1, 28, 28)


def table(pictures: npt.NDArray[np.uint8], path: pathlib.Path) -> pathlib.Path:
    """Pictures as he-cli takes examples."""
    rows = (",".join(repr(float(grey) / 255) for grey in picture.ravel()) for picture in pictures)
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The compiled network, alone in its folder."""
    folder = tmp_path_factory.mktemp("models")
    sample = table(digits("train")[1][:300], tmp_path_factory.mktemp("sample") / "sample.csv")
    plan = folder / "digits.plan"
    he_cli("compile", MODELS / "digits_small.onnx", "--calibrate", sample, "--margin", 1, "-o", plan)
    return plan


@pytest.fixture(scope="session")
def reader(plan: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that reads digits."""
    server = Server(tmp_path_factory.mktemp("reader"), "--models", str(plan.parent))
    yield server
    server.kill()


@pytest.fixture
def page(chromium: webdriver.Chrome, reader: Server) -> Iterator[Page]:
    page = opened(chromium, reader)
    yield page
    assert page.errors() == []


def opened(chromium: webdriver.Chrome, reader: Server) -> Page:
    page = Page(chromium, reader.url, "digit")
    page.wait(lambda: page.find("#digit-form").is_displayed())
    return page


def take(page: Page, digit: int) -> None:
    """Take a sample."""
    before = page.pixels("digit-seen").tobytes()
    Select(page.find("#digit-sample")).select_by_visible_text(str(digit))
    page.wait(lambda: page.pixels("digit-seen").tobytes() != before)


def answer(page: Page) -> tuple[int, npt.NDArray[np.float64]]:
    """What the page says: the digit and the ten scores."""
    rows = [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in page.all("#digit-result tr")]
    assert rows[0] == ["digit", "score", "share"] and [row[0] for row in rows[1:]] == [str(d) for d in range(10)]
    shares = np.array([float(row[2].removesuffix(" %")) for row in rows[1:]])
    assert abs(shares.sum() - 100) < 1
    scores = np.array([float(row[1].replace("−", "-")) for row in rows[1:]])
    bars = page.js(
        "return [...document.querySelectorAll('.bar-fill')].map((e) => e.offsetWidth / e.parentElement.offsetWidth)"
    )
    assert np.abs(np.array(bars) - shares / 100).max() < 0.02
    said = int(page.text("#digit-answer").removeprefix("Read as "))
    assert said == scores.argmax() == shares.argmax()
    assert page.text("#digit-result .best th") == str(said)
    return said, scores


def natively(plan: pathlib.Path, pictures: npt.NDArray[np.uint8], folder: pathlib.Path) -> npt.NDArray[np.float64]:
    """The scores of he-cli for these pictures, under keys of its own."""
    at = folder.__truediv__
    if not at("keys").exists():
        he_cli("keygen", plan, "-o", at("keys"))
    examples = table(pictures, at("x.csv"))
    he_cli("encrypt", examples, "--model", plan, "-k", at("keys/public.key"), "-o", at("x.he"), "--force")
    he_cli("infer", at("x.he"), "--model", plan, "-k", at("keys/eval.key"), "-o", at("y.he"), "--force")
    he_cli("decrypt", at("y.he"), "-k", at("keys/secret.key"), "-o", at("y.csv"), "--force")
    return np.loadtxt(at("y.csv"), delimiter=",", skiprows=1, ndmin=2)


def draw(page: Page, digit: int) -> None:
    """Draw with the mouse."""
    pad = page.find("#digit-pad")
    page.js("arguments[0].scrollIntoView({block: 'center'})", pad)
    width, height = pad.size["width"], pad.size["height"]
    for stroke in STROKES[digit]:
        actions = ActionChains(page.browser, duration=20)
        for at, (x, y) in enumerate(stroke):
            actions.move_to_element_with_offset(pad, round((x - 0.5) * width), round((y - 0.5) * height))
            if at == 0:
                actions.click_and_hold()
        actions.release().perform()


def touch(page: Page, digit: int) -> None:
    """Draw with a finger."""
    page.js("document.getElementById('digit-pad').scrollIntoView({block: 'center'})")
    left, top, side = page.js(
        "const { left, top, width } = document.getElementById('digit-pad').getBoundingClientRect();"
        "return [left, top, width]"
    )
    send = lambda kind, points: page.browser.execute_cdp_cmd(  # noqa: E731
        "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
    )
    for stroke in STROKES[digit]:
        for at, (x, y) in enumerate(stroke):
            send("touchMove" if at else "touchStart", [{"x": left + x * side, "y": top + y * side}])
        send("touchEnd", [])


def test_a_digit_that_is_drawn_is_read(page: Page, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    cost = page.text("#digit-cost")
    assert "MiB" in cost and "evaluation key" in cost
    draw(page, 7)
    page.screenshot(SCREENSHOTS / "digit-1-drawn.png")
    seen = page.pixels("digit-seen")[..., 0]
    page.run()
    assert set(page.steps().values()) == {"done"}
    assert list(page.steps())[:2] == ["model", "keys"] and "compute infer" in page.steps()
    said, scores = answer(page)
    assert said == 7
    page.wait(lambda: "of ciphertext" in page.text("#digit-cipher-note"))
    page.screenshot(SCREENSHOTS / "digit-2-read.png")
    # The scores are those of the command line for what the network saw.
    assert np.abs(scores - natively(plan, seen[None], tmp_path)[0]).max() < 0.05
    # The size that was announced is that of the key.
    sent = page.js("return document.querySelector('[data-step=\"send keys\"] .detail').textContent")
    assert sent in cost

    # Another one: neither model nor keys are made or sent again.
    page.click("#digit-clear")
    assert not page.pixels("digit-seen").any() and page.text("#digit-answer") == ""
    page.start()
    page.wait(lambda: page.problem)
    assert "Nothing is drawn. Draw a digit" in page.problem
    draw(page, 4)
    seen = page.pixels("digit-seen")
    page.js("document.getElementById('digit-form').requestSubmit()")
    # It stays as it is until it has been read.
    assert page.js(
        """const pad = document.getElementById('digit-pad'), { left, top } = pad.getBoundingClientRect();
        for (const type of ['pointerdown', 'pointermove', 'pointerup'])
            pad.dispatchEvent(new PointerEvent(type, { clientX: left + 9, clientY: top + 9, pointerId: 1, button: 0 }));
        return ['digit-sample', 'digit-clear'].map((id) => document.getElementById(id).disabled)"""
    ) == [True, True]
    page.finish()
    assert (page.pixels("digit-seen") == seen).all() and page.find("#digit-clear").is_enabled()
    assert list(page.steps()) == ["encrypt", "upload", "compute infer", "download infer", "decrypt infer"]
    assert answer(page)[0] == 4


def test_samples_are_read_as_natively(page: Page, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    found, seen = [], []
    for digit in range(10):
        take(page, digit)
        seen.append(page.pixels("digit-seen")[..., 0])
        page.run()
        found.append(answer(page))
    expected = natively(plan, np.array(seen), tmp_path)
    assert np.abs(np.array([scores for _, scores in found]) - expected).max() < 0.05
    assert [said for said, _ in found] == list(expected.argmax(axis=1))
    # And they are what they are.
    assert [said for said, _ in found] == list(range(10))
    # A digit of MNIST stays what it is.
    labels, pictures = digits("test")
    for digit, picture in enumerate(seen):
        assert (picture == pictures[list(labels).index(digit)]).all(), digit


def test_ink_is_scaled_and_centred_as_in_mnist(page: Page) -> None:
    rng = np.random.default_rng(18)
    for width, height in [(280, 280), (60, 90), (21, 200)]:
        ink = np.zeros((height, width), np.uint8)
        for _ in range(6):
            (y, x), (h, w) = rng.integers(0, [height, width]), rng.integers(1, [height, width])
            ink[y : y + h // 3 + 1, x : x + w // 3 + 1] = rng.integers(1, 256)
        found = page.browser.execute_async_script(
            """const [ink, width, height, done] = arguments;
            import('/page/ink.js').then(({ normalise }) => done([...normalise(Uint8Array.from(ink), width, height)]))""",
            ink.ravel().tolist(), width, height,
        )  # fmt: skip
        found = np.array(found, float).reshape(28, 28)
        # Averages over many samples of each pixel.
        rows, columns = np.nonzero(ink)
        step = (max(np.ptp(rows), np.ptp(columns)) + 1) / 20
        mass = ink / ink.sum()
        middle = [(mass.sum(1) * (np.arange(height) + 0.5)).sum(), (mass.sum(0) * (np.arange(width) + 0.5)).sum()]
        starts = [rows.min(), columns.min()]
        moves = [np.floor(15 - (centre - start) / step) for centre, start in zip(middle, starts)]
        fine = (np.arange(28 * 64) + 0.5) / 64
        ys, xs = (np.floor(start + (fine - move) * step).astype(int) for start, move in zip(starts, moves))
        padded = np.pad(ink.astype(float), 1)
        sampled = padded[np.clip(ys + 1, 0, height + 1)[:, None], np.clip(xs + 1, 0, width + 1)[None]]
        expected = sampled.reshape(28, 64, 28, 64).mean((1, 3))
        assert np.abs(found - expected).max() < 4
        # Unless ink was cut off, its mass is in the middle.
        total = found.sum()
        if np.abs(total * step**2 - ink.sum()) < 0.01 * ink.sum():
            for axis in (0, 1):
                assert abs((found.sum(axis) * (np.arange(28) + 0.5)).sum() / total - 14.5) < 0.6
    empty = "const done = arguments[0]; import('/page/ink.js').then(({ normalise }) => done(normalise(new Uint8Array(9), 3, 3)))"
    assert page.browser.execute_async_script(empty) is None


def test_a_saved_key_reads_again(
    chromium: webdriver.Chrome, reader: Server, downloads: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    page = opened(chromium, reader)
    page.click("#digit-keys .key-make")
    page.wait(lambda: page.text("#digit-keys .key-state").startswith("Made"))
    page.click("#digit-keys .key-save")
    page.click("#digit-keys .key-submit")
    saved = downloads / "he-digit-secret.key"
    page.wait(saved.exists)
    key = tmp_path / "digit.key"
    saved.rename(key)
    page = opened(chromium, reader)
    page.click("#digit-keys .key-load")
    page.find("#digit-keys .key-file").send_keys(str(key))
    page.click("#digit-keys .key-submit")
    page.wait(lambda: page.text("#digit-keys .key-state").startswith("Loaded"))
    take(page, 3)
    page.run()
    assert answer(page)[0] == 3
    assert "keys" not in page.steps() and "model" not in page.steps()
    page.click("#digit-keys .key-forget")
    page.wait(lambda: "forgotten" in page.text("#digit-keys .key-state"))
    assert page.text("#digit-answer") == "" and page.errors() == []


def test_without_a_model_the_section_says_so(
    chromium: webdriver.Chrome, server: Server, plan: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = Page(chromium, server.url, "digit")
    page.wait(lambda: page.text("#digit-none-text"))
    assert "no model that reads handwritten digits" in page.text("#digit-none-text")
    assert "he-cli serve --models" in page.text("#digit-none-text")
    for hidden in ("form", "panes", "keys"):
        assert not page.find(f"#digit-{hidden}").is_displayed()
    page.screenshot(SCREENSHOTS / "digit-3-no-model.png")
    assert page.errors() == []

    # A service that is gone when the section is opened, and comes back.
    gone = Server(tmp_path_factory.mktemp("gone"), "--models", str(plan.parent))
    try:
        page = Page(chromium, gone.url)
        gone.kill()
        page.click("nav a[href='#digit']")
        page.wait(lambda: "The service does not answer." in page.text("#digit-none-text"))
        gone.start()
        page.click("#digit-again")
        page.wait(lambda: page.find("#digit-form").is_displayed())
        assert not page.find("#digit-none").is_displayed()
    finally:
        gone.kill()


def test_the_keyboard_suffices_for_digits(page: Page) -> None:
    press = lambda key: ActionChains(page.browser).send_keys(key).perform()  # noqa: E731
    focus = lambda: page.browser.switch_to.active_element  # noqa: E731
    seen: list[str] = []
    page.js("document.querySelector('.skip').focus()")
    while "digit-run" not in seen:
        press(Keys.TAB)
        seen.append(focus().get_attribute("id") or "")
        assert len(seen) < 40
        if seen[-1] == "digit-sample":
            press("5")
            page.wait(lambda: page.pixels("digit-seen").any())
    press(Keys.ENTER)
    page.wait(lambda: page.is_running)
    page.finish()
    assert answer(page)[0] == 5
    assert focus().get_attribute("id") == "digit-run"


@pytest.mark.parametrize("width", [320, 390])
def test_a_finger_draws_on_a_phone(chromium: webdriver.Chrome, reader: Server, emulated: Any, width: int) -> None:
    emulated("setDeviceMetricsOverride", width=width, height=740, deviceScaleFactor=2, mobile=True)
    emulated("setTouchEmulationEnabled", enabled=True)
    try:
        page = opened(chromium, reader)
        touch(page, 3)
        # The page has not scrolled instead.
        page.wait(lambda: page.pixels("digit-seen").any())
        page.screenshot(SCREENSHOTS / f"phone-digit-{width}-drawn.png")
        page.run()
        assert answer(page)[0] == 3
        page.js("document.getElementById('digit-panes').scrollIntoView()")
        chromium.save_screenshot(str(SCREENSHOTS / f"phone-digit-{width}-read.png"))
        page.assert_fits(width)
        assert page.errors() == []
    finally:
        emulated("setTouchEmulationEnabled", enabled=False)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_of_accessibility_for_digits(page: Page, emulated: Any, scheme: str) -> None:
    emulated("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    take(page, 8)
    page.run()
    page.screenshot(SCREENSHOTS / f"digit-{scheme}.png")
    page.assert_accessible(WORK / "axe.min.js")
