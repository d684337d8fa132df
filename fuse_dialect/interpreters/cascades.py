"""Runs a cascade on NumPy arrays with running totals, block by block: the meaning of `loops/cascades.py`.

A state is kept for each block of columns and merged with what came before, in order, or block by block in pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TypeAlias

import numpy as np

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import COMBINE, Points, axis_values
from fuse_dialect.loops.cascades import Cascade, Rule, Split
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.indices import Index
from fuse_dialect.loops.meanings import evaluate_function
from fuse_dialect.loops.program import Body, Combiner, Read, Stage
from fuse_dialect.loops.splits import Expression, Number, Side, Total


@dataclass(frozen=True, slots=True)
class State:
    """What some columns come to."""

    count: int
    """How many they are."""
    totals: tuple[Array, ...]
    """Of each split, one row for each point of its parallel axes."""
    companions: tuple[tuple[Array, ...], ...]
    references: Mapping[str, Array]
    """What bodies read of totals: the values that the others are relative to."""


_Total: TypeAlias = Callable[[Split, Mapping[str, Array]], Array]
"""The total of a split by references of the steps before it."""


class CascadeRunner:
    """Runs one cascade on some arrays."""

    def __init__(self, cascade: Cascade, arrays: Mapping[str, Array]):
        """Nothing is run yet.

        Args:
            cascade: What to run; sizes are known.
            arrays: Of all buffers; those of totals are read for their shapes and types alone.
        """
        self.cascade, self.arrays = cascade, arrays

    def run(self, blocks: Sequence[int], *, in_pairs: bool = False) -> dict[str, Array]:
        """The buffers of all steps.

        Args:
            blocks: Numbers of columns, whose sum are all.
            in_pairs: Whether neighbours are merged first, as a tree; else each block with all before it.
        """
        starts = np.cumsum([0, *blocks])
        states = [self.of_block(int(low), int(high)) for low, high in pairwise(starts)]
        while len(states) > 1:
            pairs = len(states) // 2 if in_pairs else 1
            merged = [self.merged(states[2 * pair], states[2 * pair + 1]) for pair in range(pairs)]
            states = [*merged, *states[2 * pairs :]]
        return self._finished(states[0])

    def of_block(self, start: int, stop: int) -> State:
        """The state of columns by themselves."""
        totals: list[Array] = []
        companions: list[tuple[Array, ...]] = []

        def total(split: Split, references: Mapping[str, Array]) -> Array:
            columns = np.arange(start, stop).reshape(1, -1)
            value = self._combined(split.stage, split.stage.body, columns, references, split.combiner)
            beside = [self._combined(split.stage, each, columns, references, Combiner.ADD) for each in split.companions]
            companions.append(tuple(beside))
            totals.append(value)
            return value

        references = self._references(total, stop - start)
        return State(stop - start, tuple(totals), tuple(companions), references)

    def merged(self, one: State, other: State) -> State:
        """The state of the columns of both (4)."""
        totals: list[Array] = []
        companions: list[tuple[Array, ...]] = []

        def total(split: Split, references: Mapping[str, Array]) -> Array:
            number, (combine, add) = len(totals), (COMBINE[split.combiner], np.add)
            sides = [self._corrected(split, number, state, references) for state in (one, other)]
            with np.errstate(all="ignore"):
                totals.append(combine(sides[0][0], sides[1][0]))
                companions.append(tuple(add(*pair) for pair in zip(sides[0][1], sides[1][1], strict=True)))
            return totals[-1]

        references = self._references(total, one.count + other.count)
        return State(one.count + other.count, tuple(totals), tuple(companions), references)

    def _finished(self, state: State) -> dict[str, Array]:
        """What all steps store, from totals as they are (6)."""
        number = 0
        buffers = dict(self.arrays)
        for step in self.cascade.steps:
            if isinstance(step, Split):
                value, _ = self._corrected(step, number, state, buffers)
                buffers[step.stage.buffer] = self._stored(step.stage, value, buffers)
                number += 1
            else:
                buffers[step.buffer] = self._of_row(step, buffers)
        return {name: buffers[name] for step in self.cascade.steps for name in [_buffer(step)]}

    def _references(self, total: _Total, count: int) -> dict[str, Array]:
        """What bodies read of the totals of `count` columns."""
        buffers = dict(self.arrays)
        names: list[str] = []
        for step in self.cascade.steps:
            if not isinstance(step, Split):
                buffers[step.buffer] = _finite(self._of_row(step, buffers))
                names.append(step.buffer)
                continue
            value = total(step, buffers)
            # (5) the end divides by the number of all columns
            if step.is_mean:
                assert isinstance(self.cascade.columns, int), "arrays have known sizes"
                value = value * np.asarray(self.cascade.columns / count, value.dtype)
            buffers[step.stage.buffer] = _finite(self._stored(step.stage, value, buffers))
            names.append(step.stage.buffer)
        return {name: buffers[name] for name in names}

    def _rows(self, stage: Stage) -> tuple[list[Array], int]:
        sizes = [axis.size for axis in stage.axes if not axis.is_reduced]
        known = [size for size in sizes if isinstance(size, int)]
        count = prod(known)
        return axis_values(np.arange(count), known, (-1, 1)), count

    def _combined(
        self, stage: Stage, body: Body, columns: Array, buffers: Mapping[str, Array], combiner: Combiner
    ) -> Array:
        rows, count = self._rows(stage)
        width = columns.shape[1]
        values = Points([*rows, columns], (count, width), buffers, {}).run(body)
        values = np.broadcast_to(values, (count, width))
        assert stage.reduction is not None, "a split is one of a reduction"
        start = np.asarray(stage.reduction.start.value, values.dtype)
        with np.errstate(all="ignore"):
            total = COMBINE[combiner].reduce(values, axis=1, keepdims=True, initial=start if combiner else None)
        return np.asarray(total).astype(values.dtype, copy=False)

    def _corrected(
        self, split: Split, number: int, state: State, new: Mapping[str, Array]
    ) -> tuple[Array, tuple[Array, ...]]:
        """A total and its companions relative to other references (2, 3)."""
        total, beside = state.totals[number], state.companions[number]
        old = {**self.arrays, **state.references}
        with np.errstate(all="ignore"):
            factor = self._value(split.stage, split.factor, old, new)
            shift = self._value(split.stage, split.shift, old, new)
            match split.rule:
                case Rule.SAME:
                    return total, beside
                case Rule.SCALED:
                    changed: tuple[Array, ...] = (total * factor,)
                case Rule.MOVED:
                    changed = (total + shift,)
                case Rule.SHIFTED:
                    (weight,) = beside
                    changed = ((total + shift * weight) * factor, weight * factor)
                case Rule.SQUARED:
                    first, weight = beside
                    square = total + 2 * shift * first + shift * shift * weight
                    changed = (square * factor, (first + shift * weight) * factor, weight * factor)
        # Where nothing has changed, infinite references make no nan of a difference.
        kept = self._is_kept(split.stage, old, new)
        values = [np.where(kept, each, after) for each, after in zip((total, *beside), changed, strict=True)]
        return values[0], tuple(values[1:])

    def _reads(self, stage: Stage) -> dict[str, Read]:
        """How a stage reads each total."""
        names = {_buffer(step) for step in self.cascade.steps}
        return {read.buffer: read for read in stage.body if isinstance(read, Read) and read.buffer in names}

    def _at(self, stage: Stage, read: Read, buffers: Mapping[str, Array]) -> Array:
        rows, count = self._rows(stage)
        indices = tuple(index for index in read.indices if isinstance(index, Index))
        return np.broadcast_to(Points(rows, (count, 1), buffers, {}).run((replace(read, indices=indices),)), (count, 1))

    def _is_kept(self, stage: Stage, old: Mapping[str, Array], new: Mapping[str, Array]) -> Array:
        _, count = self._rows(stage)
        kept = np.ones((count, 1), np.bool_)
        for read in self._reads(stage).values():
            kept &= self._at(stage, read, old) == self._at(stage, read, new)
        return kept

    def _value(self, stage: Stage, expression: Expression, old: Mapping[str, Array], new: Mapping[str, Array]) -> Array:
        reads = self._reads(stage)
        assert stage.reduction is not None, "a split is one of a reduction"
        dtype = dtype_named(stage.reduction.start.element)

        def value(of: Expression) -> Array:
            match of:
                case Number(number):
                    return np.full((1, 1), number, dtype)
                case Total(buffer, side):
                    return self._at(stage, reads[buffer], old if side is Side.OLD else new)
                case _:
                    return evaluate_function(of.function, [value(each) for each in of.operands], dtype)

        return value(expression)

    def _stored(self, stage: Stage, total: Array, buffers: Mapping[str, Array]) -> Array:
        rows, count = self._rows(stage)
        points = Points(rows, (count, 1), buffers, {})
        value = points.run(stage.finish, total) if stage.finish else total
        return self._placed(stage, points, value)

    def _of_row(self, stage: Stage, buffers: Mapping[str, Array]) -> Array:
        rows, count = self._rows(stage)
        points = Points(rows, (count, 1), buffers, {})
        return self._placed(stage, points, points.run(stage.body))

    def _placed(self, stage: Stage, points: Points, value: Array) -> Array:
        target = np.zeros_like(self.arrays[stage.buffer])
        target[tuple(points.index(index) for index in stage.store)] = np.broadcast_to(value, points.shape)
        return target


def _finite(reference: Array) -> Array:
    """What bodies take for a reference (6)."""
    if reference.dtype.kind != "f":
        return reference
    return np.where(np.isfinite(reference), reference, np.zeros((), reference.dtype))


def _buffer(step: Split | Stage) -> str:
    return step.stage.buffer if isinstance(step, Split) else step.buffer
