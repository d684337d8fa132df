"""`map_rows`: a program over all rows of a source, block by block."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.rows.blocks import Column, RowProgram
from fuse_dialect.rows.progress import RowsProgress, terminal_bar
from fuse_dialect.rows.sinks import ArraySink, FileSink, Log, Sink, file_sink
from fuse_dialect.rows.sources import Source, source_of

if TYPE_CHECKING:
    from os import PathLike

    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.dialect.op import Array

BLOCK_BYTES = 8 << 20
"""Bytes of rows and results that are read, written and noted at a time, if that is more than one call."""


def map_rows(
    program: "Program | str | PathLike[str]",
    data: Any,
    *,
    batch: int | None = None,
    out: "str | PathLike[str] | Array | Sequence[Array] | None" = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: RowsProgress | None = None,
    cluster: Any = None,
) -> Any:
    """Run a program on many rows.

    The first axis of each input and output of the program is that of the rows, of which none depends on another. A
    program of a known batch runs on pieces of it, the last one filled up; one of an open batch on pieces of `batch`.

    Args:
        program: The program, or the path of a saved one.
        data: Rows: an array, or one for each input as a sequence or by name; what slices like an array; a table of
            Arrow or a frame of pandas; the path of a file that ends in `.npy`, `.zarr` or `.parquet`; an iterator of
            blocks, each an array or a tuple of them. A collection of Dask (`dask.array`, `dask.dataframe`, `dask.bag`)
            gives one of the same kind, lazily.
        batch: Rows of a call, where the program leaves it open; 256 by default.
        out: Where results go: arrays of the right shapes, or a path that ends as those of `data`. By default they are
            new arrays, or for an iterator an iterator of blocks.
        resume: Go on with a file that a run before has begun to write. What is there is whole blocks.
        overwrite: Replace a file that exists.
        progress: Is told how many rows of how many are done; by default a bar shows it where stderr is a terminal.
        cluster: A client of Dask, the address of its scheduler, or `local:2` for two processes here. Files must be
            where its workers see them.

    Returns:
        An array, or a tuple of them for several outputs; the path of a file that was written.

    Raises:
        FuseError: The program maps no rows, data do not fit it, with the block and column; a file cannot be read, or
            has changed while it was; an output exists; a cluster is not there, or has another version of this package.

    Example:
        >>> import numpy as np
        >>> import fuse_dialect as fd
        >>> program = fd.compile(fd.parse('''
        ... func.func @main(%x: tensor<4x3xf32>) -> tensor<4xf32> {
        ...   %y = fuse.sum %x, axes = [1] : (tensor<4x3xf32>) -> tensor<4xf32>
        ...   return %y : tensor<4xf32>
        ... }'''), backend="numpy")
        >>> fd.map_rows(program, np.ones((6, 3), np.float32))
        array([3., 3., 3., 3., 3., 3.], dtype=float32)
    """
    if isinstance(program, str | os.PathLike):
        from fuse_dialect.loading.saved_programs import load

        program = load(os.fspath(cast("str", program)))
    rows = RowProgram(program, batch)
    if type(data).__module__.startswith(("dask.", "dask_expr.")):
        from fuse_dialect.rows.lazily import map_lazily

        if out is not None or cluster is not None:
            hint = "the result is a collection of Dask: its own methods write it, on whatever client there is"
            raise FuseError("out and cluster are not for collections of Dask", hint=hint)
        return map_lazily(rows, data)
    source = source_of(data, rows.inputs)
    if not isinstance(source, Source):
        return _of_iterator(rows, source, out, cluster)
    run = _Run(rows, source, out, resume=resume, overwrite=overwrite)
    return run.on(cluster, progress or terminal_bar())


class _Run:
    """One call for a source of known length."""

    def __init__(self, rows: RowProgram, source: Source, out: Any, *, resume: bool, overwrite: bool):
        self.rows, self.source = rows, source
        self.total = source.rows
        self.block = block_rows(rows)
        if self.total:
            # Data of another kind leave no file that was begun.
            rows.checked(source.read(0, 1), self.where(0))
        columns = self._columns()
        self.log: Log | None = None
        if isinstance(out, str | os.PathLike):
            path = os.fspath(cast("str", out))
            sink = file_sink(path, columns, self.total, self.block)
            self.sink: Sink = sink
            self._state = source.state()
            known = {**rows.describe(), "data": self._state, "rows": self.total, "rows of a block": self.block}
            self.log = Log(sink, known, resume=resume, overwrite=overwrite)
        else:
            self._state = source.state()
            several: Any = [out] if isinstance(out, np.ndarray) else out
            given: list[Array] | None = None if several is None else list(several)
            self.sink = ArraySink(columns, self.total, given)

    def _columns(self) -> list[Column]:
        """The outputs, with sizes that the program leaves open as the first rows show them."""
        columns = self.rows.outputs
        if all(size >= 0 for column in columns for size in column.shape):
            return columns
        found = self.rows.run(self.source.read(0, min(self.total, 1)), "the first row")
        return [Column(each.name, each.dtype, array.shape[1:]) for each, array in zip(columns, found, strict=True)]

    def bounds(self, number: int) -> tuple[int, int]:
        """The first row of a block, and that behind its last."""
        return number * self.block, min((number + 1) * self.block, self.total)

    def where(self, number: int) -> str:
        """A block in words."""
        first, last = self.bounds(number)
        return f"block {number}, rows {first} to {last - 1}"

    @property
    def blocks(self) -> range:
        """Numbers of all blocks."""
        return range(-(-self.total // self.block))

    def on(self, cluster: Any, progress: RowsProgress | None) -> Any:
        """Run all blocks that are not done."""
        if self.log is not None and self.log.is_complete:
            return cast(FileSink, self.sink).path
        done = self.log.done if self.log is not None else set[int]()
        waiting = [number for number in self.blocks if number not in done]
        rows_done = sum(last - first for first, last in map(self.bounds, sorted(done)))

        def note(number: int) -> None:
            nonlocal rows_done
            first, last = self.bounds(number)
            rows_done += last - first
            if self.log is not None:
                self.log.add(number)
            if progress is not None:
                progress(rows_done, self.total)

        if progress is not None:
            progress(rows_done, self.total)
        if cluster is None:
            for number in waiting:
                work(self.rows, self.source, self.sink, *self.bounds(number), self.where(number))
                note(number)
        else:
            from fuse_dialect.rows.clusters import run_on_cluster

            run_on_cluster(cluster, self, waiting, note)
        if self.source.state() != self._state:
            hint = "what was written is of the rows that it had: start again with --overwrite (overwrite=True)"
            raise FuseError("the data have changed while they were read", hint=hint)
        return self.sink.finish()


def block_rows(rows: RowProgram) -> int:
    """Rows of a block: whole calls, of `BLOCK_BYTES` if several fit."""
    return rows.batch * max(1, BLOCK_BYTES // (rows.batch * rows.row_bytes))


def work(rows: RowProgram, source: Source, sink: Sink, first: int, last: int, where: str) -> None:
    """Read, run and write one block."""
    targets = sink.targets(first, last)
    results = rows.run(source.read(first, last), where, targets)
    if targets is None:
        sink.write(first, results)


def _of_iterator(rows: RowProgram, blocks: Iterator[Any], out: Any, cluster: Any) -> Any:
    """Results block by block; blocks of the iterator are cut and joined to pieces of the batch."""
    if cluster is not None:
        raise FuseError(
            "an iterator is read here, and not on a cluster", hint="write its blocks to a .zarr or .parquet"
        )
    if out is None:
        return _results(rows, blocks)
    if not isinstance(out, str | os.PathLike) or not os.fspath(cast("str", out)).endswith(".parquet"):
        hint = "name a folder that ends in .parquet, or take the blocks that map_rows gives without out"
        raise FuseError("an iterator does not say how many rows it has", hint=hint)
    path = os.fspath(cast("str", out))
    if os.path.exists(path):
        raise FuseError("the output exists", SourceLocation(path), hint="remove it, or name another")
    sink = file_sink(path, rows.outputs, 0, 1)
    sink.begin()
    for number, block in enumerate(_results(rows, blocks)):
        several: Any = [block] if isinstance(block, np.ndarray) else block
        sink.write(number, several)
    return sink.finish()


def _results(rows: RowProgram, blocks: Iterator[Any]) -> Generator[Any]:
    for number, arrays in enumerate(_joined(rows, blocks)):
        found = rows.run(arrays, f"block {number}")
        yield found[0] if len(found) == 1 else tuple(found)


def _joined(rows: RowProgram, blocks: Iterator[Any]) -> "Generator[list[Array]]":
    """Blocks of as many rows as the program takes at a time, the last one of fewer."""
    kept: list[list[Array]] = []
    count, wanted = 0, block_rows(rows)
    for number, block in enumerate(blocks):
        arrays = _arrays_of(rows, block)
        count += rows.checked(arrays, f"block {number} of the iterator")
        kept.append(arrays)
        if count < wanted:
            continue
        whole = [np.concatenate(each) for each in zip(*kept, strict=True)]
        cut = count // rows.batch * rows.batch
        yield [array[:cut] for array in whole]
        kept, count = ([[array[cut:] for array in whole]] if cut < count else []), count - cut
    if count:
        yield [np.concatenate(each) for each in zip(*kept, strict=True)]


def _arrays_of(rows: RowProgram, block: Any) -> "list[Array]":
    if isinstance(block, Mapping) or hasattr(block, "column_names"):
        source = source_of(block, rows.inputs)
        assert isinstance(source, Source), "it has rows"
        return source.read(0, source.rows)
    if isinstance(block, tuple | list):
        return [np.asarray(each) for each in cast("Sequence[Any]", block)]
    return [np.asarray(block)]
