"""Lines in order, as data: how much of a line is sorted at once, in words of how many bits.

1. The key of an element and its place are one integer, a *word*: the key above, the place below. So words differ, and
   those of equal keys stand in the order of their places: any way to sort words is stable.
2. Runs of some words are sorted by a network, then merged two by two.
3. Where few of many are wanted, words go to a small array only if they are less than the last that is wanted so far.
   When it is full it is sorted, and what is not wanted is forgotten: n log k steps at most, n for most lines.
"""

from dataclasses import dataclass

from fuse_dialect.loops.elements import register_bytes
from fuse_dialect.loops.grouping import is_order
from fuse_dialect.loops.program import Apply, Literal, Position, Read, Refusal
from fuse_dialect.loops.schedule import Nest, Schedule

RUN = 8
"""Words that a network sorts (2)."""
_SPARE = 16
"""More words than those wanted that a small array has room for, at least."""
_MOST = 1 << 31
"""More elements than a line may have: their places are 32 bits of a word."""


@dataclass(frozen=True, slots=True)
class SortedLine:
    """What is sorted."""

    size: int
    """Elements of a line."""
    wanted: int
    """How many of the first are stored."""
    room: int
    """Words of the array that is sorted; less than `size` where few are wanted (3)."""
    word_bits: int
    place_bits: int
    """Lower bits of a word, which are the place."""

    @property
    def bytes(self) -> int:
        """Of the array, and of another one to merge into."""
        return 2 * (-(-self.room // RUN) * RUN) * self.word_bits // 8


def sorted_line_of(nest: Nest) -> SortedLine | None:
    """How the lines of a nest are sorted; `None` if it sorts none."""
    stage = nest.stages[0]
    if not is_order(stage):
        return None
    size = nest.loops[-1].size.number
    assert size is not None, "`unsorted` has refused other lines"
    assert stage.reduction is not None, "an order is a reduction"
    wanted = min(size, stage.reduction.count if isinstance(stage.reduction.count, int) else size)
    room = 2 * wanted + _SPARE
    last = stage.body[-1]
    assert isinstance(last, Read | Apply | Literal | Position), "a key is a number"
    is_wide = register_bytes(last.element) > 4
    bits = (128, 64) if is_wide else (64, 32)
    return SortedLine(size, wanted, min(room, size), *bits)


def unsorted(schedule: Schedule) -> Refusal | None:
    """Why lines of a program cannot be sorted; `None` if they can."""
    for phase in schedule.phases:
        for nest in phase.nests:
            if is_order(nest.stages[0]):
                size = nest.loops[-1].size.number
                if size is None or size >= _MOST:
                    return Refusal("the size of a line that is sorted is not known, or does not fit 32 bits")
    return None
