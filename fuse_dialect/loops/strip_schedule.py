"""Products, reductions and maps that share rows as one kernel, some rows at a time. Pure data, and the choice of it.

1. All stages of the program share leading parallel axes, and each reads of a local buffer only what lies in its own
   row. The last of these axes is cut in *strips* of some rows; the others are *outer*. A strip passes all stages before
   the next one begins, so what lies between them has the size of a strip: it never grows with the number of rows.
2. A *step* is one product, or the loops of neighbouring stages that are none. A product takes its rows from the strip,
   and its columns from outside, the same ones for all strips of an outer point: they are packed when it begins, or read
   where they lie if one tile has all the rows.
3. As many rows are in a strip as let all that passes between steps stay in the second-level cache, but whole tiles of
   all products: one tile at least. Tiles that have too many rows in common get fewer.
4. Rows of what passes between steps are as far apart as copied rows of products are, so that none collide in a cache.
   The first axis of a row with several elements has room for that: those behind it stay one, as a product writes them.
5. Parts share strips, neighbours with neighbours, so that few pack the same columns.
6. Columns of what passes that a mask hides from all rows of a strip are left out of all steps (`bands`): each runs over
   one interval of columns, which follows from the numbers of its first and its last row. It begins and ends where
   panels of products do, so that no step reads what none has written.
7. Rows of open length run in one pass over blocks of columns, where they can (`pass_schedule`).
8. A buffer may be written in parts, by several steps, as what is joined is. Who reads it is a step behind all of these.

A softmax between two products is attention: its scores live for one strip.

Source: the tiling of attention in Dao et al., FlashAttention (arXiv:2205.14135), without its running totals: the caches
of a processor hold some whole rows of scores, the memory of a GPU's block does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm, prod
from typing import TypeAlias

from fuse_dialect.counts import Count, Size
from fuse_dialect.loops import tiling
from fuse_dialect.loops.bands import Band, band_of
from fuse_dialect.loops.contraction import Contraction, as_rows_and_columns, contraction_of, with_last_rows
from fuse_dialect.loops.contraction_schedule import is_served
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.grouping import parallel_sizes, reads_of, shared_rows
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.local_places import ALIGNMENT, place_locals
from fuse_dialect.loops.loop_nests import LoopNests
from fuse_dialect.loops.matrix_schedule import Interval, Matrices, matrices_of
from fuse_dialect.loops.nest_forms import nest_forms
from fuse_dialect.loops.packing import Packing
from fuse_dialect.loops.program import Buffer, LoopProgram, Read, Refusal, Role, Stage
from fuse_dialect.loops.scheduling import schedule
from fuse_dialect.machines.machine import Machine

_LOW = 2
"""Tiles of rows in a strip that leaves columns out: the fewer rows, the more of them are hidden from all."""
MOST_BYTES = 1 << 29
"""Of the workspace of a part: longer rows, or larger columns, are left to kernels that go through memory."""


@dataclass(frozen=True, slots=True)
class Passed:
    """What lies between two steps, for the rows of a strip."""

    buffer: str
    row_bytes: int
    """Distance of rows (4)."""
    offset: int
    """In the workspace, in bytes."""
    column_bytes: int = 0
    """Of a column, where it has those of one block."""
    turned: int | None = None
    """Where it is in every other block, if two buffers change places."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Columns that are taken block by block (7)."""

    columns: Size
    width: int
    """Columns of a block; the last one may have fewer."""
    begin: int
    """Number of the first step that runs for each block; those before run before all blocks."""
    end: int
    """Number of the first step that runs after them."""
    counts: str = ""
    """What the first of these steps passes, if that says for each row whether the block counts: 0 if not."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Columns that are left out (6)."""

    band: Band
    rows: Size
    """Rows at each outer point."""
    unit: int
    """Columns that are taken or left out together."""


@dataclass(frozen=True, slots=True)
class ProductStep:
    """A product for the rows of a strip (2)."""

    program: LoopProgram
    matrices: Matrices
    """Its outer axes are those in front of the rows: their points, in order, are those of the strips."""
    offset: int
    """Of its workspace: room for copied rows, then for packed columns."""

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        return self.matrices.workspace_bytes


@dataclass(frozen=True, slots=True)
class LoopStep:
    """Loops for the rows of a strip: one phase, whose rows are those of the strips."""

    program: LoopProgram
    """What passes between steps are its arguments and results."""
    loops: LoopNests
    offset: int
    """Of its workspace."""
    column_axis: int | None = None
    """Of its loops, if some run over the columns of which some are left out."""

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        return self.loops.workspace_bytes


Step: TypeAlias = ProductStep | LoopStep


@dataclass(frozen=True, slots=True)
class Strips:
    """A kernel of strips."""

    outer: Count
    """Points of the outer axes."""
    rows: Size
    """Rows at each of them."""
    height: int
    """Rows of a strip; the last one may have fewer."""
    passed: tuple[Passed, ...]
    steps: tuple[Step, ...]
    workspace_bytes: int
    """Of each part."""
    packings: dict[int, Packing]
    """Arguments, by position, that must be passed packed."""
    skipped: Skipped | None = None
    """What is left out (6)."""
    blocks: Blocks | None = None
    """How columns are taken, if not all at once (7)."""
    single: "OneRow | None" = None
    """What runs instead where rows of open number turn out to be one, if there is something faster for that."""

    @property
    def is_parallel(self) -> bool:
        """Whether parts share the work."""
        return self.outer.number != 1 or not isinstance(self.rows, int) or self.rows > self.height


@dataclass(frozen=True, slots=True)
class OneRow:
    """A program in which a size that is open is 1, and its strips."""

    program: LoopProgram
    """Its sizes that are known when it runs are those of the program of any number of rows, in the same order."""
    strips: Strips


def by_function(strips: Strips, name: str) -> dict[str, Strips]:
    """The strips that each function of a kernel runs, by its name: one, or one for one row and one for any number."""
    if strips.single is None:
        return {name: strips}
    return {f"{name}_one": strips.single.strips, f"{name}_more": replace(strips, single=None)}


def passed_to(strips: Strips, step: Step) -> list[str]:
    """What passes between steps of which a step has the address, in the order of its buffers."""
    passed = {each.buffer for each in strips.passed}
    return [buffer.name for buffer in step.program.buffers if buffer.name in passed]


def strips_of(program: LoopProgram, machine: Machine, constants: frozenset[str]) -> Strips | None:
    """The strips of a program; `None` if it is not one of products and loops that share rows (1).

    Args:
        program: In the form for the machine.
        machine: Where.
        constants: Names of buffers that may be packed at compile time.
    """
    stages = [without_single_points(stage) for stage in program.stages]
    if len(stages) < 2 or program.finds_faults or any(stage.is_ordered for stage in stages):
        return None
    if not any(is_served(stage) and contraction_of(program, stage) is not None for stage in stages):
        return None
    # Loops behind a product may share its columns, too, which are no rows of strips: then fewer axes are.
    for rows in range(shared_rows(stages), 0, -1):
        found = _strips_of_rows(program, stages, rows, machine, constants)
        if found is not None:
            return found
    return None


def _strips_of_rows(
    program: LoopProgram, stages: Sequence[Stage], rows: int, machine: Machine, constants: frozenset[str]
) -> Strips | None:
    """The strips of a program whose stages have so many axes of rows."""
    sizes = parallel_sizes(stages[0])[:rows]
    known = [size for size in sizes if isinstance(size, int)]
    if not rows or len(known) < rows or not all(known):
        return None
    groups = _groups(program, stages, known)
    passed = _passed_buffers(program, groups, rows)
    if passed is None or not any(group.is_product for group in groups):
        return None
    padded = _with_room(program, passed, prod(known), machine)
    steps: list[_Chosen] = []
    for group in groups:
        step = (
            _product(padded, group.stages[0], known, machine, constants)
            if group.is_product
            else _loops(padded, group.stages, rows, machine)
        )
        if step is None:
            return None
        steps.append(step)
    steps = _in_step(steps)
    band = band_of(program, stages, rows)
    skipped = None if band is None else _skipped(band, groups, steps, known)
    if skipped is not None:
        steps = [_cut(step, group, skipped.band) for step, group in zip(steps, groups, strict=True)]
    return _placed(program, padded, passed, steps, known, machine, skipped)


_Chosen: TypeAlias = Matrices | tuple[LoopProgram, LoopNests, int | None]
"""A product; or loops, with the column axis of which they leave points out."""


@dataclass(frozen=True, slots=True)
class _Group:
    """The stages of a step."""

    is_product: bool
    stages: list[Stage]
    first: int
    """Number of the first of them."""

    def column_axes(self, band: Band) -> list[int | None]:
        """The column axis of each stage."""
        return [band.axes.get(self.first + place) for place in range(len(self.stages))]


def _in_step(steps: Sequence[_Chosen]) -> list[_Chosen]:
    """Steps whose tiles have few rows in common (3)."""
    products = [step for step in steps if isinstance(step, Matrices)]
    heights = iter(tiling.rows_in_step([product.tile.rows for product in products]))
    return [_with_height(step, next(heights)) if isinstance(step, Matrices) else step for step in steps]


def _with_height(matrices: Matrices, rows: int) -> Matrices:
    """A product with tiles of so many rows, if they are fewer."""
    if rows == matrices.tile.rows:
        return matrices
    # Columns that one tile of all rows read where they lie are now needed by several.
    return replace(matrices, tile=replace(matrices.tile, rows=rows), lying=None)


def _skipped(band: Band, groups: Sequence[_Group], steps: Sequence[_Chosen], sizes: Sequence[int]) -> Skipped | None:
    """What is left out (6); `None` if some step cannot run over an interval."""
    rows, unit = len(sizes), 1
    for group, step in zip(groups, steps, strict=True):
        axes = group.column_axes(band)
        for stage, axis in zip(group.stages, axes, strict=True):
            others = [each for number, each in enumerate(stage.axes) if number >= rows and number != axis]
            # Loops of a step have one axis behind the rows, the same one in all; a product has another one.
            if len(others) != isinstance(step, Matrices) or (axis is None and len(stage.axes) > rows and others):
                return None
        if isinstance(step, Matrices):
            if axes[0] is not None and not group.stages[0].axes[axes[0]].is_reduced:
                unit = lcm(unit, step.width)
        elif len({axis for axis in axes if axis is not None}) > 1 or not has_plain_loops(step[1], rows):
            return None
    return Skipped(band, sizes[-1], unit)


def has_plain_loops(loops: LoopNests, rows: int) -> bool:
    """Whether no loop of a row runs over several axes, or tiles."""
    nests = [nest for phase in loops.schedule.phases for nest in phase.nests]
    return all(not nest.tiles and all(len(each.axes) == 1 for each in nest.loops) for nest in nests)


def _cut(step: _Chosen, group: _Group, band: Band) -> _Chosen:
    """A step that leaves out what it may (6)."""
    axes = [axis for axis in group.column_axes(band) if axis is not None]
    if not axes:
        return step
    if isinstance(step, Matrices):
        is_reduced = group.stages[0].axes[axes[0]].is_reduced
        # What is left out is whole panels of packed columns.
        return replace(step, interval=Interval.DEPTH if is_reduced else Interval.COLUMNS, lying=None)
    return step[0], step[1], axes[0]


def _groups(program: LoopProgram, stages: Sequence[Stage], sizes: Sequence[int]) -> list[_Group]:
    """The stages in steps (2, 8): each product by itself, and neighbours that are none."""
    groups: list[_Group] = []
    written: set[str] = set()
    for number, stage in enumerate(stages):
        contraction = _contraction(program, stage, sizes)
        # Columns that a step writes are of one strip, and no product has them for all its rows.
        is_product = contraction is not None and not any(
            isinstance(each, Read) and each.buffer in written for each in contraction.columns.body
        )
        if not is_product and groups and not groups[-1].is_product and not _is_whole(groups, stage):
            groups[-1].stages.append(stage)
        else:
            groups.append(_Group(is_product, [stage], number))
        written.add(stage.buffer)
    return groups


def _is_whole(groups: Sequence[_Group], stage: Stage) -> bool:
    """Whether a stage reads what the last step and one before it wrote parts of (8)."""
    written = [{each.buffer for each in group.stages} for group in groups]
    return any(
        read.buffer in written[-1] and any(read.buffer in one for one in written[:-1]) for read in reads_of(stage)
    )


def _contraction(program: LoopProgram, stage: Stage, sizes: Sequence[int]) -> Contraction | None:
    """A product whose rows are those of strips, and whose columns are the same for all strips of an outer point."""
    found = contraction_of(program, stage) if is_served(stage) else None
    if found is None:
        return None
    contraction = as_rows_and_columns(program, with_last_rows(program, found, sizes[-1]))
    # An axis that was split is two that count in the same order, so the points in front of the rows are as many.
    parallel = [axis.size for axis in contraction.stage.axes if not axis.is_reduced]
    front, points = 0, 1
    while front < len(parallel) and points < prod(sizes[:-1]):
        size = parallel[front]
        if not isinstance(size, int):
            return None
        points, front = points * size, front + 1
    is_in_front = points == prod(sizes[:-1]) and contraction.outer == tuple(range(front))
    has_rows = contraction.row_axes == (front,) and parallel[front] == sizes[-1]
    return contraction if is_in_front and has_rows and min(contraction.column_axes) > front else None


def _passed_buffers(program: LoopProgram, groups: Sequence[_Group], rows: int) -> list[str] | None:
    """Local buffers that one step writes and another one reads; `None` if one is not whole rows."""
    buffers = {buffer.name: buffer for buffer in program.buffers}
    writers: dict[str, set[int]] = {}
    passed: list[str] = []
    for number, group in enumerate(groups):
        for stage in group.stages:
            for read in reads_of(stage):
                if writers.get(read.buffer, set()) - {number} and read.buffer not in passed:
                    passed.append(read.buffer)
            writers.setdefault(stage.buffer, set()).add(number)
    passed = [name for name in passed if buffers[name].role is Role.LOCAL]
    stages = [stage for group in groups for stage in group.stages if stage.buffer in passed]
    return passed if all(_writes_rows(stage, buffers[stage.buffer].shape, rows) for stage in stages) else None


def _writes_rows(stage: Stage, shape: Sequence[int | str], rows: int) -> bool:
    """Whether the first axes of a buffer, but for those of one element, are the rows; all its sizes are known."""
    kept = [place for place, size in enumerate(shape) if size != 1]
    sizes = parallel_sizes(stage)[:rows]
    return (
        [shape[place] for place in kept[:rows]] == sizes
        and [stage.store[place] for place in kept[:rows]] == [loop(axis) for axis in range(rows)]
        and all(isinstance(size, int) for size in shape)
    )


def _with_room(program: LoopProgram, passed: Sequence[str], points: int, machine: Machine) -> LoopProgram:
    """The program with what passes between steps as results, their rows apart (4), of which there are `points`."""

    def changed(buffer: Buffer) -> Buffer:
        if buffer.name not in passed:
            return buffer
        sizes = [size for size in buffer.shape if isinstance(size, int)]
        # Where a row has one element and no axis for it, rows lie side by side.
        of_row = [place for place in range(len(sizes)) if prod(sizes[:place]) >= points]
        if of_row:
            place = next((place for place in of_row if sizes[place] > 1), of_row[-1])
            inner = prod(sizes[place + 1 :])
            pitch = tiling.pitch(machine, sizes[place] * inner, element_bytes(buffer.element))
            sizes[place] = -(-pitch // inner)
        return replace(buffer, shape=tuple(sizes), role=Role.RESULT)

    return LoopProgram(program.name, tuple(map(changed, program.buffers)), program.stages)


def _product(
    program: LoopProgram, stage: Stage, sizes: Sequence[int], machine: Machine, constants: frozenset[str]
) -> Matrices | None:
    contraction = _contraction(program, stage, sizes)
    if contraction is None:
        return None
    alone = replace(program, stages=(stage,))
    return matrices_of(alone, contraction, machine, constants, shares_columns=True)


def _loops(
    program: LoopProgram, stages: Sequence[Stage], rows: int, machine: Machine
) -> tuple[LoopProgram, LoopNests, None] | None:
    """Loops as one phase, whose rows are those of the strips."""
    written = {stage.buffer for stage in stages}
    read = {read.buffer for stage in stages for read in reads_of(stage)} - written

    def own(buffer: Buffer) -> Buffer:
        return buffer if buffer.name in written else replace(buffer, role=Role.ARGUMENT)

    buffers = tuple(own(buffer) for buffer in program.buffers if buffer.name in written | read)
    inner = LoopProgram(program.name, buffers, tuple(stages))
    loops = loops_of_rows(inner, rows, machine)
    return None if loops is None else (inner, loops, None)


def loops_of_rows(program: LoopProgram, rows: int, machine: Machine) -> LoopNests | None:
    """Loops as one phase, whose rows are so many leading axes; `None` if they need several phases, or other rows."""
    plan = schedule(program, machine, keeps_rows=True, most_rows=rows)
    places = place_locals(plan)
    if isinstance(places, Refusal) or len(plan.phases) != 1:
        return None
    phase = plan.phases[0]
    # The rows of the phase are numbered as those of the strips are: the last axis fastest.
    if phase.row_axes != frozenset(range(rows)) or any(loop.block for loop in phase.rows) or phase.is_everyones:
        return None
    return LoopNests(plan, places, nest_forms(plan, places, machine))


@dataclass(slots=True)
class Room:
    """A workspace that is being laid out."""

    end: int = 0
    """Bytes that are taken."""

    def taken(self, bytes: int) -> int:
        """Take some bytes, in lines of their own; their offset."""
        start = self.end
        self.end += -(-bytes // ALIGNMENT) * ALIGNMENT
        return start


def _placed(
    program: LoopProgram,
    padded: LoopProgram,
    passed: Sequence[str],
    steps: Sequence[_Chosen],
    sizes: Sequence[int],
    machine: Machine,
    skipped: Skipped | None,
) -> Strips | None:
    """Heights and places of strips (3); `None` if one tile of rows is too much for the caches."""
    buffers = {buffer.name: buffer for buffer in padded.buffers}
    row_bytes = {name: _row_bytes(buffers[name], prod(sizes)) for name in passed}
    products = [step for step in steps if isinstance(step, Matrices)]
    tile = lcm(*(product.tile.rows for product in products))
    total = sum(row_bytes.values())
    most = tiling.block_bytes(machine) // max(1, tile * total)

    height = min(tile * max(1, most), -(-sizes[-1] // tile) * tile)
    if skipped is not None:
        height = min(height, _LOW * tile)
    height = -(-tiling.even_part(sizes[-1], height) // tile) * tile
    room = Room()
    lying = tuple(Passed(name, row_bytes[name], room.taken(height * row_bytes[name])) for name in passed)
    placed: list[Step] = []
    packings: dict[int, Packing] = {}
    arguments = [buffer.name for buffer in program.buffers if buffer.role is Role.ARGUMENT]
    for step in steps:
        if isinstance(step, Matrices):
            step = replace(step, strip_rows=height)
            placed.append(ProductStep(padded, step, room.taken(step.workspace_bytes)))
            read = step.contraction.columns.constant_read
            if step.packing is not None and read is not None:
                packings[arguments.index(read.buffer)] = step.packing
        else:
            placed.append(LoopStep(step[0], step[1], room.taken(step[1].workspace_bytes), step[2]))
    if room.end > MOST_BYTES:
        return None
    return Strips(Count.of(prod(sizes[:-1])), sizes[-1], height, lying, tuple(placed), room.end, packings, skipped)


def _row_bytes(buffer: Buffer, rows: int) -> int:
    """Distance of the rows of a buffer."""
    elements = prod(size for size in buffer.shape if isinstance(size, int))
    return elements // rows * element_bytes(buffer.element)
