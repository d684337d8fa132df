"""Images read between their pixels, at places that are data."""

from collections.abc import Sequence
from itertools import product

from xdsl.dialects import math
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import SSAValue

from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.sampling import DeformableConv2dOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    combined,
    constant,
    in_type,
    wide_type,
)


def _between(x: Table, front: Sequence[Number], places: Sequence[Number]) -> Number:
    """The value of an image at a place, weighted by the distances of the pixels around; beyond the borders are zeros.

    Args:
        x: The image, with its spatial axes last.
        front: Indices on the axes before these.
        places: A coordinate for each spatial axis.
    """
    first = [Number(math.FloorOp(place.value).result) for place in places]
    zero, one = constant(0, places[0].type), constant(1, places[0].type)
    total = zero
    for offsets in product((0, 1), repeat=len(places)):
        index: list[Number] = []
        weight, known = one, constant(1, i1)
        for axis, offset in enumerate(offsets):
            at, end = first[axis] + offset, as_index(x.size(len(front) + axis)).to(zero.type)
            is_known = ~(at < 0) & (at < end)
            known = known & is_known
            index.append(choose(is_known, at, zero).to(IndexType()))
            behind = places[axis] - first[axis]
            weight = weight * (behind if offset else one - behind)
        total = total + choose(known, x.at(*front, *index).widened() * weight, zero)
    return total


def write_deformable_conv2d(op: DeformableConv2dOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Products over the channels of the group and the places of the kernel, each moved by its offset."""
    x, offset, mask, weight = operands
    windows = Windows.of(weight.static_shape[2:], op.strides, op.padding, op.dilation)
    if DYNAMIC in (*x.static_shape[1:], *weight.static_shape):
        raise LoopFormError("needs static sizes")
    outputs, inputs, *extent = weight.static_shape
    counts = windows.counts(x.static_shape[2:])
    parts, element = op.deformable_groups.value.data, wide_type(x.element)
    in_group, in_part = outputs // op.groups.value.data, x.static_shape[1] // parts

    def body(at: Sequence[Number], along: Sequence[Number]) -> Number:
        (sample, output, *out), (inner, *taps) = at, along
        channel = (output / as_index(in_group)) * inputs + inner
        number = ((channel / as_index(in_part)) * extent[0] + taps[0]) * extent[1] + taps[1]
        places: list[Number] = []
        for axis in (0, 1):
            regular = out[axis] * windows.strides[axis] + taps[axis] * windows.dilation[axis] - windows.low[axis]
            moved = offset.at(sample, number * 2 + axis, *out).widened()
            places.append(moved + regular.to(element))
        value = _between(x, [sample, channel], places)
        return value * mask.at(sample, number, *out).widened() * weight.at(output, inner, *taps).widened()

    shape: list[Size] = [x.size(0), outputs, *counts]
    return [in_type(combined(shape, [inputs, *extent], element, Combiner.ADD, body), x).value]
