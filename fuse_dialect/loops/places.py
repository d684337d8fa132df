"""Where in memory a read or a store of a stage goes: the one notion of a place. Pure data.

1. A place in a dense row-major array is a constant, a stride for each axis of the stage, and what has no stride:
   quotients and remainders (*odd* terms), and values that the body computes.
2. It is *flat* if nothing of that last kind is left: if quotients and remainders in its indices cancel.
3. Strides are in elements, and may depend on sizes that are known when a kernel is called.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fuse_dialect.counts import Count, Size
from fuse_dialect.loops.indices import Atom, Guard, Index, Loop, axes_of, number
from fuse_dialect.loops.program import Value


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an array, in elements from its start."""

    constant: Count
    strides: tuple[Count, ...]
    """How far the place moves when an axis grows by one, for each axis of the stage."""
    odd: tuple[tuple[Atom, Count], ...] = ()
    """Quotients and remainders, with their factors."""
    computed: tuple[tuple[int, Count, Size], ...] = ()
    """Places in the body whose values are indices, with the stride and the size of the array's axis."""

    def depends_on(self, axis: int) -> bool:
        """Whether the place moves with an axis."""
        return bool(self.strides[axis].terms) or axis in self.odd_axes

    @property
    def is_flat(self) -> bool:
        """Whether the constant and the strides are all there is (2)."""
        return not self.odd and not self.computed

    @property
    def odd_axes(self) -> frozenset[int]:
        """The axes that odd terms depend on."""
        return frozenset(axis for atom, _ in self.odd for axis in axes_of(Index(((atom, 1),))))

    def stride(self, axis: int) -> int | None:
        """How far the place moves along an axis; `None` where that is not one constant number."""
        return None if axis in self.odd_axes else self.strides[axis].number


def array_strides(shape: Sequence[Size]) -> tuple[Count, ...]:
    """Distance of neighbours along each axis of a dense row-major array, in elements."""
    strides: list[Count] = []
    stride = Count.of(1)
    for size in reversed(shape):
        strides.append(stride)
        stride = stride * Count.of(size)
    return tuple(reversed(strides))


def place_of(indices: Sequence[Index | Value], shape: Sequence[Size], rank: int) -> Place:
    """The place of an element of an array of a shape, in a stage with `rank` axes."""
    return _place_of(tuple(indices), tuple(shape), rank)


def flat_place(indices: Sequence[Index | Value], shape: Sequence[Size], rank: int) -> Place | None:
    """The same; `None` if the place is not flat."""
    place = place_of(indices, shape, rank)
    return place if place.is_flat else None


@lru_cache(maxsize=4096)  # code for a tile asks for the same few places again and again
def _place_of(indices: tuple[Index | Value, ...], shape: tuple[Size, ...], rank: int) -> Place:
    positions: dict[tuple[str, ...], Index] = {}
    computed: list[tuple[int, Count, Size]] = []
    for index, size, stride in zip(indices, shape, array_strides(shape), strict=True):
        if isinstance(index, Value):
            computed.append((index.place, stride, size))
            continue
        # (2) One sum for each product of sizes: in it `a // 4 * 4 + a % 4` is `a`, whichever axes of the array
        # the two parts stand in.
        for symbols, factor in stride.terms:
            positions[symbols] = positions.get(symbols, number(0)) + index * factor
    return _place(positions, rank, tuple(computed))


def index_place(index: Index, rank: int) -> Place:
    """An index as a place: its value is how far it is from 0."""
    return _place({(): index}, rank, ())


def _place(positions: dict[tuple[str, ...], Index], rank: int, computed: tuple[tuple[int, Count, Size], ...]) -> Place:
    constant, strides = Count(), [Count() for _ in range(rank)]
    odd: dict[Atom, Count] = {}
    for symbols, position in positions.items():
        unit = Count(((symbols, 1),))
        constant = constant + unit.times(position.constant)
        for atom, factor in position.terms:
            if isinstance(atom, Loop):
                strides[atom.axis] = strides[atom.axis] + unit.times(factor)
            else:
                odd[atom] = odd.get(atom, Count()) + unit.times(factor)
    return Place(constant, tuple(strides), tuple(odd.items()), computed)


def guard_axes(guards: Sequence[Guard]) -> frozenset[int]:
    """The axes that guards depend on."""
    return frozenset(axis for guard in guards for axis in axes_of(guard.index))
