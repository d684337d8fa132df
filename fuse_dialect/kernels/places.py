"""Where in memory a read or a store of a stage goes, whatever its indices are. Pure data.

A place is a constant, a stride for each axis, and what has no stride: quotients and remainders (*odd* terms), and
values that the body computes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.counts import Count, Size
from fuse_dialect.kernels.access import array_strides
from fuse_dialect.kernels.indices import Atom, Guard, Index, Loop, axes_of, number
from fuse_dialect.kernels.program import Value


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
    def odd_axes(self) -> frozenset[int]:
        """The axes that odd terms depend on."""
        return frozenset(axis for atom, _ in self.odd for axis in axes_of(Index(((atom, 1),))))

    def stride(self, axis: int) -> int | None:
        """How far the place moves along an axis; `None` where that is not one constant number."""
        return None if axis in self.odd_axes else self.strides[axis].number


def place_of(indices: Sequence[Index | Value], shape: Sequence[Size], rank: int) -> Place:
    """The place of an element of an array of a shape, in a stage with `rank` axes."""
    positions: dict[tuple[str, ...], Index] = {}
    computed: list[tuple[int, Count, Size]] = []
    for index, size, stride in zip(indices, shape, array_strides(shape), strict=True):
        if isinstance(index, Value):
            computed.append((index.place, stride, size))
            continue
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
