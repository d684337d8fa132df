"""Parts of the iterations of a structured op, and what an affine map makes of an array there.

A *part* fixes some loops and leaves others, its *vectors*, to run over a range. A value on it is an array with an axis
for each loop of the op, of size 1 for a loop that is fixed or does not matter: such arrays broadcast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from fuse_dialect.dialect.op import Array

Range: TypeAlias = "tuple[int, int] | int"
"""First iteration and number of iterations; one number for a loop that is fixed."""


@dataclass(frozen=True)
class Part:
    """Some iterations of all loops."""

    ranges: tuple[Range, ...]

    @property
    def sizes(self) -> list[int]:
        """Number of iterations of each loop."""
        return [1 if isinstance(own, int) else own[1] for own in self.ranges]

    @cached_property
    def grids(self) -> list[Array]:
        """The numbers of the iterations, by loop."""
        rank = len(self.ranges)
        grids: list[Array] = []
        for axis, own in enumerate(self.ranges):
            start, count = (own, 1) if isinstance(own, int) else own
            shape = [count if each == axis else 1 for each in range(rank)]
            grids.append(np.arange(start, start + count, dtype=np.int64).reshape(shape))
        return grids


def index_of(expression: AffineExpr, grids: Sequence[Array]) -> Array:
    """The values of an affine expression at numbers of iterations.

    Raises:
        ValueError: It has symbols.
    """
    match expression:
        case AffineDimExpr():
            return grids[expression.position]
        case AffineConstantExpr():
            return np.full([1] * len(grids), expression.value)
        case AffineBinaryOpExpr():
            lhs, rhs = index_of(expression.lhs, grids), index_of(expression.rhs, grids)
            match expression.kind:
                case AffineBinaryOpKind.Add:
                    return lhs + rhs
                case AffineBinaryOpKind.Mul:
                    return lhs * rhs
                case AffineBinaryOpKind.Mod:
                    return lhs % rhs
                case AffineBinaryOpKind.FloorDiv:
                    return lhs // rhs
                case AffineBinaryOpKind.CeilDiv:
                    return -(-lhs // rhs)
        case _:
            raise ValueError("expects indexing maps without symbols")


def _linear(expression: AffineExpr) -> tuple[dict[int, int], int] | None:
    """Factors of loops, and what is added, if that is all there is to an expression."""
    match expression:
        case AffineDimExpr():
            return {expression.position: 1}, 0
        case AffineConstantExpr():
            return {}, expression.value
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            lhs, rhs = _linear(expression.lhs), _linear(expression.rhs)
            if lhs is None or rhs is None:
                return None
            total = dict(lhs[0])
            for loop, factor in rhs[0].items():
                total[loop] = total.get(loop, 0) + factor
            return total, lhs[1] + rhs[1]
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            lhs, rhs = _linear(expression.lhs), _linear(expression.rhs)
            if lhs is None or rhs is None or (lhs[0] and rhs[0]):
                return None
            (factors, added), by = (lhs, rhs[1]) if lhs[0] else (rhs, lhs[1])
            return {loop: factor * by for loop, factor in factors.items()}, added * by
        case _:
            return None


def _slice(expression: AffineExpr, part: Part) -> tuple[int, slice | int] | None:
    """The one vector that an axis is read along, -1 for none, and the slice; `None` if there is no such thing."""
    linear = _linear(expression)
    if linear is None:
        return None
    start, vector, step = linear[1], -1, 0
    for loop, factor in linear[0].items():
        own = part.ranges[loop]
        if isinstance(own, int):
            start += factor * own
        elif factor > 0 and vector < 0:
            vector, step = loop, factor
            start += factor * own[0]
        else:
            return None
    if vector < 0:
        return -1, start
    count = part.sizes[vector]
    return vector, slice(start, start + step * (count - 1) + 1 if count else start, step)


def view_of(array: Array, map: AffineMap, part: Part) -> Array | None:
    """The elements at a part as a view, where slices say what the map says.

    Raises:
        IndexError: An index is outside of the array.
    """
    vectors: list[int] = []
    index: list[slice | int] = []
    for axis, (expression, size) in enumerate(zip(map.results, array.shape, strict=True)):
        found = _slice(expression, part)
        if found is None or (found[0] >= 0 and found[0] in vectors):
            return None
        vector, place = found
        if vector >= 0:
            vectors.append(vector)
        first, last = (place, place) if isinstance(place, int) else (place.start, place.stop - 1)
        if (isinstance(place, int) or place.stop > place.start) and (first < 0 or last >= size):
            raise IndexError(f"index {first if first < 0 else last} is outside axis {axis} of size {size}")
        index.append(place)
    view = array[(*index, ...)]
    order = sorted(range(len(vectors)), key=vectors.__getitem__)
    missing = tuple(axis for axis in range(len(part.ranges)) if axis not in vectors)
    return np.expand_dims(view.transpose(order), missing)


def places_of(array: Array, map: AffineMap, part: Part) -> tuple[Array, ...]:
    """The indices of the elements at a part.

    Raises:
        IndexError: An index is outside of the array.
    """
    return checked_places(array, [index_of(expression, part.grids) for expression in map.results])


def checked_places(array: Array, places: Sequence[Array]) -> tuple[Array, ...]:
    """Indices, one array for each axis.

    Raises:
        IndexError: One is outside of the array.
    """
    for axis, (place, size) in enumerate(zip(places, array.shape, strict=False)):
        outside = place[(place < 0) | (place >= size)]
        if outside.size:
            raise IndexError(f"index {int(outside.flat[0])} is outside axis {axis} of size {size}")
    return tuple(places)


def read(array: Array, map: AffineMap, part: Part) -> Array:
    """The elements at a part.

    Raises:
        IndexError: An index is outside of the array.
    """
    view = view_of(array, map, part)
    if view is not None:
        return view
    return array[places_of(array, map, part)]


def write(array: Array, map: AffineMap, part: Part, values: Array) -> None:
    """Set the elements at a part, at which no two iterations write the same one.

    Raises:
        IndexError: An index is outside of the array.
    """
    view = view_of(array, map, part)
    if view is not None:
        view[...] = values
    else:
        array[places_of(array, map, part)] = values
