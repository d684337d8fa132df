"""Images read between their pixels, at places that are data."""

from collections.abc import Sequence
from itertools import product

from xdsl.dialects import math
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import SSAValue

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.sampling import DeformableConv2dOp, GridSampleOp, RoiAlignOp
from fuse_dialect.dialect.sampling import stays_outside
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
    generated,
    in_type,
    narrowed,
    wide_type,
)

_TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
_CUBIC_ALPHA = -0.75
_GREATEST = 1e30
"""Greater coordinates are infinite: none is a pixel."""


def _floor(number: Number) -> Number:
    return Number(math.FloorOp(number.value).result)


def _absolute(number: Number) -> Number:
    return Number(math.AbsFOp(number.value).result)


def _inside(place: Number, size: Number, padding: str, *, align_corners: bool) -> Number:
    """A place beyond the borders brought back, as `padding` says; those of `zeros` stay."""
    low = constant(0.0 if align_corners else -0.5, place.type)
    high = size - (1.0 if align_corners else 0.5)
    beyond = (place < low) | (high < place)
    if padding == "border":
        return choose(beyond, place.greatest(0).least(size - 1), place)
    if padding != "reflection":
        return place
    span = high - low
    around = _absolute(place - low)
    way = around - _floor(around / (span * 2)) * (span * 2)
    mirrored = low + choose(span < way, span * 2 - way, way)
    return choose(span.equals(0), low, choose(beyond, mirrored, place))


def _near(t: Number) -> Number:
    return (t * (_CUBIC_ALPHA + 2) - (_CUBIC_ALPHA + 3)) * t * t + 1


def _far(t: Number) -> Number:
    return ((t * _CUBIC_ALPHA - 5 * _CUBIC_ALPHA) * t + 8 * _CUBIC_ALPHA) * t - 4 * _CUBIC_ALPHA


def _shares(t: Number, mode: str) -> list[Number]:
    """The weight of each tap, `t` behind the pixel before the place."""
    one = constant(1, t.type)
    match mode:
        case "nearest":
            return [one]
        case "linear":
            return [one - t, t]
        case _:
            return [_far(t + 1), _near(t), _near(one - t), _far(one - t + 1)]


def sampled(
    x: Table, front: Sequence[Number], places: Sequence[Number], mode: str, padding: str, *, align_corners: bool
) -> Number:
    """The value of an image at a place that is brought inside already.

    Args:
        x: The image, with its spatial axes last.
        front: Indices on the axes before these.
        places: A coordinate for each spatial axis.
        mode: `nearest`, `linear` or `cubic`.
        padding: `zeros`, `border` or `reflection`.
        align_corners: Where the borders are for `reflection`.
    """
    first = [_floor(place) for place in places]
    shares = [_shares(place - floor, mode) for place, floor in zip(places, first, strict=True)]
    zero = constant(0, places[0].type)
    total = zero
    for offsets in product(range(len(_TAPS[mode])), repeat=len(places)):
        index: list[Number] = []
        weight, known = constant(1, zero.type), constant(1, i1)
        for axis, offset in enumerate(offsets):
            at = first[axis] + _TAPS[mode][offset]
            end = as_index(x.size(len(front) + axis)).to(at.type)
            is_known = ~(at < 0) & (at < end) if padding == "zeros" else _absolute(at) < _GREATEST
            known = known & is_known
            at = choose(is_known, _inside(at, end, padding, align_corners=align_corners), zero)
            index.append(at.greatest(0).least(end - 1).to(IndexType()))
            weight = weight * shares[axis][offset]
        value = x.at(*front, *index).widened() * weight
        total = total + choose(known, value, zero)
    return total


def write_grid_sample(op: GridSampleOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Weighted sums of the pixels around each place."""
    x, grid = operands
    sizes, outer = x.sizes(), grid.sizes()[1:-1]
    mode, padding, aligned = op.mode.data, op.padding_mode.data, bool(op.align_corners.value.data)

    def body(at: Sequence[Number]) -> Number:
        sample, channel, *out = at
        places: list[Number] = []
        for axis, size in enumerate(sizes[2:]):
            number = grid.at(sample, *out, len(sizes) - 3 - axis).widened()
            end = as_index(size).to(number.type)
            place = (number + 1) * 0.5 * (end - 1) if aligned else ((number + 1) * end - 1) * 0.5
            if mode == "nearest":
                place = Number(math.RoundEvenOp(place.value).result)
            if not stays_outside(mode, padding):
                place = _inside(place, end, padding, align_corners=aligned)
            places.append(place)
        return narrowed(sampled(x, [sample, channel], places, mode, padding, align_corners=aligned), x.element)

    return [generated([*sizes[:2], *outer], x.element, body).value]


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
        value = sampled(x, [sample, channel], places, "linear", "zeros", align_corners=True)
        return value * mask.at(sample, number, *out).widened() * weight.at(output, inner, *taps).widened()

    shape: list[Size] = [x.size(0), outputs, *counts]
    return [in_type(combined(shape, [inputs, *extent], element, Combiner.ADD, body), x).value]


def write_roi_align(op: RoiAlignOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Values at regular places of each region, combined.

    Raises:
        LoopFormError: The number of places depends on the region.
    """
    x, rois, samples = operands
    ratio, pooled = op.sampling_ratio.value.data, op.pooled_size.get_values()
    if not ratio:
        raise LoopFormError("has no loop form for these properties")
    element, is_max = wide_type(x.element), op.mode.data == "max"
    sizes = x.sizes()

    def corners(axis: int, region: Number, bin: Number, step: Number) -> list[tuple[Number, Number]]:
        """The pixels before and behind a place on an axis, and their weights."""
        start, end = (
            rois.at(region, number).widened() * op.spatial_scale.value.data - (0.5 if op.aligned.value.data else 0.0)
            for number in (1 - axis, 3 - axis)
        )
        length = end - start if op.aligned.value.data else (end - start).greatest(1)
        share = bin.to(element) + (step.to(element) + 0.5) / float(ratio)
        place, size = start + share * (length / float(pooled[axis])), as_index(sizes[2 + axis]).to(element)
        known, zero = ~(place < -1) & (place <= size), constant(0, element)
        at = choose(known, place, zero).greatest(0).least(size - 1)
        low = _floor(at)
        behind, weight = (low + 1).least(size - 1), at - low
        first = choose(known, constant(1, element) - weight, zero)
        return [(low.index(), first), (behind.index(), choose(known, weight, zero))]

    def body(at: Sequence[Number], steps: Sequence[Number]) -> Number:
        region, channel, *bins = at
        image = samples.at(region).index()
        rows, columns = (corners(axis, region, bins[axis], steps[axis]) for axis in (0, 1))
        total: Number | None = None
        for (row, high), (column, wide) in product(rows, columns):
            part = x.at(image, channel, row, column).widened() * (high * wide)
            if total is None:
                total = part
            else:
                total = Number(scalars.maximum(total.value, part.value)) if is_max else total + part
        assert total is not None, "a place lies between four pixels"
        return total

    shape: list[Size] = [rois.size(0), sizes[1], *pooled]
    combiner = Combiner.MAXIMUM if is_max else Combiner.ADD
    total = combined(shape, [ratio, ratio], element, combiner, body)
    if is_max:
        return [in_type(total, x).value]
    mean = generated(shape, element, lambda at: total.at(*at) / float(ratio * ratio))
    return [in_type(mean, x).value]
