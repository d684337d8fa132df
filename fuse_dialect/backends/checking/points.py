"""Points of a stage in numbers: what an index is there, which element it reads, and which point stores an element."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from fuse_dialect.counts import Size
from fuse_dialect.kernels.indices import Guard, Index, Loop, Quotient
from fuse_dialect.kernels.program import Stage

MOST_POINTS = 24
"""Points of a stage that are looked at: corners, and some between."""


def number_of(index: Index, point: Sequence[int]) -> int:
    """An index at a point."""
    total = index.constant
    for atom, factor in index.terms:
        if isinstance(atom, Loop):
            value = point[atom.axis]
        else:
            inner = number_of(atom.of, point)  # indices are a few levels deep
            value = inner // atom.by if isinstance(atom, Quotient) else inner % atom.by
        total += value * factor
    return total


def holds(guards: Sequence[Guard], point: Sequence[int], sizes: Mapping[str, int]) -> bool:
    """Whether all guards hold at a point."""
    return all(0 <= number_of(guard.index, point) < known(guard.size, sizes) for guard in guards)


def known(size: Size, sizes: Mapping[str, int]) -> int:
    """A size as a number."""
    return sizes[size] if isinstance(size, str) else size


def some_points(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Up to `MOST_POINTS` points of a space: first and last ones, and those in the middle; none of an empty space."""
    if 0 in extents:
        return
    choices = [sorted({0, extent - 1, extent // 2, min(1, extent - 1)}) for extent in extents]
    count = 1
    for choice in choices:
        count *= len(choice)
    step = max(1, -(-count // MOST_POINTS))
    step += 1 - step % 2  # odd, so that not all points have the same value along the last axes
    for place, point in enumerate(product(*choices)):
        if place % step == 0 or place == count - 1:
            yield point


def storing_point(
    stage: Stage, element: Sequence[int], extents: Sequence[int], fixed: Mapping[int, int]
) -> tuple[int, ...] | None:
    """The point of a stage that stores an element of its buffer; axes that the store lacks are 0, or as `fixed` says.

    Returns:
        `None` if no point does, or if an index of the store is no axis with a factor and a constant.
    """
    found = dict(fixed)
    for index, place in zip(stage.store, element, strict=True):
        match index.terms:
            case ():
                if index.constant != place:
                    return None
            case ((Loop(axis), factor),):
                value, rest = divmod(place - index.constant, factor)
                if rest or not 0 <= value < extents[axis] or found.get(axis, value) != value:
                    return None
                found[axis] = value
            case _:
                return None
    return tuple(found.get(axis, 0) for axis in range(len(extents)))
