"""A kernel of loops, as data: its phases, where local buffers live, and how nests run."""

from dataclasses import dataclass

from fuse_dialect.loops.local_places import LocalPlaces
from fuse_dialect.loops.nest_forms import NestForm
from fuse_dialect.loops.orders import sorted_line_of
from fuse_dialect.loops.schedule import Schedule


@dataclass(frozen=True, slots=True)
class LoopNests:
    """A kernel of loops: phases, one after the other, each row by row."""

    schedule: Schedule
    places: LocalPlaces
    forms: tuple[tuple[NestForm, ...], ...]
    """How the nests of each phase run."""

    @property
    def scratch_bytes(self) -> int:
        """Memory beside the buffers, behind them in the workspace: that of the largest line that is sorted."""
        nests = [nest for phase in self.schedule.phases for nest in phase.nests]
        return max((order.bytes for nest in nests if (order := sorted_line_of(nest)) is not None), default=0)

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        return self.places.bytes + self.scratch_bytes

    @property
    def is_parallel(self) -> bool:
        """Whether parts share the work."""
        # Who finds a fault says so once, for all of it.
        if not self.schedule.is_parallel or self.schedule.program.finds_faults:
            return False
        return any(phase.can_split for phase in self.schedule.phases if not phase.is_everyones)
