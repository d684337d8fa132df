"""The stages of a schedule with numbers for sizes: when each point runs, and where it stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from fuse_dialect.backends.checking.points import known, storing_point
from fuse_dialect.loops.indices import Loop
from fuse_dialect.loops.program import LoopProgram, Stage
from fuse_dialect.loops.schedule import Schedule

Time: TypeAlias = tuple[int, tuple[int, ...], int]
"""When something runs: the number of its phase, its row, and its nest. What has the same time has no order."""
Point: TypeAlias = tuple[int, ...]
"""The values of a stage's axes, without the reduced ones where it stores once for all of them."""
_LEAST_SIZE = 3
"""What the first size is taken for that is known only when a kernel runs; others are larger."""


@dataclass(frozen=True)
class ScheduledStage:
    """A stage where it runs."""

    stage: Stage
    order: int
    """Its place in the program."""
    phase: int
    nest: int
    """The number of its nest in the phase."""
    rows: tuple[tuple[int, int], ...]
    """The axes of the phase's rows, with the sizes of their blocks."""
    extents: tuple[int, ...]
    """Sizes of its axes."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.stage.name

    @property
    def buffer(self) -> str:
        """What it stores to."""
        return self.stage.buffer

    @cached_property
    def stored_axes(self) -> int:
        """How many axes a point has that is stored: the parallel ones, or all if it stores along reduced ones, too."""
        count = sum(not axis.is_reduced for axis in self.stage.axes)
        return len(self.stage.axes) if self.stage.is_scan else count

    @cached_property
    def store_axes(self) -> tuple[frozenset[int], ...]:
        """For each dimension of the buffer the axes that say where a point is stored."""
        return tuple(
            frozenset(atom.axis for atom, _ in index.terms if isinstance(atom, Loop)) for index in self.stage.store
        )

    @cached_property
    def row_dimensions(self) -> frozenset[int]:
        """The dimensions of the buffer that are whole axes of the rows."""
        rows = {axis for axis, block in self.rows if block == 1}
        return frozenset(place for place, axes in enumerate(self.store_axes) if axes & rows)

    @cached_property
    def has_one_value(self) -> bool:
        """Whether a row has one value of the buffer."""
        rows = {axis for axis, block in self.rows if block == 1}
        return all(axis in rows for axis in range(self.stored_axes) if self.extents[axis] != 1)

    def time(self, point: Sequence[int]) -> Time:
        """When a point runs."""
        return self.phase, tuple(point[axis] // block for axis, block in self.rows), self.nest

    def row_of(self, point: Sequence[int]) -> dict[int, int]:
        """The values that the axes of rows have at a point."""
        return {axis: point[axis] for axis, _ in self.rows if axis < len(point)}

    def storing(self, element: Sequence[int], row: Mapping[int, int]) -> Point | None:
        """The point that stores an element of the buffer, in a given row if the store leaves that open."""
        if self.stage.scatter is not None:  # it may store anywhere
            return tuple(0 for _ in self.extents)
        extents = self.extents[: self.stored_axes]
        stored = frozenset[int]().union(*self.store_axes)
        fixed = {axis: value for axis, value in row.items() if axis < len(extents) and axis not in stored}
        return storing_point(self.stage, element, extents, fixed)


def sizes_of(program: LoopProgram) -> dict[str, int]:
    """Numbers for the sizes of a program that are known only when it runs."""
    sizes = [size for buffer in program.buffers for size in buffer.shape]
    sizes += [axis.size for stage in program.stages for axis in stage.axes]
    symbols = dict.fromkeys(size for size in sizes if isinstance(size, str))
    return {symbol: _LEAST_SIZE + place for place, symbol in enumerate(symbols)}


def scheduled_stages(plan: Schedule, sizes: Mapping[str, int]) -> list[ScheduledStage]:
    """The stages in the order of the program."""
    found: list[ScheduledStage] = []
    for number, phase in enumerate(plan.phases):
        rows = tuple((axis, loop.block or 1) for loop in phase.rows for axis in loop.axes)
        for place, nest in enumerate(phase.nests):
            for stage in nest.stages:
                extents = tuple(known(axis.size, sizes) for axis in stage.axes)
                found.append(ScheduledStage(stage, len(found), number, place, rows, extents))
    return found
