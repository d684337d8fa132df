"""Runs a loop program on NumPy arrays, point by point as it says: the reference for code generators.

The points of a stage are a table: one row for each point of the parallel axes, one column for each point of the reduced
axes. A large table is worked off in parts, so that memory stays bounded. Nothing is simplified or scheduled here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.counts import Size
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.indices import Guard, Index, Loop, Quotient
from fuse_dialect.loops.meanings import evaluate_function
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Combiner,
    Extent,
    Inside,
    Instruction,
    Keep,
    Literal,
    LoopProgram,
    Position,
    Read,
    Reduction,
    Role,
    Scatter,
    Stage,
    Value,
)

_POINTS = 1 << 20
"""Points that are computed at once."""

COMBINE: dict[Combiner, np.ufunc] = {
    Combiner.ADD: np.add,
    Combiner.MULTIPLY: np.multiply,
    Combiner.MAXIMUM: np.maximum,
    Combiner.MINIMUM: np.minimum,
    Combiner.AND: np.logical_and,
    Combiner.OR: np.logical_or,
}


class LoopFaultError(InterpretationError):
    """A fault of the program came out true."""


def run_loops(
    program: LoopProgram, arguments: Sequence[Array], result_sizes: Mapping[str, int] | None = None
) -> list[Array]:
    """The results of a loop program.

    Args:
        program: The program.
        arguments: Arrays of its types.
        result_sizes: Values of named sizes that only results have.

    Raises:
        LoopFaultError: The arguments are ones that an op rejects.
        InterpretationError: The arguments have other shapes or element types than the program's.
    """
    sizes = {**(result_sizes or {}), **bind_sizes(program, arguments)}
    arrays: dict[str, Array] = {}
    given = iter(arguments)
    for buffer in program.buffers:
        shape = tuple(_size(size, sizes) for size in buffer.shape)
        arrays[buffer.name] = (
            next(given) if buffer.role is Role.ARGUMENT else np.zeros(shape, dtype_named(buffer.element))
        )
    for stage in program.stages:
        run_stage(stage, arrays, sizes)
    if any(arrays[buffer.name].any() for buffer in program.buffers if buffer.role is Role.FAULT):
        raise LoopFaultError(f"'{program.name}' rejects its arguments")
    return [arrays[buffer.name] for buffer in program.buffers if buffer.role is Role.RESULT]


def bind_sizes(program: LoopProgram, arguments: Sequence[Array]) -> dict[str, int]:
    """The values of the program's named sizes.

    Raises:
        InterpretationError: The arguments have other shapes or element types than the program's.
    """
    buffers = [buffer for buffer in program.buffers if buffer.role is Role.ARGUMENT]
    if len(buffers) != len(arguments):
        raise InterpretationError(f"'{program.name}' takes {len(buffers)} arrays, got {len(arguments)}")
    sizes: dict[str, int] = {}
    for buffer, array in zip(buffers, arguments, strict=True):
        if array.dtype != dtype_named(buffer.element) or array.ndim != len(buffer.shape):
            raise InterpretationError(f"'{buffer.name}' has another type than {array.shape} of {array.dtype}")
        for size, actual in zip(buffer.shape, array.shape, strict=True):
            if (sizes.setdefault(size, actual) if isinstance(size, str) else size) != actual:
                raise InterpretationError(f"'{buffer.name}' has another shape than {array.shape}")
    return sizes


def _size(size: Size, sizes: Mapping[str, int]) -> int:
    return sizes[size] if isinstance(size, str) else size


@dataclass(frozen=True, slots=True)
class Points:
    """Some points of a stage."""

    loops: Sequence[Array]
    """For each axis its values at the points, as a table that broadcasts."""
    shape: tuple[int, int]
    """Rows and columns of the table."""
    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]

    def index(self, index: Index) -> Array:
        """The values of an index."""
        total: Array = np.full((1, 1), index.constant, np.int64)
        for atom, factor in index.terms:
            match atom:
                case Loop(axis):
                    part = self.loops[axis]
                case Quotient(of, by):
                    part = self.index(of) // by
                case _:
                    part = self.index(atom.of) % atom.by
            total = total + part * factor
        return total

    def holds(self, guards: Sequence[Guard]) -> Array:
        """Where all guards hold."""
        held: Array = np.ones((1, 1), np.bool_)
        for guard in guards:
            index = self.index(guard.index)
            held = held & (index >= 0) & (index < _size(guard.size, self.sizes))
        return held

    def run(self, body: Body, combined: Array | None = None) -> Array:
        """The value of the last instruction."""
        values: list[Array] = [] if combined is None else [combined]
        with np.errstate(all="ignore"):
            for instruction in body:
                values.append(self._value(instruction, values))
        return values[-1]

    def _value(self, instruction: Instruction, values: Sequence[Array]) -> Array:
        match instruction:
            case Read():
                return self._read(instruction, values)
            case Literal():
                return np.full((1, 1), instruction.value, dtype_named(instruction.element))
            case Position():
                return self.index(instruction.index).astype(dtype_named(instruction.element))
            case Extent():
                return np.full((1, 1), self.sizes[instruction.size], dtype_named(instruction.element))
            case Inside():
                return self.holds(instruction.guards)
            case Apply():
                operands = [values[place] for place in instruction.operands]
                dtype = dtype_named(instruction.element)
                return evaluate_function(instruction.function, operands, dtype, instruction.parameter)

    def _read(self, read: Read, values: Sequence[Array]) -> Array:
        array = self.arrays[read.buffer]
        places = [
            values[index.place].astype(np.int64) if isinstance(index, Value) else self.index(index)
            for index in read.indices
        ]
        held = self.holds(read.guards)
        if not held.all():  # only there may an index be out of range
            places = [np.where(held, place, 0) for place in places]
        if not held.any():
            taken = np.zeros((1, 1), array.dtype)
        elif places:
            for place, size in zip(places, array.shape, strict=True):
                if place.size and not (place.min() >= 0 and place.max() < size):
                    raise InterpretationError(f"'{read.buffer}' is read outside its {array.shape} elements")
            taken = array[tuple(places)]
        else:
            taken = array.reshape(1, 1)
        taken = taken.view(f"i{taken.dtype.itemsize}") if taken.dtype.kind == "u" else taken
        if read.otherwise is None:
            return taken
        return np.where(held, taken, np.array(read.otherwise.value, taken.dtype))


def run_stage(stage: Stage, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    parallel = [_size(axis.size, sizes) for axis in stage.axes if not axis.is_reduced]
    reduced = [_size(axis.size, sizes) for axis in stage.axes if axis.is_reduced]
    if stage.reduction is not None and stage.is_scan:
        count = stage.reduction.count
        known = replace(stage.reduction, count=None if count is None else _size(count, sizes))
        _run_scan(stage, known, arrays, sizes)
        return
    target = arrays[stage.buffer]
    columns = math.prod(reduced)
    for start, end in _parts(math.prod(parallel), max(1, _POINTS // max(1, min(columns, _POINTS)))):
        rows = axis_values(np.arange(start, end), parallel, (-1, 1))
        if stage.reduction is None:
            values = Points(rows, (end - start, 1), arrays, sizes).run(stage.body)
        else:
            values = _reduced(stage, stage.reduction, rows, end - start, reduced, arrays, sizes)
        points = Points(rows, (end - start, 1), arrays, sizes)
        indices = [points.index(index) for index in stage.store] if stage.store else rows
        if values.dtype.kind == "i" and target.dtype.kind == "u":
            values = values.view(target.dtype)
        values = np.broadcast_to(values, (end - start, 1))
        if values.dtype != target.dtype:
            raise InterpretationError(f"stage '{stage.name}' stores {values.dtype} as {target.dtype}")
        if stage.scatter is not None:
            _scatter(stage.scatter, target, points, indices, values)
        elif indices:
            target[tuple(indices)] = values
        else:
            target[...] = values.reshape(())


def _scatter(how: Scatter, target: Array, points: Points, indices: Sequence[Array], values: Array) -> None:
    """Store values at places that are data, in order."""
    place = points.arrays[how.places][tuple(points.index(index) for index in how.indices)]
    merged = target.reshape(-1, *target.shape[how.depth :])
    at = tuple(np.broadcast_arrays(place, *indices[how.depth :], values)[:-1])
    if how.combination is None:
        merged[at] = values
    else:
        with np.errstate(all="ignore"):
            COMBINE[how.combination.combiner].at(merged, at, values)


def _run_scan(stage: Stage, reduction: Reduction, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """A scan, a line at a time."""
    *parallel, size = (_size(axis.size, sizes) for axis in stage.axes)
    columns = np.arange(size).reshape(1, -1)
    for line in range(math.prod(parallel)):
        rows = axis_values(np.arange(line, line + 1), parallel, (-1, 1))
        values = Points([*rows, columns], (1, size), arrays, sizes).run(stage.body)
        kept = _scanned(reduction, np.broadcast_to(values, (1, size)))
        places = [*rows, columns[:, : kept.shape[1]]]
        points = Points(places, kept.shape, arrays, sizes)
        stored = points.run(stage.finish, kept) if stage.finish else kept
        target = arrays[stage.buffer]
        stored = stored.view(target.dtype) if stored.dtype.kind == "i" and target.dtype.kind == "u" else stored
        if stored.dtype != target.dtype:
            raise InterpretationError(f"stage '{stage.name}' stores {stored.dtype} as {target.dtype}")
        target[tuple(points.index(index) for index in stage.store)] = stored


def _scanned(reduction: Reduction, values: Array) -> Array:
    """What a scan keeps of the values of a line."""
    if reduction.combiner is Combiner.ORDER:
        count = reduction.count if isinstance(reduction.count, int) else None
        return np.argsort(values, axis=1, kind="stable")[:, :count].astype(np.int64, copy=False)
    start = np.full((1, 1), reduction.start.value, values.dtype)
    with np.errstate(all="ignore"):
        through = COMBINE[reduction.combiner].accumulate(np.concatenate([start, values], axis=1), axis=1)
    through = through.astype(values.dtype, copy=False)
    return through[:, 1:] if reduction.keep is Keep.THROUGH else through[:, :-1]


def _reduced(
    stage: Stage,
    reduction: Reduction,
    rows: Sequence[Array],
    count: int,
    reduced: Sequence[int],
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int],
) -> Array:
    """What a stage with a reduction stores."""
    combine, start = COMBINE[reduction.combiner], reduction.start
    total = np.full((count, 1), start.value, dtype_named(start.element))
    signless = dtype_named(start.element.removeprefix("u"))
    for first, last in _parts(math.prod(reduced), _POINTS):
        columns = axis_values(np.arange(first, last), reduced, (1, -1))
        values = Points([*rows, *columns], (count, last - first), arrays, sizes).run(stage.body)
        if values.dtype != signless:
            raise InterpretationError(f"stage '{stage.name}' combines {values.dtype} in {signless}")
        values = np.broadcast_to(values, (count, last - first)).astype(total.dtype, copy=False)
        with np.errstate(all="ignore"):
            part = combine.reduce(values, axis=1, keepdims=True, dtype=total.dtype)
            total = combine(total, part).astype(total.dtype, copy=False)
    total = total.astype(signless, copy=False)
    return Points(rows, (count, 1), arrays, sizes).run(stage.finish, total) if stage.finish else total


def _parts(count: int, length: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each part of a range."""
    return ((start, min(start + length, count)) for start in range(0, count, length))


def axis_values(positions: Array, sizes: Sequence[int], shape: tuple[int, int]) -> list[Array]:
    """The axes' values at row-major positions."""
    return [own.reshape(shape) for own in np.unravel_index(positions, sizes)] if sizes else []
