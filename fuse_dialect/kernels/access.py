"""Where in memory a read or a store of a stage goes. Pure data.

A place in a dense row-major array is *flat* if it is a constant plus a stride for each axis: if quotients and
remainders in its indices cancel. Strides are in elements, and may depend on sizes that are known when a kernel is
called.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fuse_dialect.counts import Count, Size
from fuse_dialect.kernels.indices import Index, Loop, number
from fuse_dialect.kernels.program import Value


@dataclass(frozen=True, slots=True)
class FlatPlace:
    """A place in an array, in elements from its start."""

    constant: Count
    strides: tuple[Count, ...]
    """How far the place moves when an axis grows by one, for each axis of the stage."""

    def is_free_of(self, axis: int) -> bool:
        """Whether the place does not depend on an axis."""
        return not self.strides[axis].terms


def array_strides(shape: Sequence[Size]) -> tuple[Count, ...]:
    """Distance of neighbours along each axis of a dense row-major array, in elements."""
    strides: list[Count] = []
    stride = Count.of(1)
    for size in reversed(shape):
        strides.append(stride)
        stride = stride * Count.of(size)
    return tuple(reversed(strides))


def linear_factors(index: Index, rank: int) -> tuple[int, ...] | None:
    """The factor of each of `rank` axes; `None` if the index holds a quotient or a remainder."""
    factors = [0] * rank
    for atom, factor in index.terms:
        if not isinstance(atom, Loop):
            return None
        factors[atom.axis] += factor
    return tuple(factors)


def flat_place(indices: Sequence[Index | Value], shape: Sequence[Size], rank: int) -> FlatPlace | None:
    """The place of an element of an array, by the stage's `rank` axes; `None` if it is not flat."""
    return _flat_place(tuple(indices), tuple(shape), rank)


@lru_cache(maxsize=4096)  # code for a tile asks for the same few places again and again
def _flat_place(indices: tuple[Index | Value, ...], shape: tuple[Size, ...], rank: int) -> FlatPlace | None:
    positions: dict[tuple[str, ...], Index] = {}
    for index, stride in zip(indices, array_strides(shape), strict=True):
        if isinstance(index, Value):
            return None
        for symbols, factor in stride.terms:
            positions[symbols] = positions.get(symbols, number(0)) + index * factor
    constant, strides = Count(), [Count() for _ in range(rank)]
    for symbols, position in positions.items():
        factors = linear_factors(position, rank)
        if factors is None:
            return None
        unit = Count(((symbols, 1),))
        constant = constant + unit.times(position.constant)
        strides = [stride + unit.times(factor) for stride, factor in zip(strides, factors, strict=True)]
    return FlatPlace(constant, tuple(strides))
