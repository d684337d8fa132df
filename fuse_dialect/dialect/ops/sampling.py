"""Ops that read images at places which are data: grids, regions of interest, deformed kernels."""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product as combinations
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.accumulation import mean
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, integer, integers, real, string, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Kept, LoopFormError, Nest, Place
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.picked_places import in_range, index_at, is_outside
from fuse_dialect.dialect.sampling import (
    PADDING_MODES,
    TAPS,
    Extent,
    inside,
    inside_code,
    pixel_code,
    pixels_of,
    sample,
    share_code,
    size_code,
    stays_outside,
    tap_code,
)
from fuse_dialect.dialect.shape_rules import (
    integer_list,
    one_of,
    product,
    quotient,
    require_float,
    require_integers,
    require_positive,
    require_rank_at_least,
    unify,
)
from fuse_dialect.dialect.types import (
    DYNAMIC,
    element_count,
    require_rank,
    require_same_element,
    shape_text,
    with_shape,
)
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.loops.indices import Index, number
from fuse_dialect.loops.program import Combiner
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class GridSampleOp(FuseOp):
    """An image sampled at the places that a grid says, each a point in [-1, 1] along every spatial axis.

    Shapes: input [N, C, *spatial] with one to three spatial axes, grid [N, *out, number of spatial axes]; result
        [N, C, *out]. A point names the last spatial axis first: x, y, z.
    Types: one floating-point type; f16 and bf16 are computed in f32.
    Kind: injective.
    Cost: 3 * 2^R operations an element for `linear` with R spatial axes, 3 * 4^R for `cubic`, none for `nearest`.
    Source: ONNX GridSample, Relay `image.grid_sample`.
    """

    name = "fuse.grid_sample"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    input = tensor_operand()
    grid = tensor_operand()
    result = tensor_result()

    mode = string("linear")
    """`nearest`, `linear` or `cubic`."""
    padding_mode = string("zeros")
    """What lies beyond the borders: `zeros`, `border` (the outermost pixel) or `reflection`."""
    align_corners = flag()
    """Whether -1 and 1 are the centres of the outermost pixels, or else their outer edges."""

    def infer_types(self) -> Sequence[Attribute]:
        """Samples and channels of the input, places of the grid."""
        one_of(self.mode, ("nearest", "linear", "cubic"), "mode")
        one_of(self.padding_mode, PADDING_MODES, "padding_mode")
        require_same_element((self.input.type, self.grid.type))
        require_float(self.input.type)
        shape = require_rank_at_least(self.input.type, 3, "input")
        spatial = len(shape) - 2
        if spatial > 3:
            raise VerifyException(f"expects an input of at most three spatial axes, got {spatial}")
        grid = require_rank(self.grid.type, len(shape), "grid")
        unify(grid[-1], spatial, "the last axis of 'grid' and the number of spatial axes")
        batch = unify(shape[0], grid[0], "the batch of 'input' and of 'grid'")
        if 0 in shape[2:]:
            raise VerifyException(f"expects pixels to sample, got {shape_text(shape)}")
        return (with_shape(self.input.type, (batch, shape[1], *grid[1:-1])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Weighted sums of the pixels around each place."""
        x, grid = (widened(operand) for operand in operands)
        padding, aligned = self.padding_mode.data, bool(self.align_corners.value.data)
        places: list[Array] = []
        for axis, size in enumerate(x.shape[2:]):
            place = pixels_of(grid[..., x.ndim - 3 - axis], size, align_corners=aligned)
            place = np.rint(place) if self.mode.data == "nearest" else place
            if not stays_outside(self.mode.data, padding):
                place = inside(place, size, padding, align_corners=aligned)
            places.append(place)
        y = sample(x, places, self.mode.data, padding, align_corners=aligned)
        return (y.astype(operands[0].dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """Pixels and weights around each place, once for all channels; then weighted sums."""
        mode, sizes = self.mode.data, nest.counted(*nest.shape(0)[2:])
        nest.counted(*nest.extents)
        outer = (nest.extents[0], *nest.extents[2:])
        at = [nest.at[0], *nest.at[2:]]
        sides = [
            [
                (nest.kept(outer, self._index(axis, offset, size)), nest.kept(outer, self._share(axis, tap, size)))
                for tap, offset in enumerate(TAPS[mode])
            ]
            for axis, size in enumerate(sizes)
        ]
        taps = [[partial(_kept_tap, nest, at, *pair) for pair in side] for side in sides]
        total = _sampled(nest, nest.at[:2], taps)
        return scalars.rounded(total, scalars.constant(0, scalars.signless(self.input.type.element_type)))

    def _index(self, axis: int, offset: int, size: Size) -> Callable[[Nest], SSAValue]:
        padding, aligned = self.padding_mode.data, bool(self.align_corners.value.data)

        def index(nest: Nest) -> SSAValue:
            place = self._place(nest, axis, size)
            return tap_code(place, offset, coordinate_of(nest, size, place), padding, align_corners=aligned)

        return index

    def _share(self, axis: int, tap: int, size: Size) -> Callable[[Nest], SSAValue]:
        return lambda nest: share_code(self._place(nest, axis, size), tap, self.mode.data)

    def _place(self, nest: Nest, axis: int, size: Size) -> SSAValue:
        """The coordinate along a spatial axis, brought inside unless it stays outside."""
        mode, padding, aligned = self.mode.data, self.padding_mode.data, bool(self.align_corners.value.data)
        last = self.input.type.get_num_dims() - 3 - axis
        place = scalars.widened(nest.read(1, [*nest.at, number(last)]))
        end = coordinate_of(nest, size, place)
        place = pixel_code(place, end, align_corners=aligned)
        place = scalars.apply(math.RoundEvenOp, place) if mode == "nearest" else place
        return place if stays_outside(mode, padding) else inside_code(place, end, padding, align_corners=aligned)

    def flops(self) -> int | None:
        """Two products and a sum for each pixel around a place."""
        count, spatial = element_count(self.result.type), self.input.type.get_num_dims() - 2
        taps = {"nearest": 0, "linear": 2**spatial, "cubic": 4**spatial}[self.mode.data]
        return None if count is None else count * 3 * taps


def _kept_tap(nest: Nest, at: Sequence[Index], index: Kept, share: Kept) -> tuple[SSAValue, SSAValue]:
    return nest.read_kept(index, at), nest.read_kept(share, at)


def _sampled(
    nest: Nest, front: Sequence[Index], sides: Sequence[Sequence[Callable[[], tuple[SSAValue, SSAValue]]]]
) -> SSAValue:
    """The pixels of operand 0 around a place, by their weights, added up.

    Args:
        nest: Where the code runs.
        front: Indices on the axes before the spatial ones.
        sides: For each spatial axis the index of each pixel, -1 for one that counts for nothing, and its weight.
    """
    total: SSAValue | None = None
    for taps in combinations(*sides):
        places: list[Place] = []
        weight: SSAValue | None = None
        known: SSAValue | None = None
        for tap in taps:
            place, own = tap()
            zero = scalars.constant(0, i32)
            counts = scalars.compare("greater_equal", place, zero)
            known = counts if known is None else scalars.apply(arith.AndIOp, known, counts)
            weight = own if weight is None else scalars.multiply(weight, own)
            places.append(scalars.maximum(place, zero))
        assert weight is not None, "an image has a spatial axis"
        assert known is not None, "an image has a spatial axis"
        value = scalars.multiply(scalars.widened(nest.read(0, [*front, *places])), weight)
        value = scalars.select(known, value, scalars.constant(0, value.type))
        total = value if total is None else scalars.add(total, value)
    assert total is not None, "a place has a pixel"
    return total


@irdl_op_definition
class RoiAlignOp(FuseOp):
    """Regions of interest of images, each pooled to the same size from values between the pixels.

    Shapes: input [N, C, H, W], rois [R, 4] as x and y of the first and of the last corner, samples [R] numbers of
        images; result [R, C, *pooled_size].
    Types: input and rois of one floating-point type, integer samples; f16 and bf16 are computed in f32.
    Kind: out_ewise_fusable.
    Cost: 8 * sampling_ratio^2 operations an element; as if the ratio were 1 where it depends on the regions.
    Source: ONNX RoiAlign, Relay `vision.roi_align`; the greatest of `max` is that of weighted pixels, as in ONNX.
    """

    name = "fuse.roi_align"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    input = tensor_operand()
    rois = tensor_operand()
    samples = tensor_operand()
    result = tensor_result()

    pooled_size = integers()
    """Height and width of the result."""
    spatial_scale = real(1.0)
    """Factor of the coordinates."""
    sampling_ratio = integer(0)
    """Values in a pooled element along each axis; 0 for about one a pixel."""
    mode = string("avg")
    """`avg` or `max`."""
    aligned = flag()
    """Whether coordinates lie half a pixel before those of the pixels' centres."""

    def infer_types(self) -> Sequence[Attribute]:
        """A pooled image for each region."""
        one_of(self.mode, ("avg", "max"), "mode")
        require_same_element((self.input.type, self.rois.type))
        require_float(self.input.type)
        require_integers(self.samples.type, "samples")
        shape = require_rank(self.input.type, 4, "input")
        regions, corners = require_rank(self.rois.type, 2, "rois")
        unify(corners, 4, "the last axis of 'rois' and the corners")
        (count,) = require_rank(self.samples.type, 1, "samples")
        if self.sampling_ratio.value.data < 0 or 0 in shape[2:]:
            raise VerifyException("expects pixels to sample, and a sampling_ratio of 0 or more")
        size = integer_list(self.pooled_size, 2, "pooled_size", least=1)
        return (with_shape(self.input.type, (unify(regions, count, "regions"), shape[1], *size)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """One region after the other."""
        x, rois, samples = widened(operands[0]), widened(operands[1]), operands[2]
        y = np.empty((len(rois), x.shape[1], *self.pooled_size.get_values()), x.dtype)
        for region, (roi, image) in enumerate(zip(rois, samples, strict=True)):
            y[region] = self._pooled(x[image], roi)
        return (y.astype(operands[0].dtype, copy=False),)

    def _pooled(self, image: Array, roi: Array) -> Array:
        """One region of one image [C, H, W]."""
        offset = 0.5 if self.aligned.value.data else 0.0
        corners = roi * roi.dtype.type(self.spatial_scale.value.data) - roi.dtype.type(offset)
        lines: list[tuple[Array, Array, Array, Array]] = []
        ratios: list[int] = []
        for axis, pooled in enumerate(self.pooled_size.get_values()):
            start, length = corners[1 - axis], corners[3 - axis] - corners[1 - axis]
            length = length if self.aligned.value.data else max(length, roi.dtype.type(1))
            ratio = self.sampling_ratio.value.data or max(0, int(np.ceil(length / pooled)))
            bins = np.arange(pooled)[:, None] + (np.arange(ratio) + 0.5) / max(1, ratio)
            lines.append(_corner_weights(start + bins.reshape(-1) * (length / pooled), image.shape[1 + axis]))
            ratios.append(ratio)
        if 0 in ratios:
            return np.zeros((), image.dtype)
        (top, bottom, low_y, high_y), (left, right, low_x, high_x) = lines
        parts = [
            image[:, row[:, None], column] * (weight_y[:, None] * weight_x).astype(image.dtype)
            for row, weight_y in ((top, low_y), (bottom, high_y))
            for column, weight_x in ((left, low_x), (right, high_x))
        ]
        shape = (len(image), -1, ratios[0], len(left) // ratios[1], ratios[1])
        if self.mode.data == "max":
            return np.maximum.reduce(parts).reshape(shape).max(axis=(2, 4))
        return mean((parts[0] + parts[1] + parts[2] + parts[3]).reshape(shape), (2, 4))

    def loops(self, nest: Nest) -> SSAValue:
        """Pixels and weights along each axis, once for all channels; then the mean or the greatest of the values."""
        ratio, pooled = self.sampling_ratio.value.data, self.pooled_size.get_values()
        if not ratio:
            raise LoopFormError("has no loop form for these properties")
        images, _, *sizes = nest.counted(*nest.shape(0))
        regions = nest.extents[0]
        # A kernel has no room for as many values as its sizes say that are known only when it runs.
        keeps = isinstance(regions, int) or not nest.is_for_kernel
        region, channel, *bins = nest.at
        steps = [nest.reduced(ratio) for _ in sizes]
        image = in_range(nest, index_at(nest, [region], 2), images)
        sides: list[list[tuple[SSAValue, SSAValue]]] = []
        for axis, (count, size) in enumerate(zip(pooled, sizes, strict=True)):
            at = [region, bins[axis], steps[axis]]
            corners = [
                self._corner(axis, size, is_second=second, is_share=share)
                for second in (False, True)
                for share in (False, True)
            ]
            if keeps:
                kept = [nest.kept((regions, count, ratio), partial(_at_own, corner)) for corner in corners]
                low, low_share, high, high_share = (nest.read_kept(each, at) for each in kept)
            else:
                low, low_share, high, high_share = (corner(nest, at) for corner in corners)
            sides.append([(low, low_share), (high, high_share)])
        parts: list[SSAValue] = []
        for (row, height), (column, width) in combinations(*sides):
            value = scalars.widened(nest.read(0, [image, channel, row, column]))
            parts.append(scalars.multiply(value, scalars.multiply(height, width)))
        like = scalars.constant(0, scalars.signless(self.input.type.element_type))
        if self.mode.data == "max":
            return scalars.rounded(nest.total(Combiner.MAXIMUM, reduce(scalars.maximum, parts)), like)
        total = nest.total(Combiner.ADD, reduce(scalars.add, parts))
        return scalars.rounded(scalars.divide(total, scalars.constant(ratio * ratio, total.type)), like)

    def fault(self, nest: Nest) -> SSAValue:
        """Whether a number of an image is out of range."""
        region = nest.reduced(nest.shape(2)[0])
        return nest.total(Combiner.OR, is_outside(nest, index_at(nest, [region], 2), nest.static(nest.shape(0)[0])[0]))

    def _corner(
        self, axis: int, size: Size, *, is_second: bool, is_share: bool
    ) -> Callable[[Nest, Sequence[Index]], SSAValue]:
        """The pixel before or behind a value of a region along an axis, or its weight, as `_corner_weights`.

        It is computed for a region, a bin and a sample.
        """
        ratio, pooled = self.sampling_ratio.value.data, self.pooled_size.get_values()[axis]
        offset = 0.5 if self.aligned.value.data else 0.0

        def corner(nest: Nest, region: Index, place: int) -> SSAValue:
            value = scalars.widened(nest.read(1, [region, number(place)]))
            scale = scalars.constant(self.spatial_scale.value.data, value.type)
            return scalars.subtract(scalars.multiply(value, scale), scalars.constant(offset, value.type))

        def compute(nest: Nest, at: Sequence[Index]) -> SSAValue:
            region, own_bin, sample = at
            start = corner(nest, region, 1 - axis)
            length = scalars.subtract(corner(nest, region, 3 - axis), start)
            if not self.aligned.value.data:
                length = scalars.maximum(length, scalars.constant(1, length.type))
            bin = _as_f64(scalars.divide(length, scalars.constant(pooled, length.type)))
            half, zero = scalars.constant(0.5, f64), scalars.constant(0, f64)
            step = scalars.divide(scalars.add(_as_f64(nest.position(sample)), half), scalars.constant(ratio, f64))
            share = scalars.add(_as_f64(nest.position(own_bin)), step)
            place = scalars.add(_as_f64(start), scalars.multiply(share, bin))
            end = coordinate_of(nest, size, zero)
            last = size_code(end, zero, plus=-1)
            known = scalars.apply(
                arith.AndIOp,
                scalars.compare("greater_equal", place, scalars.constant(-1, f64)),
                scalars.compare("less_equal", place, size_code(end, place)),
            )
            pixel_at = scalars.minimum(scalars.maximum(scalars.select(known, place, zero), zero), last)
            low = scalars.apply(math.FloorOp, pixel_at)
            if is_share:
                behind = scalars.subtract(pixel_at, low)
                weight = behind if is_second else scalars.subtract(scalars.constant(1, f64), behind)
                share = scalars.select(known, weight, zero)
                return scalars.convert(share, length.type, unsigned_source=False, unsigned_target=False)
            pixel = scalars.minimum(scalars.add(low, scalars.constant(1, f64)), last) if is_second else low
            return scalars.convert(pixel, i32, unsigned_source=False, unsigned_target=False)

        return compute

    def flops(self) -> int | None:
        """Four products with weights, which are products themselves, for each value."""
        count, ratio = element_count(self.result.type), max(1, self.sampling_ratio.value.data)
        return None if count is None else 8 * count * ratio * ratio


def _at_own(corner: Callable[[Nest, Sequence[Index]], SSAValue], nest: Nest) -> SSAValue:
    """What is computed for the point of a nest."""
    return corner(nest, nest.at)


def coordinate_of(nest: Nest, size: Size, like: SSAValue) -> Extent:
    """A size as code that computes with coordinates takes it."""
    if isinstance(size, int):
        return size
    return scalars.convert(nest.count(size), like.type, unsigned_source=False, unsigned_target=False)


def _as_f64(x: SSAValue) -> SSAValue:
    return scalars.convert(x, f64, unsigned_source=False, unsigned_target=False)


def _corner_weights(places: Array, size: int) -> tuple[Array, Array, Array, Array]:
    """The pixels before and behind each place, and their weights; nothing counts more than a pixel outside."""
    known = (places >= -1) & (places <= size)
    at = np.clip(np.where(known, places, 0), 0, size - 1)
    low = np.floor(at).astype(np.int64)
    share = at - low
    return low, np.minimum(low + 1, size - 1), np.where(known, 1 - share, 0), np.where(known, share, 0)


@irdl_op_definition
class DeformableConv2dOp(FuseOp):
    """A convolution whose kernel meets the image at places that are moved by offsets, and weighted by a mask.

    Shapes: input [N, C, H, W], offset [N, 2 * G * KH * KW, H', W'] with y before x and G `deformable_groups`,
        mask [N, G * KH * KW, H', W'], weight [O, C / groups, KH, KW]; result [N, O, H', W'] as for `conv2d`.
    Types: one floating-point type; f16 and bf16 are computed in f32.
    Kind: out_ewise_fusable.
    Cost: 2 * N * O * H' * W' * (C / groups) * KH * KW, and 13 for each value of the image that is computed.
    Source: ONNX DeformConv, Relay `nn.deformable_conv2d`, which has no mask.
    """

    name = "fuse.deformable_conv2d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    IS_PRODUCT: ClassVar[bool] = True

    input = tensor_operand()
    offset = tensor_operand()
    mask = tensor_operand()
    weight = tensor_operand()
    result = tensor_result()

    strides = integers([1, 1])
    """How far the kernel moves, along each spatial axis."""
    padding = integers([0, 0, 0, 0])
    """Zeros before each spatial axis, then after each."""
    dilation = integers([1, 1])
    """Distance of the elements that neighbours in the kernel meet, along each spatial axis."""
    groups = integer(1)
    """Number of parts of the channels that are convolved apart from each other."""
    deformable_groups = integer(1)
    """Number of parts of the channels that have offsets of their own."""

    def infer_types(self) -> Sequence[Attribute]:
        """Batch of the input, output channels of the kernel, one element for each window."""
        require_same_element((self.input.type, self.offset.type, self.mask.type, self.weight.type))
        require_float(self.input.type)
        batch, channels, *sizes = require_rank(self.input.type, 4, "input")
        outputs, inputs, *extent = require_rank(self.weight.type, 4, "weight")
        groups = require_positive(self.groups.value.data, "groups")
        parts = require_positive(self.deformable_groups.value.data, "deformable_groups")
        unify(quotient(channels, groups, "input channels"), inputs, "input channels of a group and of 'weight'")
        quotient(outputs, groups, "output channels")
        quotient(channels, parts, "input channels")
        windows = Windows.of(tuple(extent), self.strides, self.padding, self.dilation)
        shape = (batch, outputs, *windows.counts(sizes))
        taps = product((parts, *extent))
        for operand, name, size in ((self.offset, "offset", product((2, taps))), (self.mask, "mask", taps)):
            own = require_rank(operand.type, 4, name)
            for dim, wanted in zip(own, (batch, size, *shape[2:]), strict=True):
                unify(dim, wanted, f"'{name}' and of the convolution")
        return (with_shape(self.input.type, shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The values that each place of the kernel meets, then a product with the kernel."""
        x, offset, mask, w = (widened(operand) for operand in operands)
        windows = Windows.of(w.shape[2:], self.strides, self.padding, self.dilation)
        counts, parts = windows.counts(x.shape[2:]), self.deformable_groups.value.data
        offset = offset.reshape(len(x), parts, *w.shape[2:], 2, *counts)
        mask = mask.reshape(len(x), parts, 1, *w.shape[2:], *counts)
        taken: list[Array] = []
        for part, image in enumerate(np.split(x, parts, axis=1)):
            places = [offset[:, part, :, :, axis] + _regular(windows, axis, counts, x.dtype) for axis in (0, 1)]
            taken.append(sample(image, places, "linear", "zeros", align_corners=True) * mask[:, part])
        values = np.concatenate(taken, axis=1)
        groups = self.groups.value.data
        kernel = w.reshape(groups, len(w) // groups, product(w.shape[1:]))
        values = values.reshape(len(x), groups, kernel.shape[2], product(counts))
        y = (kernel @ values).reshape(len(x), len(w), *counts)
        return (y.astype(operands[0].dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """The values that each place of the kernel meets, once for all output channels; then products with it.

        Kernels take a sampled image and a matrix product instead (`expand-deformable-convolutions`): 15 times as fast.
        """
        if nest.is_for_kernel:
            raise LoopFormError("has no loop form")
        (images,), (channels, *sizes) = nest.counted(nest.shape(0)[0]), nest.static(*nest.shape(0)[1:])
        outputs, inputs, *extent = nest.static(*nest.shape(3))
        windows = Windows.of(tuple(extent), self.strides, self.padding, self.dilation)
        counts = windows.counts(sizes)
        in_group, in_part = outputs // self.groups.value.data, channels // self.deformable_groups.value.data

        def value(inner: Nest) -> SSAValue:
            sample, channel, *taps = inner.at[:4]
            out = inner.at[4:]
            number = ((channel // in_part) * extent[0] + taps[0]) * extent[1] + taps[1]
            sides: list[list[Callable[[], tuple[SSAValue, SSAValue]]]] = []
            for axis, size in enumerate(sizes):
                moved = scalars.widened(inner.read(1, [sample, number * 2 + axis, *out]))
                regular = out[axis] * windows.strides[axis] + taps[axis] * windows.dilation[axis] - windows.low[axis]
                regular = inner.position(regular)
                regular = scalars.convert(regular, moved.type, unsigned_source=False, unsigned_target=False)
                place = scalars.add(moved, regular)
                sides.append([partial(_zero_tap, place, size, tap) for tap in range(len(TAPS["linear"]))])
            mask = scalars.widened(inner.read(2, [sample, number, *out]))
            return scalars.multiply(_sampled(inner, [sample, channel], sides), mask)

        values = nest.kept((images, channels, *extent, *counts), value)
        sample, output, *out = nest.at
        inner, *taps = (nest.reduced(size) for size in (inputs, *extent))
        channel = (output // in_group) * inputs + inner
        kernel = scalars.widened(nest.read(3, [output, inner, *taps]))
        total = nest.total(
            Combiner.ADD, scalars.multiply(nest.read_kept(values, [sample, channel, *taps, *out]), kernel)
        )
        return scalars.rounded(total, scalars.constant(0, scalars.signless(self.input.type.element_type)))

    def flops(self) -> int | None:
        """Products with the kernel; four weights, their products and sums, and the mask for each value."""
        taps = product(self.weight.type.get_shape()[2:])
        products = product((*self.result.type.get_shape(), self.weight.type.get_shape()[1], taps))
        values = product((*self.input.type.get_shape()[:2], *self.result.type.get_shape()[2:], taps))
        return None if DYNAMIC in (products, values) else 2 * products + 13 * values


def _zero_tap(place: SSAValue, size: int, tap: int) -> tuple[SSAValue, SSAValue]:
    """The index and the weight of a pixel around a place, beyond whose image are zeros."""
    index = tap_code(place, TAPS["linear"][tap], size, "zeros", align_corners=True)
    return index, share_code(place, tap, "linear")


def _regular(windows: Windows, axis: int, counts: Sequence[int], dtype: "np.dtype[np.generic]") -> Array:
    """Where the kernel meets the image without offsets, along one axis: [KH, KW, H', W']."""
    taps = np.arange(windows.extent[axis]) * windows.dilation[axis] - windows.low[axis]
    places = taps[:, None] + np.arange(counts[axis]) * windows.strides[axis]
    return places.astype(dtype)[:, None, :, None] if axis == 0 else places.astype(dtype)[None, :, None, :]
