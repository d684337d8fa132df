"""Which axes a reshape splits and joins."""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.dialect.types import DYNAMIC


@dataclass(frozen=True, slots=True)
class AxisGroup:
    """Neighbouring axes of a tensor that a reshape makes into neighbouring axes of another one."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def axis_groups(source: Sequence[int], target: Sequence[int]) -> list[AxisGroup] | None:
    """The smallest groups, in order, whose elements a reshape keeps among themselves.

    >>> [(group.source, group.target) for group in axis_groups([2, 6, 5, 7], [2, 3, 2, 35])]
    [((0,), (0,)), ((1,), (1, 2)), ((2, 3), (3,))]

    Returns:
        Groups of one or more axes on both sides; `None` where a size of 0, or a `?` that is more than carried over,
        leaves them open, and for rank 0.
    """
    if 0 in (*source, *target) or not source or not target:
        return None
    groups: list[AxisGroup] = []
    first, second = 0, 0
    while first < len(source) and second < len(target):
        group = _group(source, target, first, second)
        if group is None:
            return None
        groups.append(group)
        first, second = group.source[-1] + 1, group.target[-1] + 1
    rest = (*source[first:], *target[second:])
    if any(size != 1 for size in rest):
        return None
    last = groups.pop()  # axes of size 1 at the end belong to the last group
    return [
        *groups,
        AxisGroup(tuple(range(last.source[0], len(source))), tuple(range(last.target[0], len(target)))),
    ]


def _group(source: Sequence[int], target: Sequence[int], first: int, second: int) -> AxisGroup | None:
    """The smallest group that begins at these axes."""
    if DYNAMIC in (source[first], target[second]):
        return AxisGroup((first,), (second,)) if source[first] == target[second] else None
    ends = [first + 1, second + 1]
    products = [source[first], target[second]]
    while products[0] != products[1]:
        side = 0 if products[0] < products[1] else 1
        sizes = (source, target)[side]
        if ends[side] == len(sizes) or sizes[ends[side]] == DYNAMIC:
            return None
        products[side] *= sizes[ends[side]]
        ends[side] += 1
    return AxisGroup(tuple(range(first, ends[0])), tuple(range(second, ends[1])))
