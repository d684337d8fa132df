"""Where rows come from: arrays, files of NumPy, Zarr and Parquet, tables, iterators. Each is read block by block.

A source is opened where it is read: it pickles as what it was opened by. Its state says what it was, so that a run that
goes on later, and the end of a run, can see that it has changed.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.rows.tables import arrays_of_table

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.rows.blocks import Column


class Source(ABC):
    """Rows by number."""

    rows: int

    @abstractmethod
    def read(self, first: int, last: int) -> "list[Array]":
        """One array for each input: the rows from `first` to before `last`.

        Raises:
            FuseError: They cannot be read.
        """

    @abstractmethod
    def state(self) -> list[Any]:
        """What the source is now, as JSON can say it: it differs when rows are added."""


class ArraySource(Source):
    """Arrays in memory, or what slices like them: `numpy.memmap`, arrays of Zarr."""

    def __init__(self, arrays: Sequence[Any]):
        self._arrays = list(arrays)
        self.rows = int(arrays[0].shape[0])

    def read(self, first: int, last: int) -> "list[Array]":
        """See `Source.read`."""
        return [np.asarray(array[first:last]) for array in self._arrays]

    def state(self) -> list[Any]:
        """See `Source.state`; elements are not looked at."""
        return [[list(array.shape), str(array.dtype)] for array in self._arrays]


class NpySource(Source):
    """A file of `numpy.save`, which is mapped."""

    def __init__(self, path: str):
        self._path = os.path.abspath(path)
        self._array: Any = None
        self.rows = len(self._opened())

    def __reduce__(self) -> tuple[Any, ...]:
        return NpySource, (self._path,)

    def _opened(self) -> "Array":
        if self._array is None:
            try:
                self._array = np.load(self._path, mmap_mode="r", allow_pickle=False)
            except (OSError, ValueError) as error:
                raise unreadable(self._path, error) from error
            if self._array.ndim == 0:
                raise FuseError("cannot read the rows: the array has none", SourceLocation(self._path))
        return self._array

    def read(self, first: int, last: int) -> "list[Array]":
        """See `Source.read`."""
        array = self._opened()
        size = os.stat(self._path).st_size
        if size < array.nbytes:
            raise FuseError("the file has become shorter while it was read", SourceLocation(self._path))
        return [np.asarray(array[first:last])]

    def state(self) -> list[Any]:
        """See `Source.state`."""
        status = os.stat(self._path)
        return [self._path, status.st_size, status.st_mtime_ns]


class ZarrSource(Source):
    """An array of Zarr, or a group with one for each input."""

    def __init__(self, path: str, names: Sequence[str]):
        self._path, self._names = path, tuple(names)
        self._opened: list[Any] | None = None
        self.rows = int(self._arrays[0].shape[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return ZarrSource, (self._path, self._names)

    @property
    def _arrays(self) -> list[Any]:
        if self._opened is None:
            zarr = package_of_extra("zarr", "cluster")
            try:
                found = zarr.open(self._path, mode="r")
            except Exception as error:  # zarr raises its own and those of its stores
                raise unreadable(self._path, error) from error
            if hasattr(found, "shape"):
                self._opened = [found]
            else:
                missing = next((name for name in self._names if name not in found), None)
                if missing is not None:
                    raise FuseError(f"cannot read the rows: there is no array '{missing}'", SourceLocation(self._path))
                self._opened = [found[name] for name in self._names]
            if not all(array.shape for array in self._opened):
                raise FuseError("cannot read the rows: an array has none", SourceLocation(self._path))
        return self._opened

    def read(self, first: int, last: int) -> "list[Array]":
        """See `Source.read`."""
        try:
            return [np.asarray(array[first:last]) for array in self._arrays]
        except Exception as error:
            raise unreadable(self._path, error) from error

    def state(self) -> list[Any]:
        """See `Source.state`."""
        zarr = package_of_extra("zarr", "cluster")
        found = zarr.open(self._path, mode="r")
        arrays = [found] if hasattr(found, "shape") else [found[name] for name in self._names]
        return [os.path.abspath(self._path), *([list(array.shape), str(array.dtype)] for array in arrays)]


class ParquetSource(Source):
    """A file of Parquet, or a folder of such files in the order of their names."""

    def __init__(self, path: str, columns: "Sequence[Column]"):
        self._path, self._columns = os.path.abspath(path), list(columns)
        self._files: list[Any] = []
        self._groups: list[tuple[int, int, int]] = []
        """Number of a file, of its group, and of the first row of that."""
        rows = 0
        for number, each in enumerate(self._paths()):
            file = self._open(each)
            self._files.append(file)
            for group in range(file.metadata.num_row_groups):
                self._groups.append((number, group, rows))
                rows += file.metadata.row_group(group).num_rows
        self.rows = rows
        self._kept: tuple[int, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return ParquetSource, (self._path, self._columns)

    def _paths(self) -> list[str]:
        if not os.path.isdir(self._path):
            return [self._path]
        return sorted(os.path.join(self._path, name) for name in os.listdir(self._path) if name.endswith(".parquet"))

    def _open(self, path: str) -> Any:
        parquet = package_of_extra("pyarrow.parquet", "arrow")
        try:
            return parquet.ParquetFile(path)
        except Exception as error:
            raise unreadable(path, error) from error

    def read(self, first: int, last: int) -> "list[Array]":
        """See `Source.read`."""
        pyarrow = package_of_extra("pyarrow", "arrow")
        tables: list[Any] = []
        for place, (_, _, start) in enumerate(self._groups):
            end = self._groups[place + 1][2] if place + 1 < len(self._groups) else self.rows
            if start < last and first < end:
                table = self._group(place)
                begin = max(first - start, 0)
                tables.append(table.slice(begin, min(last, end) - start - begin))
        if not tables:
            return [np.empty((0, *(max(size, 0) for size in each.shape)), each.dtype) for each in self._columns]
        return arrays_of_table(pyarrow.concat_tables(tables), self._columns, SourceLocation(self._path))

    def _group(self, place: int) -> Any:
        """A group of rows; the last one is kept, since blocks follow each other."""
        if self._kept is None or self._kept[0] != place:
            file, group, _ = self._groups[place]
            try:
                self._kept = place, self._files[file].read_row_group(group)
            except Exception as error:
                raise unreadable(self._path, error) from error
        return self._kept[1]

    def state(self) -> list[Any]:
        """See `Source.state`."""
        found = ((path, os.stat(path)) for path in self._paths())
        return [[path, status.st_size, status.st_mtime_ns] for path, status in found]


class TableSource(Source):
    """A table of Arrow or a frame of pandas."""

    def __init__(self, table: Any, columns: "Sequence[Column]"):
        self._table, self._columns = table, columns
        self.rows = len(table)

    def read(self, first: int, last: int) -> "list[Array]":
        """See `Source.read`."""
        part = self._table.slice(first, last - first) if hasattr(self._table, "slice") else self._table[first:last]
        return arrays_of_table(part, self._columns, None)

    def state(self) -> list[Any]:
        """See `Source.state`."""
        return [self.rows, [str(name) for name in _names_of(self._table)]]


def _names_of(table: Any) -> Iterable[Any]:
    return table.column_names if hasattr(table, "column_names") else table.columns


def source_of(data: Any, columns: "Sequence[Column]") -> "Source | Iterator[Any]":
    """The source that some data is; an iterator gives blocks, and has no number of rows.

    Raises:
        FuseError: It is nothing that has rows.
    """
    if isinstance(data, str | os.PathLike):
        return _source_in(os.fspath(cast("str", data)), columns)
    if hasattr(data, "column_names") or type(data).__module__.partition(".")[0] == "pandas":
        return TableSource(data, columns)
    if isinstance(data, Mapping):
        from fuse_dialect.interpreters.input_names import InputNamesError, inputs_by_name

        names = [column.name for column in columns]
        try:
            return ArraySource(inputs_by_name(names, names, cast("Mapping[str, Any]", data)))
        except InputNamesError as error:
            raise FuseError(str(error)) from error
    if hasattr(data, "shape") and hasattr(data, "dtype"):
        return ArraySource([_with_rows(data)])
    if isinstance(data, tuple | list):
        return ArraySource([_with_rows(each) for each in cast("Sequence[Any]", data)])
    if isinstance(data, Iterable):
        return iter(cast("Iterable[Any]", data))
    hint = "an array, a mapping of them, a table, a path that ends in .npy, .zarr or .parquet, or an iterator of blocks"
    raise FuseError(f"expected rows, got {type(data).__name__}", hint=hint)


def _with_rows(data: Any) -> Any:
    array = data if hasattr(data, "shape") else np.asarray(data)
    if not array.shape:
        raise FuseError("expected an array of rows, got a scalar")
    return array


def _source_in(path: str, columns: "Sequence[Column]") -> Source:
    """The source in a file."""
    ending = os.path.splitext(path.rstrip("/"))[1].lower()
    if not os.path.exists(path) and "://" not in path:
        raise FuseError("cannot read the rows: no such file or directory", SourceLocation(path))
    if ending == ".npy":
        return NpySource(path)
    if ending == ".zarr":
        return ZarrSource(path, [column.name for column in columns])
    if ending in (".parquet", ".pq"):
        return ParquetSource(path, columns)
    hint = "rows are read from files that end in .npy, .zarr or .parquet"
    raise FuseError(f"cannot read rows from a file that ends in '{ending}'", SourceLocation(path), hint=hint)


def unreadable(path: str, error: Exception) -> FuseError:
    """The error for a file that cannot be read."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    first = (said.splitlines() or [type(error).__name__])[0]
    return FuseError(f"cannot read the rows: {first.lower()}", SourceLocation(path))
