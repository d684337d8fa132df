"""Where results go: arrays, files of NumPy, Zarr and Parquet. What is not complete never has the name of what is.

1. A file or folder is begun as `NAME.partial`, and renamed when all blocks are in it. Beside it `NAME.partial.log` says
   what run this is, and the number of each block that has been written, one a line, after its data. A run that goes on
   writes the blocks that are not there; writing one twice is writing it once.
2. Blocks are written by calls of the system, so that a full disk is an error. Zarr and Parquet have a file for each
   block, which takes its name when it is whole.
3. A sink pickles: workers that see the folder write blocks themselves.
"""

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.rows.tables import table_of_arrays

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.rows.blocks import Column

PARTIAL, LOG = ".partial", ".partial.log"
RESUME_HINT = "--resume (resume=True) goes on, --overwrite (overwrite=True) begins anew"


class Sink(ABC):
    """A place for rows by number."""

    is_shared = False
    """Whether other processes may write to it."""

    @abstractmethod
    def write(self, first: int, arrays: "Sequence[Array]") -> None:
        """Write the rows from `first` on.

        Raises:
            FuseError: They cannot be written.
        """

    def targets(self, first: int, last: int) -> "list[Array] | None":
        """Where results of rows may be written without `write`; `None` if nowhere."""
        return None

    def finish(self) -> Any:
        """Say that everything is there; what the caller gets."""
        return None


class ArraySink(Sink):
    """Arrays in memory, given or new."""

    def __init__(self, columns: "Sequence[Column]", rows: int, given: "Sequence[Array] | None" = None):
        """Take arrays, or make some.

        Raises:
            FuseError: Those that are given do not fit.
        """
        wanted = [((rows, *column.shape), column.dtype) for column in columns]
        if given is None:
            self._arrays = [np.empty(shape, dtype) for shape, dtype in wanted]
            return
        found = [(array.shape, array.dtype) for array in given]
        if found != wanted or not all(array.flags.writeable for array in given):
            shapes = ", ".join(f"{dtype.name} of {'x'.join(map(str, shape))}" for shape, dtype in wanted)
            raise FuseError(f"the results are {shapes}, and do not fit the arrays that are given for them")
        self._arrays = list(given)

    def write(self, first: int, arrays: "Sequence[Array]") -> None:
        """See `Sink.write`."""
        for target, array in zip(self._arrays, arrays, strict=True):
            target[first : first + len(array)] = array

    def targets(self, first: int, last: int) -> "list[Array] | None":
        """See `Sink.targets`; a part of an array that does not lie row by row is no place for kernels."""
        if not all(array.flags.c_contiguous for array in self._arrays):
            return None
        return [array[first:last] for array in self._arrays]

    def finish(self) -> Any:
        """The arrays; a single one by itself."""
        return self._arrays[0] if len(self._arrays) == 1 else tuple(self._arrays)


class FileSink(Sink):
    """A file or folder that is written in blocks: condition 1."""

    is_shared = True

    def __init__(self, path: str, columns: "Sequence[Column]", rows: int, block: int):
        self.path, self.columns, self.rows, self.block = os.path.abspath(path), list(columns), rows, block
        self.shown = path
        """The path as it was given, for errors."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.columns, self.rows, self.block)

    @property
    def partial(self) -> str:
        """What is written until it is complete."""
        return self.path + PARTIAL

    def write(self, first: int, arrays: "Sequence[Array]") -> None:
        """See `Sink.write`."""
        try:
            self.write_block(first, arrays)
        except OSError as error:
            raise unwritable(self.shown, error) from error

    @abstractmethod
    def begin(self) -> None:
        """Make what blocks are written to.

        Raises:
            OSError: It cannot be made.
        """

    @abstractmethod
    def write_block(self, first: int, arrays: "Sequence[Array]") -> None:
        """See `write`.

        Raises:
            OSError: They cannot be written.
        """

    def finish(self) -> Any:
        """Give what was written its name; the path."""
        try:
            if os.path.isdir(self.path):
                shutil.rmtree(self.path)
            os.replace(self.partial, self.path)
            with suppress(FileNotFoundError):
                os.unlink(self.path + LOG)
        except OSError as error:
            raise unwritable(self.shown, error) from error
        return self.path


class NpySink(FileSink):
    """A file as `numpy.save` writes one."""

    def __init__(self, path: str, columns: "Sequence[Column]", rows: int, block: int):
        if len(columns) != 1:
            names = ", ".join(column.name for column in columns)
            hint = "name a folder that ends in .zarr or .parquet"
            raise FuseError(
                f"a file of NumPy has one array, the program gives {len(columns)} ({names})",
                SourceLocation(path),
                hint=hint,
            )
        super().__init__(path, columns, rows, block)

    def _head(self) -> bytes:
        from io import BytesIO

        (column,) = self.columns
        stream = BytesIO()
        form = {"descr": np.lib.format.dtype_to_descr(column.dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(stream, {**form, "shape": (self.rows, *column.shape)})
        return stream.getvalue()

    def begin(self) -> None:
        """See `FileSink.begin`: the file has its size from the start."""
        (column,) = self.columns
        head = self._head()
        size = column.dtype.itemsize * int(np.prod(column.shape, dtype=np.int64)) * self.rows
        with open(self.partial, "wb") as stream:
            stream.write(head)
            if size and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, len(head) + size)
            else:
                stream.truncate(len(head) + size)

    def write_block(self, first: int, arrays: "Sequence[Array]") -> None:
        """See `FileSink.write_block`."""
        (array,) = arrays
        (column,) = self.columns
        row = column.dtype.itemsize * int(np.prod(column.shape, dtype=np.int64))
        data = memoryview(cast(Any, np.ascontiguousarray(array).reshape(-1).view(np.uint8)))
        with open(self.partial, "r+b", buffering=0) as stream:
            stream.seek(len(self._head()) + first * row)
            while len(data):
                data = data[stream.write(data) :]


class ZarrSink(FileSink):
    """An array of Zarr, or a group with one for each output; a chunk is a block."""

    def begin(self) -> None:
        """See `FileSink.begin`."""
        zarr = package_of_extra("zarr", "cluster")
        if len(self.columns) > 1:
            zarr.open_group(self.partial, mode="w")
        for column in self.columns:
            place = self.partial if len(self.columns) == 1 else os.path.join(self.partial, column.name)
            shape = (self.rows, *column.shape)
            chunks = (min(self.block, max(self.rows, 1)), *(max(size, 1) for size in column.shape))
            zarr.create_array(store=place, shape=shape, chunks=chunks, dtype=column.dtype, overwrite=True)

    def write_block(self, first: int, arrays: "Sequence[Array]") -> None:
        """See `FileSink.write_block`."""
        zarr = package_of_extra("zarr", "cluster")
        for column, array in zip(self.columns, arrays, strict=True):
            place = self.partial if len(self.columns) == 1 else os.path.join(self.partial, column.name)
            zarr.open_array(place, mode="r+")[first : first + len(array)] = array


class ParquetSink(FileSink):
    """A folder of files of Parquet, one for each block."""

    def begin(self) -> None:
        """See `FileSink.begin`."""
        package_of_extra("pyarrow.parquet", "arrow")
        shutil.rmtree(self.partial, ignore_errors=True)
        os.mkdir(self.partial)

    def write_block(self, first: int, arrays: "Sequence[Array]") -> None:
        """See `FileSink.write_block`."""
        parquet = package_of_extra("pyarrow.parquet", "arrow")
        name = os.path.join(self.partial, f"part-{first // self.block:08}.parquet")
        draft = f"{name}.{os.getpid()}.tmp"
        parquet.write_table(table_of_arrays(arrays, self.columns), draft)
        os.replace(draft, name)

    def finish(self) -> Any:
        """See `FileSink.finish`; files that a worker has begun and not ended go."""
        for name in os.listdir(self.partial):
            if name.endswith(".tmp"):
                os.unlink(os.path.join(self.partial, name))
        return super().finish()


_SINKS = {".npy": NpySink, ".zarr": ZarrSink, ".parquet": ParquetSink}


def file_sink(path: str, columns: "Sequence[Column]", rows: int, block: int) -> FileSink:
    """The sink for a path, by its ending.

    Raises:
        FuseError: There is none of this ending.
    """
    ending = os.path.splitext(path.rstrip("/"))[1].lower()
    if ending not in _SINKS:
        hint = "results are written to files that end in .npy, .zarr or .parquet"
        raise FuseError(f"cannot write rows to a file that ends in '{ending}'", SourceLocation(path), hint=hint)
    return _SINKS[ending](path.rstrip("/"), columns, rows, block)


class Log:
    """Which blocks of a file are there: condition 1."""

    def __init__(self, sink: FileSink, run: Mapping[str, Any], *, resume: bool, overwrite: bool):
        """Begin a file, or go on with one.

        Args:
            sink: The file.
            run: What the run is known by, as JSON can say it.
            resume: Go on with what was begun.
            overwrite: Begin anew, whatever there is.

        Raises:
            FuseError: There is something already, or what was begun is another run; or it cannot be written.
        """
        self.path, self.done = sink.path + LOG, set[int]()
        self._shown = sink.shown
        self.is_complete = False
        place = SourceLocation(sink.shown)
        try:
            if overwrite:
                self._begin(sink, run)
            elif os.path.exists(sink.path):
                if not resume:
                    raise FuseError("the output exists", place, hint="--overwrite (overwrite=True) replaces it")
                self.is_complete = True
            elif os.path.exists(self.path):
                if not resume:
                    raise FuseError("a run has begun to write the output, and has not ended", place, hint=RESUME_HINT)
                self._go_on(run, place)
            else:
                self._begin(sink, run)
        except OSError as error:
            raise unwritable(sink.shown, error) from error

    def _begin(self, sink: FileSink, run: Mapping[str, Any]) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        try:
            sink.begin()
        except OSError:
            with suppress(OSError):
                shutil.rmtree(sink.partial) if os.path.isdir(sink.partial) else os.unlink(sink.partial)
            raise
        draft = f"{self.path}.{os.getpid()}.tmp"
        with open(draft, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(run, sort_keys=True) + "\n")
        os.replace(draft, self.path)

    def _go_on(self, run: Mapping[str, Any], place: SourceLocation) -> None:
        with open(self.path, encoding="utf-8") as stream:
            begun, *lines = stream.read().split("\n")
        try:
            found: object = json.loads(begun)
        except ValueError:
            found = None
        wanted = json.loads(json.dumps(run))
        if found != wanted:
            said = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
            what = ", ".join(name for name in wanted if said.get(name) != wanted[name]) or "the log"
            hint = "--overwrite (overwrite=True) begins anew"
            raise FuseError(f"what was begun there is another run: it differs in {what}", place, hint=hint)
        # What follows the last line break is a line that was cut off.
        self.done = {int(line) for line in lines[:-1] if line.isdigit()}

    def add(self, block: int) -> None:
        """Note that a block has been written.

        Raises:
            FuseError: It cannot be noted.
        """
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(f"{block}\n")
        except OSError as error:
            raise unwritable(self._shown, error) from error
        self.done.add(block)


def unwritable(path: str, error: OSError) -> FuseError:
    """The error for what cannot be written."""
    hint = "make room, and start again with --resume (resume=True)" if error.errno == 28 else None
    return FuseError(
        f"cannot write the output: {(error.strerror or str(error)).lower()}", SourceLocation(path), hint=hint
    )
