"""Contractions: stages that add up products of two factors. What they are, and their normal form. Pure data.

1. A factor is the part of the body that computes one operand of the multiplication. Often it is one read; it may have
   casts, scales or padding around it.
2. A parallel axis is a *row* axis if only the first factor depends on it, and a *column* axis if only the second one
   does. If both or none do, it is an *outer* axis: a batch, a group.
3. Neighbouring columns lie side by side in the result: the second factor is the one that depends on the last axis of
   the store, whose stride is 1. Vectors run along it, and the other factor is read element by element.
4. A row axis that is also in an index of a reduced axis makes windows: a convolution.

Matrix products, dense layers, convolutions in any layout, products with vectors are all of this form.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

from fuse_dialect.counts import Count, Size
from fuse_dialect.loops.bodies import indices_of, moved, operands
from fuse_dialect.loops.functions import DOT, FLOAT_DOT, PAIR_DOT, SIGNED_DOT, UNSIGNED_DOT
from fuse_dialect.loops.indices import Guard, axes_of, loop
from fuse_dialect.loops.iteration_space import merged_axes, split_axes, without_single_points
from fuse_dialect.loops.places import Place, flat_place, index_place
from fuse_dialect.loops.program import Apply, Body, Combiner, LoopProgram, Read, Role, Stage

PRODUCTS = ("arith.mulf", "arith.muli", DOT, SIGNED_DOT, UNSIGNED_DOT, FLOAT_DOT, PAIR_DOT)


@dataclass(frozen=True, slots=True)
class Factor:
    """One operand of the multiplication."""

    body: Body
    axes: frozenset[int]
    """The axes that it depends on."""

    @property
    def read(self) -> Read | None:
        """The read, if the factor is nothing else."""
        match self.body:
            case (Read() as read,):
                return read
            case _:
                return None

    @property
    def constant_read(self) -> Read | None:
        """The read, if the factor is nothing else but a change of its float type, which packing does as well."""
        match self.body:
            case (Read(guards=()) as read,):
                return read
            case (Read(guards=()) as read, Apply("arith.extf", (0,))):
                return read
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Contraction:
    """A stage that adds up products, with the part that each axis plays."""

    stage: Stage
    rows: Factor
    columns: Factor
    outer: tuple[int, ...]
    row_axes: tuple[int, ...]
    """Sorted by their place in the result, the one with the least stride last."""
    column_axes: tuple[int, ...]
    """Sorted in the same way; the last has stride 1 in the result."""
    reduced: tuple[int, ...]

    @property
    def product(self) -> str:
        """The function of the two factors: one of `PRODUCTS`."""
        last = self.stage.body[-1]
        assert isinstance(last, Apply)
        return last.function

    @property
    def has_rows_first(self) -> bool:
        """Whether the rows are the first operand of the product: of `DOT` the factor without signs."""
        last = self.stage.body[-1]
        assert isinstance(last, Apply)
        return self.rows.body == (self.stage.body[last.operands[0]],)

    @property
    def apart(self) -> int:
        """Of `FLOAT_DOT`, how many elements of the columns lie between the numbers of a pair; else 1."""
        last = self.stage.body[-1]
        assert isinstance(last, Apply)
        return last.parameter if isinstance(last.parameter, int) else 1

    @property
    def element(self) -> str:
        """Type of the sums."""
        assert self.stage.reduction is not None
        return self.stage.reduction.start.element


def contraction_of(program: LoopProgram, stage: Stage) -> Contraction | None:
    """The stage as a contraction, with axes of one element dropped and divided axes split; `None` if it is none."""
    if stage.reduction is None or stage.reduction.combiner is not Combiner.ADD or stage.reduction.start.value != 0:
        return None
    if stage.is_scan:
        return None
    return _recognised(program, split_axes(without_single_points(stage)))


def is_gate(program: LoopProgram) -> bool:
    """Whether a program is two products over the same points, and the second one's end reads what the first one gives.

    It reads it at its own point, so that whoever computes some points of both needs nothing from others. What is passed
    on is local and of known size.
    """
    if len(program.stages) != 2 or any(contraction_of(program, stage) is None for stage in program.stages):
        return False
    first, second = program.stages
    buffer = next(buffer for buffer in program.buffers if buffer.name == first.buffer)
    if buffer.role is not Role.LOCAL or first.store or any(isinstance(size, str) for size in buffer.shape):
        return False
    sizes = [[axis.size for axis in stage.axes if not axis.is_reduced] for stage in program.stages]
    inside = [read for read in (*second.body, *second.finish) if isinstance(read, Read) and read.buffer == buffer.name]
    is_at_own_point = all(
        not read.guards
        and all(
            size == 1 or index == loop(axis)
            for axis, (index, size) in enumerate(zip(read.indices, buffer.shape, strict=True))
        )
        for read in inside
    )
    in_body = any(isinstance(read, Read) and read.buffer == buffer.name for read in second.body)
    return sizes[0] == sizes[1] and bool(inside) and is_at_own_point and not in_body


def as_matrices(program: LoopProgram, contraction: Contraction) -> Contraction:
    """The contraction with at most one row axis and one column axis, and as few reduced axes as possible.

    Neighbouring rows, and neighbouring columns, merge where the result and everything that `finish` reads allow it:
    what a factor reads may then need divisions. Those that do not merge are outer axes. Reduced axes merge only where
    both factors stay plain.
    """
    return _as_matrices(program, contraction, keeps_rows=False)


def as_rows_and_columns(program: LoopProgram, contraction: Contraction) -> Contraction:
    """The same, but rows do not merge: of several row axes the last one is left, and the others are outer axes."""
    return _as_matrices(program, contraction, keeps_rows=True)


def with_last_rows(program: LoopProgram, contraction: Contraction, size: int) -> Contraction:
    """The contraction whose last rows are one axis of a size again that was split, if they merge to it."""
    while len(contraction.row_axes) > 1:
        last = contraction.stage.axes[contraction.row_axes[-1]].size
        merged = _merged_pair(program, contraction, *contraction.row_axes[-2:])
        if isinstance(last, str) or last >= size or merged is None:
            break
        contraction = merged
    return contraction


def rows_of_product(program: LoopProgram, stage: Stage, contraction: Contraction) -> int:
    """How many leading axes of a stage are in front of the columns of its product; see `forms`, 2.

    Args:
        program: What the stage is from.
        stage: Without axes of one element.
        contraction: What `contraction_of` gives for it.
    """
    plain = as_rows_and_columns(program, contraction)
    front = len(plain.outer)
    if plain.row_axes == () and plain.outer == tuple(range(front)) and _is_open(plain.stage):
        # Where columns pass block by block, each row may be one by itself.
        return front if plain.stage.axes[:front] == stage.axes[:front] and min(plain.column_axes) >= front else 0
    is_first = plain.outer == tuple(range(front)) and plain.row_axes == (front,)
    # An axis that was split is two here, and none of the rows that others have.
    is_whole = plain.stage.axes[: front + 1] == stage.axes[: front + 1]
    return front + 1 if is_first and is_whole and min(plain.column_axes) > front else 0


def _is_open(stage: Stage) -> bool:
    return any(isinstance(axis.size, str) for axis in stage.axes)


def _as_matrices(program: LoopProgram, contraction: Contraction, *, keeps_rows: bool) -> Contraction:
    while (merged := _merged(program, contraction, keeps_rows=keeps_rows)) is not None:
        contraction = merged
    # What did not merge is counted outside of the matrices, one product for each of its points.
    left = (*contraction.row_axes[:-1], *contraction.column_axes[:-1])
    return replace(
        contraction,
        outer=tuple(sorted((*contraction.outer, *left))),
        row_axes=contraction.row_axes[-1:],
        column_axes=contraction.column_axes[-1:],
    )


def store_place(program: LoopProgram, stage: Stage) -> Place | None:
    """Where the stage stores its results, if that is flat."""
    return flat_place(stage.store, shapes_of(program)[stage.buffer], len(stage.axes))


def lying_place(program: LoopProgram, contraction: Contraction, factor: Factor) -> Place | None:
    """Where a factor lies in memory as the sums need it: nothing but a flat read without guards, of their type."""
    read = factor.read
    if read is None or read.guards:
        return None
    buffer = next(buffer for buffer in program.buffers if buffer.name == read.buffer)
    same = buffer.element == contraction.element
    return flat_place(read.indices, buffer.shape, len(contraction.stage.axes)) if same else None


@dataclass(frozen=True, slots=True)
class Run:
    """Elements of the rows factor that lie side by side, for one row: all points of some last reduced axes."""

    axes: int
    """How many last reduced axes it has, two or more."""
    length: int
    """How many elements it has."""
    read: Read
    """Where they come from; its guards move forwards with every axis of the run."""
    place: Place

    @property
    def guards(self) -> tuple[Guard, ...]:
        """Where they may lie outside."""
        return self.read.guards


def run_of(program: LoopProgram, contraction: Contraction) -> Run | None:
    """The run of rows that are copied as they lie, but for padding; `None` if there is none.

    Windows on a line of an image whose channels are last are one: neighbouring pixels with their channels.
    """
    read, rank = contraction.rows.read, len(contraction.stage.axes)
    if read is None or not contraction.row_axes:
        return None
    buffer = next(buffer for buffer in program.buffers if buffer.name == read.buffer)
    place = flat_place(read.indices, buffer.shape, rank)
    if place is None or buffer.element != contraction.element:
        return None
    length = count = 1
    for axis in reversed(contraction.reduced):
        size = contraction.stage.axes[axis].size
        moves_back = any((index_place(guard.index, rank).strides[axis].number or 0) < 0 for guard in read.guards)
        if not isinstance(size, int) or place.strides[axis].number != length or moves_back:
            break
        length, count = length * size, count + 1
    is_flat = all(index_place(guard.index, rank).is_flat for guard in read.guards)
    return Run(count - 1, length, read, place) if count > 2 and is_flat else None


def shapes_of(program: LoopProgram) -> dict[str, tuple[Size, ...]]:
    """The shape of each buffer."""
    return {buffer.name: buffer.shape for buffer in program.buffers}


def unit_axis(program: LoopProgram, body: Body, rank: int) -> int | None:
    """The axis, of `rank` axes, along which the largest read of a body is contiguous."""
    shapes = shapes_of(program)
    best: tuple[int, int | None] = (-1, None)
    for instruction in body:
        if isinstance(instruction, Read):
            place = flat_place(instruction.indices, shapes[instruction.buffer], rank)
            if place is not None:
                used = sum(bool(stride.terms) for stride in place.strides)
                unit = [axis for axis, stride in enumerate(place.strides) if stride.number == 1]
                best = max(best, (used, unit[0] if len(unit) == 1 else None), key=lambda each: each[0])
    return best[1]


def _recognised(program: LoopProgram, stage: Stage) -> Contraction | None:
    match stage.body[-1]:
        case Apply(function, (left, right)) if function in PRODUCTS:
            factors = [_factor(stage.body, left), _factor(stage.body, right)]
        case _:
            return None
    place = store_place(program, stage)
    if place is None:
        return None
    # (3) the columns are the axis along which the result is contiguous
    unit = [axis for axis, stride in enumerate(place.strides) if stride.number == 1]
    if len(unit) != 1 or (unit[0] in factors[0].axes) == (unit[0] in factors[1].axes):
        return None
    rows, columns = factors if unit[0] in factors[1].axes else factors[::-1]
    # (2) Which factors depend on a parallel axis says what part it plays.
    parts: dict[tuple[bool, bool], list[int]] = {(a, b): [] for a in (False, True) for b in (False, True)}
    for axis, each in enumerate(stage.axes):
        if not each.is_reduced:
            parts[axis in rows.axes, axis in columns.axes].append(axis)
    outer = sorted(parts[True, True] + parts[False, False])
    reduced = [axis for axis, each in enumerate(stage.axes) if each.is_reduced]
    along = _main_place(program, rows, len(stage.axes)) or _main_place(program, columns, len(stage.axes))
    if along is not None:  # products of neighbours in memory follow each other
        reduced.sort(key=lambda axis: -_rank(along.strides[axis]))

    def by_stride(axes: list[int]) -> tuple[int, ...]:
        return tuple(sorted(axes, key=lambda axis: -_rank(place.strides[axis])))

    return Contraction(
        stage, rows, columns, tuple(outer), by_stride(parts[True, False]), by_stride(parts[False, True]), tuple(reduced)
    )


def _main_place(program: LoopProgram, factor: Factor, rank: int) -> Place | None:
    """The place of the read that depends on the most axes; `None` if it is not flat."""
    shapes = shapes_of(program)
    reads = [instruction for instruction in factor.body if isinstance(instruction, Read)]
    if not reads:
        return None
    main = max(reads, key=lambda read: len({axis for index in indices_of((read,)) for axis in axes_of(index)}))
    return flat_place(main.indices, shapes[main.buffer], rank)


def _rank(stride: Count) -> int:
    """Orders strides: one that depends on a size is taken for larger than a number."""
    return stride.number if stride.number is not None else 1 << 60


def _factor(body: Body, place: int) -> Factor:
    part = slice_of(body, place)
    axes = frozenset(axis for index in indices_of(part) for axis in axes_of(index))
    return Factor(part, axes)


def slice_of(body: Body, place: int) -> Body:
    """The instructions that compute the value at a place, with that value last."""
    # Bodies are in SSA order: whatever a value needs stands before it, so the sorted places are in order again.
    needed, pending = {place}, [place]
    while pending:
        pending += [operand for operand in operands(body[pending.pop()]) if operand not in needed]
        needed.update(pending)
    order = sorted(needed)
    places = {old: new for new, old in enumerate(order)}
    return tuple(moved(body[old], places) for old in order)


def _merged(program: LoopProgram, contraction: Contraction, *, keeps_rows: bool) -> Contraction | None:
    """The contraction with one pair of neighbouring axes merged, if there is a pair that merges."""
    # Columns first: vectors run along them, and the more there are the fewer reach beyond the last.
    for axes in (contraction.column_axes, () if keeps_rows else contraction.row_axes):
        if len(axes) > 1:
            merged = _merged_pair(program, contraction, axes[-2], axes[-1])
            if merged is not None:
                return merged
    for outer, inner in pairwise(contraction.reduced):
        merged = _merged_pair(program, contraction, outer, inner)
        # Micro-kernels step along reduced axes by fixed distances, so both factors must stay plain.
        if merged is not None and _reads_are_flat(program, merged.stage, merged.stage.body):
            return merged
    return None


def _merged_pair(program: LoopProgram, contraction: Contraction, outer: int, inner: int) -> Contraction | None:
    sizes = [contraction.stage.axes[axis].size for axis in (outer, inner)]
    if not all(isinstance(size, int) and size for size in sizes):  # nothing is cut in parts of no elements
        return None
    stage = merged_axes(contraction.stage, outer, inner)
    # A factor may divide the merged axis, since copies follow it anywhere; `finish` runs on vectors and may not.
    return _recognised(program, stage) if _reads_are_flat(program, stage, stage.finish) else None


def _reads_are_flat(program: LoopProgram, stage: Stage, body: Body) -> bool:
    """Whether no read and no guard of a body divides an axis."""
    shapes, rank = shapes_of(program), len(stage.axes)
    for instruction in body:
        if isinstance(instruction, Read):
            if flat_place(instruction.indices, shapes[instruction.buffer], rank) is None:
                return False
            inner = [guard.index for guard in instruction.guards]
        else:
            inner = indices_of((instruction,))
        if any(index_place(index, rank).odd for index in inner):
            return False
    return True
