"""Ops each of whose steps needs the one before: a `scf.for` around tensors written element by element."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import math, scf
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Block, Region, SSAValue

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.ops.linear_algebra import DetOp
from fuse_dialect.dialect.ops.selection import NonMaxSuppressionOp
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    combined,
    constant,
    generated,
    in_type,
    neutral,
    wide_type,
)
from fuse_dialect.targets.linalg.forms.counts import places_of
from fuse_dialect.targets.linalg.forms.lines import order


def repeated(
    count: Size, first: Sequence[Table], step: Callable[[Number, Sequence[Table]], Sequence[Table]]
) -> list[Table]:
    """The tables after some steps, each of which gives tables of the same types."""
    block = Block(arg_types=[IndexType(), *(table.value.type for table in first)])
    start, by = as_index(0), as_index(1)
    with building(block):
        after = step(Number(block.args[0]), [Table(argument) for argument in block.args[1:]])
        scf.YieldOp(*(table.value for table in after))
    values = [table.value for table in first]
    loop = scf.ForOp(start.value, as_index(count).value, by.value, values, Region(block))
    return [Table(value) for value in loop.results]


def _absolute(number: Number) -> Number:
    return Number(math.AbsFOp(number.value).result)


def write_det(op: DetOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The product of the pivots of an elimination, each the greatest of its column."""
    (x,) = operands
    *batch, rows, _ = x.sizes()
    element = wide_type(x.element)

    def step(column: Number, tables: Sequence[Table]) -> Sequence[Table]:
        matrix, product = tables

        def size(at: Sequence[Number], along: Sequence[Number]) -> Number:
            (row,) = along
            return choose(row < column, constant(-1, element), _absolute(matrix.at(*at, row, column)))

        greatest = combined(batch, [rows], element, Combiner.MAXIMUM, size)

        def place(at: Sequence[Number], along: Sequence[Number]) -> Number:
            (row,) = along
            hit = size(at, along).equals(greatest.at(*at))
            return choose(hit, row.to(i64), neutral(Combiner.MINIMUM, i64))

        places = combined(batch, [rows], i64, Combiner.MINIMUM, place)

        def pivot_row(at: Sequence[Number]) -> Number:
            found = places.at(*at)
            # Of nan, none is the greatest: then the row stays.
            return choose(found < as_index(rows).to(i64), found.index(), column)

        def eliminated(at: Sequence[Number]) -> Number:
            *outer, row, own = at
            pivot = pivot_row(outer)
            source = choose(row.equals(column), pivot, choose(row.equals(pivot), column, row))
            value, head = matrix.at(*outer, source, own), matrix.at(*outer, pivot, column)
            factor = matrix.at(*outer, source, column) / head
            is_below = (column < row) & head.differs(0)
            return choose(is_below, value - factor * matrix.at(*outer, pivot, own), value)

        def multiplied(at: Sequence[Number]) -> Number:
            pivot = pivot_row(at)
            head = matrix.at(*at, pivot, column)
            return product.at(*at) * choose(pivot.equals(column), head, head * -1)

        return [generated([*batch, rows, rows], element, eliminated), generated(batch, element, multiplied)]

    first = generated([*batch, rows, rows], element, lambda at: x.at(*at).widened())
    one = generated(batch, element, lambda _: constant(1, element))
    _, product = repeated(rows, [first, one], step)
    return [in_type(product, x).value]


def write_non_max_suppression(op: NonMaxSuppressionOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The boxes of each class in order; each that is left takes out those behind it that overlap it."""
    boxes, scores, limit, iou_threshold, score_threshold = operands
    images, classes, count = scores.sizes()
    places = order(scores, 2, count, is_ascend=False)

    def is_good(at: Sequence[Number]) -> Number:
        score = scores.at(at[0], at[1], places.at(*at).index())
        return choose(score_threshold.at() < score, constant(1, i64), constant(0, i64))

    def step(number: Number, tables: Sequence[Table]) -> Sequence[Table]:
        (alive,) = tables

        def left(at: Sequence[Number]) -> Number:
            image, own_class, place = at
            best, here = (places.at(image, own_class, own).index() for own in (number, place))
            shared = _overlap(*(_corners(op, boxes, image, box) for box in (best, here)))
            is_out = alive.at(image, own_class, number).differs(0) & (number < place)
            is_out = is_out & (iou_threshold.at().widened() < shared)
            return choose(is_out, constant(0, i64), alive.at(*at))

        return [generated([images, classes, count], i64, left)]

    (alive,) = repeated(count, [generated([images, classes, count], i64, is_good)], step)

    def before(at: Sequence[Number], along: Sequence[Number]) -> Number:
        own = alive.at(at[0], at[1], along[0])
        return choose(along[0] < at[2], own, constant(0, i64))

    ranks = combined([images, classes, count], [count], i64, Combiner.ADD, before)

    def is_kept(at: Sequence[Number]) -> Number:
        fits = ranks.at(*at) < limit.at().to(i64)
        return choose(fits, alive.at(*at), constant(0, i64))

    found = places_of(generated([images, classes, count], i64, is_kept))

    def result(at: Sequence[Number]) -> Number:
        image, own_class, place = (found.at(at[0], number).index() for number in range(3))
        box = places.at(image, own_class, place)
        return choose(at[1].equals(2), box, found.at(*at))

    return [generated(found.sizes(), i64, result).value]


_Corners: TypeAlias = list[tuple[Number, Number]]
"""Least and greatest coordinate of a box along both axes."""


def _corners(op: NonMaxSuppressionOp, boxes: Table, image: Number, box: Number) -> _Corners:
    numbers = [boxes.at(image, box, number).widened() for number in range(4)]
    if op.center_point_box.value.data:
        halves = [number / 2 for number in numbers[2:]]
        return [(numbers[axis] - halves[axis], numbers[axis] + halves[axis]) for axis in (0, 1)]
    return [(numbers[axis].least(numbers[axis + 2]), numbers[axis].greatest(numbers[axis + 2])) for axis in (0, 1)]


def _overlap(own: _Corners, theirs: _Corners) -> Number:
    """Intersection over union of two boxes; 0 where one has no area."""
    sides = [end.least(last) - start.greatest(first) for (start, end), (first, last) in zip(own, theirs, strict=True)]
    nothing = constant(0, sides[0].type)
    meets = (nothing < sides[0]) & (nothing < sides[1])
    common = choose(meets, sides[0] * sides[1], nothing)
    area, other_area = ((box[0][1] - box[0][0]) * (box[1][1] - box[1][0]) for box in (own, theirs))
    union = area + other_area - common
    fits = (nothing < common) & (nothing < area) & (nothing < other_area) & (nothing < union)
    return choose(fits, common / union, nothing)
