"""In which order a program's loops run on a processor with vectors. Pure data.

1. A program is a sequence of *phases*. A phase runs its stages row by row: its *rows* are parallel axes that all its
   stages share, and what a stage reads of a buffer that an earlier stage of the phase wrote lies in the same row. So
   the row stays in the first cache, and rows may be shared out to threads.
2. Within a row, consecutive stages over the same space are one *nest*: they run element by element, and what one
   writes the next has in a register. A reduction's value exists after its nest, so who reads it is in a later one.
3. The *vector loop* of a nest runs over as many elements at once as a vector holds. In a map that is the axis along
   which results lie side by side; in a reduction it is either the last reduced axis (*across*: partial results in
   lanes, combined at the end) or the last parallel one (*along*: each lane is a result of its own).
4. Neighbouring axes that all places run through without a gap are one loop.
5. Where a read runs along another axis than the store (a transpose), both axes are cut in blocks, whose lines and
   pages stay in the first caches. A block is computed tile by tile: a tile has some neighbours along both axes, and
   is transposed in registers. One of the axes may be so short that a tile has all of it, side by side in memory.
6. A map whose rows have fewer vectors than a long body needs side by side runs in tiles, too: those of several rows.
"""

from dataclasses import dataclass
from enum import Enum

from fuse_dialect.counts import Count
from fuse_dialect.loops.program import LoopProgram, Stage


@dataclass(frozen=True, slots=True)
class LoopAxis:
    """One loop over neighbouring axes of stages, outermost first."""

    axes: tuple[int, ...]
    size: Count
    block: int = 0
    """Iterations of an inner loop over the same axis, if there is one: then this one makes steps of as many."""
    is_inside: bool = False
    """Whether this is the inner loop, over one block."""


class Direction(Enum):
    """How a nest uses vectors."""

    ALONG = "along"
    """Each lane computes a result of its own."""
    ACROSS = "across"
    """Lanes hold parts of one result, combined at the end."""


@dataclass(frozen=True, slots=True)
class Nest:
    """Stages that run element by element over the same space."""

    stages: tuple[Stage, ...]
    """Without axes of size 1; axes have the same numbers in all of them."""
    loops: tuple[LoopAxis, ...]
    """Within a row, outermost first."""
    vector: int | None
    """Which of the loops is the vector loop; `None` if the nest runs on scalars."""
    reduced: int
    """Number of the loops that run before all are reduced: `loops[reduced:]`, without the vector loop of `ALONG`."""
    direction: Direction
    lanes: int
    """Elements of a vector."""
    unroll: int
    """Vectors in one iteration."""
    tiles: tuple[int, ...] = ()
    """Heights of the tiles of a transpose: vectors of neighbours along the loop inside the vector loop."""

    @property
    def vector_axis(self) -> int | None:
        """The axis along which lanes are neighbours; `None` if the nest runs on scalars."""
        return None if self.vector is None else self.loops[self.vector].axes[-1]


@dataclass(frozen=True, slots=True)
class Phase:
    """Stages that run row by row."""

    rows: tuple[LoopAxis, ...]
    """Outermost first; none if there is one row."""
    nests: tuple[Nest, ...]
    splits_rows: bool
    """Whether threads share the rows; else they share the vector loop of the one nest, or one does all."""
    is_everyones: bool = False
    """Whether each thread runs all of it, and keeps to itself what comes out: tables that other phases read."""

    @property
    def vector_split(self) -> Nest | None:
        """The nest whose vector loop threads share; `None` if there is none."""
        # Nests of one row need each other's elements, and threads do not wait for each other in a row.
        if self.splits_rows or len(self.nests) != 1:
            return None
        nest = self.nests[0]
        return nest if nest.vector == 0 and nest.reduced >= 1 else None

    @property
    def can_split(self) -> bool:
        """Whether threads may share the work."""
        return self.splits_rows or self.vector_split is not None

    @property
    def row_axes(self) -> frozenset[int]:
        """The axes that rows run over."""
        return frozenset(axis for loop in self.rows if not loop.block for axis in loop.axes)


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a program runs."""

    program: LoopProgram
    phases: tuple[Phase, ...]
    is_parallel: bool
    """Whether threads may share the work: no phase reads what another one wrote."""
