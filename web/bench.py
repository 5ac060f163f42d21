"""Time the page: the first picture of 512 x 512, and the next with keys at hand.

Run by hand on an idle machine: `HE_CLI=... target/web/venv/bin/python web/bench.py [runs]`.
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests"))

import conftest  # noqa: E402
from page import Page  # noqa: E402
from selenium import webdriver  # noqa: E402


def times(page: Page) -> dict[str, float]:
    """Seconds of each step and of all, as the page shows them."""
    found = {
        item.get_attribute("data-step") or "": float(item.get_attribute("data-ms") or "nan") / 1000
        for item in page.all("#picture-steps li")
    }
    found["total"] = float(page.find("#picture-total").get_attribute("data-ms") or "nan") / 1000
    return found


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    with tempfile.TemporaryDirectory() as folder:
        server = conftest.Server(pathlib.Path(folder))
        browser = webdriver.Chrome(options=options, service=service)
        try:
            rows: dict[str, list[dict[str, float]]] = {"first": [], "with keys": []}
            for _ in range(runs):
                page = Page(browser, server.url)
                page.choose(conftest.ROOT / "tests/data/astronaut.png")
                page.run()
                rows["first"].append(times(page))
                # The same file again is a new picture, under the keys that exist.
                page.choose(conftest.ROOT / "tests/data/astronaut.png")
                page.js("document.getElementById('picture-most').dispatchEvent(new Event('change'))")
                page.wait(lambda: not page.pixels("picture-result").any())
                page.run()
                rows["with keys"].append(times(page))
        finally:
            browser.quit()
            server.kill()
    for name, all_times in rows.items():
        print(f"{name}: median of {runs} runs")
        for step in all_times[0]:
            values = [row[step] for row in all_times]
            print(f"  {step:<20} {statistics.median(values):7.3f} s   ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
