"""Collections of Dask: each block, partition or item goes through the program when somebody computes the result.

Nothing is asked of a client; the graph has the program as what it pickles to, the path of its file.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.rows.sent import opened, sent
from fuse_dialect.rows.tables import arrays_of_table

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.rows.blocks import RowProgram

_SMALL = 1 << 20
"""Bytes of a program that may stand in a graph."""


def map_lazily(rows: "RowProgram", data: Any) -> Any:
    """The results, as a collection of the same kind.

    Args:
        rows: The program.
        data: An array, a frame or a bag of Dask.

    Raises:
        FuseError: It is no such collection, or its shape does not fit.
    """
    origin = rows.program.origin
    is_in_a_file = origin is not None and isinstance(origin[0], str)
    if not is_in_a_file and len(rows.program.to_bytes()) > _SMALL:
        hint = "program.save(path) where workers see it, then it goes by its path"
        raise FuseError("the program is too large to stand in a graph of Dask", hint=hint)
    kind = type(data).__module__
    if "array" in kind and hasattr(data, "chunks"):
        return _of_array(rows, data)
    if hasattr(data, "map_partitions") and hasattr(data, "columns"):
        return data.map_partitions(_Frames(rows), meta=_meta(rows))
    if hasattr(data, "map_partitions"):
        return data.map_partitions(_Items(rows))
    raise FuseError(f"expected an array, a frame or a bag of Dask, got {type(data).__name__}")


def _of_array(rows: "RowProgram", data: Any) -> Any:
    array: Any = package_of_extra("dask.array", "cluster")
    if len(rows.inputs) != 1:
        names = ", ".join(column.name for column in rows.inputs)
        raise FuseError(f"an array of Dask is one input, the program takes {len(rows.inputs)} ({names})")
    (column,) = rows.inputs
    fits = data.ndim == len(column.shape) + 1 and all(
        size < 0 or size == other for size, other in zip(column.shape, data.shape[1:], strict=True)
    )
    if not fits or data.dtype != column.dtype:
        raise FuseError(f"column '{column.name}' expects rows of {column}, got {data.dtype} of {data.shape[1:]}")
    if any(size < 0 for each in rows.outputs for size in each.shape):
        raise FuseError("the program has results of open sizes, which an array of Dask must know")
    whole = data.rechunk(dict.fromkeys(range(1, data.ndim), -1))
    if len(rows.outputs) == 1:
        (output,) = rows.outputs
        return whole.map_blocks(
            _Arrays(rows),
            dtype=output.dtype,
            chunks=(whole.chunks[0], *((size,) for size in output.shape)),
            drop_axis=list(range(1, data.ndim)),
            new_axis=list(range(1, len(output.shape) + 1)),
            meta=np.empty((0,) * (len(output.shape) + 1), output.dtype),
        )
    # One task gives all outputs of a block.
    dask: Any = package_of_extra("dask", "cluster")
    run = dask.delayed(_Arrays(rows), nout=len(rows.outputs), pure=True)
    found = [run(block) for block in whole.to_delayed().reshape(-1)]
    return tuple(
        array.concatenate(
            [
                array.from_delayed(block[place], (count, *output.shape), output.dtype)
                for block, count in zip(found, whole.chunks[0], strict=True)
            ]
        )
        for place, output in enumerate(rows.outputs)
    )


class _Arrays:
    """Blocks of arrays."""

    __name__ = "map_rows"
    """What Dask calls the tasks; without it they would have the address of this object."""

    def __init__(self, rows: "RowProgram | bytes"):
        self._job = rows if isinstance(rows, bytes) else sent(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._job,)

    @property
    def _rows(self) -> "RowProgram":
        return opened(self._job)

    def __call__(self, block: "Array") -> Any:
        found = self._rows.run([block], "a block")
        return found[0] if len(found) == 1 else tuple(found)

    def __dask_tokenize__(self) -> Any:
        return "fuse_dialect.map_rows", self._job


class _Frames(_Arrays):
    """Partitions of frames."""

    def __call__(self, block: Any) -> Any:
        rows = self._rows
        found = rows.run(arrays_of_table(block, rows.inputs, None), "a partition")
        return _frame(rows, found, block.index)


def _meta(rows: "RowProgram") -> Any:
    """A frame without rows, for types."""
    return _frame(rows, [np.empty((0, *column.shape), column.dtype) for column in rows.outputs], None)


def _frame(rows: "RowProgram", arrays: "Sequence[Array]", index: Any) -> Any:
    """A column for each output of one axis, and one for each number of others, with its place in the name."""
    pandas: Any = package_of_extra("pandas", "cluster")
    columns: dict[str, Any] = {}
    for column, array in zip(rows.outputs, arrays, strict=True):
        if array.ndim == 1:
            columns[column.name] = array
            continue
        flat = array.reshape(len(array), int(np.prod(array.shape[1:], dtype=np.int64)))
        columns |= {f"{column.name}_{place}": flat[:, place] for place in range(flat.shape[1])}
    return pandas.DataFrame(columns, index=index)


class _Items(_Arrays):
    """Partitions of bags: each item is a row, an array, or a mapping or sequence with one for each input."""

    def __call__(self, block: Iterable[Any]) -> Any:
        items = list(block)
        if not items:
            return []
        arrays = [np.stack([np.asarray(row) for row in each]) for each in zip(*map(self._row, items), strict=True)]
        found = self._rows.run(arrays, "a partition")
        return list(found[0]) if len(found) == 1 else list(zip(*found, strict=True))

    def _row(self, item: Any) -> Sequence[Any]:
        inputs = self._rows.inputs
        if isinstance(item, Mapping):
            named = cast("Mapping[str, Any]", item)
            missing = next((column.name for column in inputs if column.name not in named), None)
            if missing is not None:
                raise FuseError(f"an item has no '{missing}'")
            return [named[column.name] for column in inputs]
        return [item] if len(inputs) == 1 else cast("Sequence[Any]", item)
