"""Parquet files with encrypted columns beside clear ones.

A cell of an encrypted column is one ciphertext (a vector, or a batch of them) in the wire format.
The column is an Arrow extension type over large_binary, ``he.ciphertext``, whose metadata name the
scheme, the parameters and the key set: readers without this package see bytes, and this package
refuses columns of other parameters or other keys by name. Row groups are the batches: files are
written and read one group after the other, in memory for one of them.

Examples
--------
>>> from he import parquet
>>> parquet.write("sales.parquet", {"region": ["north", "south"]}, encrypted={"price": [a, b]})
>>> table = parquet.read("sales.parquet", ["region", "price"], context=context)
>>> total = table["price"][0] + table["price"][1]
"""

from __future__ import annotations

import glob
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any, Union

from he import _he
from he._he import (
    Ciphertext,
    Context,
    EncryptedBool,
    EncryptedInt,
    EncryptedUint,
    EvaluationKeys,
    FormatError,
    Keys,
    KeySetError,
    ParameterError,
    PublicKey,
    SecretKey,
)

try:
    import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]
except ImportError:
    raise ImportError(
        "he.parquet needs pyarrow, which is not installed; run: pip install 'he-toolkit[parquet]'"
    ) from None

__all__ = ["CiphertextType", "RowGroup", "Table", "Writer", "iterate", "read", "row_groups", "write"]

Cell = Union[Ciphertext, EncryptedUint, EncryptedInt, EncryptedBool]
Path = Union[str, "os.PathLike[str]"]
Layout = tuple[Union[int, None], int, bool, Union[float, None]]
#: Clear columns as arrays of Arrow, and encrypted ones as lists of ciphertexts; NULL is None.
Table = dict[str, Any]

_KINDS: dict[type[Any], str] = {
    Ciphertext: "ciphertext",
    EncryptedUint: "uint",
    EncryptedInt: "int",
    EncryptedBool: "bool",
}
_VERSION = 1
#: The metadata of a column are a few hundred bytes; more are not read.
_MOST_METADATA = 1 << 16
ROW_GROUP = 64


class CiphertextType(pa.ExtensionType):  # type: ignore[misc, unused-ignore]
    """The Arrow type of a column of ciphertexts.

    Parameters
    ----------
    kind : {"ciphertext", "uint", "int", "bool"}
        Whether cells are a `Ciphertext`, `EncryptedUint`, `EncryptedInt` or `EncryptedBool`.
    scheme : str
        ``ckks``, ``bfv``, ``bgv`` or ``tfhe``.
    params : str
        The fingerprint of the parameters.
    key_set : str, optional
        The identity of the key set, if it is known.
    layout : tuple, optional
        How values lie in the slots of a cell, which is the same for all cells of the column.
    """

    NAME = "he.ciphertext"

    def __init__(
        self,
        kind: str,
        scheme: str,
        params: str,
        key_set: str | None = None,
        layout: Layout | None = None,
    ) -> None:
        self.kind, self.scheme, self.params = kind, scheme, params
        self.key_set, self.layout = key_set, layout
        super().__init__(pa.large_binary(), self.NAME)

    @classmethod
    def of(cls, cell: Cell) -> CiphertextType:
        """The type of a column of cells like this one."""
        params = cell.context.params
        layout = cell._layout if isinstance(cell, Ciphertext) else None
        return cls(_KINDS[type(cell)], params.scheme, params.fingerprint, cell.key_set, layout)

    def __arrow_ext_serialize__(self) -> bytes:
        fields = {
            "version": _VERSION,
            "kind": self.kind,
            "scheme": self.scheme,
            "params": self.params,
            "key_set": self.key_set,
            "layout": self.layout,
        }
        return json.dumps(fields).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> CiphertextType:
        return cls._parsed(storage, serialized)

    @classmethod
    def _parsed(cls, storage: Any, serialized: bytes) -> CiphertextType:
        """The type that metadata describe.

        Raises
        ------
        FormatError
            If they do not describe any.
        """
        wrong = FormatError("a column of ciphertexts with damaged metadata; write the file again")
        if len(serialized) > _MOST_METADATA or storage not in (pa.large_binary(), pa.binary()):
            raise wrong
        try:
            fields = json.loads(serialized)
            version, kind, layout = fields["version"], fields["kind"], fields["layout"]
            scheme, params, key_set = fields["scheme"], fields["params"], fields["key_set"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise wrong from None
        if version != _VERSION:
            raise FormatError(
                f"a column of ciphertexts of version {version!r}, where {_VERSION} is expected; "
                "update this package"
            )
        texts = isinstance(scheme, str) and isinstance(params, str)
        if not texts or kind not in _KINDS.values() or not isinstance(key_set, (str, type(None))):
            raise wrong
        if (kind == "ciphertext") != (layout is not None):
            raise wrong
        return cls(kind, scheme, params, key_set, None if layout is None else _layout(layout, wrong))

    def check(self, context: Context, key_set: str | None, column: str) -> None:
        """Refuse a column that a context cannot compute with.

        Raises
        ------
        ParameterError
            If it is of other parameters.
        KeySetError
            If it is of another key set than the one that is expected.
        """
        found = context.params
        if (self.scheme, self.params) != (found.scheme, found.fingerprint):
            raise ParameterError(
                f"column {column!r} is of {self.scheme} parameters {self.params[:8]}, where "
                f"{found.scheme} parameters {found.fingerprint[:8]} are expected; read it in a context "
                "of the parameters that it was encrypted under"
            )
        if self.key_set is not None and key_set is not None and self.key_set != key_set:
            raise KeySetError(
                f"column {column!r} is of the key set {self.key_set}, where {key_set} is expected; use "
                "the keys that belong to the one that encrypted it"
            )

    def decode(self, context: Context, data: Any, *, verified: bool = False) -> Cell:
        """Make a cell of its bytes, which are checked unless they are known to be intact."""
        if self.kind == "uint":
            return EncryptedUint.from_bytes(context, data)
        if self.kind == "int":
            return EncryptedInt.from_bytes(context, data)
        if self.kind == "bool":
            return EncryptedBool.from_bytes(context, data)
        assert self.layout is not None
        return _he._decode(context, data, self.layout, verified)


def _layout(found: Any, wrong: FormatError) -> Layout:
    """A layout of JSON."""
    if not isinstance(found, list) or len(found) != 4:
        raise wrong
    entries, size, splat, padding = found
    counts = [size] if entries is None else [entries, size]
    if not all(type(count) is int and 0 < count < 1 << 48 for count in counts):
        raise wrong
    if type(splat) is not bool or not isinstance(padding, (int, float, type(None))):
        raise wrong
    return entries, size, splat, None if padding is None else float(padding)


# Whoever reads such a file with pyarrow sees this type, not its storage. A second registration, by a
# module that is loaded again, changes nothing.
try:
    pa.register_extension_type(CiphertextType("uint", "", ""))
except pa.ArrowKeyError:
    pass


class Writer:
    """A Parquet file that is written one row group after the other.

    The first group decides the columns and their types. The file appears under its name when the
    writer is closed; if anything fails, there is none.

    Parameters
    ----------
    path : path
        The file, which is replaced if it is there.
    compression : str
        The compression of clear columns. Ciphertexts look random, and are stored as they are.
    """

    def __init__(self, path: Path, *, compression: str = "zstd") -> None:
        self.path = os.fspath(path)
        self._compression = compression
        self._schema: Any = None
        self._types: dict[str, CiphertextType] = {}
        self._rows = 0
        folder = os.path.dirname(self.path) or "."
        handle, self._partial = tempfile.mkstemp(prefix=".he-", suffix=".parquet", dir=folder)
        self._file: Any = os.fdopen(handle, "wb")
        self._out: Any = None

    def write(
        self, clear: Mapping[str, Any], encrypted: Mapping[str, Sequence[Cell | None]] = {}
    ) -> None:
        """Write one row group.

        Parameters
        ----------
        clear : mapping of str to array_like
            The clear columns: lists, arrays of NumPy or of Arrow.
        encrypted : mapping of str to sequence of encrypted objects or None
            The encrypted columns; None is NULL.

        Raises
        ------
        ParameterError, KeySetError
            If the ciphertexts of a column are of several parameters or key sets.
        ValueError
            If columns have different lengths, or ciphertexts of one column different shapes.
        """
        names = [*clear, *encrypted]
        if twice := sorted(set(clear) & set(encrypted)):
            raise ValueError(f"column {twice[0]!r} is given both clear and encrypted")
        if self._schema is not None and names != self._schema.names:
            raise ValueError(f"columns {names}, where {self._schema.names} are expected")
        arrays = {name: pa.array(values) for name, values in clear.items()}
        for name, cells in encrypted.items():
            arrays[name] = self._encoded(name, cells)
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of different lengths: {lengths}")
        if self._schema is None:
            self._schema = pa.schema([pa.field(name, array.type) for name, array in arrays.items()])
        batch = pa.table(
            [_cast(arrays[field.name], field) for field in self._schema], schema=self._schema
        )
        if self._out is None:
            clear_names = [field.name for field in self._schema if field.name not in self._types]
            self._out = pq.ParquetWriter(
                self._file,
                self._schema,
                compression={
                    field.name: "none" if field.name in self._types else self._compression
                    for field in self._schema
                },
                use_dictionary=clear_names,
                write_statistics=clear_names,
                store_schema=True,
            )
        self._out.write_table(batch, row_group_size=max(1, batch.num_rows))
        self._rows += batch.num_rows

    def _encoded(self, name: str, cells: Sequence[Cell | None]) -> Any:
        """A column of ciphertexts as an array of Arrow."""
        data: list[bytes | None] = []
        for index, cell in enumerate(cells):
            if cell is None:
                data.append(None)
                continue
            where = f"column {name!r}, row {self._rows + index}"
            if type(cell) not in _KINDS:
                raise TypeError(f"{where}: {type(cell).__name__}, where a ciphertext is expected")
            found = CiphertextType.of(cell)
            expected = self._types.setdefault(name, found)
            expected.check(cell.context, found.key_set, name)
            if (found.kind, found.layout) != (expected.kind, expected.layout):
                a = getattr(cell, "shape", found.kind)
                raise ValueError(
                    f"{where}: a ciphertext of shape {a} among those of another shape or kind; "
                    "ciphertexts of one column are alike"
                )
            data.append(cell.to_bytes(layout=False) if isinstance(cell, Ciphertext) else cell.to_bytes())
        if name not in self._types:
            raise ValueError(
                f"column {name!r} is all NULL in the first row group, which decides its parameters; "
                "begin with a group that has a ciphertext"
            )
        storage = pa.array(data, pa.large_binary())
        return pa.ExtensionArray.from_storage(self._types[name], storage)

    def close(self) -> None:
        """Complete the file, and give it its name."""
        if self._file is None:
            return
        if self._out is None:
            self.discard()
            raise ValueError(f"{self.path}: no row group was written")
        self._out.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(self._partial, 0o666 & ~mask)
        os.replace(self._partial, self.path)

    def discard(self) -> None:
        """Forget what was written."""
        if self._file is None:
            return
        if self._out is not None:
            self._out.close()
        self._file.close()
        self._file = None
        os.unlink(self._partial)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _cast(array: Any, field: Any) -> Any:
    """A clear array of a later group in the type of the first."""
    if array.type == field.type:
        return array
    try:
        return array.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"column {field.name!r} is of type {array.type}, where {field.type} is expected: {error}"
        ) from None


def write(
    path: Path,
    clear: Mapping[str, Any],
    encrypted: Mapping[str, Iterable[Cell | None]] = {},
    *,
    row_group_size: int = ROW_GROUP,
    compression: str = "zstd",
) -> None:
    """Write a table with clear and encrypted columns.

    Parameters
    ----------
    path : path
        The file, which is replaced if it is there.
    clear : mapping of str to array_like
        The clear columns.
    encrypted : mapping of str to iterable of encrypted objects or None
        The encrypted columns. Iterators are consumed one row group after the other, so that no more
        than one group is in memory.
    row_group_size : int
        The rows of a group, which readers and workers take at once.
    compression : str
        The compression of clear columns.

    Raises
    ------
    ParameterError, KeySetError, ValueError
        As for `Writer.write`.
    """
    if row_group_size < 1:
        raise ValueError(f"row_group_size is {row_group_size}, where at least 1 is expected")
    columns = {name: pa.array(values) for name, values in clear.items()}
    rows = {name: len(array) for name, array in columns.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"columns of different lengths: {rows}")
    sources = {name: iter(cells) for name, cells in encrypted.items()}
    with Writer(path, compression=compression) as writer:
        start = 0
        while True:
            parts = {name: array[start : start + row_group_size] for name, array in columns.items()}
            cells = {name: list(islice(source, row_group_size)) for name, source in sources.items()}
            lengths = {name: len(part) for name, part in [*parts.items(), *cells.items()]}
            if not any(lengths.values()) and start:
                return
            if len(set(lengths.values())) > 1:
                found = {name: start + length for name, length in lengths.items()}
                raise ValueError(f"columns of different lengths: {found}")
            writer.write(parts, cells)
            start += row_group_size


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file: what travels to a worker in place of its rows.

    Attributes
    ----------
    path : str
        The file, which the worker must be able to read.
    index : int
        The number of the group.
    columns : tuple of str, optional
        The columns that are read; all by default.
    rows : int
        The rows of the group.
    """

    path: str
    index: int
    columns: tuple[str, ...] | None = None
    rows: int = 0

    def read(self, context: Context | None = None, *, keys: Any = None) -> Table:
        """Read the group, as `read` does."""
        with _opened(self.path) as file:
            if not 0 <= self.index < file.num_row_groups:
                raise FormatError(
                    f"{self.path}: no row group {self.index}; the file has {file.num_row_groups}"
                )
            return _group(self.path, file, self.index, self.columns, context, _key_set(context, keys))


def _empty(path: str, file: Any, columns: Sequence[str] | None) -> Table:
    """The table of a file without row groups."""
    schema = file.schema_arrow
    fields = [schema.field(name) for name in _chosen(path, schema, columns)]
    encrypted = {field.name for field in fields if isinstance(field.type, CiphertextType)}
    return {field.name: [] if field.name in encrypted else pa.array([], field.type) for field in fields}


def _chosen(path: str, schema: Any, columns: Sequence[str] | None) -> list[str]:
    """The columns that are asked for."""
    names = list(schema.names) if columns is None else list(columns)
    if unknown := [name for name in names if name not in schema.names]:
        raise KeyError(f"{path}: no column {unknown[0]!r}; there are {schema.names}")
    return names


def _key_set(context: Context | None, keys: Any) -> str | None:
    """The identity of the keys that columns have to belong to, if it is known."""
    if keys is None:
        evaluation = None if context is None else context.evaluation_keys
        return None if evaluation is None else evaluation.key_set
    if isinstance(keys, str):
        return keys
    if isinstance(keys, Keys):
        return keys.secret.key_set
    if isinstance(keys, (SecretKey, PublicKey, EvaluationKeys)):
        return keys.key_set
    raise TypeError(f"keys: {type(keys).__name__}, where keys or the identity of a key set are expected")


class _opened:
    """A Parquet file, whose errors are those of this package."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)

    def __enter__(self) -> Any:
        try:
            # Bytes of cells are never memory-mapped: a file that shrinks would end the process.
            self._file = pq.ParquetFile(self.path, memory_map=False)
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FormatError(f"{self.path}: no Parquet file that can be read: {error}") from None
        return self._file

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _group(
    path: str,
    file: Any,
    index: int,
    columns: Sequence[str] | None,
    context: Context | None,
    key_set: str | None,
) -> Table:
    schema = file.schema_arrow
    names = _chosen(path, schema, columns)
    types: dict[str, CiphertextType] = {}
    for name in names:
        if isinstance(kind := schema.field(name).type, CiphertextType):
            if context is None:
                raise TypeError(
                    f"column {name!r} is encrypted: give the context of its parameters, "
                    f"{kind.scheme} {kind.params[:8]}"
                )
            kind.check(context, key_set, name)
            types[name] = kind
    try:
        found = file.read_row_group(index, columns=names)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path}, row group {index}: {error}") from None
    table: Table = {}
    for name in names:
        array = found.column(name).combine_chunks()
        # Chunks that were combined are an array, or one chunk.
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
        table[name] = array
        if name in types:
            assert context is not None
            table[name] = _cells(array.storage, types[name], context, f"{path}, column {name!r}")
    return table


def _cells(storage: Any, kind: CiphertextType, context: Context, where: str) -> list[Cell | None]:
    """The ciphertexts of a column, each of which is verified."""
    cells: list[Cell | None] = []
    for row, data in enumerate(storage):
        if not data.is_valid:
            cells.append(None)
            continue
        try:
            cell = kind.decode(context, memoryview(data.as_buffer()))
        except (_he.Error, ValueError, TypeError) as error:
            text = f"{where}, row {row} of the group: {error}"
            raise (type(error) if isinstance(error, _he.Error) else FormatError)(text) from None
        if kind.key_set is not None and cell.key_set != kind.key_set:
            raise KeySetError(
                f"{where}, row {row} of the group: a ciphertext of the key set {cell.key_set}, "
                f"where {kind.key_set} is expected"
            )
        cells.append(cell)
    return cells


def iterate(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    context: Context | None = None,
    keys: Keys | SecretKey | PublicKey | EvaluationKeys | str | None = None,
) -> Iterator[Table]:
    """Read a file one row group after the other, as `read` does; one of them is in memory."""
    key_set = _key_set(context, keys)
    with _opened(path) as file:
        for index in range(file.num_row_groups):
            yield _group(os.fspath(path), file, index, columns, context, key_set)


def read(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    context: Context | None = None,
    keys: Keys | SecretKey | PublicKey | EvaluationKeys | str | None = None,
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : path
        The file.
    columns : sequence of str, optional
        The columns; all by default.
    context : Context, optional
        What ciphertexts belong to; it is needed for encrypted columns alone.
    keys : Keys, SecretKey, PublicKey, EvaluationKeys or str, optional
        The keys that encrypted columns have to belong to, or the identity of their key set; by
        default the evaluation keys of the context, if it has any.

    Returns
    -------
    dict of str to pyarrow.Array or list of encrypted objects or None
        The columns, in the order that was asked for.

    Raises
    ------
    ParameterError, KeySetError
        If a column is of other parameters or of another key set.
    FormatError
        If the file or a ciphertext is damaged.
    KeyError
        If a column does not exist.
    """
    with _opened(path) as file:
        if file.num_row_groups == 0:
            return _empty(os.fspath(path), file, columns)
    whole: Table = {}
    for part in iterate(path, columns, context=context, keys=keys):
        for name, values in part.items():
            whole.setdefault(name, []).append(values)
    return {
        name: sum(parts, []) if isinstance(parts[0], list) else pa.concat_arrays(parts)
        for name, parts in whole.items()
    }


def row_groups(
    source: Path | Iterable[Path], columns: Sequence[str] | None = None
) -> list[RowGroup]:
    """List the row groups of files, for the workers of `he.ray`.

    Parameters
    ----------
    source : path or iterable of paths
        A file, a folder of ``*.parquet``, a pattern such as ``"sales-*.parquet"``, or several files.
    columns : sequence of str, optional
        The columns that workers read; all by default.
    """
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if os.path.isdir(name):
            paths = sorted(glob.glob(os.path.join(glob.escape(name), "*.parquet")))
        else:
            paths = [name] if os.path.exists(name) else sorted(glob.glob(name))
        if not paths:
            raise FileNotFoundError(f"{name}: no Parquet file is there")
    else:
        paths = [os.fspath(path) for path in source]
    chosen = None if columns is None else tuple(columns)
    groups = []
    for path in paths:
        with _opened(path) as file:
            _chosen(path, file.schema_arrow, chosen)
            count = file.num_row_groups
            groups += [
                RowGroup(os.path.abspath(path), index, chosen, file.metadata.row_group(index).num_rows)
                for index in range(count)
            ]
    return groups
