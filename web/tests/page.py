"""The page as a person uses it, and what its results should be."""

from __future__ import annotations

import base64
import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

#: The radius of the blur that the page offers first.
RADIUS = 4

#: How long anything may take on a busy machine, in seconds.
PATIENCE = 120


class Page:
    def __init__(self, browser: webdriver.Chrome, url: str, view: str = "picture") -> None:
        self.browser = browser
        self.view = view
        # What went wrong on another page is not of interest here.
        browser.get_log("browser")
        browser.get("about:blank")
        browser.get(f"{url}/#{view}")
        self.wait(lambda: self.js("return document.documentElement.dataset.ready") == "yes")

    def js(self, text: str, *arguments: Any) -> Any:
        return self.browser.execute_script(text, *arguments)

    def wait(self, condition: Any, seconds: float = PATIENCE) -> Any:
        return WebDriverWait(self.browser, seconds, 0.05).until(lambda _: condition())

    def find(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        self.js("arguments[0].scrollIntoView({block: 'center'})", self.find(selector))
        self.find(selector).click()

    def text(self, selector: str) -> str:
        return self.find(selector).text

    @property
    def problem(self) -> str:
        return self.text("#problem p") if self.find("#problem").is_displayed() else ""

    @property
    def is_running(self) -> bool:
        return self.find(f"#{self.view}-cancel").is_displayed()

    def steps(self) -> dict[str, str]:
        """The states of the steps by name."""
        items = self.all(f"#{self.view}-steps li")
        return {item.get_attribute("data-step") or "": item.get_attribute("class") or "" for item in items}

    def choose(self, path: pathlib.Path, most: int | None = None) -> None:
        if most is not None:
            self.js("const s = document.querySelector('#picture-most'); s.value = arguments[0]", str(most))
        self.find("#picture-file").send_keys(str(path))
        self.wait(lambda: path.name in self.text("#picture-chosen"))

    def use_token(self, token: str) -> None:
        self.click("#account summary")
        self.find("#token").clear()
        self.find("#token").send_keys(token)
        self.click("#token-form [type=submit]")
        self.wait(lambda: self.text("#who") == "With a token")

    def set(self, selector: str, value: object) -> None:
        """Give a control a value."""
        self.js(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', { bubbles: true }))",
            self.find(selector), str(value),
        )  # fmt: skip

    def is_in_view(self, selector: str) -> bool:
        """Whether the top of an element is on the screen."""
        return bool(
            self.js(
                "const { top, height } = arguments[0].getBoundingClientRect();"
                "return top > -1 && top + Math.min(height, 100) <= innerHeight",
                self.find(selector),
            )
        )

    def operate(self, name: str) -> None:
        self.click(f"#picture-form [name=operation][value={name}]")

    def start(self) -> None:
        self.click(f"#{self.view}-run")

    def finish(self) -> None:
        """Wait for the end, which must be a success."""
        self.wait(lambda: not self.is_running)
        assert self.problem == "", self.problem
        assert "in all" in self.text(f"#{self.view}-total")

    def run(self) -> None:
        self.start()
        self.finish()

    def pixels(self, which: str) -> npt.NDArray[np.uint8]:
        """The RGB samples of a pane."""
        width, height, text = self.js(
            """const canvas = document.getElementById(arguments[0]);
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            let text = '';
            for (let i = 0; i < data.length; i += 8192)
                text += String.fromCharCode(...data.subarray(i, i + 8192));
            return [canvas.width, canvas.height, btoa(text)]""",
            which,
        )
        rgba = np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)
        return rgba[..., :3]

    def errors(self) -> list[str]:
        """What the console complained of since the page was opened."""
        entries = [entry for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        # It is the tests that read pixels again and again.
        return [entry["message"] for entry in entries if "willReadFrequently" not in entry["message"]]

    def assert_accessible(self, axe: pathlib.Path) -> None:
        """Everything has a name, errors are told, and the rules of axe-core hold, if it is there."""
        unnamed = self.js(
            """return [...document.querySelectorAll('input, select, textarea, button, canvas, progress')]
                .filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()))
                .map((e) => e.outerHTML)"""
        )
        assert unnamed == []
        assert self.js("return document.querySelectorAll('#live[aria-live], #problem[role=alert]').length") == 2
        if not axe.exists():
            pytest.skip("axe-core is not there: npm is missing, and with it the other rules")
        self.js(axe.read_text())
        self.js("document.getElementById('problem').hidden = false")
        found = self.browser.execute_async_script(
            "const done = arguments[0]; axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] })"
            ".then((result) => done(result.violations))"
        )
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []

    def assert_fits(self, width: int) -> None:
        """A phone of this width shows everything without scrolling sideways, with room for fingers."""
        self.click(f"#{self.view}-keys .key-load")
        self.click("#account summary")
        assert self.js("return document.documentElement.scrollWidth") <= width
        self.click("#account summary")
        for element in self.all("main button, main select, nav a"):
            if element.is_displayed():
                assert element.size["height"] >= 40, element.text

    def screenshot(self, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.js("scrollTo(0, 0)")
        self.browser.save_screenshot(str(path))


def filtered(image: npt.NDArray[np.uint8], kernel: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A picture under a filter; beyond the border, the nearest pixel."""
    weights = np.asarray(kernel, float)
    (rows, columns), (height, width, _) = weights.shape, image.shape
    r, c = rows // 2, columns // 2
    padded = np.pad(image.astype(float), ((r, r), (c, c), (0, 0)), mode="edge")
    return sum(
        weights[i, j] * padded[i : i + height, j : j + width] for i in range(rows) for j in range(columns)
    )


def expected(
    image: npt.NDArray[np.uint8], operation: str, by: float = 0.0, radius: int = RADIUS
) -> npt.NDArray[np.float64]:
    """What an operation should give, computed in the clear."""
    match operation:
        case "blur":
            side = 2 * radius + 1
            result = filtered(image, np.full((side, side), 1 / side**2))
        case "sharpen":
            result = filtered(image, [[0, -1, 0], [-1, 5, -1], [0, -1, 0]])
        case "edges":
            result = filtered(image, EDGES)
        case "brightness":
            result = image + 255 * by
        case "grayscale":
            result = np.repeat((image @ np.array([0.299, 0.587, 0.114]))[..., None], 3, axis=-1)
        case _:
            raise ValueError(operation)
    return np.clip(result, 0, 255)


EDGES = [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]]
