"""Encrypted files of images and tables, in the formats of ``he-cli``, and files under AES.

A file is a path or bytes; what is computed is returned as bytes, or written to ``output`` and then
returned as a path. Nothing here holds a secret but the functions that take a secret key by name:
an `EncryptedFile` can be sent anywhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from he import _he
from he._he import AesKey, Ciphertext, Context, EvaluationKeys, Model, Params

__all__ = [
    "AesKey",
    "EncryptedFile",
    "FileRange",
    "aes_decrypt",
    "aes_encrypt",
    "encrypt",
    "evaluation_keys",
    "keygen",
    "operations",
    "ranges",
]

Place = Union[str, "os.PathLike[str]", bytes]

#: What is told how far work is: the steps that are done, and all.
Progress = Callable[[int, int], object]


def keygen(
    params: Params,
    folder: str | os.PathLike[str],
    *,
    radius: int = 0,
    passphrase: str | None = None,
    device: str = "auto",
    force: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write ``secret.key``, ``public.key`` and ``eval.key`` into a folder.

    Parameters
    ----------
    params : Params
        Parameters of CKKS, BFV or BGV.
    folder : path
        Where to; it is made if it is not there.
    radius : int
        The radius of filters of images that get a key for each of their weights, and are faster.
    passphrase : str, optional
        What seals the secret key.
    device : str
        Where keys are made.
    force : bool
        Whether existing files are replaced.
    progress : callable, optional
        What is told how many evaluation keys of how many are made, ``progress(done, total)``. What
        it raises ends the work.
    """
    _he._file_keygen(params, os.fspath(folder), radius, passphrase, device, force, progress)


def encrypt(
    source: Place | npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | Mapping[str, npt.ArrayLike],
    key: Place,
    *,
    output: str | os.PathLike[str] | None = None,
    halo: int | None = None,
    columns: Sequence[str] = (),
    categories: Sequence[str] = (),
    passphrase: str | None = None,
    allow_cost: bool = False,
    device: str = "auto",
    force: bool = False,
    progress: Progress | None = None,
) -> EncryptedFile:
    """Encrypt an image or a table.

    Parameters
    ----------
    source : path, bytes, numpy.ndarray or mapping
        A PNG, JPEG, BMP, TIFF or WebP image, a CSV table, an array of uint8 or uint16 of shape
        ``(height, width)`` or ``(height, width, channels)``, or the columns of a table by name:
        arrays of one axis, of real numbers or of integers.
    key : path or bytes
        A public or a secret key of `keygen` or of ``he-cli keygen``.
    output : path, optional
        The file to write; without one the result is in memory.
    halo : int, optional
        The pixels by which filters may reach over the edges of tiles: the sum of their radii.
    columns : sequence of str
        The columns of a table, by name or number from 1 on; all if none is named.
    categories : sequence of str
        Columns of words, under BFV and BGV, as in ``"party"`` or ``"colour=red,green"``.
    passphrase : str, optional
        What opens a sealed secret key.
    allow_cost : bool
        Whether it may take more than 256 MiB in 3 passes to open the key, four times the cost of a
        new one, up to 1 GiB in 16 passes: for files whose maker you trust.
    device, force
        As for `keygen`.
    progress : callable, optional
        What is told how far the work is, ``progress(done, total)``. What it raises ends the work.
    """
    to = None if output is None else os.fspath(output)
    made = _he._file_encrypt(
        dict(source) if isinstance(source, Mapping) else source,
        key,
        to,
        halo,
        list(columns),
        list(categories),
        passphrase,
        allow_cost,
        device,
        force,
        progress,
    )
    return EncryptedFile(_kept(made, to))


def operations() -> list[dict[str, Any]]:
    """List the operations of `EncryptedFile.evaluate`: names, files, schemes and parameters."""
    found: list[dict[str, Any]] = json.loads(_he._file_operations())
    return found


def requested(operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """An operation with its parameters, as ``he-cli`` and services exchange it."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if "matrix" in given and not isinstance(given["matrix"], str):
        rows = np.atleast_2d(np.asarray(given["matrix"], float)).tolist()
        given["matrix"] = "; ".join(" ".join(map(repr, row)) for row in rows)
    return {"name": operation, **given}


def encoded(request: Any) -> str:
    """A request as JSON, in which scalars of NumPy are numbers, too."""
    return json.dumps(request, allow_nan=False, default=lambda scalar: scalar.item())


def _kept(made: bytes | None, output: str | None) -> Place:
    if made is not None:
        return made
    assert output is not None
    return output


class EncryptedFile:
    """An encrypted image or table, in memory or on disk.

    Operations take an evaluation key and return another encrypted file. It is pickled as its bytes
    or its path.
    """

    def __init__(self, source: Place) -> None:
        self.source: Place = source if isinstance(source, bytes) else os.fspath(source)
        self._info: dict[str, Any] = json.loads(_he._file_info(self.source))

    @property
    def info(self) -> dict[str, Any]:
        """What the file says of itself: scheme, kind, content and history."""
        return self._info

    @property
    def scheme(self) -> str:
        """``ckks``, ``bfv``, ``bgv`` or ``bigckks``."""
        return str(self._info["scheme"])

    @property
    def kind(self) -> str:
        """``image`` or ``table``."""
        return str(self._info["kind"])

    @property
    def history(self) -> list[str]:
        """The operations that led here."""
        return list(self._info["history"])

    def to_bytes(self) -> bytes:
        """Return the file as bytes."""
        if isinstance(self.source, bytes):
            return self.source
        with open(self.source, "rb") as file:
            return file.read()

    def __reduce__(self) -> tuple[type[EncryptedFile], tuple[Place]]:
        return EncryptedFile, (self.source,)

    def __repr__(self) -> str:
        return f"<he.EncryptedFile: {self.kind} of {self._info['shape']}, {self.scheme}>"

    def evaluate(
        self,
        operation: str,
        key: Place,
        other: EncryptedFile | None = None,
        *,
        otherwise: EncryptedFile | None = None,
        bootstrap_key: Place | None = None,
        output: str | os.PathLike[str] | None = None,
        record: str | os.PathLike[str] | None = None,
        device: str = "auto",
        force: bool = False,
        progress: Progress | None = None,
        **parameters: Any,
    ) -> EncryptedFile:
        """Compute an operation of ``he-cli eval``, by name.

        Ctrl-C ends it between the batches of the file.

        Parameters
        ----------
        operation : str
            `operations` lists them with their parameters.

            - Images: ``blur`` (`radius`, `sigma`), ``sharpen``, ``edges``, ``kernel`` (`matrix`),
              ``brightness`` and ``contrast`` (`by`), ``invert``, ``grayscale``, and ``blend``
              (`alpha`) with `other`.
            - Tables: ``sum``, ``mean``, ``variance``, ``covariance``, ``regression`` (`target`),
              ``dot`` (two `columns`, or `other`), and ``count`` under BFV and BGV.
            - Both: ``add``, ``sub`` and ``mul`` with `other`, and ``refresh`` under CKKS, BFV and
              BGV.
            - Integers of TFHE: ``add``, ``sub``, ``mul``, ``lt``, ``le``, ``gt``, ``ge``, ``eq``,
              ``ne``, ``min`` and ``max`` with `other`, ``select`` with `other` where conditions hold
              and `otherwise` elsewhere, ``sort``, ``sum``, and ``lookup`` (`entries`, strings of
              decimal digits, and `width`).
            - Integers in digits under CKKS, which ``he-cli encrypt --width`` makes: these but
              ``sum``, comparisons, ``min``, ``max``, ``and``, ``or`` and ``xor`` also with a plain
              `number`, a string of decimal digits; ``not``, ``neg`` and ``abs``; ``div`` and
              ``rem`` (`by`); ``shl``, ``shr``, ``rotl`` and ``rotr`` (`by`); ``top`` (`count`).
        key : path or bytes
            The evaluation key; for ``refresh`` the bootstrapping key.
        bootstrap_key : path or bytes, optional
            The bootstrapping key, for integers in digits.
        other, otherwise : EncryptedFile, optional
            The second operand, and the third.
        output : path, optional
            The file to write; without one the result is in memory.
        record : path, optional
            The file of the trace, which ``he-cli audit`` checks: a commitment to each operation.
        device, force
            As for `keygen`.
        progress : callable, optional
            As for `encrypt`.
        parameters
            Those of the operation. Statistics, sums and products also take `levels`: ``"keep"`` or
            ``"drop"`` those that the result does not need, where ``"auto"`` drops them after
            statistics alone.
        """
        request = encoded(requested(operation, parameters))
        to = None if output is None else os.fspath(output)
        others = [file.source for file in (other, otherwise) if file is not None]
        trace = None if record is None else os.fspath(record)
        made = _he._file_evaluate(
            request, self.source, key, bootstrap_key, others, to, trace, device, force, progress
        )
        return EncryptedFile(_kept(made, to))

    def infer(
        self,
        model: Place | Model,
        key: Place,
        *,
        bootstrap_key: Place | None = None,
        output: str | os.PathLike[str] | None = None,
        record: str | os.PathLike[str] | None = None,
        keep: str | os.PathLike[str] | None = None,
        device: str = "auto",
        force: bool = False,
        progress: Progress | None = None,
    ) -> EncryptedFile:
        """Compute the encrypted outputs of a model, as ``he-cli infer`` does.

        Ctrl-C ends it between steps.

        Parameters
        ----------
        model : Model, path or bytes
            The compiled model for which ``he-cli encrypt --model`` has encrypted these examples.
        key : path or bytes
            The evaluation key of the model.
        bootstrap_key : path or bytes, optional
            The bootstrapping key, of models that refresh.
        output : path, optional
            The file to write; without one the result is in memory.
        record : path, optional
            The file of the trace, which ``he-cli audit`` checks: a commitment to each step.
        keep : path, optional
            The folder to keep all values between the steps in, so that an audit computes single
            steps.
        device, force
            As for `keygen`.
        progress : callable, optional
            As for `encrypt`.
        """
        to = None if output is None else os.fspath(output)
        trace = None if record is None else os.fspath(record)
        folder = None if keep is None else os.fspath(keep)
        plan = model.to_bytes() if isinstance(model, Model) else model
        made = _he._file_infer(
            plan, self.source, key, bootstrap_key, to, trace, folder, device, force, progress
        )
        return EncryptedFile(_kept(made, to))

    def blur(
        self, key: Place, radius: int | None = None, *, sigma: float | None = None, **to: Any
    ) -> EncryptedFile:
        """Blur an image: the mean over a square, or a Gaussian of `sigma`."""
        return self.evaluate("blur", key, radius=radius, sigma=sigma, **to)

    def sharpen(self, key: Place, **to: Any) -> EncryptedFile:
        """Sharpen an image."""
        return self.evaluate("sharpen", key, **to)

    def edges(self, key: Place, **to: Any) -> EncryptedFile:
        """Find the edges of an image."""
        return self.evaluate("edges", key, **to)

    def kernel(self, key: Place, matrix: npt.ArrayLike, **to: Any) -> EncryptedFile:
        """Filter an image by a matrix of odd size."""
        return self.evaluate("kernel", key, matrix=matrix, **to)

    def brightness(self, key: Place, by: float, **to: Any) -> EncryptedFile:
        """Add a number to all samples; white is 1."""
        return self.evaluate("brightness", key, by=by, **to)

    def contrast(self, key: Place, by: float, **to: Any) -> EncryptedFile:
        """Multiply the distance of all samples from gray."""
        return self.evaluate("contrast", key, by=by, **to)

    def invert(self, key: Place, **to: Any) -> EncryptedFile:
        """Exchange black and white."""
        return self.evaluate("invert", key, **to)

    def grayscale(self, key: Place, **to: Any) -> EncryptedFile:
        """Reduce an image to its luminance."""
        return self.evaluate("grayscale", key, **to)

    def blend(
        self, key: Place, other: EncryptedFile, alpha: float = 0.5, **to: Any
    ) -> EncryptedFile:
        """Mix two images: (1 - alpha) of this one and alpha of the other."""
        return self.evaluate("blend", key, other, alpha=alpha, **to)

    def add(self, key: Place, other: EncryptedFile, **to: Any) -> EncryptedFile:
        """Add two files, number by number."""
        return self.evaluate("add", key, other, **to)

    def sub(self, key: Place, other: EncryptedFile, **to: Any) -> EncryptedFile:
        """Subtract another file, number by number."""
        return self.evaluate("sub", key, other, **to)

    def mul(self, key: Place, other: EncryptedFile, **to: Any) -> EncryptedFile:
        """Multiply two files, number by number."""
        return self.evaluate("mul", key, other, **to)

    def sum(self, key: Place, **to: Any) -> EncryptedFile:
        """Add up each column of a table."""
        return self.evaluate("sum", key, **to)

    def mean(self, key: Place, **to: Any) -> EncryptedFile:
        """Compute the mean of each column of a table."""
        return self.evaluate("mean", key, **to)

    def variance(self, key: Place, **to: Any) -> EncryptedFile:
        """Compute the variance of each column of a table."""
        return self.evaluate("variance", key, **to)

    def covariance(self, key: Place, **to: Any) -> EncryptedFile:
        """Compute the covariance of each pair of columns of a table."""
        return self.evaluate("covariance", key, **to)

    def regression(self, key: Place, *, target: str | None = None, **to: Any) -> EncryptedFile:
        """Fit a column by all others, by default the last one.

        The result holds means and covariances, encrypted, from which `decrypt` computes the
        coefficients and the intercept.
        """
        return self.evaluate("regression", key, target=target, **to)

    def count(self, key: Place, **to: Any) -> EncryptedFile:
        """Count the categories of each column of words."""
        return self.evaluate("count", key, **to)

    def dot(
        self,
        key: Place,
        other: EncryptedFile | None = None,
        *,
        columns: tuple[str, str] | None = None,
        **to: Any,
    ) -> EncryptedFile:
        """Compute inner products: of two columns, or with the columns of another table."""
        two = None if columns is None else list(columns)
        return self.evaluate("dot", key, other, columns=two, **to)

    def decrypt(
        self,
        key: Place,
        *,
        passphrase: str | None = None,
        allow_cost: bool = False,
        view: str = "light",
        output: str | os.PathLike[str] | None = None,
        device: str = "auto",
        force: bool = False,
        progress: Progress | None = None,
    ) -> Any:
        """Decrypt: an image into an array, a table into a dict of its columns.

        Parameters
        ----------
        key : path or bytes
            The secret key.
        passphrase : str, optional
            What opens it.
        allow_cost : bool
            As for `encrypt`.
        view : {"light", "raw", "scaled"}
            What black and white are, as in ``he-cli decrypt``.
        output : path, optional
            A file to write instead, which its owner alone may read.
        device, force
            As for `keygen`.
        progress : callable, optional
            As for `encrypt`.
        """
        to = None if output is None else os.fspath(output)
        return _he._file_decrypt(
            self.source, key, passphrase, allow_cost, view, to, device, force, progress
        )


@dataclass(frozen=True)
class FileRange:
    """Some ciphertexts of an encrypted file: what travels to a worker in place of them.

    Attributes
    ----------
    path : str
        The file, which the worker must be able to read.
    first : int
        The number of the first ciphertext in the file.
    places : tuple
        First byte, length and checksum of each ciphertext.
    key_set : str, optional
        The key set of the file.
    """

    path: str
    first: int
    places: tuple[tuple[int, int, bytes], ...]
    key_set: str | None = None

    def __len__(self) -> int:
        return len(self.places)

    def read(self, context: Context) -> list[Ciphertext]:
        """Read the ciphertexts, each a batch of vectors with all their slots.

        Parameters
        ----------
        context : Context
            A context of the file's parameters.

        Raises
        ------
        FormatError
            If the file changed since `ranges`.
        ParameterError
            If the context has other parameters.
        """
        return _he._file_ciphertexts(context, self.path, list(self.places), self.key_set)


def ranges(file: EncryptedFile | str | os.PathLike[str], size: int = 1) -> list[FileRange]:
    """Divide the ciphertexts of a file on disk into ranges, without reading them.

    That the file is whole is checked here, by its end mark, and each ciphertext where it is read.

    Parameters
    ----------
    file : EncryptedFile or path
        An image or a table under CKKS, BFV or BGV.
    size : int
        The ciphertexts of a range; the last one may have fewer.

    Examples
    --------
    >>> with ray.Pool(params, files.evaluation_keys("eval.key", context)) as pool:
    ...     sums = pool.map(lambda cts: sum(cts[1:], cts[0]), files.ranges("table.he", 8))
    """
    source = file.source if isinstance(file, EncryptedFile) else os.fspath(file)
    if isinstance(source, bytes):
        raise TypeError("an encrypted file in memory has no ranges; write it to a path first")
    if size < 1:
        raise ValueError(f"size is {size}, where at least 1 is expected")
    path = os.path.abspath(source)
    key_set, places = _he._file_places(path)
    return [
        FileRange(path, first, tuple(places[first : first + size]), key_set)
        for first in range(0, len(places), size)
    ]


def evaluation_keys(source: Place, context: Context) -> EvaluationKeys:
    """Read the evaluation keys of a key file, such as `keygen` and ``he-cli keygen`` write.

    Parameters
    ----------
    source : path or bytes
        The file.
    context : Context
        A context of the file's parameters.
    """
    return _he._file_evaluation_keys(context, source)


def aes_encrypt(
    source: Place,
    *,
    key: AesKey | None = None,
    passphrase: str | None = None,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> bytes | None:
    """Encrypt a file, a folder or bytes under AES-256-GCM.

    Parameters
    ----------
    source : path or bytes
        What is encrypted; a folder becomes an archive.
    key : AesKey, optional
        The key.
    passphrase : str, optional
        A passphrase, in place of a key.
    output : path, optional
        The file to write; without one the result is returned.
    force : bool
        Whether an existing file is replaced.
    """
    to = None if output is None else os.fspath(output)
    return _he._aes_encrypt(source, key, passphrase, to, force)


def aes_decrypt(
    source: Place,
    *,
    key: AesKey | None = None,
    passphrase: str | None = None,
    allow_cost: bool = False,
    output: str | os.PathLike[str] | None = None,
    range: tuple[int, int | None] | None = None,
    force: bool = False,
) -> bytes | None:
    """Decrypt what `aes_encrypt` or ``he-cli encrypt`` made.

    A file that was cut off, extended or changed in a single bit is refused, and nothing is written.

    Parameters
    ----------
    source : path or bytes
        The encrypted file.
    key, passphrase, output, force
        As for `aes_encrypt`; the output of an encrypted folder is a folder.
    allow_cost : bool
        As for `encrypt`.
    range : (int, int or None), optional
        The bytes to decrypt, from a first one to before a last one.
    """
    to = None if output is None else os.fspath(output)
    if isinstance(source, bytes) and range is not None and to is None:
        whole = _he._aes_decrypt(source, key, passphrase, allow_cost, None, None, force)
        assert whole is not None
        return whole[range[0] : range[1]]
    return _he._aes_decrypt(source, key, passphrase, allow_cost, to, range, force)
