"""Groups of a convolution as a loop of their own.

A stage reads the channels of a group at `4*(i1 // 4) + r`. With `i1` cut in two, `4*i1 + i2`, that is `4*i1 + r`: a
sum, as the maps of linalg are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fuse_dialect.loops.bodies import body_over, reads
from fuse_dialect.loops.indices import Index, Loop, Quotient, loop
from fuse_dialect.loops.program import Axis, Stage


@dataclass(frozen=True, slots=True)
class SplitStage:
    """A stage with one of its parallel axes cut in two."""

    stage: Stage
    axis: int
    """The first of the two."""


def split_by_groups(stage: Stage) -> SplitStage | None:
    """The stage with its channels cut in groups; `None` if it has none."""
    if stage.store:
        return None
    for axis, count in _quotients(stage):
        size = stage.axes[axis].size
        if isinstance(size, int) and size % count == 0 and not stage.axes[axis].is_reduced:
            axes = (*stage.axes[:axis], Axis(size // count), Axis(count), *stage.axes[axis + 1 :])
            sizes = tuple(own.size for own in axes)
            values = [loop(own + (own > axis)) for own in range(len(stage.axes))]
            values[axis] = loop(axis) * count + loop(axis + 1)
            body, finish = body_over(stage.body, values, sizes), body_over(stage.finish, values, sizes)
            return SplitStage(replace(stage, axes=axes, body=body, finish=finish), axis)
    return None


def _quotients(stage: Stage) -> Iterator[tuple[int, int]]:
    """Axes that a read divides, and by what."""
    for read in reads(stage.body):
        for index in read.indices:
            for atom, _ in index.terms if isinstance(index, Index) else ():
                match atom:
                    case Quotient(Index(((Loop(axis), 1),), 0), count):
                        yield axis, count
                    case _:
                        pass
