"""The service as programs meet it: what its description promises, and many clients at once."""

from __future__ import annotations

import asyncio
import os
import pathlib
import random

import httpx
import pytest
import schemathesis
import schemathesis.checks
from hypothesis import HealthCheck, settings

from conftest import ROOT, Server, he_cli

#: Requests per operation of the description.
EXAMPLES = int(os.environ.get("HE_FUZZ_EXAMPLES", "20"))

CLIENTS = 64

#: What says nothing of any tenant.
OPEN = ("/v1/sessions", "/v1/info", "/v1/operations", "/v1/models", "/v1/lookups")


@pytest.fixture(scope="session")
def token(server: Server) -> str:
    return server.token()


@pytest.fixture(scope="session")
def api(server: Server) -> schemathesis.schemas.BaseSchema:
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


# Events are a stream that lasts as long as their job; metrics are text of another kind.
schema = schemathesis.pytest.from_fixture("api").exclude(path_regex="(/events|/metrics)$")


@schemathesis.serializer("application/offset+octet-stream")
def parts_of_uploads(_: schemathesis.SerializationContext, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


#: What the description promises about answers. Which requests are valid it says only in part: an
#: operation has parameters, a cursor comes from a list, and tus demands 412 without its header.
PROMISES = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_headers_conformance,
    schemathesis.checks.response_schema_conformance,
]


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
def test_the_description_holds(case: schemathesis.Case, token: str) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, timeout=30, checks=PROMISES)


def test_nothing_of_a_tenant_without_its_token(server: Server) -> None:
    described = httpx.get(f"{server.url}/openapi.json").json()
    asked = 0
    for path, operations in described["paths"].items():
        for method in set(operations) & {"get", "head", "post", "patch", "delete"}:
            if not path.startswith("/v1/") or path in OPEN:
                continue
            for headers in ({}, {"Authorization": "Bearer nobody-has-this-token"}, {"Authorization": "Basic x"}):
                answer = httpx.request(method, server.url + path.replace("{id}", "0" * 32).replace("{name}", "x"), headers=headers)
                assert answer.status_code == 401, (method, path, answer.status_code)
                asked += 1
    assert asked >= 3 * 10


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Encrypted files of three sizes."""
    folder = tmp_path_factory.mktemp("files")
    he_cli("keygen", "ckks", "--depth", 1, "--radius", 0, "-o", folder / "keys")
    (folder / "table.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(200)))
    sources = {"table": folder / "table.csv", "photo": ROOT / "tests/data/camera.png"}
    found = {}
    for name, source in sources.items():
        out = folder / f"{name}.he"
        he_cli("encrypt", source, "-k", folder / "keys/secret.key", "-o", out)
        found[name] = out.read_bytes()
    return found


async def upload(client: httpx.AsyncClient, data: bytes, rng: random.Random) -> str:
    """Upload in pieces of random lengths, some of them from a wrong place first."""
    tus = {"Tus-Resumable": "1.0.0"}
    created = await patient(client, "POST", "/v1/objects", headers={**tus, "Upload-Length": str(len(data))})
    assert created.status_code == 201, created.text
    path = httpx.URL(created.headers["Location"]).path
    offset = 0
    while offset < len(data):
        piece = data[offset : offset + rng.randint(1, 1 << 20)]
        headers = {**tus, "Content-Type": "application/offset+octet-stream"}
        if rng.random() < 0.1 and offset:
            wrong = await patient(
                client, "PATCH", path, content=piece, headers={**headers, "Upload-Offset": str(offset - 1)}
            )
            assert wrong.status_code == 409, wrong.text
            head = await patient(client, "HEAD", path, headers=tus)
            assert int(head.headers["Upload-Offset"]) == offset
        sent = await patient(client, "PATCH", path, content=piece, headers={**headers, "Upload-Offset": str(offset)})
        assert sent.status_code == 204, sent.text
        offset = int(sent.headers["Upload-Offset"])
    return path


async def patient(client: httpx.AsyncClient, method: str, path: str, **more: object) -> httpx.Response:
    """One request, again later if the service asks for that."""
    for _ in range(200):
        answer = await client.request(method, path, **more)  # type: ignore[arg-type]
        if answer.status_code not in (429, 503):
            return answer
        await asyncio.sleep(min(float(answer.headers.get("Retry-After", "0.2")), 1.0))
    raise AssertionError(f"{method} {path} was put off 200 times")


def test_64_clients_lose_nothing(server: Server, token: str, files: dict[str, bytes]) -> None:
    async def one(number: int) -> None:
        rng = random.Random(number)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=120) as client:
            data = files["photo" if number % 8 == 0 else "table"]
            path = await upload(client, data, rng)
            back = await patient(client, "GET", f"{path}/content")
            assert back.status_code == 200 and back.content == data
            first = rng.randrange(len(data))
            last = rng.randrange(first, len(data))
            part = await patient(client, "GET", f"{path}/content", headers={"Range": f"bytes={first}-{last}"})
            assert part.status_code == 206 and part.content == data[first : last + 1]
            gone = await patient(client, "DELETE", path, headers={"Tus-Resumable": "1.0.0"})
            assert gone.status_code == 204
            assert (await patient(client, "GET", path)).status_code == 404

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(CLIENTS)))

    asyncio.run(all_of_them())


def test_a_finished_upload_survives_a_kill(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    server = Server(tmp_path_factory.mktemp("kill"))
    try:
        headers = {"Authorization": f"Bearer {server.token()}"}

        async def send(data: bytes) -> str:
            async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=120) as client:
                return await upload(client, data, random.Random(1))

        paths = [(asyncio.run(send(data)), data) for data in files.values()]
        server.kill()
        server.start()
        for path, data in paths:
            assert httpx.get(f"{server.url}{path}/content", headers=headers, timeout=120).content == data
    finally:
        server.kill()


def test_secret_keys_are_refused(server: Server, token: str, tmp_path: pathlib.Path) -> None:
    he_cli("keygen", "ckks", "--depth", 1, "--radius", 0, "-o", tmp_path / "open")
    he_cli(
        "keygen", "ckks", "--depth", 1, "--radius", 0, "-o", tmp_path / "sealed", "--passphrase",
        HE_CLI_PASSPHRASE="correct horse",
    )
    tus = {"Tus-Resumable": "1.0.0", "Authorization": f"Bearer {token}"}
    for folder in ("open", "sealed"):
        data = (tmp_path / folder / "secret.key").read_bytes()
        for collection in ("objects", "key-sets"):
            with httpx.Client(base_url=server.url, headers=tus, timeout=60) as client:
                created = client.post(f"/v1/{collection}", headers={"Upload-Length": str(len(data))})
                path = httpx.URL(created.headers["Location"]).path
                headers = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
                answer = client.patch(path, content=data, headers=headers)
                assert 400 <= answer.status_code < 500
                said = answer.json()
                assert "key" in said["detail"] and said["hint"]
                assert collection == "objects" or "secret" in said["detail"]
                assert answer.headers["Content-Type"].startswith("application/problem+json")
