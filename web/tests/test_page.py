"""The page in a browser over a real service: encrypt, compute, decrypt; keys; errors; a phone."""

from __future__ import annotations

import json
import pathlib
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from conftest import ROOT, WORK, Line, Server, he_cli
from page import RADIUS, Page, expected

ASTRONAUT = ROOT / "tests/data/astronaut.png"
CAMERA = ROOT / "tests/data/camera.png"
SCREENSHOTS = WORK / "screenshots"

#: The browser's words on cancelling a job that has ended, and on removing what is still in use.
ENDED = re.compile(r"/v1/(jobs|objects|key-sets)/[0-9a-f]{32} - .* status of (409|423) ")

#: Results are rounded to whole samples, and the noise of CKKS is below another.
TOLERANCE = 1.0


def small(folder: pathlib.Path, width: int = 96, height: int = 64) -> pathlib.Path:
    """A part of the photograph."""
    path = folder / "small.png"
    Image.open(ASTRONAUT).convert("RGB").crop((160, 40, 160 + width, 40 + height)).save(path)
    return path


def samples(path: pathlib.Path) -> npt.NDArray[np.uint8]:
    return np.asarray(Image.open(path).convert("RGB"))


def close(found: npt.NDArray[np.uint8], wanted: npt.NDArray[np.float64]) -> None:
    assert found.shape == wanted.shape
    worst = float(np.abs(found.astype(float) - wanted).max())
    assert worst <= TOLERANCE


@pytest.fixture
def picture(chromium: webdriver.Chrome, server: Server) -> Iterator[Page]:
    page = Page(chromium, server.url)
    yield page
    assert page.errors() == []


def test_a_photograph_is_blurred_and_every_operation_follows(picture: Page, tmp_path: pathlib.Path) -> None:
    picture.screenshot(SCREENSHOTS / "1-start.png")
    picture.choose(ASTRONAUT)
    image = samples(ASTRONAUT)
    assert (picture.pixels("picture-original") == image).all()
    picture.start()
    picture.wait(lambda: "now" in picture.steps().values())
    picture.finish()
    assert set(picture.steps().values()) == {"done"}
    close(picture.pixels("picture-result"), expected(image, "blur"))
    picture.wait(lambda: "of ciphertext" in picture.text("#picture-cipher-note"))
    picture.screenshot(SCREENSHOTS / "2-blurred.png")

    # The bytes of the server are noise: nearly eight bits of entropy each, and nothing of the
    # picture in them.
    noise = picture.pixels("picture-cipher")[..., 0]
    counts = np.bincount(noise.ravel(), minlength=256) / noise.size
    entropy = -(counts[counts > 0] * np.log2(counts[counts > 0])).sum()
    assert entropy > 7.9
    assert abs(np.corrcoef(noise.ravel(), image.mean(axis=2).ravel())[0, 1]) < 0.02

    # The same with he-cli, from keys and a file of its own.
    names = {name: tmp_path / name for name in ("keys", "x.he", "y.he", "y.png")}
    he_cli("keygen", "ckks", "--depth", 1, "-o", names["keys"])
    he_cli("encrypt", ASTRONAUT, "--halo", RADIUS, "-k", names["keys"] / "secret.key", "-o", names["x.he"])
    he_cli("eval", "blur", "--radius", RADIUS, names["x.he"], "-k", names["keys"] / "eval.key", "-o", names["y.he"])
    he_cli("decrypt", names["y.he"], "-k", names["keys"] / "secret.key", "-o", names["y.png"])
    close(picture.pixels("picture-result"), samples(names["y.png"]).astype(float))

    # Keys and ciphertext are there already: nothing is encrypted or sent again.
    for name, by in [("sharpen", 0.0), ("edges", 0.0), ("brightness", 0.2), ("grayscale", 0.0)]:
        picture.operate(name)
        picture.run()
        assert list(picture.steps()) == [f"compute {name}", f"download {name}", f"decrypt {name}"]
        close(picture.pixels("picture-result"), expected(image, name, by))


@pytest.mark.parametrize("mode", ["gray", "transparent", "tiny", "scaled"])
def test_pictures_of_all_kinds(picture: Page, tmp_path: pathlib.Path, mode: str) -> None:
    path = tmp_path / f"{mode}.png"
    most = None
    photo = Image.open(ASTRONAUT).convert("RGB")
    match mode:
        case "gray":
            Image.open(CAMERA).crop((0, 0, 70, 50)).save(path)
        case "transparent":
            part = photo.crop((0, 0, 40, 30))
            part.putalpha(Image.linear_gradient("L").resize((40, 30)))
            part.save(path)
        case "tiny":
            photo.crop((5, 5, 6, 8)).save(path)
        case "scaled":
            photo.crop((0, 0, 400, 200)).save(path)
            most = 256
    picture.choose(path, most)
    picture.run()
    result = picture.pixels("picture-result")
    wanted = expected(picture.pixels("picture-original"), "blur")
    if mode == "transparent":
        # Where a pixel is nearly clear, the canvas keeps few bits of its colour.
        alpha = np.asarray(Image.open(path))[..., 3]
        seen = (alpha > 128)[2:-2]
        assert np.abs(result - wanted)[2:-2][seen].max() <= 3
        return
    close(result, wanted)
    if mode == "scaled":
        assert result.shape[:2] == (128, 256)


def test_a_blur_has_a_radius(picture: Page, tmp_path: pathlib.Path) -> None:
    image = small(tmp_path)
    picture.choose(image)
    # A wider one takes more around the tiles, and a narrower one does not.
    for radius, is_sent in [(1, True), (8, True), (2, False)]:
        picture.set("#blur-radius", radius)
        assert picture.text("#blur-shown").startswith(f"{radius} pixel")
        picture.run()
        assert ("encrypt" in picture.steps()) == is_sent
        close(picture.pixels("picture-result"), expected(samples(image), "blur", radius=radius))


def test_a_table_has_its_mean_and_variance(chromium: webdriver.Chrome, line: Line, tmp_path: pathlib.Path) -> None:
    page = Page(chromium, line.url, "table")
    rng = np.random.default_rng(18)
    values = np.column_stack([rng.normal(170, 9, 300), rng.uniform(-0.01, 0.01, 300), rng.integers(0, 10**6, 300)])
    lines = ["height,\"tiny, signed\",large", *(",".join(map(repr, map(float, row))) for row in values)]
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(lines) + "\n")
    page.find("#table-file").send_keys(str(path))
    page.wait(lambda: "tiny" in page.js("return document.getElementById('table-text').value"))
    page.run()
    page.screenshot(SCREENSHOTS / "3-table.png")
    rows = [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in page.all("#table-result tr")]
    assert rows[0] == ["column", "mean", "variance"]
    assert [row[0] for row in rows[1:]] == ["height", "tiny, signed", "large"]
    found = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    # What is encrypted is the number over the largest of its column.
    scale = np.abs(values).max(axis=0)
    assert (np.abs(found[:, 0] - values.mean(axis=0)) / scale).max() < 1e-4
    assert (np.abs(found[:, 1] - values.var(axis=0)) / scale**2).max() < 1e-3
    page.wait(lambda: "of ciphertext" in page.text("#table-cipher-note"))
    # The names stay here, and the file tells the same of all columns.
    told = re.search(rb'"columns":(\[[^]]*\])', line.sent)
    assert told is not None
    assert json.loads(told[1]) == 3 * [{"name": None, "exponent": 0, "count": 1}]
    assert not any(name in line.sent for name in (b"height", b"tiny", b"large", path.name.encode()))
    assert page.errors() == []


def test_tables_as_spreadsheets_write_them(chromium: webdriver.Chrome, server: Server, tmp_path: pathlib.Path) -> None:
    page = Page(chromium, server.url, "table")
    path = tmp_path / "europe.csv"
    path.write_text("\ufeffcity;height;weight\nUlm;1,5;70\nBonn;;80\nKiel;2,25;NA\nRom;-3;90,5\n")
    page.find("#table-file").send_keys(str(path))
    page.wait(lambda: page.js("return document.getElementById('table-text').value").startswith("city;"))
    # A photograph in its place is refused, and the text stays.
    photo = tmp_path / "photo.csv"
    photo.write_bytes((ROOT / "web/page/sample.jpg").read_bytes())
    page.find("#table-file").send_keys(str(photo))
    page.wait(lambda: page.problem)
    assert page.problem.startswith("Photo.csv is not a table. Tables are text in UTF-8")
    assert page.js("return document.getElementById('table-text').value").startswith("city;")

    page.start()
    page.wait(lambda: "not a number" in page.problem and not page.is_running)
    assert 'line 2, column 1 ("city"): "Ulm" is not a number' in page.problem
    # The options are in view now.
    page.find("#table-columns").send_keys("height, weight")
    Select(page.find("#table-missing")).select_by_value("skip")
    page.run()
    rows = [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in page.all("#table-result tr")]
    assert [row[0] for row in rows] == ["column", "height", "weight"]
    found = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    assert np.abs(found - [[-0.75, 2.25**2], [80.25, 10.25**2]]).max() < 1e-3
    assert "2 of 4 rows are left out" in page.text("#table-result-note")
    assert page.errors() == []


def test_a_table_that_is_not_one_is_refused(chromium: webdriver.Chrome, server: Server) -> None:
    page = Page(chromium, server.url, "table")
    for text, said in [
        ("", "The table is empty"),
        ("a,b\n1,2\n3,x", 'The table, line 3, column 2 ("b"): "x" is not a number'),
        ("a,b\n1,2,3", "The table, line 2: 3 fields where the first row has 2"),
        ("a,b", "The table holds a header and no numbers"),
    ]:
        page.js("document.getElementById('table-text').value = arguments[0]", text)
        page.start()
        page.wait(lambda: page.problem and not page.is_running)
        assert said in page.problem
    assert page.errors() == []


def downloaded(folder: pathlib.Path, name: str) -> bytes:
    """A file that the page saves, once it is whole."""
    deadline = time.monotonic() + 30
    while not (folder / name).exists():
        assert time.monotonic() < deadline, f"{name} was not saved"
        time.sleep(0.05)
    return (folder / name).read_bytes()


def test_keys_are_saved_loaded_and_forgotten(
    chromium: webdriver.Chrome, server: Server, line: Line, downloads: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    page = Page(chromium, line.url)
    image = small(tmp_path)
    page.choose(image)
    page.run()
    made = page.text("#picture-keys .key-state")

    # Open, then sealed.
    for passphrase in ("", "correct horse"):
        page.click("#picture-keys .key-save")
        page.find("#picture-keys .key-passphrase").send_keys(passphrase)
        page.click("#picture-keys .key-submit")
        key = downloaded(downloads, "he-picture-secret.key")
        path = tmp_path / f"saved{len(passphrase)}.key"
        path.write_bytes(key)
        (downloads / "he-picture-secret.key").unlink()
        assert key.startswith(b"HESEALED" if passphrase else b"HEWF")
        page.wait(lambda: not page.find("#picture-keys .key-form").is_displayed())
    said = json.loads(he_cli("info", "--json", tmp_path / "saved0.key"))
    assert said["file"] == "secret key" and said["sealed"] is False
    again = json.loads(he_cli("info", "--json", tmp_path / "saved13.key", HE_CLI_PASSPHRASE="correct horse"))
    assert again["sealed"] is True and again["key_set"] == said["key_set"]

    # Nothing that was sent holds the secret: neither the whole file nor the packed coefficients.
    key = (tmp_path / "saved0.key").read_bytes()
    body = secret_body(key)
    assert len(body) >= 256 and len(line.sent) > 1 << 20
    assert bytes(body) not in line.sent
    assert not any(bytes(body[at : at + 32]) in line.sent for at in range(0, len(body) - 32, 32))

    page.click("#picture-keys .key-forget")
    page.wait(lambda: "forgotten" in page.text("#picture-keys .key-state"))
    assert not page.find("#picture-keys .key-save").is_enabled()
    assert not page.pixels("picture-result").any()

    def load(path: pathlib.Path, passphrase: str) -> None:
        page.click("#picture-keys .key-load")
        page.find("#picture-keys .key-file").send_keys(str(path))
        page.find("#picture-keys .key-passphrase").send_keys(passphrase)
        page.click("#picture-keys .key-submit")

    # Keys that this view cannot use are refused at once.
    for name, options, said in [
        ("bfv", ["bfv", "--depth", 0, "--bits", 8], "These are keys of bfv, and keys of ckks are needed."),
        ("shallow", ["ckks", "--depth", 0], "These are keys of depth 0, and keys of depth 1 are needed."),
    ]:
        he_cli("keygen", *options, "-o", tmp_path / name)
        load(tmp_path / name / "secret.key", "")
        page.wait(lambda: said in page.problem)
        assert "Load keys that were made for this, or make new ones." in page.problem
        assert "forgotten" in page.text("#picture-keys .key-state")
        page.click("#picture-keys .key-close")

    load(tmp_path / "saved13.key", "wrong horse")
    page.wait(lambda: page.problem)
    assert "passphrase" in page.problem.lower()
    page.click("#picture-keys .key-close")
    load(tmp_path / "saved13.key", "correct horse")
    page.wait(lambda: page.text("#picture-keys .key-state").startswith("Loaded"))
    assert page.problem == ""
    page.run()
    assert "keys" not in page.steps() and "encrypt" in page.steps()
    close(page.pixels("picture-result"), expected(samples(image), "blur"))
    assert made.startswith("Made here")
    assert page.errors() == []


def secret_body(file: bytes) -> bytes:
    """The body of the frame of a secret key (docs/format.md)."""
    at = 0
    while at < len(file):
        kind, length = int.from_bytes(file[at + 6 : at + 8], "little"), int.from_bytes(file[at + 40 : at + 48], "little")
        if kind == 2:
            return file[at + 48 : at + 48 + length]
        at += 48 + length + 32
    raise AssertionError("no secret key in the file")


def test_an_upload_goes_on_after_interruptions(chromium: webdriver.Chrome, line: Line, tmp_path: pathlib.Path) -> None:
    page = Page(chromium, line.url)
    image = small(tmp_path)
    page.choose(image)
    page.run()
    whole = len(line.sent)

    # The same from a new page, with the connection cut in the middle of five requests.
    page = Page(chromium, line.url)
    page.choose(image)
    line.sent.clear()
    line.cuts = [1_000_000, 500_000, 900_000, 100_000, 700_000]
    page.run()
    close(page.pixels("picture-result"), expected(samples(image), "blur"))
    assert line.cuts == []
    # What was lost is at most a piece per cut; nothing else is sent twice.
    assert len(line.sent) < whole + 5 * (5 << 20)


def test_offline_it_waits_and_goes_on(
    chromium: webdriver.Chrome, line: Line, emulated_offline: Any, tmp_path: pathlib.Path
) -> None:
    page = Page(chromium, line.url)
    image = small(tmp_path)
    page.choose(image)
    page.click("#picture-keys .key-make")
    page.wait(lambda: page.text("#picture-keys .key-state").startswith("Made"))
    # The guest's session, keys and the object are begun; then the network goes.
    line.cuts = [300_000]
    page.start()
    page.wait(lambda: not line.cuts)
    emulated_offline(True)
    line.cut()
    page.wait(lambda: page.find("#offline").is_displayed())
    page.wait(lambda: "goes on when the connection is back" in page.text("#picture-steps"))
    page.screenshot(SCREENSHOTS / "4-offline.png")
    assert page.is_running
    line.mend()
    emulated_offline(False)
    page.finish()
    assert not page.find("#offline").is_displayed()
    close(page.pixels("picture-result"), expected(samples(image), "blur"))


def test_work_that_is_started_offline_starts_by_itself(
    chromium: webdriver.Chrome, line: Line, emulated_offline: Any, tmp_path: pathlib.Path
) -> None:
    page = Page(chromium, line.url)
    image = small(tmp_path)
    page.choose(image)
    line.cut()
    emulated_offline(True)
    page.start()
    page.wait(lambda: "goes on when the connection is back" in page.text("#picture-steps"))
    # One notice, and no error that says otherwise.
    assert page.text("#offline") == "You are offline. What was started goes on when the connection is back."
    assert page.problem == "" and page.is_running
    # It can be cancelled, and started again.
    page.click("#picture-cancel")
    page.wait(lambda: not page.is_running)
    assert page.problem == ""
    page.start()
    page.wait(lambda: "goes on when the connection is back" in page.text("#picture-steps"))
    line.mend()
    emulated_offline(False)
    page.finish()
    assert not page.find("#offline").is_displayed()
    close(page.pixels("picture-result"), expected(samples(image), "blur"))


def test_a_service_that_is_gone_is_an_error_with_a_hint(
    chromium: webdriver.Chrome, tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = Server(tmp_path_factory.mktemp("gone"))
    try:
        page = Page(chromium, server.url)
        image = small(tmp_path)
        page.choose(image)
        server.kill()
        page.start()
        page.wait(lambda: page.problem and not page.is_running)
        assert "The service does not answer." in page.problem
        assert "Check that the service is running, and try again." in page.problem
        # It is back, and so is everything else.
        server.start()
        page.run()
        close(page.pixels("picture-result"), expected(samples(image), "blur"))
    finally:
        server.kill()


@pytest.mark.parametrize("request_line", ["PATCH /v1/key-sets/", "PATCH /v1/objects/", "POST /v1/jobs ", "GET /v1/jobs/"])
def test_a_killed_service_loses_nothing(
    chromium: webdriver.Chrome, tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory, request_line: str
) -> None:
    server = Server(tmp_path_factory.mktemp("killed"))
    line = Line(server.port)
    try:
        page = Page(chromium, line.url)
        image = small(tmp_path)
        page.choose(image)
        line.losses = [request_line.encode()]
        page.start()
        page.wait(lambda: not line.losses)
        server.kill()
        server.start()
        page.finish()
        close(page.pixels("picture-result"), expected(samples(image), "blur"))
    finally:
        line.close()
        server.kill()


def test_a_job_whose_answer_is_lost_is_asked_for_once(
    chromium: webdriver.Chrome, server: Server, line: Line, tmp_path: pathlib.Path
) -> None:
    page = Page(chromium, line.url)
    token = server.token()
    headers = {"Authorization": f"Bearer {token}"}

    def jobs() -> int:
        return len(httpx.get(f"{server.url}/v1/jobs", headers=headers).json()["items"])

    page.use_token(token)
    before = jobs()
    image = small(tmp_path)
    page.choose(image)
    line.losses = 2 * [b"POST /v1/jobs "]
    page.run()
    close(page.pixels("picture-result"), expected(samples(image), "blur"))
    assert line.losses == [] and jobs() == before + 1


def test_the_service_speaks_through_the_page(chromium: webdriver.Chrome, server: Server, tmp_path: pathlib.Path) -> None:
    page = Page(chromium, server.url)
    page.click("#account summary")
    # A token that the service does not know, and one that cannot even be sent.
    for token in ("nobody-has-this-token", "schlüssel€"):
        page.find("#token").clear()
        page.find("#token").send_keys(token)
        page.js("document.getElementById('token-problem').textContent = ''")
        page.click("#token-form [type=submit]")
        page.wait(lambda: page.text("#token-problem"))
        said = page.text("#token-problem")
        assert said.startswith("The service does not accept this token. Check that it is complete")
        assert "header" not in said.lower()

    # A true one.
    page.click("#account summary")
    page.use_token(server.token())
    assert page.text("#token-problem") == "" and not page.find("#token-form").is_displayed()
    page.choose(small(tmp_path))
    page.run()

    # A file that is not a picture.
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"not a picture")
    page.find("#picture-file").send_keys(str(bad))
    page.wait(lambda: page.problem)
    assert "not a picture" in page.problem
    page.click("#problem-close")
    assert page.problem == ""


def test_cancelling_leaves_everything_usable(picture: Page, tmp_path: pathlib.Path) -> None:
    picture.start()
    picture.wait(lambda: picture.problem)
    assert "No picture is chosen. Drop one" in picture.problem

    image = small(tmp_path)
    picture.choose(ASTRONAUT)
    for step in ("keys", "evaluation key", "encrypt", "compute blur"):
        picture.start()
        picture.wait(lambda: step in picture.steps() or not picture.is_running)
        if picture.is_running:
            picture.click("#picture-cancel")
        picture.wait(lambda: not picture.is_running)
        assert picture.problem == "" and "Cancelled" in picture.text("#picture-total"), step
    picture.choose(image)
    picture.run()
    close(picture.pixels("picture-result"), expected(samples(image), "blur"))
    # A job that ends before it hears that it is cancelled answers 409, what is still in use 409 or
    # 423, and browsers log it.
    assert [error for error in picture.errors() if not ENDED.search(error)] == []


@pytest.mark.parametrize("view", ["picture", "table"])
@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_everything_without_scrolling_sideways(
    chromium: webdriver.Chrome, server: Server, emulated: Any, tmp_path: pathlib.Path, view: str, width: int
) -> None:
    emulated("setDeviceMetricsOverride", width=width, height=740, deviceScaleFactor=2, mobile=True)
    page = Page(chromium, server.url, view)
    if view == "picture":
        page.choose(small(tmp_path))
    else:
        page.click("#table-sample")
    page.run()
    # The result is below what fits: the page goes there, and the focus with it.
    page.wait(lambda: page.is_in_view(f"#{view}-outcome"))
    assert page.js("return document.activeElement.id") == f"{view}-outcome"
    page.assert_fits(width)
    page.screenshot(SCREENSHOTS / f"phone-{view}-{width}.png")


def test_the_keyboard_suffices(picture: Page, tmp_path: pathlib.Path) -> None:
    picture.choose(small(tmp_path))
    press = lambda key: ActionChains(picture.browser).send_keys(key).perform()  # noqa: E731
    focus = lambda: picture.browser.switch_to.active_element  # noqa: E731
    seen = []
    picture.js("document.querySelector('.skip').focus()")
    for _ in range(40):
        press(Keys.TAB)
        seen.append(focus().get_attribute("id") or focus().get_attribute("name") or focus().tag_name)
        if seen[-1] == "picture-run":
            break
    for wanted in ("picture-file", "picture-sample", "picture-most", "operation", "picture-run"):
        assert wanted in seen
    outline = picture.js("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    press(Keys.ENTER)
    picture.wait(lambda: picture.is_running)
    picture.finish()
    assert focus().get_attribute("id") == "picture-run"
    assert "Done in" in picture.js("return document.getElementById('live').textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["picture", "table"])
def test_rules_of_accessibility(
    chromium: webdriver.Chrome, server: Server, emulated: Any, tmp_path: pathlib.Path, view: str, scheme: str
) -> None:
    emulated("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page = Page(chromium, server.url, view)
    if view == "picture":
        page.choose(small(tmp_path))
        page.run()
        page.screenshot(SCREENSHOTS / f"{scheme}.png")
    page.assert_accessible(WORK / "axe.min.js")


def test_motion_stops_for_those_who_ask(chromium: webdriver.Chrome, server: Server, emulated: Any) -> None:
    page = Page(chromium, server.url)
    page.js("const li = document.createElement('li'); li.className = 'now'; document.getElementById('picture-steps').append(li)")
    name = "return getComputedStyle(document.querySelector('.steps .now'), '::before').animationName"
    assert page.js(name) == "turn"
    emulated("setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    assert page.js(name) == "none"


def test_the_page_asks_nobody_else(chromium: webdriver.Chrome, server: Server, tmp_path: pathlib.Path) -> None:
    page = Page(chromium, server.url)
    page.choose(small(tmp_path))
    page.run()
    urls = page.js("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert urls and all(url.startswith(server.url) for url in urls)
    # Neither markup nor scripts hold what the policy forbids.
    for path in sorted((ROOT / "web/page").glob("*.html")):
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|javascript:", text)
    policy = page.js("return fetch('/').then((answer) => answer.headers.get('Content-Security-Policy'))")
    assert "default-src 'self'" in policy and "unsafe-inline" not in policy


def test_files_can_be_dropped(picture: Page) -> None:
    drop = """
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], name));
        const target = document.getElementById(id);
        for (const type of ['dragenter', 'dragover', 'drop'])
            target.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    """
    picture.browser.execute_async_script(
        f"""const [id, name] = ['picture-drop', 'dropped.jpg'], done = arguments[0];
        fetch('/page/sample.jpg').then((answer) => answer.blob()).then((content) => {{ {drop}; done(); }})"""
    )
    picture.wait(lambda: "dropped.jpg: 512" in picture.text("#picture-chosen"))
    assert picture.pixels("picture-original").std() > 30
    picture.click("nav a[href='#table']")
    picture.js(f"const [id, name, content] = ['table-drop', 'dropped.csv', 'a,b\\n1,2\\n']; {drop}")
    picture.wait(lambda: picture.js("return document.getElementById('table-text').value") == "a,b\n1,2\n")
    picture.click("nav a[href='#picture']")


def test_views_have_addresses(picture: Page) -> None:
    picture.click("nav a[href='#table']")
    picture.wait(lambda: picture.find("#table").is_displayed())
    assert not picture.find("#picture").is_displayed()
    assert picture.find("nav a[href='#table']").get_attribute("aria-current") == "page"
    picture.browser.back()
    picture.wait(lambda: picture.find("#picture").is_displayed())
    Select(picture.find("#picture-most")).select_by_value("256")
