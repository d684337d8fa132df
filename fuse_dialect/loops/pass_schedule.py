"""Strips that pass all columns block by block: rows of open length as one kernel. Pure data, and the choice of it.

`one_pass` says which stages run before, in, and after blocks, and what goes from one to the next. Here they become
steps of strips (`strip_schedule`):

1. What has columns has room for one block of the rows of a strip, and a state for two totals of these.
2. A product has a row axis, the last one that all stages share, or none: then each row is a strip by itself.
3. Products pack the columns of each block when they come to it; where one tile has all rows that meet them, they are
   read where they lie.
4. Loops over columns and loops over anything else are steps of their own: a block bounds the former.
5. Few rows, and columns that are contiguous along the sums: scores are sums in loops.
6. Rows of open number may be one, as those of a decoder are that takes prompts, too: there is code for that beside.
7. The first step of a block says which rows it counts for, if the program has a mask; if for none, the others are left
   out.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import lcm, prod
from typing import TypeAlias

from fuse_dialect.counts import Size, product
from fuse_dialect.loops import tiling
from fuse_dialect.loops.contraction import Contraction, as_rows_and_columns, contraction_of
from fuse_dialect.loops.contraction_schedule import is_row_sums, is_served
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.grouping import parallel_sizes, reads_of, shared_rows
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.loop_nests import LoopNests
from fuse_dialect.loops.matrix_schedule import Interval, Matrices, matrices_of
from fuse_dialect.loops.one_pass import BLOCK_SIZES, OnePass, one_pass
from fuse_dialect.loops.program import Buffer, LoopProgram, Refusal, Role, Stage
from fuse_dialect.loops.strip_schedule import (
    MOST_BYTES,
    Blocks,
    LoopStep,
    OneRow,
    Passed,
    ProductStep,
    Room,
    Step,
    Strips,
    has_plain_loops,
    loops_of_rows,
)
from fuse_dialect.machines.machine import Machine

BLOCK = 384
"""Columns of a block, a multiple of what any panel has: a panel of as many keys, their values and their scores stay in
a second-level cache."""


def strips_in_blocks(program: LoopProgram, machine: Machine) -> Strips | None:
    """The strips of a program that passes its columns block by block; `None` if it is no such program.

    Args:
        program: In the form for the machine.
        machine: Where.
    """
    stages = [without_single_points(stage) for stage in program.stages]
    if len(stages) < 2 or program.finds_faults or any(stage.is_ordered for stage in stages):
        return None
    for rows in range(shared_rows(stages), 0, -1):
        plan = one_pass(program, stages, rows, tiling.pitch(machine, BLOCK, 4))
        if isinstance(plan, Refusal):
            continue
        found = _Scheduler(program, plan, machine).strips(stages)
        if found is not None and isinstance(found.rows, str):
            single = _of_one_row(program, found.rows)
            strips = strips_in_blocks(single, machine)
            if strips is not None:
                most = max(found.workspace_bytes, strips.workspace_bytes)
                return replace(found, single=OneRow(single, strips), workspace_bytes=most)
        if found is not None:
            return found
    return None


def _of_one_row(program: LoopProgram, rows: str) -> LoopProgram:
    """A program with 1 for an open size, which is told to it all the same (6)."""
    symbols = dict.fromkeys(size for buffer in program.buffers for size in buffer.shape if isinstance(size, str))
    told = Buffer("sizes", "i8", tuple(symbols), Role.LOCAL)

    def one(size: Size) -> Size:
        return 1 if size == rows else size

    buffers = (replace(buffer, shape=tuple(map(one, buffer.shape))) for buffer in program.buffers)
    stages = (
        replace(stage, axes=tuple(replace(axis, size=one(axis.size)) for axis in stage.axes))
        for stage in program.stages
    )
    return LoopProgram(program.name, (told, *buffers), tuple(stages))


_Chosen: TypeAlias = Matrices | tuple[LoopProgram, LoopNests, int | None]
"""A product; or loops, with the column axis that a block bounds."""


class _Scheduler:
    """Makes steps of the stages of a pass."""

    def __init__(self, program: LoopProgram, plan: OnePass, machine: Machine):
        self.plan, self.machine = plan, machine
        self.arguments = {buffer.name for buffer in program.buffers if buffer.role is Role.ARGUMENT}
        self.program = replace(program, buffers=plan.buffers)

    def strips(self, stages: Sequence[Stage]) -> Strips | None:
        """The strips; `None` if some stage is no step.

        Args:
            stages: Those of the program.
        """
        plan = self.plan
        parts: list[list[_Chosen]] = []
        counting = () if plan.counting is None else (plan.counting,)
        for part in (plan.opening, counting, plan.block, plan.closing):
            groups = self._groups(part)
            steps = [self._step(group) for group in groups]
            parts.append([step for step in steps if step is not None])
            if None in steps or self._passes_others(groups):
                return None
        products = [step for part in parts for step in part if isinstance(step, Matrices)]
        has_rows = {bool(product.contraction.row_axes) for product in products}
        if len(has_rows) != 1 or any(BLOCK % each.width for each in products if each.interval is Interval.COLUMNS):
            return None
        return self._placed(parts, products, stages, has_rows=has_rows.pop())

    def _groups(self, stages: Sequence[Stage]) -> list[list[Stage]]:
        """The stages of each step (4)."""
        groups: list[list[Stage]] = []
        kind: tuple[bool, bool] | None = None
        for stage in stages:
            is_block = stages is not self.plan.opening and stages is not self.plan.closing
            own = self._contraction(stage) is not None, is_block and self._is_along(stage)
            if own == kind and not own[0]:
                groups[-1].append(stage)
            else:
                groups.append([stage])
            kind = own
        return groups

    def _is_along(self, stage: Stage) -> bool:
        """Whether a stage may stand in loops that a block bounds."""
        return self.plan.column_axis(stage) is not None or len(stage.axes) == self.plan.rows

    def _passes_others(self, groups: Sequence[Sequence[Stage]]) -> bool:
        """Whether steps pass anything but states and blocks, which alone have a place."""
        writer = {stage.buffer: number for number, group in enumerate(groups) for stage in group}
        local = {buffer.name for buffer in self.plan.buffers if buffer.role is Role.LOCAL}
        read = [
            (number, read.buffer) for number, group in enumerate(groups) for each in group for read in reads_of(each)
        ]
        return any(buffer in local and writer.get(buffer) != number for number, buffer in read)

    def _contraction(self, stage: Stage) -> Contraction | None:
        """A product that is a step (2), and no sums in loops (5)."""
        found = contraction_of(self.program, stage) if is_served(stage) else None
        if found is None:
            return None
        contraction, rows = as_rows_and_columns(self.program, found), self.plan.rows
        front = contraction.outer + contraction.row_axes
        is_in_front = front == tuple(range(rows)) and len(contraction.row_axes) <= 1
        if not is_in_front or min(contraction.column_axes) < rows or contraction.stage.axes[:rows] != stage.axes[:rows]:
            return None
        return None if is_row_sums(self.program, contraction) else contraction

    def _step(self, stages: Sequence[Stage]) -> _Chosen | None:
        contraction = self._contraction(stages[0])
        return self._loops(stages) if contraction is None else self._product(stages[0], contraction)

    def _product(self, stage: Stage, contraction: Contraction) -> Matrices | None:
        """A product, of all its columns or of those of a block (3)."""
        alone, axis = replace(self.program, stages=(stage,)), self.plan.column_axis(stage)
        if axis is None:
            return matrices_of(alone, contraction, self.machine, frozenset(), shares_columns=True)
        if not stage.axes[axis].is_reduced:
            found = matrices_of(alone, contraction, self.machine, frozenset())
            return None if found is None else replace(found, interval=Interval.COLUMNS, block_columns=BLOCK)
        whole = self.plan.in_block
        found = matrices_of(alone, contraction, self.machine, frozenset(), block=BLOCK, whole_tiles=whole)
        return None if found is None else replace(found, interval=Interval.DEPTH)

    def _loops(self, stages: Sequence[Stage]) -> _Chosen | None:
        """Loops as one phase, whose rows are those of the strips."""
        written = {stage.buffer for stage in stages}
        read = {read.buffer for stage in stages for read in reads_of(stage)} - written

        def own(buffer: Buffer) -> Buffer:
            return buffer if buffer.name in written else replace(buffer, role=Role.ARGUMENT)

        # Arguments say what the open sizes are.
        kept = written | read | self.arguments
        buffers = tuple(
            own(buffer) if buffer.name in kept else buffer
            for buffer in self.plan.buffers
            if buffer.name in kept or buffer.name == BLOCK_SIZES
        )
        inner = LoopProgram(self.program.name, buffers, tuple(stages))
        loops, rows = loops_of_rows(inner, self.plan.rows, self.machine), self.plan.rows
        is_along = any(self.plan.column_axis(stage) is not None for stage in stages)
        if loops is None or (is_along and not has_plain_loops(loops, rows)):
            return None
        return inner, loops, rows if is_along else None

    def _placed(
        self,
        parts: Sequence[Sequence[_Chosen]],
        products: Sequence[Matrices],
        stages: Sequence[Stage],
        *,
        has_rows: bool,
    ) -> Strips | None:
        """Heights and places."""
        sizes = parallel_sizes(stages[0])[: self.plan.rows]
        rows, outer = (sizes[-1], sizes[:-1]) if has_rows else (1, sizes)
        tile = lcm(*(each.tile.rows for each in products))
        buffers = [each for each in self.plan.buffers if each.name in self.plan.in_block or self._is_state(each.name)]
        row_bytes = {each.name: self._row_bytes(each) for each in buffers}
        height = tile * max(1, tiling.block_bytes(self.machine) // (tile * sum(row_bytes.values())))
        if isinstance(rows, int):
            height = -(-tiling.even_part(rows, min(height, -(-rows // tile) * tile)) // tile) * tile
        place = Room()
        offsets = {each.name: place.taken(height * row_bytes[each.name]) for each in buffers}
        turned = {state.old: offsets[state.new] for state in self.plan.states}
        turned |= {state.new: offsets[state.old] for state in self.plan.states}
        passed = tuple(
            Passed(
                each.name,
                row_bytes[each.name],
                offsets[each.name],
                element_bytes(each.element) if each.name in self.plan.in_block else 0,
                turned.get(each.name),
            )
            for each in buffers
        )
        steps: list[Step] = []
        for step in (step for part in parts for step in part):
            if isinstance(step, Matrices):
                step = replace(step, strip_rows=height)
                steps.append(ProductStep(self.program, step, place.taken(step.workspace_bytes)))
            else:
                steps.append(LoopStep(step[0], step[1], place.taken(step[1].workspace_bytes), step[2]))
        if place.end > MOST_BYTES:
            return None
        begin, counting = len(parts[0]), len(parts[1])
        counts = self.plan.counting.buffer if counting and self.plan.counting is not None else ""
        blocks = Blocks(self.plan.columns, BLOCK, begin, begin + counting + len(parts[2]), counts)
        return Strips(product(outer), rows, height, passed, tuple(steps), place.end, {}, None, blocks)

    def _is_state(self, name: str) -> bool:
        """Whether a buffer goes from step to step: two totals, or a correction of a product."""
        buffer = next(each for each in self.plan.buffers if each.name == name)
        return buffer.role is Role.RESULT and buffer in self.plan.added

    def _row_bytes(self, buffer: Buffer) -> int:
        """Distance of the rows of a buffer."""
        sizes = buffer.shape[-1:] if buffer.name in self.plan.in_block else buffer.shape[self.plan.rows :]
        return prod(size for size in sizes if isinstance(size, int)) * element_bytes(buffer.element)
