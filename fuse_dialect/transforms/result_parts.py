"""What ops read for a part of their result: one row an op family.

A part is an interval on each axis. A row says which part an op then computes, which may be larger than what was asked
for, which part of each operand it reads, and which properties change. Sizes are known; an op without a row computes
all of its result from all of its operands.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute

from fuse_dialect.dialect.fields import PropertyValue, property_attribute
from fuse_dialect.dialect.op import FuseOp, MapOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.conversion import BitcastOp, FullOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp
from fuse_dialect.dialect.ops.layout import BatchFlattenOp, ReshapeOp, ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.matmul import DenseOp, TransposableProductOp
from fuse_dialect.dialect.ops.normalization import AxisOp, BatchNormOp, LayerNormOp
from fuse_dialect.dialect.ops.reduction import ReductionOp
from fuse_dialect.dialect.spans import span
from fuse_dialect.dialect.types import Shape, is_tensor, normalize_axis
from fuse_dialect.transforms.layouts.axis_groups import AxisGroup, axis_groups

Interval: TypeAlias = tuple[int, int]
"""The first index, and the one behind the last."""
Part: TypeAlias = tuple[Interval, ...]
"""An interval for each axis."""


@dataclass(frozen=True, slots=True)
class PartialOp:
    """How an op computes a part of its result."""

    given: Part
    """What it computes."""
    read: tuple[Part | None, ...]
    """What it reads of each operand; `None` for an operand that it does without."""
    properties: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Those that change."""
    is_operand: bool = False
    """Whether the part is the only operand that is read."""


Rule: TypeAlias = Callable[[FuseOp, Part], PartialOp | None]


def whole(shape: Sequence[int]) -> Part:
    """All of a tensor."""
    return tuple((0, size) for size in shape)


def shape_of(part: Part) -> Shape:
    """The sizes of a part."""
    return tuple(end - begin for begin, end in part)


def partial_op(op: FuseOp, asked: Part) -> PartialOp | None:
    """How the op computes what is asked for of its result, or `None` where it computes all of it."""
    rule = next((RULES[cls] for cls in type(op).__mro__ if cls in RULES), None)
    return None if rule is None else rule(op, asked)


def _shape(op: FuseOp, index: int) -> Shape:
    type = op.operand_types[index]
    assert is_tensor(type)
    return tuple(type.get_shape())


def _others(op: FuseOp) -> tuple[Part, ...]:
    """All of each operand but the first."""
    return tuple(whole(_shape(op, index)) for index in range(1, len(op.operands)))


def _changed(op: FuseOp, **values: PropertyValue) -> dict[str, Attribute]:
    declared = op.get_irdl_definition().properties
    return {name: property_attribute(value, declared[name].constr) for name, value in values.items()}


def _with(part: Part, axes: Sequence[int], shape: Sequence[int]) -> Part:
    """The part with all of some axes."""
    return tuple((0, shape[axis]) if axis in axes else each for axis, each in enumerate(part))


def _broadcast(part: Part, axes: Sequence[int], sizes: Sequence[int]) -> Part:
    """What is read of an operand whose axes of size 1 repeat."""
    return tuple((0, 1) if size == 1 else part[axis] for axis, size in zip(axes, sizes, strict=True))


def _map(op: FuseOp, asked: Part) -> PartialOp:
    assert isinstance(op, MapOp)
    read = [_broadcast(asked, op.operand_axes(index), _shape(op, index)) for index in range(len(op.operands))]
    return PartialOp(asked, tuple(read))


def _axis(op: FuseOp, asked: Part) -> PartialOp:
    """Lines along the property `axis` are read and computed whole."""
    axis = cast("IntegerAttr", op.properties["axis"]).value.data
    given = _with(asked, [normalize_axis(axis, len(asked))], _shape(op, 0))
    return PartialOp(given, (given, *_others(op)))


def _reduction(op: FuseOp, asked: Part) -> PartialOp:
    assert isinstance(op, ReductionOp)
    reduced, rest = op.reduced_axes(), list(asked)
    if op.keepdims.value.data:
        return PartialOp(asked, (_with(asked, reduced, _shape(op, 0)),))
    read = [(0, size) if axis in reduced else rest.pop(0) for axis, size in enumerate(_shape(op, 0))]
    return PartialOp(asked, (tuple(read),))


def _transpose(op: FuseOp, asked: Part) -> PartialOp:
    assert isinstance(op, TransposeOp)
    return PartialOp(asked, (tuple(asked[op.order.index(axis)] for axis in range(len(asked))),))


def _reverse(op: FuseOp, asked: Part) -> PartialOp:
    assert isinstance(op, ReverseOp)
    turned = [normalize_axis(axis, len(asked)) for axis in op.axes.get_values()]
    read = [
        (size - end, size - begin) if axis in turned else (begin, end)
        for axis, ((begin, end), size) in enumerate(zip(asked, _shape(op, 0), strict=True))
    ]
    return PartialOp(asked, (tuple(read),))


def _pad(op: FuseOp, asked: Part) -> PartialOp:
    """Axes that are padded are computed whole."""
    assert isinstance(op, PadOp)
    low, high = op.low.get_values(), op.high.get_values()
    padded = [axis for axis in range(len(asked)) if low[axis] or high[axis]]
    given = _with(asked, padded, [size + low[axis] + high[axis] for axis, size in enumerate(_shape(op, 0))])
    return PartialOp(given, (_with(asked, padded, _shape(op, 0)), *_others(op)))


def _concatenate(op: FuseOp, asked: Part) -> PartialOp:
    """Operands that nothing is asked of are left out."""
    assert isinstance(op, ConcatenateOp)
    axis = normalize_axis(op.axis.value.data, len(asked))
    (begin, end), place, read = asked[axis], 0, list[Part | None]()
    for index in range(len(op.operands)):
        size = _shape(op, index)[axis]
        own = max(begin - place, 0), min(end - place, size)
        read.append((*asked[:axis], own, *asked[axis + 1 :]) if own[0] < own[1] else None)
        place += size
    return PartialOp(asked, tuple(read), is_operand=sum(part is not None for part in read) == 1)


def _slice(op: FuseOp, asked: Part) -> PartialOp:
    """An axis whose elements are taken backwards is computed whole."""
    assert isinstance(op, StridedSliceOp)
    given, read, counts, steps = list(asked), list[Interval](), list[int](), list[int]()
    for axis, (cut, size) in enumerate(zip(op.slices, op.shape, strict=True)):
        step = 1 if cut.step is None else cut.step
        first, count = span(cut.start, cut.stop, step, size)
        if step < 0:
            given[axis] = 0, count
        begin, end = given[axis]
        ends = sorted((first + begin * step, first + (end - 1) * step))
        read.append((ends[0], ends[1] + 1))
        counts.append(ends[1] + 1 - ends[0])
        steps.append(step)
    # Of what is read, a slice takes all that its strides lead to.
    begins = [0 if step > 0 else count - 1 for count, step in zip(counts, steps, strict=True)]
    ends = [count if step > 0 else -count - 1 for count, step in zip(counts, steps, strict=True)]
    properties = _changed(op, begin=begins, end=ends, strides=steps, axes=list(range(len(asked))))
    return PartialOp(tuple(given), (tuple(read),), properties, is_operand=all(step == 1 for step in steps))


def _reshape(op: FuseOp, asked: Part) -> PartialOp | None:
    """Of axes that are joined or split the first one is cut, if the others are whole."""
    assert isinstance(op, ReshapeOp | BatchFlattenOp)
    source, target = _shape(op, 0), tuple(op.result.type.get_shape())
    groups = axis_groups(source, target)
    if groups is None:
        return None
    given, read = list(whole(target)), list(whole(source))
    for group in groups:
        _cut_group(group, source, target, asked, given, read)
    return PartialOp(tuple(given), (tuple(read),))


def _cut_group(
    group: AxisGroup, source: Shape, target: Shape, asked: Part, given: list[Interval], read: list[Interval]
) -> None:
    """Cut the first axis of a group on both sides; axes of one element do not count."""
    old = [axis for axis in group.source if source[axis] > 1]
    new = [axis for axis in group.target if target[axis] > 1]
    if not old or not new:
        return
    before, after = math.prod(source[axis] for axis in old[1:]), math.prod(target[axis] for axis in new[1:])
    # Elements side by side that both first axes have whole.
    unit = math.lcm(before, after)
    begin, end = asked[new[0]]
    begin, end = begin * after // unit * unit, -(-end * after // unit) * unit
    if end <= source[old[0]] * before:
        given[new[0]] = begin // after, end // after
        read[old[0]] = begin // before, end // before


def _product(op: FuseOp, asked: Part) -> PartialOp:
    """Rows of one operand, columns of the other, batches as they broadcast."""
    assert isinstance(op, TransposableProductOp)
    *batches, rows, columns = asked
    read: list[Part] = []
    for index, (transposed, kept) in enumerate(((op.transpose_a, rows), (op.transpose_b, columns))):
        shape = _shape(op, index)
        outer = shape[:-2]
        own = _broadcast(tuple(batches), range(len(batches) - len(outer), len(batches)), outer)
        # Rows are the last axis but one of the first operand, columns the last one of the second; else turned round.
        is_last = bool(index) != bool(transposed.value.data)
        inner = 0, shape[-2 if is_last else -1]
        read.append((*own, inner, kept) if is_last else (*own, kept, inner))
    return PartialOp(asked, tuple(read))


def _dense(op: FuseOp, asked: Part) -> PartialOp:
    inner = 0, _shape(op, 1)[1]
    return PartialOp(asked, ((*asked[:-1], inner), (asked[-1], inner)))


def _never(op: FuseOp, asked: Part) -> None:
    """The op says its own sizes, or its elements have other sizes than those it reads."""


RULES: Mapping[type, Rule] = {
    MapOp: _map,
    **dict.fromkeys((BitcastOp, FullOp), _never),
    **dict.fromkeys((AxisOp, BatchNormOp, LayerNormOp), _axis),
    ReductionOp: _reduction,
    TransposeOp: _transpose,
    ReverseOp: _reverse,
    PadOp: _pad,
    ConcatenateOp: _concatenate,
    StridedSliceOp: _slice,
    **dict.fromkeys((ReshapeOp, BatchFlattenOp), _reshape),
    TransposableProductOp: _product,
    DenseOp: _dense,
}
"""By op class or a base of it."""
