"""Meanings of the tensor dialect. What `tensor.empty` holds nobody says; here it is 0, so that results compare."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC, tensor_type
from fuse_dialect.interpreters.foreign.bodies import computes_elements, run_body, value_of
from fuse_dialect.interpreters.foreign.loop_points import Part, checked_places
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, attribute_of, integers_of
from fuse_dialect.interpreters.values import EvaluationError, value_dtype


def _dtype(op: Operation) -> "np.dtype[Any]":
    return value_dtype(tensor_type(op.results[0]).element_type)


def _shape(op: Operation, sizes: Sequence[Array], around: Surroundings) -> list[int]:
    """The sizes of the result: those of its type, and the operands for what it leaves open."""
    given = iter(sizes)
    shape = [int(next(given)) if size == DYNAMIC else size for size in tensor_type(op.results[0]).get_shape()]
    around.check_room(op, shape, _dtype(op))
    return shape


def _empty(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.zeros(_shape(op, operands, around), _dtype(op)),)


def _splat(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.full(_shape(op, operands[1:], around), operands[0]),)


def _from_elements(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.array(operands, _dtype(op)).reshape(tensor_type(op.results[0]).get_shape()),)


def _dim(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Any]:
    axis = int(operands[1])
    if not 0 <= axis < operands[0].ndim:
        raise IndexError(f"axis {axis} is not among the {operands[0].ndim} of its tensor")
    return (operands[0].shape[axis],)


def _rank(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Any]:
    return (operands[0].ndim,)


def _extract(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    table, *places = operands
    return (table[checked_places(table, places)],)


def _insert(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    scalar, dest, *places = operands
    result = np.array(dest)
    result[checked_places(result, places)] = scalar
    return (result,)


def _cast(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The operand; whether it fits the other type is found out behind it."""
    return (operands[0],)


def _bitcast(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    source = np.ascontiguousarray(operands[0]).reshape(operands[0].shape)
    if source.dtype.itemsize != _dtype(op).itemsize:
        raise ValueError("expects elements of the same size")
    return (source.view(_dtype(op)),)


def _groups(op: Operation) -> list[list[int]]:
    """The axes of the longer shape, for each axis of the shorter one."""
    attribute = attribute_of(op, "reassociation")
    groups = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", attribute)
    return [[axis.value.data for axis in group] for group in groups]


def _collapse_shape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    shape = operands[0].shape
    return (operands[0].reshape([prod(shape[axis] for axis in group) for group in _groups(op)]),)


def _expand_shape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    source, *dynamic = operands
    given = iter(dynamic)
    static = integers_of(op, "static_output_shape")
    shape = [int(next(given)) if size == DYNAMIC_INDEX else size for size in static]
    for group, size in zip(_groups(op), source.shape, strict=True):
        if prod(shape[axis] for axis in group) != size:
            raise ValueError(f"cannot make {[shape[axis] for axis in group]} of an axis of size {size}")
    return (source.reshape(shape),)


def _reshape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    source, shape = operands
    sizes = [int(size) for size in shape]
    if prod(sizes) != source.size or min(sizes, default=0) < 0:
        raise ValueError(f"cannot make {sizes} of {list(source.shape)}")
    return (source.reshape(sizes),)


def _concat(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    axis = integers_of(op, "dim")[0]
    return (np.concatenate(operands, axis=axis),)


def numbers(op: Operation, name: str, dynamic: Iterator[Array]) -> list[int]:
    """Numbers of which an attribute has the static ones, and operands those that it leaves open."""
    return [int(next(dynamic)) if number == DYNAMIC_INDEX else number for number in integers_of(op, name)]


def _slices(op: Operation, shape: Sequence[int], dynamic: Sequence[Array]) -> tuple[slice, ...]:
    """The slice of each axis.

    Raises:
        IndexError: It reaches out of the tensor.
    """
    given = iter(dynamic)
    offsets, sizes, strides = (numbers(op, f"static_{name}", given) for name in ("offsets", "sizes", "strides"))
    slices: list[slice] = []
    for axis, (start, size, step, whole) in enumerate(zip(offsets, sizes, strides, shape, strict=True)):
        last = start + (size - 1) * step
        if size < 0 or start < 0 or start > whole or (size and not 0 <= last < whole):
            raise IndexError(f"offset {start}, size {size}, stride {step} reach out of axis {axis} of size {whole}")
        if step < 1 and size > 1:
            raise ValueError(f"expects a stride of at least 1, got {step}")
        slices.append(slice(start, last + 1 if size else start, max(step, 1)))
    return tuple(slices)


def _extract_slice(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    taken = operands[0][_slices(op, operands[0].shape, operands[1:])]
    return (taken.reshape(_without_ones(taken.shape, tensor_type(op.results[0]).get_shape())),)


def _without_ones(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The shape without as many sizes of 1 as bring it to the wanted one, the first of them that do."""
    kept: list[int] = []
    excess = len(shape) - len(wanted)
    for size in shape:
        fits = len(kept) < len(wanted) and wanted[len(kept)] in (size, DYNAMIC)
        if size == 1 and excess and not (fits and wanted[len(kept)] == 1):
            excess -= 1
        else:
            kept.append(size)
    return kept


def _insert_slice(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    source, dest, *dynamic = operands
    result = np.array(dest)
    place = result[_slices(op, result.shape, dynamic)]
    if [size for size in place.shape if size != 1] != [size for size in source.shape if size != 1]:
        raise ValueError(f"cannot put {list(source.shape)} in a place of {list(place.shape)}")
    place[...] = source.reshape(place.shape)
    return (result,)


def _generated(op: Operation, shape: Sequence[int], around: Surroundings) -> Array:
    """What a region yields for the indices of each element."""
    block = op.regions[0].block
    part = Part(tuple((0, size) for size in shape))
    end = block.last_op
    assert end is not None, "a body has an end"
    if not computes_elements(block):
        return _generated_one_by_one(op, shape, around)
    values = run_body(block, dict(zip(block.args, part.grids, strict=True)), part.grids, around)
    return np.broadcast_to(value_of(end.operands[0], values, around), shape)


def _generated_one_by_one(op: Operation, shape: Sequence[int], around: Surroundings) -> Array:
    result = np.zeros(shape, _dtype(op))
    for number, index in enumerate(np.ndindex(*shape)):
        indices = [np.array(each, np.int64) for each in index]
        value = around.run(op.regions[0], indices, indices=indices, is_repeated=number > 0)[0]
        if isinstance(value, tuple):
            raise EvaluationError(op, "cannot be run: its body yields a tuple")
        result[index] = value
    return result


def _generate(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (_generated(op, _shape(op, operands, around), around),)


def _pad(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    source, *dynamic = operands
    given = iter(dynamic)
    low, high = numbers(op, "static_low", given), numbers(op, "static_high", given)
    if min((*low, *high), default=0) < 0:
        raise ValueError(f"expects widths of at least 0, got {low} and {high}")
    shape = [before + size + after for before, size, after in zip(low, source.shape, high, strict=True)]
    around.check_room(op, shape, source.dtype)
    result = np.array(_generated(op, shape, around))
    result[tuple(slice(start, start + size) for start, size in zip(low, source.shape, strict=True))] = source
    return (result,)


def _slice_places(op: Operation, name: str, array: Array, indices: Array) -> tuple[Array, ...]:
    """Indices of slices for each row of `indices`, which follow its other axes."""
    axes = integers_of(op, name)
    places: list[Array] = [indices[..., number] for number in range(len(axes))]
    checked_places(array.transpose([*axes, *(axis for axis in range(array.ndim) if axis not in axes)]), places)
    ones = [1] * array.ndim
    return tuple(
        places[axes.index(axis)].reshape([*indices.shape[:-1], *ones])
        if axis in axes
        else np.arange(size, dtype=np.int64).reshape([size if own == axis else 1 for own in range(array.ndim)])
        for axis, size in enumerate(array.shape)
    )


def _gather(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Slices at given indices; axes that the indices name are of size 1 in the result, or left out."""
    source, indices = operands
    taken = source[_slice_places(op, "gather_dims", source, indices)]
    wanted = tensor_type(op.results[0]).get_num_dims()
    if taken.ndim != wanted:
        gone = tuple(indices.ndim - 1 + axis for axis in integers_of(op, "gather_dims"))
        taken = taken.reshape([size for axis, size in enumerate(taken.shape) if axis not in gone])
    return (taken,)


def _scatter(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The destination with slices written at given indices."""
    source, dest, indices = operands
    result = np.array(dest)
    places = _slice_places(op, "scatter_dims", result, indices)
    shape = np.broadcast_shapes(*(place.shape for place in places))
    result[places] = source.reshape(shape)
    return (result,)


MEANINGS: Rows = {
    "tensor.bitcast": _bitcast,
    "tensor.cast": _cast,
    "tensor.collapse_shape": _collapse_shape,
    "tensor.concat": _concat,
    "tensor.dim": _dim,
    "tensor.empty": _empty,
    "tensor.expand_shape": _expand_shape,
    "tensor.extract": _extract,
    "tensor.extract_slice": _extract_slice,
    "tensor.from_elements": _from_elements,
    "tensor.gather": _gather,
    "tensor.generate": _generate,
    "tensor.insert": _insert,
    "tensor.insert_slice": _insert_slice,
    "tensor.pad": _pad,
    "tensor.rank": _rank,
    "tensor.reshape": _reshape,
    "tensor.scatter": _scatter,
    "tensor.splat": _splat,
}
