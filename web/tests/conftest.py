"""A real service, a real browser, and a line between them that can be cut."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from selenium import webdriver

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = pathlib.Path(os.environ.get("HE_WEB_WORK", ROOT / "target/web"))
HE_CLI = os.environ.get("HE_CLI", str(ROOT / "target/release/he-cli"))


def he_cli(*arguments: object, **environment: str) -> str:
    """Run he-cli and return what it says."""
    names = [HE_CLI, *map(str, arguments)]
    done = subprocess.run(names, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{names}: {done.stderr}"
    return done.stdout


class Server:
    """A process of he-cli serve on a folder, which can be killed and started again."""

    def __init__(self, folder: pathlib.Path, *options: str) -> None:
        self.folder = folder
        self.options = options
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [HE_CLI, "serve", *serve_options(self.folder, self.port), *self.options],
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, "HE_DEVICE": "cpu"},
        )
        deadline = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            said = (self.folder / "log").read_text()
            assert self.process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.05)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()

    def token(self) -> str:
        """A token of a fresh tenant."""
        return make_token(self.folder)


def serve_options(folder: pathlib.Path, port: int) -> list[str]:
    # All tests come from one address and one tenant, faster than people and more at a time.
    rates = ["--request-rate", "100000", "--session-rate", "100000", "--tenant-uploads", "128"]
    places = ["--data", str(folder / "data"), "--page", str(ROOT / "web/dist")]
    return ["--listen", f"127.0.0.1:{port}", *places, *rates]


def make_token(folder: pathlib.Path) -> str:
    return he_cli("serve", "token", "add", "tester", "--data", folder / "data").strip()


class Line:
    """A line to a server that forwards bytes, keeps what was sent, and can be cut."""

    def __init__(self, port: int) -> None:
        self.to = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.sent = bytearray()
        #: Cut the next connection that has sent this many bytes, as often as there are numbers.
        self.cuts: list[int] = []
        #: Cut the connection when the answer comes to a request that begins so, once for each.
        self.losses: list[bytes] = []
        self.is_cut = False
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                near.close()
                continue
            self.open |= {near, far}
            lost = threading.Event()
            threading.Thread(target=self._copy, args=(near, far, True, lost), daemon=True).start()
            threading.Thread(target=self._copy, args=(far, near, False, lost), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket, is_up: bool, lost: threading.Event) -> None:
        passed = 0
        try:
            while data := source.recv(1 << 16):
                if is_up:
                    with self.lock:
                        self.sent += data
                        passed += len(data)
                        if self.cuts and passed > self.cuts[0]:
                            del self.cuts[0]
                            break
                        if self.losses and data.startswith(self.losses[0]):
                            del self.losses[0]
                            lost.set()
                elif lost.is_set():
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            self.open.discard(end)
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self) -> None:
        """Cut everything, and take nothing more until `mend`."""
        self.is_cut = True
        for end in list(self.open):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def mend(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self.listener.close()
        self.cut()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.kill()


@pytest.fixture
def line(server: Server) -> Iterator[Line]:
    line = Line(server.port)
    yield line
    line.close()


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def chromium(downloads: pathlib.Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,1500"):
        options.add_argument(argument)
    if "CHROMIUM" in os.environ:
        options.binary_location = os.environ["CHROMIUM"]
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver") if os.path.exists("/usr/bin/chromedriver") else None
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()


@pytest.fixture
def emulated_offline(chromium: webdriver.Chrome) -> Iterator[Any]:
    """Takes the network from the browser, and gives it back; it has one afterwards."""
    chromium.execute_cdp_cmd("Network.enable", {})

    def emulate(is_offline: bool) -> None:
        network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        chromium.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": is_offline, **network})

    yield emulate
    emulate(False)


@pytest.fixture
def emulated(chromium: webdriver.Chrome) -> Iterator[Any]:
    """Emulates devices and networks; undone afterwards."""

    def emulate(command: str, **parameters: Any) -> None:
        chromium.execute_cdp_cmd(f"Emulation.{command}", parameters)

    yield emulate
    emulate("clearDeviceMetricsOverride")
    emulate("setEmulatedMedia", features=[])
