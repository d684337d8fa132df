"""What decides on loops and on forms alike: the numbers of what may be one kernel, and what they are compared with.

`simplify`, `grouping` and `choosing` ask of loops, `law` of forms.
"""

from collections.abc import Sequence
from math import prod

from fuse_dialect.counts import Size

CHAINS = 4
"""Vectors of a long body side by side: a processor sees two or three such bodies ahead, too few to keep it busy."""
CHEAP = 4
"""Additions an element: what costs no more is computed again rather than stored, in a few places."""
MOST_REPEATED = 16
"""Additions an element for all places together where something cheap is computed; and places of what only moves."""
MOST_PIECES = 16
"""Pieces in which a stage, or a kernel, is cut."""
MOST_ROW = 1 << 16
"""Bytes of a row of what lies between two products that run in strips: a tile of rows is in a second-level cache."""
MOST_COLUMNS = 1 << 25
"""Bytes of an operand of which each thread has packed columns while it runs strips."""
FEW_ROWS = 4
"""Rows of a product from which on its columns are packed; fewer are summed where columns lie along the sums."""
MOST_GATED = 1 << 22
"""Bytes that one product of a gate passes to the other: each thread has memory for them."""


def repeats_nothing(work: float, places: float, repeats: float) -> bool:
    """Whether a map may stand where it is read for nothing: it only moves, or each element is computed once.

    Args:
        work: Additions for an element of the map.
        places: In how many places it is read; code for many of them is long.
        repeats: How often an element is read.
    """
    return (not work and places <= MOST_REPEATED) or (places <= 1 and repeats <= 1)


def may_repeat(work: float, places: float, room: float = 0.0) -> bool:
    """Whether a map is so cheap that computing it again costs less than storing it.

    Args:
        work: Additions for an element of the map.
        places: In how many places it is read.
        room: Additions that its reader has to spare.
    """
    return work <= max(CHEAP, room) and work * places <= max(MOST_REPEATED, room)


def common_rows(one: Sequence[Size], other: Sequence[Size]) -> int:
    """How many leading axes have the same sizes: rows end at the first that differs, whatever follows."""
    rows = 0
    for own, others in zip(one, other, strict=False):
        if own != others:
            break
        rows += 1
    return rows


def is_one_space(first: Sequence[Size], second: Sequence[Size]) -> bool:
    """Whether loops over a space may hold those of another: it is the same, or a single point."""
    return first == second or not second


def keeps_axes(source: Sequence[Size], target: Sequence[Size]) -> bool:
    """Whether a reshape of what a product gives leaves its kernel a product, whatever else is read behind it.

    Axes may become one. One may become several, if it is the last, the columns, or if enough rows stay side by side.
    What cuts axes across may not. Of open sizes nothing is asked.

    >>> keeps_axes((6, 4, 8), (24, 8)), keeps_axes((24, 8), (3, 8, 2, 4)), keeps_axes((24, 8), (12, 2, 8))
    (True, True, False)
    >>> keeps_axes((6, 8), (4, 12))
    False
    """
    sizes = [[size for size in shape if isinstance(size, int) and size != 1] for shape in (source, target)]
    if prod(sizes[0]) != prod(sizes[1]) or not prod(sizes[0]):
        return True
    left, right = sizes
    while left:
        own, other = [left.pop(0)], [right.pop(0)]
        while prod(own) != prod(other):
            if prod(own) < prod(other):
                own.append(left.pop(0))
            else:
                other.append(right.pop(0))
        is_across = len(own) > 1 and len(other) > 1
        if is_across or (len(other) > 1 and left and other[-1] < FEW_ROWS):
            return False
    return True


def may_be_gated(bytes: int | None) -> bool:
    """Whether one product may pass so much to the other; `None` is an open number."""
    return bytes is not None and bytes <= MOST_GATED
