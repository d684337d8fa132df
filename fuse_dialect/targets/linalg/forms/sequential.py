"""Ops each of whose steps needs the one before: a `scf.for` around stages."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

from xdsl.dialects import math, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.loops import Nest, Place
from fuse_dialect.dialect.ops.linear_algebra import DetOp
from fuse_dialect.dialect.ops.selection import NonMaxSuppressionOp
from fuse_dialect.dialect.picked_places import index_at, place_in_order
from fuse_dialect.loops.indices import Index, number
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.arrays import index_constant
from fuse_dialect.targets.linalg.forms.counts import both, counted, places_of
from fuse_dialect.targets.linalg.forms.shapes import whole
from fuse_dialect.targets.linalg.steps import Steps, Table

Step: TypeAlias = Callable[[Steps, Table, Sequence[Table]], Sequence[Table]]
"""Writes one iteration, from its number and the tables that are carried: those of the next one."""


def repeated(steps: Steps, count: Size, first: Sequence[Table], step: Step) -> list[Table]:
    """The tables after some iterations, each of which gives tables of the same types."""
    block = Block(arg_types=[IndexType(), *(table.value.type for table in first)])
    inside = steps.inside()
    start, end, by = index_constant(0), steps.index(count), index_constant(1)
    with building(block):
        carried = [
            inside.table(value, table.type, table.shape) for value, table in zip(block.args[1:], first, strict=True)
        ]
        after = step(inside, inside.number(block.args[0]), carried)
        scf.YieldOp(*(table.value for table in after))
    loop = scf.ForOp(start, end, by, [table.value for table in first], Region(block))
    return [steps.table(value, table.type, table.shape) for value, table in zip(loop.results, first, strict=True)]


def _absolute(value: SSAValue) -> SSAValue:
    return scalars.apply(math.AbsFOp, value)


def write_det(op: DetOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The product of the pivots of an elimination, each the greatest of its column."""
    (x,) = operands
    *batch, rows, _ = x.shape

    def step(steps: Steps, number: Table, tables: Sequence[Table]) -> Sequence[Table]:
        # Operands of all nests: the matrix, the product, the column, and what is computed of them.
        known = [*tables, number]

        def size(nest: Nest, row: Index) -> SSAValue:
            column = nest.read(2, ())
            is_done = scalars.compare("less", nest.position(row), column)
            magnitude = _absolute(nest.read(0, [*nest.at[: len(batch)], row, column]))
            return scalars.select(is_done, scalars.constant(-1, magnitude.type), magnitude)

        def place(nest: Nest) -> SSAValue:
            row = nest.reduced(rows)
            is_greatest = scalars.compare("equal", size(nest, row), nest.read(3, nest.at))
            return nest.total(Combiner.MINIMUM, scalars.select(is_greatest, nest.position(row), nest.count(rows)))

        def pivot_row(nest: Nest) -> SSAValue:
            column, row = nest.read(2, ()), nest.read(4, nest.at[: len(batch)])
            # Of nan, none is the greatest: then the row stays.
            return scalars.select(scalars.compare("less", row, nest.count(rows)), row, column)

        def eliminated(nest: Nest) -> SSAValue:
            *outer, row, own = nest.at
            column, pivot, here = nest.read(2, ()), pivot_row(nest), nest.position(row)
            source = scalars.select(scalars.compare("equal", here, pivot), column, here)
            source = scalars.select(scalars.compare("equal", here, column), pivot, source)
            value, head = nest.read(0, [*outer, source, own]), nest.read(0, [*outer, pivot, column])
            factor = scalars.divide(nest.read(0, [*outer, source, column]), head)
            is_below = scalars.compare("less", column, here)
            is_below = both(is_below, scalars.compare("not_equal", head, scalars.constant(0, head.type)))
            part = scalars.multiply(factor, nest.read(0, [*outer, pivot, own]))
            return scalars.select(is_below, scalars.subtract(value, part), value)

        def multiplied(nest: Nest) -> SSAValue:
            column, pivot = nest.read(2, ()), pivot_row(nest)
            head = nest.read(0, [*nest.at, pivot, column])
            negative = scalars.multiply(head, scalars.constant(-1, head.type))
            head = scalars.select(scalars.compare("equal", pivot, column), head, negative)
            return scalars.multiply(nest.read(1, nest.at), head)

        known.append(
            steps.stored(batch, known, lambda nest: nest.total(Combiner.MAXIMUM, size(nest, nest.reduced(rows))))
        )
        known.append(steps.stored(batch, known, place))
        return [steps.stored([*batch, rows, rows], known, eliminated), steps.stored(batch, known, multiplied)]

    matrix = steps.stored([*batch, rows, rows], [x], lambda nest: scalars.widened(nest.read(0, nest.at)))
    wide = matrix.type.element_type
    one = steps.stored(batch, [], lambda _: scalars.constant(1, wide))
    _, product = repeated(steps, rows, [matrix, one], step)
    like = x.type.element_type
    rounded = steps.stored(
        batch, [product], lambda nest: scalars.rounded(nest.read(0, nest.at), scalars.constant(0, like))
    )
    return [rounded.value]


def write_non_max_suppression(op: NonMaxSuppressionOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The boxes of each class in order; each that is left takes out those behind it that overlap it."""
    boxes, scores, limit, iou_threshold, score_threshold = operands
    shape = scores.shape
    count = shape[2]
    places = steps.stored(shape, [scores], lambda nest: place_in_order(nest, 2, is_ascend=False))

    def is_good(nest: Nest) -> SSAValue:
        score = nest.read(0, [*nest.at[:2], nest.read(1, nest.at)])
        return scalars.select(scalars.compare("less", nest.read(2, ()), score), whole(1), whole(0))

    def step(steps: Steps, number: Table, tables: Sequence[Table]) -> Sequence[Table]:
        def left(nest: Nest) -> SSAValue:
            image, own_class, place = nest.at
            step, alive = nest.read(2, ()), nest.read(0, nest.at)
            best, here = (nest.read(1, [image, own_class, own]) for own in (step, place))
            shared = _overlap(*(_corners(op, nest, 3, image, box) for box in (best, here)))
            is_out = scalars.compare("not_equal", nest.read(0, [image, own_class, step]), whole(0))
            is_out = both(is_out, scalars.compare("less", step, nest.position(place)))
            is_out = both(is_out, scalars.compare("less", scalars.widened(nest.read(4, ())), shared))
            return scalars.select(is_out, whole(0), alive)

        return [steps.stored(shape, [*tables, places, number, boxes, iou_threshold], left)]

    good = steps.stored(shape, [scores, places, score_threshold], is_good)
    (alive,) = repeated(steps, count, [good], step)

    def before(nest: Nest) -> SSAValue:
        other, (image, own_class, place) = nest.reduced(count), nest.at
        is_earlier = scalars.compare("less", nest.position(other), nest.position(place))
        is_alive = scalars.compare("not_equal", nest.read(0, [image, own_class, other]), whole(0))
        return counted(nest, both(is_alive, is_earlier))

    def is_kept(nest: Nest) -> SSAValue:
        fits = scalars.compare("less", nest.read(1, nest.at), index_at(nest, (), 2))
        return scalars.select(fits, nest.read(0, nest.at), whole(0))

    ranks = steps.stored(shape, [alive], before)
    found = places_of(steps, steps.stored(shape, [alive, ranks, limit], is_kept))

    def result(nest: Nest) -> SSAValue:
        row, column = nest.at
        box = nest.read(1, [nest.read(0, [row, number(part)]) for part in range(3)])
        is_box = scalars.compare("equal", nest.position(column), whole(2))
        return scalars.select(is_box, box, nest.read(0, nest.at))

    return [steps.stored(found.shape, [found, places], result).value]


_Corners: TypeAlias = list[tuple[SSAValue, SSAValue]]
"""Least and greatest coordinate of a box along both axes."""


def _corners(op: NonMaxSuppressionOp, nest: Nest, boxes: int, image: Index, box: Place) -> _Corners:
    numbers = [scalars.widened(nest.read(boxes, [image, box, number(part)])) for part in range(4)]
    if op.center_point_box.value.data:
        halves = [scalars.divide(length, scalars.constant(2, length.type)) for length in numbers[2:]]
        return [
            (scalars.subtract(centre, half), scalars.add(centre, half))
            for centre, half in zip(numbers[:2], halves, strict=True)
        ]
    pairs = [(numbers[axis], numbers[axis + 2]) for axis in (0, 1)]
    return [(scalars.minimum(*pair), scalars.maximum(*pair)) for pair in pairs]


def _overlap(own: _Corners, theirs: _Corners) -> SSAValue:
    """Intersection over union of two boxes; 0 where one has no area."""
    sides = [
        scalars.subtract(scalars.minimum(end, last), scalars.maximum(start, first))
        for (start, end), (first, last) in zip(own, theirs, strict=True)
    ]
    nothing = scalars.constant(0, sides[0].type)
    meets = both(*(scalars.compare("less", nothing, side) for side in sides))
    common = scalars.select(meets, scalars.multiply(*sides), nothing)
    areas = [scalars.multiply(*(scalars.subtract(end, start) for start, end in box)) for box in (own, theirs)]
    union = scalars.subtract(scalars.add(*areas), common)
    fits = reduce(both, [scalars.compare("less", nothing, each) for each in (common, *areas, union)])
    return scalars.select(fits, scalars.divide(common, union), nothing)
