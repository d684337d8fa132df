"""Points of a stage in numbers: what an index is there, which element it reads, and which point stores an element."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from fuse_dialect.counts import Size
from fuse_dialect.loops.indices import Guard, Index, Loop, Quotient, axes_of
from fuse_dialect.loops.program import Stage

MOST_POINTS = 24
"""Points of a stage that are looked at: corners, and some between."""
_MOST_TRIED = 4096
"""Points that are tried one by one, for who stores an element."""


class UnknownPointError(Exception):
    """Who stores an element cannot be said at little cost."""


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
        `None` if no point does.

    Raises:
        UnknownPointError: Axes are divided in the store, and have too many points to try them all.
    """
    found = dict(fixed)
    divided: list[tuple[Index, int]] = []
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
                divided.append((index, place))
    for values in _values(divided, extents, found):
        point = tuple({**found, **values}.get(axis, 0) for axis in range(len(extents)))
        if all(number_of(index, point) == place for index, place in divided):
            return point
    return None


def _values(
    divided: Sequence[tuple[Index, int]], extents: Sequence[int], found: Mapping[int, int]
) -> Iterator[dict[int, int]]:
    """All values of the axes that some indices have and that are not found; one without any if there are none."""
    axes = sorted(frozenset[int]().union(*(axes_of(index) for index, _ in divided)) - found.keys())
    if prod(extents[axis] for axis in axes) > _MOST_TRIED:
        raise UnknownPointError
    for values in product(*(range(extents[axis]) for axis in axes)):
        yield dict(zip(axes, values, strict=True))
