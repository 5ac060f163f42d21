"""The client of the service, over a real `he-cli serve` and a line that can be cut."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import he
from he import client, files, lookup

HE_CLI = os.environ.get("HE_CLI") or shutil.which("he-cli")


class Server:
    """A process of he-cli serve, over HTTPS with a certificate and its key."""

    def __init__(self, program: str, folder: Path, certificate: tuple[Path, Path] | None = None) -> None:
        self.program, self.data = program, folder / "data"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = open(folder / "log", "wb")
        options: list[str] = []
        # Whether it is up is asked before anybody is to trust it.
        context = ssl._create_unverified_context()
        if certificate is not None:
            self.url = f"https://127.0.0.1:{self.port}"
            options = ["--tls-certificate", str(certificate[0]), "--tls-key", str(certificate[1])]
        self.process = subprocess.Popen(
            [program, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", str(self.data), *options],
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, "HE_DEVICE": "cpu"},
        )
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/readyz", context=context)
                return
            except urllib.error.URLError:
                said = (folder / "log").read_text()
                assert self.process.poll() is None and time.monotonic() < deadline, said
                time.sleep(0.05)

    def token(self) -> str:
        command = [self.program, "serve", "token", "add", "tester", "--data", str(self.data)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


class Line:
    """Forwards bytes to a port, and cuts connections that have sent so many.

    An answer to a request that begins with one of `losses` is lost with its connection, once each.
    """

    def __init__(self, port: int, *cuts: int, losses: tuple[bytes, ...] = ()) -> None:
        self.to, self.cuts, self.losses = port, list(cuts), list(losses)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            far = socket.create_connection(("127.0.0.1", self.to))
            lost = threading.Event()
            threading.Thread(target=self._copy, args=(near, far, True, lost), daemon=True).start()
            threading.Thread(target=self._copy, args=(far, near, False, lost), daemon=True).start()

    def _copy(
        self, source: socket.socket, sink: socket.socket, is_up: bool, lost: threading.Event
    ) -> None:
        passed = 0
        try:
            while data := source.recv(1 << 16):
                passed += len(data)
                if is_up and self.cuts and passed > self.cuts[0]:
                    del self.cuts[0]
                    break
                if is_up and self.losses and data.startswith(self.losses[0]):
                    del self.losses[0]
                    lost.set()
                if not is_up and lost.is_set():
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            # Without this the kernel would take what is still sent, and nobody would notice.
            end.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if HE_CLI is None:
        pytest.skip("he-cli with the feature `server` is not there: set HE_CLI to its path")
    server = Server(HE_CLI, tmp_path_factory.mktemp("server"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    files.keygen(he.Params.for_depth(2), folder, device="cpu", force=True)
    return folder


def picture() -> np.ndarray:
    y, x = np.mgrid[:30, :50]
    return np.stack([4 * x, 7 * y, 2 * (x + y)], axis=-1).astype(np.uint8)


def test_encrypt_here_compute_there_decrypt_here(server: Server, keys: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    photo = files.encrypt(picture(), keys / "secret.key", halo=2, device="cpu")
    here = photo.blur(keys / "eval.key", device="cpu").decrypt(keys / "secret.key", device="cpu")
    with client.Service(server.url, server.token()) as service:
        assert "blur" in {operation["name"] for operation in service.operations()}
        assert service.info()
        remote = service.upload(photo)
        there = service.eval(
            "blur", remote, key=keys / "eval.key", radius=1, progress=lambda *now: seen.append(now)
        )
        blurred = service.download(there)
        assert blurred.history == ["blur"]
        # The same computation on the same bytes, so the same samples.
        np.testing.assert_array_equal(blurred.decrypt(keys / "secret.key", device="cpu"), here)
        assert "key" in {stage for stage, _, _ in seen}
        assert all(0 <= done <= of for _, done, of in seen)

        trace = service.trace(there)
        photo.blur(keys / "eval.key", radius=1, record=tmp_path / "here.trace", device="cpu")
        assert trace == (tmp_path / "here.trace").read_bytes()
        (tmp_path / "here.trace").unlink()
        opening = service.trace(there, [0])
        assert opening.startswith(b"HE-OPENG") and opening[12:44] == trace[12:44]
        assert service.signed_root(there) is None
        with pytest.raises(ValueError, match="not the result"):
            service.trace(remote)

        # The key set is there; a result is an input; a file is written whole.
        before = service.sent
        output = tmp_path / "both.he"
        both = service.eval("add", remote, there, key=keys / "eval.key")
        assert service.sent - before < 10_000
        found = service.download(both, output).decrypt(keys / "secret.key", view="raw", device="cpu")
        assert found.shape == picture().shape and output.is_file()
        with pytest.raises(FileExistsError):
            service.download(both, output)
        assert sorted(tmp_path.iterdir()) == [output]

        service.remove(both)
        with pytest.raises(client.ServiceError) as error:
            service.download(both)
        assert error.value.status == 404


def test_an_index_is_sent_asked_and_withdrawn(server: Server, tmp_path: Path) -> None:
    index = he.Index.create(tmp_path / "index", 2, records=100)
    index.keygen(tmp_path / "keys", device="cpu")
    secret, evaluation = tmp_path / "keys/secret.key", tmp_path / "keys/eval.key"
    index.append(np.array([[3, 4], [1, 0], [-2, 0]]), None, secret, device="cpu")
    asked = index.query([1, 0.2], secret, device="cpu")
    with client.Service(server.url, server.token()) as service:
        name = service.put_index(index, evaluation)
        index.append(np.array([[1, 1], [0.5, -0.1]]), None, secret, device="cpu")
        index.delete([[0, 0], [0, 3]])
        assert service.put_index(index.folder, to=name) == service.put_index(index, to=name) == name
        for key in (None, evaluation):
            answer = service.download(service.search(name, asked, "scores", key=key)).source
            assert answer == index.scores(asked, evaluation, device="cpu")
        ranking = he.search.top_k(answer, secret, device="cpu")
        assert ranking.positions.tolist() == [[0, 1], [0, 4], [0, 2]]
        with pytest.raises(client.ServiceError, match="do not serve matches"):
            service.search(name, asked, "count")
        index.merge(device="cpu")
        with pytest.raises(ValueError, match="not an earlier state"):
            service.put_index(index, to=name)
        with pytest.raises(ValueError, match="give `key`"):
            service.put_index(index)
        service.withdraw_index(name)
        with pytest.raises(client.ServiceError, match="no such index"):
            service.search(name, asked)


def test_tables_of_a_guest(server: Server, keys: Path) -> None:
    table = files.encrypt(b"x,y\n1.5,2\n-3,4\n6,0.25\n", keys / "secret.key", device="cpu")
    service = client.Service(server.url)
    mean = service.download(service.eval("mean", table, key=keys / "eval.key"))
    found = mean.decrypt(keys / "secret.key", device="cpu")
    assert found["x"][0] == pytest.approx(1.5, abs=1e-4)
    assert found["y"][0] == pytest.approx(6.25 / 3, abs=1e-4)


def test_transfers_go_on_after_interruptions(server: Server, keys: Path, tmp_path: Path) -> None:
    length = (keys / "eval.key").stat().st_size
    line = Line(server.port, 100_000, length // 2, 40_000)
    with client.Service(line.url) as service:
        table = files.encrypt(b"x\n1\n2\n6\n", keys / "secret.key", device="cpu")
        mean = service.download(service.eval("mean", table, key=keys / "eval.key"))
        assert mean.decrypt(keys / "secret.key", device="cpu")["x"][0] == pytest.approx(3, abs=1e-4)
        assert line.cuts == [] and line.connections >= 4
        # At most a piece was sent again per cut.
        assert service.sent < length + 4 * (4 << 20) + (2 << 20)
    line.listener.close()


def test_a_job_whose_answer_is_lost_is_asked_for_once(server: Server, keys: Path) -> None:
    line = Line(server.port, losses=2 * (b"POST /v1/jobs ",))
    with client.Service(line.url, server.token()) as service:
        table = files.encrypt(b"x\n1\n2\n6\n", keys / "secret.key", device="cpu")
        before = len(service._json("GET", "/v1/jobs")["items"])
        mean = service.download(service.eval("mean", table, key=keys / "eval.key"))
        assert mean.decrypt(keys / "secret.key", device="cpu")["x"][0] == pytest.approx(3, abs=1e-4)
        assert line.losses == []
        assert len(service._json("GET", "/v1/jobs")["items"]) == before + 1
    line.listener.close()


def authority(folder: Path, name: str, hosts: str) -> tuple[Path, Path]:
    """A private authority ``NAME.pem``; returns a certificate that it signed for hosts, and its key."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl(*new, "-x509", "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl(*new, "-subj", "/CN=he", "-keyout", f"{name}-host.key", "-out", f"{name}.csr")
    (folder / f"{name}.ext").write_text(f"subjectAltName={hosts}\nbasicConstraints=CA:FALSE\n")
    files = ["-in", f"{name}.csr", "-extfile", f"{name}.ext", "-out", f"{name}-host.pem"]
    signer = ["-CA", f"{name}.pem", "-CAkey", f"{name}.key", "-CAcreateserial"]
    openssl("x509", "-req", "-days", "2", *signer, *files)
    return folder / f"{name}-host.pem", folder / f"{name}-host.key"


@pytest.mark.skipif(HE_CLI is None, reason="he-cli with the feature `server` is not there")
def test_records_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert HE_CLI is not None
    entries = {f"key {i}": bytes([i]) for i in range(50)}
    database = lookup.Database.prepare_keys(tmp_path / "words", entries, device="cpu")
    monkeypatch.setenv("HE_SERVE_LOOKUPS", str(tmp_path / "words"))
    server = Server(HE_CLI, tmp_path)
    try:
        with client.Service(server.url) as service:
            assert [of["name"] for of in service.lookups()] == ["words"]
            assert service.lookup_description("words") == database.description
            key = lookup.ClientKey.generate()
            assert service.look_up("words", key, "key 7") == b"\x07"
            assert service.look_up("words", key, "key 50") is None
            with pytest.raises(client.ServiceError, match="no such database") as refused:
                service.look_up("../words", key, "key 7")
            assert refused.value.status == 404
            with pytest.raises(ValueError, match="not a query"):
                service.lookup_answer("words", key.expose_bytes())
            other = lookup.Database.prepare_keys(tmp_path / "other", entries, device="cpu")
            query = lookup.Client(other.description, key).query("key 7")
            with pytest.raises(client.ServiceError, match="is for database") as refused:
                service.lookup_answer("words", query)
            assert refused.value.status == 409
    finally:
        server.close()


@pytest.mark.skipif(HE_CLI is None, reason="he-cli with the feature `server` is not there")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_https_with_a_private_authority(keys: Path, tmp_path: Path) -> None:
    assert HE_CLI is not None
    own = authority(tmp_path, "own", "IP:127.0.0.1,DNS:localhost")
    foreign = authority(tmp_path, "other", "DNS:he.example.org")

    def trust(name: str) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(tmp_path / f"{name}.pem"))

    table = files.encrypt(b"x\n1\n2\n", keys / "secret.key", device="cpu")
    for certificate, trusted, error in [
        (own, trust("own"), None),
        (own, None, "CERTIFICATE_VERIFY_FAILED"),
        (own, trust("other"), "CERTIFICATE_VERIFY_FAILED"),
        (foreign, trust("other"), "CERTIFICATE_VERIFY_FAILED"),
    ]:
        folder = tmp_path / f"server{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        server = Server(HE_CLI, folder, certificate)
        try:
            with client.Service(server.url, context=trusted) as service:
                if error is None:
                    there = service.eval("mean", table, key=keys / "eval.key")
                    mean = service.download(there).decrypt(keys / "secret.key", device="cpu")
                    assert abs(float(mean["x"][0]) - 1.5) < 1e-3
                    continue
                with pytest.raises(client.ServiceError, match=error) as refused:
                    service.info()
                assert "cafile" in (refused.value.hint or "")
        finally:
            server.close()


def test_secrets_are_never_sent(keys: Path, tmp_path: Path) -> None:
    sealed, aes = tmp_path / "sealed", tmp_path / "aes.key"
    files.keygen(he.Params.for_depth(1), sealed, passphrase="correct horse", device="cpu")
    aes.write_bytes(he.AesKey.generate().to_bytes())
    # Nobody listens there: a connection would be an error of another kind.
    service = client.Service("http://127.0.0.1:9", "token")
    secret = (keys / "secret.key").read_bytes()
    for bad in (keys / "secret.key", sealed / "secret.key", aes, secret):
        for send in (service.upload, service.upload_key):
            with pytest.raises(ValueError, match="secret key|AES key"):
                send(bad)
    # A secret behind something public.
    hidden = (keys / "public.key").read_bytes() + secret
    with pytest.raises(ValueError, match="secret key"):
        service.upload(hidden)
    with pytest.raises(ValueError, match="not a file of he-cli"):
        service.upload(b"something else")


def test_errors_say_what_to_do(server: Server, keys: Path) -> None:
    for url in ("he.example.org", "ftp://he.example.org", "https://", "https://a:b@he.example.org"):
        with pytest.raises(ValueError):
            client.Service(url)
    with pytest.raises(client.ServiceError) as refused:
        client.Service(server.url, "nobody-has-this-token").download("x")
    assert refused.value.status == 401
    service = client.Service(server.url)
    table = files.encrypt(b"x\n1\n2\n", keys / "secret.key", device="cpu")
    wrong: list[tuple[str, dict[str, Any]]] = [("blur", {}), ("nothing", {}), ("mean", {"radius": 3})]
    for operation, parameters in wrong:
        with pytest.raises(client.ServiceError) as error:
            service.eval(operation, table, key=keys / "eval.key", **parameters)
        assert 400 <= error.value.status < 500 and str(error.value)
    with pytest.raises(client.ServiceError):
        service.upload((keys / "eval.key").read_bytes())


def test_a_silent_service_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        service = client.Service(f"http://127.0.0.1:{nobody.getsockname()[1]}", "token")
        with pytest.raises(client.ServiceError, match="does not answer") as error:
            service.info()
    assert error.value.status == 0 and error.value.hint
