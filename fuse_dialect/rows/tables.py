"""Columns of tables as inputs of a program, and outputs as columns.

A program of one input of two axes takes all columns of a table, in order, if none has the input's name: one for each
feature. Otherwise each input is the column of its name: numbers for an input of one axis, lists of a fixed size for one
of two. Types are those of the program, or such as it has without loss.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.loading.extra_packages import package_of_extra

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.rows.blocks import Column


def arrays_of_table(table: Any, columns: "Sequence[Column]", place: SourceLocation | None) -> "list[Array]":
    """One array for each input.

    Args:
        table: A table of Arrow, or a frame of pandas.
        columns: The inputs.
        place: For errors.

    Raises:
        FuseError: A column is missing, or has another type or shape.
    """
    names = [str(name) for name in (table.column_names if _is_arrow(table) else table.columns)]
    if len(columns) == 1 and len(columns[0].shape) == 1 and columns[0].name not in names:
        (only,) = columns
        if only.shape[0] not in (-1, len(names)):
            raise FuseError(f"input '{only.name}' takes {only.shape[0]} columns, the table has {len(names)}", place)
        matrix = np.empty((len(table), len(names)), only.dtype)
        for number, name in enumerate(names):
            matrix[:, number] = _converted(_numbers(table, number, name, place), only, name, place)
        return [matrix]
    arrays: list[Array] = []
    for column in columns:
        if column.name not in names:
            hint = f"the table has {', '.join(names)}"
            raise FuseError(f"the table has no column '{column.name}'", place, hint=hint)
        arrays.append(
            _converted(_numbers(table, names.index(column.name), column.name, place), column, column.name, place)
        )
    return arrays


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "column_names")


def _numbers(table: Any, number: int, name: str, place: SourceLocation | None) -> "Array":
    """A column as an array of one axis, or of two for lists of one size."""
    column = table.column(number) if _is_arrow(table) else table.iloc[:, number]
    try:
        if _is_arrow(table):
            if column.null_count:
                raise FuseError(f"column '{name}' has {column.null_count} values that are missing", place)
            whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            size = getattr(whole.type, "list_size", None)
            if size is not None:
                return np.asarray(whole.flatten()).reshape(len(whole), size)
            return np.asarray(whole)
        array = column.to_numpy()
        return np.stack(array) if array.dtype == object and len(array) else array
    except (TypeError, ValueError) as error:
        raise FuseError(f"column '{name}' is no column of numbers: {error}", place) from error


def _converted(array: "Array", column: "Column", name: str, place: SourceLocation | None) -> "Array":
    if array.dtype == column.dtype:
        return array
    if array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, column.dtype, "safe"):
        hint = f"cast the column to {column.dtype.name}" if array.dtype.kind in "biuf" else None
        raise FuseError(f"column '{name}' expects {column.dtype.name}, got {array.dtype.name}", place, hint=hint)
    return array.astype(column.dtype)


def table_of_arrays(arrays: "Sequence[Array]", columns: "Sequence[Column]") -> Any:
    """A table of Arrow with a column for each output; rows of more axes are lists of a fixed size."""
    pyarrow = package_of_extra("pyarrow", "arrow")
    found: dict[str, Any] = {}
    for array, column in zip(arrays, columns, strict=True):
        flat = pyarrow.array(np.ascontiguousarray(array).reshape(-1))
        size = int(np.prod(array.shape[1:], dtype=np.int64))
        is_list = array.ndim > 1
        found[column.name] = pyarrow.FixedSizeListArray.from_arrays(flat, size) if is_list and size else flat
    return pyarrow.table(found)
