"""The service ``he-cli serve`` from Python: encrypt here, compute there, decrypt here.

Only the standard library speaks to the service. Encrypted files and evaluation keys are sent;
secret keys are refused before anything is sent.

Examples
--------
>>> from he import client, files                                        # doctest: +SKIP
>>> service = client.Service("https://he.example.org", token="...")     # doctest: +SKIP
>>> photo = service.upload("photo.he")                                  # doctest: +SKIP
>>> blurred = service.eval("blur", photo, key="keys/eval.key", radius=1)  # doctest: +SKIP
>>> service.download(blurred).decrypt("keys/secret.key")                # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
import http.client
import io
import json
import os
import ssl
import struct
import tempfile
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final, cast

from he._he import Error
from he.files import EncryptedFile, Place
from he.lookup import Client as LookupClient
from he.lookup import ClientKey, Description, Record
from he.search import Index, segments_of

__all__ = ["RemoteFile", "Service", "ServiceError"]

Progress = Callable[[str, int, int], None]

_PIECE: Final = 4 << 20
_ATTEMPTS: Final = 7
_DELETIONS: Final = 4096
_TUS: Final = {"Tus-Resumable": "1.0.0"}
_FRAME: Final = struct.Struct("<4sHH32sQ")
_CHECKSUM: Final = 32
_SECRET_KINDS: Final = {2: "a secret key", 10: "an AES key", 21: "a secret key", 26: "a secret key"}
#: How queries of private look-ups begin: nothing else is sent as one, such as the key of a client.
_QUERY: Final = b"HELK\x02"
_FINAL: Final = ("done", "failed", "cancelled")


class ServiceError(Error):
    """The service refused a request, or did not answer.

    Attributes
    ----------
    status : int
        The HTTP status; 0 if there was no answer.
    hint : str or None
        What to do about it.
    """

    def __init__(self, message: str, *, status: int = 0, hint: str | None = None) -> None:
        super().__init__(f"{message}: {hint}" if hint else message)
        self.status = status
        self.hint = hint
        self.wait: float | None = None

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (0, 408, 423, 429, 500, 502, 503, 504)


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """An encrypted file on the service.

    Attributes
    ----------
    id : str
        Its identifier there.
    bytes : int or None
        Its length, if it is known.
    job : str or None
        The job that made it, if it is the result of one.
    """

    id: str
    bytes: int | None = None
    job: str | None = None


class Service:
    """A service at a URL.

    Parameters
    ----------
    url : str
        Where it is, such as ``https://he.example.org`` or ``http://127.0.0.1:8080``.
    token : str, optional
        What the operator handed out. Without one, the variable ``HE_TOKEN`` is used, and without
        that a guest session begins with the first request, if the service takes guests.
    timeout : float
        The seconds after which a silent connection is given up.
    context : ssl.SSLContext, optional
        The authorities to trust, for ``https``, such as
        ``ssl.create_default_context(cafile="ca.pem")``; those of the system if it is absent.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the URL of a service: give one like https://host")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("the URL holds more than a place: give the token as `token`")
        if token is not None and (not token or not token.isascii() or not token.isprintable()):
            raise ValueError("the token is empty or holds characters that no token has")
        self._parts = parts
        self._token = token or os.environ.get("HE_TOKEN") or None
        self._timeout = timeout
        self._context = context
        self._connection: http.client.HTTPConnection | None = None
        self._has_answered = False
        self._key_sets: dict[tuple[str, int, int], str] = {}
        #: The bytes of bodies that were sent and received.
        self.sent = 0
        self.received = 0

    def __repr__(self) -> str:
        return f"<he.client.Service at {self.url}>"

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where it is."""
        return urllib.parse.urlunsplit(self._parts)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # Requests

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = cast(str, self._parts.hostname), self._parts.port
            if self._parts.scheme == "https":
                context = self._context or ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=self._timeout, context=context
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        return self._connection

    def _open(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> http.client.HTTPResponse:
        """One request; an answer other than success is raised."""
        if self._token is None and path != "/v1/sessions":
            self._guest()
        sent = dict(headers)
        if self._token is not None and path != "/v1/sessions":
            sent["Authorization"] = f"Bearer {self._token}"
        fresh = self._connection is None
        while True:
            try:
                connection = self._connect()
                connection.request(method, self._parts.path.rstrip("/") + path, body, sent)
                response = connection.getresponse()
                break
            except (OSError, http.client.HTTPException) as error:
                self.close()
                # A connection that was idle may have been closed by the other side.
                if not fresh and isinstance(error, (ConnectionError, http.client.HTTPException)):
                    fresh = True
                    continue
                hint = "check the URL and that the service is running"
                if isinstance(error, ssl.SSLCertVerificationError):
                    hint = (
                        "if it has a certificate of its own, trust the authority that signed it: "
                        "context=ssl.create_default_context(cafile=FILE)"
                    )
                raise ServiceError(
                    f"the service at {self.url} does not answer ({error or type(error).__name__})",
                    hint=hint,
                ) from error
        self._has_answered = True
        self.sent += len(body or b"")
        if not 200 <= response.status < 300:
            raise self._problem(response)
        return response

    def _problem(self, response: http.client.HTTPResponse) -> ServiceError:
        """The error that an answer describes (RFC 9457)."""
        text = self._read(response, 1 << 20)
        try:
            problem = json.loads(text)
        except ValueError:
            problem = {}
        if not isinstance(problem, dict):
            problem = {}
        message = problem.get("detail") or problem.get("title")
        message = message or f"the service answered {response.status} {response.reason}"
        error = ServiceError(str(message), status=response.status, hint=problem.get("hint"))
        after = response.headers.get("Retry-After", "")
        error.wait = float(after) if after.isdigit() else None
        return error

    def _read(self, response: http.client.HTTPResponse, most: int) -> bytes:
        try:
            text = response.read(most)
            if response.length or response.read(1):
                self.close()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ServiceError("the connection broke off", hint="try again") from error
        self.received += len(text)
        return text

    def _json(
        self, method: str, path: str, value: object = None, headers: Mapping[str, str] = {}
    ) -> Any:
        body = None if value is None else json.dumps(value).encode()
        kind = {} if value is None else {"Content-Type": "application/json"}
        text = self._read(self._open(method, path, body, {**kind, **headers}), 16 << 20)
        return json.loads(text) if text else None

    def _guest(self) -> None:
        try:
            self._token = self._json("POST", "/v1/sessions")["token"]
        except ServiceError as error:
            if error.status in (401, 403, 404, 405):
                raise ServiceError(
                    f"the service at {self.url} takes no guests",
                    status=error.status,
                    hint="give a token, which whoever runs it can make",
                ) from error
            raise

    def _persist(self, attempt: Callable[[Callable[[], None]], Any]) -> Any:
        """Repeat what fails in passing; `attempt` calls its argument when it got ahead."""
        failures = 0

        def ahead() -> None:
            nonlocal failures
            failures = 0

        while True:
            try:
                return attempt(ahead)
            except ServiceError as error:
                # Before the first answer, the URL is more likely to be wrong than the network.
                if not (error.is_passing and self._has_answered) or failures >= _ATTEMPTS:
                    raise
                wait = error.wait if error.wait is not None else 0.25 * 2**failures
                time.sleep(min(wait, 30.0))
                failures += 1

    # What the service says of itself

    def info(self) -> dict[str, Any]:
        """Return its version, devices and limits."""
        return dict(self._json("GET", "/v1/info"))

    def operations(self) -> list[dict[str, Any]]:
        """Return its operations with their parameters."""
        answer = self._json("GET", "/v1/operations")
        return list(answer if isinstance(answer, list) else answer["operations"])

    # Files

    def upload(
        self, source: Place | EncryptedFile, *, progress: Progress | None = None
    ) -> RemoteFile:
        """Send an encrypted file, in pieces, and go on after interruptions.

        Parameters
        ----------
        source : path, bytes or he.EncryptedFile
            The file.
        progress : callable, optional
            Called with ``"upload"``, the bytes that are sent, and all.

        Raises
        ------
        ValueError
            It is not a file of he-cli, or it holds a secret key; nothing was sent.
        ServiceError
            The service refused it, or does not answer.
        """
        place = source.source if isinstance(source, EncryptedFile) else source
        with _opened(place) as (file, length):
            _refuse_secrets(file, length, "an encrypted file")
            return RemoteFile(self._upload("objects", file, length, "upload", progress), length)

    def upload_key(self, key: Place, *, progress: Progress | None = None) -> str:
        """Send an evaluation key unless this service has it; return the key set's identifier.

        `eval` does this by itself.
        """
        with _opened(key) as (file, length):
            mark = _refuse_secrets(file, length, "an evaluation key")
            known = (mark, length, hash(self._token))
            if known not in self._key_sets:
                self._key_sets[known] = self._upload("key-sets", file, length, "key", progress)
            return self._key_sets[known]

    def _upload(
        self, kind: str, file: BinaryIO, length: int, stage: str, progress: Progress | None
    ) -> str:
        headers = {**_TUS, "Upload-Length": str(length)}

        def create(_: Callable[[], None]) -> str:
            response = self._open("POST", f"/v1/{kind}", None, headers)
            self._read(response, 1 << 20)
            location = response.headers.get("Location", "")
            return urllib.parse.urlsplit(location).path.rstrip("/").rsplit("/", 1)[-1]

        name = cast(str, self._persist(create))
        path = f"/v1/{kind}/{name}"
        offset, sure = 0, True

        def send(ahead: Callable[[], None]) -> None:
            nonlocal offset, sure
            if not sure:
                head = self._open("HEAD", path, None, _TUS)
                head.read()
                offset, sure = int(head.headers.get("Upload-Offset", length)), True
            while offset < length:
                file.seek(offset)
                piece = file.read(min(_PIECE, length - offset))
                if not piece:
                    raise ValueError("the file became shorter while it was sent")
                sure = False
                try:
                    answer = self._open(
                        "PATCH",
                        path,
                        piece,
                        {
                            **_TUS,
                            "Content-Type": "application/offset+octet-stream",
                            "Upload-Offset": str(offset),
                        },
                    )
                    self._read(answer, 1 << 20)
                except ServiceError as error:
                    if error.status == 409:
                        # The service is elsewhere than we thought: ask it.
                        error.status = 0
                    raise
                offset = int(answer.headers.get("Upload-Offset", offset + len(piece)))
                sure = True
                ahead()
                if progress is not None:
                    progress(stage, offset, length)

        try:
            self._persist(send)
        except BaseException:
            self._forget(path)
            raise
        return name

    def download(
        self,
        remote: RemoteFile | str,
        output: str | os.PathLike[str] | None = None,
        *,
        progress: Progress | None = None,
        force: bool = False,
    ) -> EncryptedFile:
        """Fetch an encrypted file, into memory or into `output`.

        A file appears under its name when it is complete, or not at all.

        Raises
        ------
        FileExistsError
            `output` exists, and `force` is false.
        ServiceError
            The service refused it, or does not answer.
        """
        name = remote.id if isinstance(remote, RemoteFile) else remote
        if output is None:
            memory = io.BytesIO()
            self._download(name, memory, progress)
            return EncryptedFile(memory.getvalue())
        target = os.fspath(output)
        if not force and os.path.lexists(target):
            raise FileExistsError(f"{target} exists already: choose another name, or give force=True")
        handle, partial = tempfile.mkstemp(prefix=".he-", dir=os.path.dirname(target) or ".")
        try:
            with os.fdopen(handle, "wb") as file:
                self._download(name, file, progress)
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            EncryptedFile(partial)
            if force:
                os.replace(partial, target)
            else:
                # A file that appeared meanwhile stays.
                os.link(partial, target)
                os.unlink(partial)
        except BaseException:
            os.unlink(partial)
            raise
        return EncryptedFile(target)

    def _download(self, name: str, file: BinaryIO, progress: Progress | None) -> None:
        got = 0
        total: int | None = None

        def fetch(ahead: Callable[[], None]) -> None:
            nonlocal got, total
            headers = {"Range": f"bytes={got}-"} if got else {}
            path = f"/v1/objects/{urllib.parse.quote(name, safe='')}/content"
            response = self._open("GET", path, None, headers)
            if got and response.status != 206:
                file.seek(0)
                file.truncate()
                got = 0
            if response.length is not None:
                total = got + response.length
            try:
                while piece := response.read(1 << 18):
                    file.write(piece)
                    got += len(piece)
                    self.received += len(piece)
                    ahead()
                    if progress is not None and total is not None:
                        progress("download", got, total)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                raise ServiceError("the connection broke off", hint="try again") from error
            if total is not None and got < total:
                self.close()
                raise ServiceError("the download ended early", hint="try again")

        self._persist(fetch)

    def remove(self, remote: RemoteFile | str) -> None:
        """Delete an encrypted file from the service."""
        name = remote.id if isinstance(remote, RemoteFile) else remote
        self._read(self._open("DELETE", f"/v1/objects/{urllib.parse.quote(name, safe='')}", None, _TUS), 1 << 20)

    def _forget(self, path: str) -> None:
        try:
            self._read(self._open("DELETE", path, None, _TUS), 1 << 20)
        except ServiceError:
            # It expires by itself.
            pass

    # Indexes of vectors

    def put_index(
        self,
        index: Index | str | os.PathLike[str],
        key: Place | None = None,
        *,
        to: str | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Send an index, or bring the one that is there up to date; return its identifier.

        What was appended to the folder and deleted from it since is done on the service, too. An
        index belongs to whoever has the token: that of a guest is gone with its session.

        Parameters
        ----------
        index : he.Index or path
            The folder.
        key : path or bytes, optional
            The evaluation key, which the service keeps for queries to a new index.
        to : str, optional
            The index there, instead of a new one.
        progress : callable, optional
            Called with the stage (``key``, ``upload``), what is done, and all.

        Raises
        ------
        ValueError
            There is neither a key nor an index; the index there is not an earlier state.
        ServiceError
            The service refused it, or does not answer.
        """
        folder = index.folder if isinstance(index, Index) else os.fspath(index)
        with open(os.path.join(folder, "index.json"), "rb") as file:
            described = json.load(file)
        if to is None:
            if key is None:
                raise ValueError("a new index needs an evaluation key: give `key`, or the index `to`")
            key_set = self.upload_key(key, progress=progress)
            body = {"plan": described["plan"], "key_set": key_set}
            to = cast(str, self._persist(lambda _: self._json("POST", "/v1/indexes", body))["id"])
        path = f"/v1/indexes/{urllib.parse.quote(to, safe='')}"
        there = self._persist(lambda _: self._json("GET", path))["info"]["index"]["segments"]
        own = described["segments"]
        if [_slots(part) for part in there] != [_slots(part) for part in own[: len(there)]]:
            raise ValueError(f"index {to} is not an earlier state of {folder}: send it as a new one")
        for part in own[len(there) :]:
            segment = self.upload(os.path.join(folder, f"{part['file']:06}.he"), progress=progress)
            self._put(f"{path}/segments/{segment.id}")
        kept = set(_deleted(there))
        deleted = [position for position in _deleted(own) if position not in kept]
        for at in range(0, len(deleted), _DELETIONS):
            self._put(f"{path}/deletions", {"positions": deleted[at : at + _DELETIONS]})
        return to

    def _put(self, path: str, value: object = None) -> None:
        """A change that may be asked for again."""
        method = "PUT" if value is None else "POST"
        self._persist(lambda _: self._json(method, path, value))

    def search(
        self,
        index: str,
        query: RemoteFile | EncryptedFile | Place,
        want: str | None = None,
        *,
        key: Place | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> RemoteFile:
        """Answer an encrypted query by an index of the service.

        Parameters
        ----------
        index : str
            The identifier that `put_index` returned.
        query : RemoteFile, he.EncryptedFile, path or bytes
            What `he.Index.query` made.
        want : {"count", "matches", "scores"}, optional
            What is asked for; what the index is for by default.
        key : path or bytes, optional
            An evaluation key, instead of the one that the index keeps.
        progress, timeout : optional
            Those of `eval`.

        Returns
        -------
        RemoteFile
            The answer, which `he.search` reads after its `download`.
        """
        if key is None:
            path = f"/v1/indexes/{urllib.parse.quote(index, safe='')}"
            key_set = self._persist(lambda _: self._json("GET", path))["info"]["key_set"]
            if key_set is None:
                raise ValueError(f"index {index} keeps no evaluation key: give `key`")
        else:
            key_set = self.upload_key(key, progress=progress)
        request = {"name": "search", **({} if want is None else {"want": want})}
        return self._compute(request, [RemoteFile(index), query], key_set, progress, timeout)

    def withdraw_index(self, index: str) -> None:
        """Delete an index from the service, with its records and its key."""
        path = f"/v1/indexes/{urllib.parse.quote(index, safe='')}"
        info = self._persist(lambda _: self._json("GET", path))["info"]
        self._persist(lambda _: self._json("DELETE", path))
        for item in info["objects"]:
            self._forget(f"/v1/objects/{item}")
        if info["key_set"] is not None:
            self._forget(f"/v1/key-sets/{info['key_set']}")
            known = self._key_sets.items()
            self._key_sets = {of: name for of, name in known if name != info["key_set"]}

    # Private look-ups

    def lookups(self) -> list[dict[str, Any]]:
        """Return what the service says of its databases for private look-ups."""
        return list(self._json("GET", "/v1/lookups")["lookups"])

    def lookup_description(self, name: str) -> Description:
        """Fetch the public description of a database.

        Raises
        ------
        ServiceError
            There is no such database, or the service does not answer.
        he.ParameterError
            The description states parameters without security.
        """
        return Description(self._lookup("GET", f"{_lookup(name)}/description", None, 1 << 16))

    def lookup_answer(self, name: str, query: bytes) -> bytes:
        """Return the answer to a query of `he.lookup.Client`.

        Raises
        ------
        ServiceError
            The query is damaged, or for another version of the database (status 409); too many
            queries wait; the service does not answer.
        ValueError
            The bytes are not a query, so that nothing was sent.
        """
        if query[:5] != _QUERY:
            raise ValueError("these bytes are not a query: give what he.lookup.Client.query returned")
        return self._lookup("POST", f"{_lookup(name)}/answers", query, 1 << 32)

    def look_up(self, name: str, key: ClientKey, record: Record) -> bytes | None:
        """Look a record up: description, query, answer and reading in one.

        Parameters
        ----------
        name : str
            The name of the database there; `lookups` lists them.
        key : he.lookup.ClientKey
            The secret of the client, which is not sent.
        record : int, bytes or str
            The number or the key of the record.

        Returns
        -------
        bytes or None
            The record; None for a key that is absent.
        """
        client = LookupClient(self.lookup_description(name), key)
        return client.read(self.lookup_answer(name, client.query(record)), record)

    def _lookup(self, method: str, path: str, body: bytes | None, most: int) -> bytes:
        kind = {} if body is None else {"Content-Type": "application/octet-stream"}
        answered = self._persist(lambda _: self._read(self._open(method, path, body, kind), most))
        return cast(bytes, answered)

    # Computations

    def eval(
        self,
        operation: str,
        *inputs: RemoteFile | EncryptedFile | Place,
        key: Place,
        progress: Progress | None = None,
        timeout: float | None = None,
        **parameters: Any,
    ) -> RemoteFile:
        """Compute an operation of ``he-cli eval`` on the service.

        Parameters
        ----------
        operation : str
            Its name, such as ``blur`` or ``mean``; `operations` lists all.
        *inputs : RemoteFile, he.EncryptedFile, path or bytes
            One or two encrypted files. Those that are not there yet are sent, and removed again.
        key : path or bytes
            The evaluation key, which is sent once.
        progress : callable, optional
            Called with the stage (``key``, ``upload``, ``compute``), what is done, and all.
        timeout : float, optional
            The seconds after which the job is cancelled.
        **parameters
            Those of the operation, such as ``radius=1``.

        Raises
        ------
        ServiceError
            The service refused or failed to compute it, or does not answer.
        TimeoutError
            It took longer than `timeout`.
        """
        key_set = self.upload_key(key, progress=progress)
        request = {"name": operation, **{k: v for k, v in parameters.items() if v is not None}}
        return self._compute(request, inputs, key_set, progress, timeout)

    def trace(self, result: RemoteFile, operations: Iterable[int] | None = None) -> bytes:
        """Return the trace of the computation of a result, which ``he-cli audit`` checks.

        Parameters
        ----------
        result : RemoteFile
            What `eval` returned.
        operations : iterable of int, optional
            The places of operations: the trace is then opened for these alone, with the proof that
            they belong to its root.

        Raises
        ------
        ValueError
            The file is not the result of a job of this service.
        ServiceError
            The service has forgotten the job, or there are no such operations.
        """
        path = f"{_job(result)}/trace"
        if operations is not None:
            path += "?operations=" + ",".join(str(int(place)) for place in operations)
        return cast(bytes, self._persist(lambda _: self._read(self._open("GET", path, None), 1 << 28)))

    def signed_root(self, result: RemoteFile) -> dict[str, str] | None:
        """Return root, signer and signature of the trace of a result, if the service signs.

        As a line of JSON in a file they are what ``he-cli audit --signed`` takes.
        """
        job = self._persist(lambda _: self._json("GET", _job(result)))
        return cast("dict[str, str] | None", job.get("signed"))

    def _compute(
        self,
        request: dict[str, Any],
        inputs: Iterable[RemoteFile | EncryptedFile | Place],
        key_set: str,
        progress: Progress | None,
        timeout: float | None,
    ) -> RemoteFile:
        sent: list[RemoteFile] = []
        try:
            names = []
            for item in inputs:
                if not isinstance(item, RemoteFile):
                    item = self.upload(item, progress=progress)
                    sent.append(item)
                names.append(item.id)
            body = {"operation": request, "inputs": names, "key_set": key_set}
            # By its key, the service knows a request again whose answer was lost.
            headers = {"Idempotency-Key": uuid.uuid4().hex}
            job = self._persist(lambda _: self._json("POST", "/v1/jobs", body, headers))
            return self._wait(job, progress, timeout)
        finally:
            for item in sent:
                self._forget(f"/v1/objects/{item.id}")

    def _wait(
        self, job: dict[str, Any], progress: Progress | None, timeout: float | None
    ) -> RemoteFile:
        path = f"/v1/jobs/{job['id']}"
        started, pause = time.monotonic(), 0.02
        try:
            while job["state"] not in _FINAL:
                if timeout is not None and time.monotonic() - started > timeout:
                    raise TimeoutError(f"the job took longer than {timeout:g} s and was cancelled")
                time.sleep(pause)
                pause = min(1.5 * pause, 1.0)
                job = self._persist(lambda _: self._json("GET", path))
                steps = job.get("progress")
                if progress is not None and steps and steps.get("of"):
                    progress("compute", steps["done"], steps["of"])
        except BaseException:
            self._forget(path)
            raise
        if job["state"] == "done":
            return RemoteFile(job["result"], job=job["id"])
        problem = job.get("error") or {}
        message = problem.get("detail") or problem.get("title") or f"the job was {job['state']}"
        raise ServiceError(message, status=problem.get("status", 500), hint=problem.get("hint"))


def _lookup(name: str) -> str:
    """The path of a database for look-ups."""
    return f"/v1/lookups/{urllib.parse.quote(name, safe='')}"


def _job(result: RemoteFile) -> str:
    """The path of the job that made a result."""
    if result.job is None:
        raise ValueError("this file is not the result of a job: give what eval returned")
    return f"/v1/jobs/{urllib.parse.quote(result.job, safe='')}"


def _slots(part: dict[str, Any]) -> tuple[int, int]:
    """The first slot and the records of a part of a segment."""
    return part["occupancy"]["start"], part["occupancy"]["records"]


def _deleted(parts: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Segment and slot of deleted records."""
    for segment, of in enumerate(segments_of(parts)):
        for part in of:
            yield from ((segment, slot) for slot in part["occupancy"].get("deleted", ()))


def _umask() -> int:
    """The mask of new files, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


class _opened:
    """A file, or bytes as one, with its length."""

    def __init__(self, place: Place) -> None:
        self.file: BinaryIO = io.BytesIO(place) if isinstance(place, bytes) else open(place, "rb")

    def __enter__(self) -> tuple[BinaryIO, int]:
        length = self.file.seek(0, os.SEEK_END)
        self.file.seek(0)
        return self.file, length

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _frames(file: BinaryIO, length: int) -> Iterator[tuple[int, bytes]]:
    """The kind and the header of every frame."""
    at = 0
    while at < length:
        file.seek(at)
        header = file.read(_FRAME.size)
        if len(header) < _FRAME.size:
            return
        magic, _, kind, _, body = _FRAME.unpack(header)
        if magic != b"HEWF":
            return
        yield kind, header
        at += _FRAME.size + body + _CHECKSUM


def _refuse_secrets(file: BinaryIO, length: int, needed: str) -> str:
    """Refuse a file with a secret key by its frames. Returns what tells its end mark apart."""
    frames = 0
    for kind, _ in _frames(file, length):
        frames += 1
        if kind in _SECRET_KINDS:
            raise ValueError(
                f"{_SECRET_KINDS[kind]}, where {needed} is expected: secrets are never sent; give {needed}"
            )
    if frames == 0:
        file.seek(0)
        sealed = file.read(8).startswith(b"HESEALED")
        found = "a sealed secret key" if sealed else "not a file of he-cli"
        raise ValueError(f"{found}, where {needed} is expected: give {needed}")
    file.seek(max(0, length - 72))
    tail = file.read(72)
    file.seek(0)
    return tail.hex()
