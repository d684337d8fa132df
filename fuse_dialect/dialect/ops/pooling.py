"""Pooling in two spatial dimensions: kind `out_ewise_fusable`."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.accumulation import mean
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.axis_layout import permutation
from fuse_dialect.dialect.fields import Integer, Integers, flag, integers, string, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest, Place, limits
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import integer_list, one_of, product, require_float, require_numbers
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    element_count,
    is_float,
    is_tensor,
    is_unsigned,
    require_rank,
    with_element,
    with_shape,
)
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.loops.indices import Guard, Index, range_of
from fuse_dialect.loops.program import Combiner
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind

_NCHW = "NCHW"


class SpatialOp(FuseOp, ABC):
    """An op on the two spatial axes of an image, for each sample and channel on its own."""

    FLOAT_ONLY: ClassVar[bool] = True
    """Whether integers are refused: averages of integers are none."""

    if TYPE_CHECKING:  # xDSL reads a bare annotation as a definition; each op defines its own, with its defaults
        layout: StringAttr

    input = tensor_operand()
    result = tensor_result()

    @property
    def nchw_shape(self) -> Shape:
        """Shape of the operand in the order NCHW.

        Raises:
            VerifyException: Unknown layout, wrong rank or element type.
        """
        layout = one_of(self.layout, (_NCHW, "NHWC"), "layout")
        require_numbers(self.input.type)
        if self.FLOAT_ONLY:
            require_float(self.input.type)
        shape = require_rank(self.input.type, 4, "input")
        return tuple(shape[axis] for axis in permutation(layout, _NCHW))

    def spatial_sizes(self, nest: Nest) -> tuple[int, ...]:
        """Height and width of the operand."""
        return nest.static(*(nest.shape(0)[self.layout.data.index(letter)] for letter in "HW"))

    def counted_sizes(self, nest: Nest) -> tuple[Size, ...]:
        """The same, as sizes that may have names."""
        return tuple(nest.shape(0)[self.layout.data.index(letter)] for letter in "HW")

    def spatial_indices(self, nest: Nest) -> list[Index]:
        """Height and width of the element."""
        return [nest.at[self.layout.data.index(letter)] for letter in "HW"]

    def with_spatial(self, nest: Nest, places: Sequence[Index]) -> list[Index]:
        """Indices of the operand's element of the same sample and channel at a height and a width."""
        indices = list(nest.at)
        for letter, place in zip("HW", places, strict=True):
            indices[self.layout.data.index(letter)] = place
        return indices

    @abstractmethod
    def pooled_sizes(self, sizes: Shape) -> Shape:
        """Height and width of the result for those of the operand."""

    @abstractmethod
    def pool(self, x: Array) -> Array:
        """The result for an operand in NCHW, in its type or the type of sums."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's batch and channels with the pooled height and width."""
        shape = self.nchw_shape
        pooled = (*shape[:2], *self.pooled_sizes(shape[2:]))
        return (with_shape(self.input.type, (pooled[axis] for axis in permutation(_NCHW, self.layout.data))),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Pool in NCHW."""
        (x,) = operands
        y = self.pool(x.transpose(permutation(self.layout.data, _NCHW)))
        return (y.transpose(permutation(_NCHW, self.layout.data)).astype(x.dtype, copy=False),)


class WindowPoolOp(SpatialOp, ABC):
    """Pooling over sliding windows."""

    if TYPE_CHECKING:  # xDSL reads a bare annotation as a definition; each op defines its own, with its defaults
        pool_size: Integers
        strides: Integers
        padding: Integers
        dilation: Integers
        ceil_mode: Integer

    @property
    def windows(self) -> Windows:
        """The windows that the properties describe.

        Raises:
            VerifyException: A list has the wrong length or a number is out of range.
        """
        extent = integer_list(self.pool_size, 2, "pool_size", least=1)
        ceil_mode = bool(self.ceil_mode.value.data)
        return Windows.of(extent, self.strides, self.padding, self.dilation, ceil_mode=ceil_mode)

    def pooled_sizes(self, sizes: Shape) -> Shape:
        """One element for each window."""
        return self.windows.counts(sizes)

    def window_element(self, nest: Nest, otherwise: float) -> SSAValue:
        """The operand's element at a place of the window, or `otherwise` beside the operand."""
        sizes = self.counted_sizes(nest)
        windows = self.windows.clipped(sizes)
        taps = [nest.reduced(size) for size in windows.extent]
        places, guards = windows.places(self.spatial_indices(nest), taps, sizes)
        return nest.read(0, self.with_spatial(nest, places), guards, otherwise)

    def flops(self) -> int | None:
        """One operation for each element of each window."""
        count = element_count(self.result.type)
        return None if count is None else count * product(self.windows.extent)


@irdl_op_definition
class MaxPool2dOp(WindowPoolOp):
    """The greatest element of each window; padding never wins.

    Shapes: [N, C, H, W] or NHWC; H' = (H + top + bottom - (pool_size - 1) * dilation - 1) / strides + 1, rounded down,
        or up in `ceil_mode` unless the last window would start behind the operand. `padding` is top, left, bottom,
        right.
    Types: one type of numbers.
    Kind: out_ewise_fusable.
    Cost: the size of the window an element of the result.
    Source: ONNX MaxPool, Relay `nn.max_pool2d`, StableHLO `reduce_window`.
    """

    name = "fuse.max_pool2d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    FLOAT_ONLY: ClassVar[bool] = False

    pool_size = integers()
    """Height and width of a window."""
    strides = integers([1, 1])
    """How far a window moves, down and to the right."""
    padding = integers([0, 0, 0, 0])
    """Elements that no window counts, at the top, left, bottom and right."""
    dilation = integers([1, 1])
    """Distance of neighbours in a window, vertical and horizontal."""
    ceil_mode = flag()
    """Whether a last window may reach beyond the padding."""
    layout = string(_NCHW)
    """`NCHW` or `NHWC`."""

    def pool(self, x: Array) -> Array:
        """The maximum over the places in the window."""
        windows, counts = self.windows.clipped(x.shape[2:]), self.windows.counts(x.shape[2:])
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        first, *others = windows.taps(windows.pad(x, lowest, counts), counts)
        y = first.copy()
        for tap in others:
            np.maximum(y, tap, out=y)
        return y

    def loops(self, nest: Nest) -> SSAValue:
        """The maximum over the places in the window."""
        unsigned = is_unsigned(self.input.type)
        least, _ = limits(scalars.signless(self.input.type.element_type), unsigned=unsigned)
        return nest.total(Combiner.MAXIMUM, self.window_element(nest, least), unsigned=unsigned)


@irdl_op_definition
class MaxPool2dIndicesOp(WindowPoolOp):
    """Where the greatest element of each window stands, of equal ones the first; `max_pool2d` gives the element.

    Shapes: as `max_pool2d`; a place is counted over all elements of the operand in the order [N, C, H, W].
    Types: one type of numbers; the result is i64.
    Kind: opaque.
    Cost: the size of the window an element of the result.
    Source: ONNX MaxPool, result `Indices`.
    """

    name = "fuse.max_pool2d_indices"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOAT_ONLY: ClassVar[bool] = False

    pool_size = integers()
    """Height and width of a window."""
    strides = integers([1, 1])
    """How far a window moves, down and to the right."""
    padding = integers([0, 0, 0, 0])
    """Elements that no window counts, at the top, left, bottom and right."""
    dilation = integers([1, 1])
    """Distance of neighbours in a window, vertical and horizontal."""
    ceil_mode = flag()
    """Whether a last window may reach beyond the padding."""
    layout = string(_NCHW)
    """`NCHW` or `NHWC`."""

    def infer_types(self) -> Sequence[Attribute]:
        """The shape of `max_pool2d`, of i64."""
        (type,) = super().infer_types()
        assert is_tensor(type), "an image"
        return (with_element(type, i64),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Pool in NCHW."""
        y = self.pool(operands[0].transpose(permutation(self.layout.data, _NCHW)))
        return (y.transpose(permutation(_NCHW, self.layout.data)),)

    def pool(self, x: Array) -> Array:
        """The place of the maximum over the places in the window."""
        windows, counts = self.windows.clipped(x.shape[2:]), self.windows.counts(x.shape[2:])
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        places = windows.pad(np.arange(x.size).reshape(x.shape), -1, counts)
        greatest, found = np.empty(0, x.dtype), np.empty(0, np.int64)
        for value, place in zip(
            windows.taps(windows.pad(x, lowest, counts), counts), windows.taps(places, counts), strict=True
        ):
            if not greatest.size:
                greatest, found = value.copy(), place.copy()
                continue
            better = (place >= 0) & ((value > greatest) | (found < 0))
            greatest, found = np.where(better, value, greatest), np.where(better, place, found)
        return found

    def loops(self, nest: Nest) -> SSAValue:
        """The greatest number of a window, then the first place that holds it.

        Nothing is greater than a nan, nor it than anything: it is found where it comes first, else passed over.
        """
        unsigned, is_real = is_unsigned(self.input.type), is_float(self.input.type)
        least, _ = limits(scalars.signless(self.input.type.element_type), unsigned=unsigned)
        shape, sizes = nest.extents, self.spatial_sizes(nest)
        (channels,) = nest.static(nest.shape(0)[self.layout.data.index("C")])

        def number(inner: Nest) -> SSAValue:
            element = scalars.widened(self.window_element(inner, least))
            lowest = scalars.constant(least, element.type)
            return scalars.select(scalars.compare("equal", element, element), element, lowest) if is_real else element

        greatest = nest.kept(shape, lambda inner: inner.total(Combiner.MAXIMUM, number(inner), unsigned=unsigned))
        first = nest.kept(shape, lambda inner: self._first_if_nan(inner, channels, sizes)) if is_real else None
        windows = self.windows.clipped(sizes)
        taps = [nest.reduced(size) for size in windows.extent]
        places, guards = windows.places(self.spatial_indices(nest), taps, sizes)
        element = scalars.widened(nest.read(0, self.with_spatial(nest, places), guards, least))
        holds = scalars.compare("equal", element, nest.read_kept(greatest, nest.at))
        holds = scalars.apply(arith.AndIOp, nest.inside(guards), holds)
        none = scalars.constant(np.iinfo(np.int64).max, i64)
        place = nest.position(self._row_major(nest, channels, sizes, places))
        total = nest.total(Combiner.MINIMUM, scalars.select(holds, place, none))
        found = scalars.select(scalars.compare("equal", total, none), scalars.constant(-1, i64), total)
        if first is None:
            return found
        own = nest.read_kept(first, nest.at)
        return scalars.select(scalars.compare("less", own, scalars.constant(0, i64)), found, own)

    def _row_major(self, nest: Nest, channels: int, sizes: Sequence[int], places: Sequence[Index]) -> Index:
        """The number of the element at a height and a width, in the order [N, C, H, W]."""
        sample, channel = (nest.at[self.layout.data.index(letter)] for letter in "NC")
        height, width = sizes
        return ((sample * channels + channel) * height + places[0]) * width + places[1]

    def _first_if_nan(self, nest: Nest, channels: int, sizes: Sequence[int]) -> SSAValue:
        """The place of the first element of a window if that is nan, else -1."""
        places: list[SSAValue] = []
        inside = scalars.constant(1, i1)
        windows = self.windows
        for at, size, stride, step, low, extent in zip(
            self.spatial_indices(nest),
            sizes,
            windows.strides,
            windows.dilation,
            windows.low,
            windows.extent,
            strict=True,
        ):
            begin, zero = nest.position(at * stride - low), scalars.constant(0, i64)
            # As many steps of the window as lead out of the padding in front.
            beside = scalars.maximum(scalars.subtract(zero, begin), zero)
            steps = scalars.divide(scalars.add(beside, scalars.constant(step - 1, i64)), scalars.constant(step, i64))
            inner = scalars.add(begin, scalars.multiply(steps, scalars.constant(step, i64)))
            # A window over padding alone has no first element.
            for number, end in ((inner, size), (steps, extent)):
                is_there = scalars.compare("less", number, scalars.constant(end, i64))
                inside = scalars.apply(arith.AndIOp, inside, is_there)
            places.append(scalars.minimum(inner, scalars.constant(size - 1, i64)))
        indices: list[Place] = list(nest.at)
        for letter, place in zip("HW", places, strict=True):
            indices[self.layout.data.index(letter)] = place
        element = scalars.widened(nest.read(0, indices))
        sample, channel = (nest.at[self.layout.data.index(letter)] for letter in "NC")
        plane = nest.position((sample * channels + channel) * (sizes[0] * sizes[1]))
        line = scalars.multiply(places[0], scalars.constant(sizes[1], i64))
        number = scalars.add(plane, scalars.add(line, places[1]))
        is_nan = scalars.compare("not_equal", element, element)
        return scalars.select(scalars.apply(arith.AndIOp, inside, is_nan), number, scalars.constant(-1, i64))


@irdl_op_definition
class AvgPool2dOp(WindowPoolOp):
    """The average of each window, over the operand's elements or, with `count_include_pad`, also the padding.

    Shapes: as `max_pool2d`; what a last window covers beyond the padding in `ceil_mode` never counts. A window over
        padding alone gives 0.
    Types: floating point; f16 and bf16 are summed in f32.
    Kind: out_ewise_fusable.
    Cost: the size of the window an element of the result.
    Source: ONNX AveragePool, Relay `nn.avg_pool2d`.
    """

    name = "fuse.avg_pool2d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    pool_size = integers()
    """Height and width of a window."""
    strides = integers([1, 1])
    """How far a window moves, down and to the right."""
    padding = integers([0, 0, 0, 0])
    """Elements that no window counts, at the top, left, bottom and right."""
    dilation = integers([1, 1])
    """Distance of neighbours in a window, vertical and horizontal."""
    ceil_mode = flag()
    """Whether a last window may reach beyond the padding."""
    count_include_pad = flag()
    """Whether the padding counts as zeros."""
    layout = string(_NCHW)
    """`NCHW` or `NHWC`."""

    def pool(self, x: Array) -> Array:
        """The sum over the places in the window, divided by the number of elements that count."""
        sizes = x.shape[2:]
        windows, counts = self.windows.clipped(sizes), self.windows.counts(sizes)
        first, *others = windows.taps(windows.pad(widened(x), 0, counts), counts)
        y = first.copy()
        for tap in others:
            y += tap
        counted = self.windows.covered(sizes, include_padding=bool(self.count_include_pad.value.data))
        return y / np.maximum(counted, 1).astype(y.dtype)

    def loops(self, nest: Nest) -> SSAValue:
        """The sum over the places in the window, divided by the number of elements that count."""
        element = self.window_element(nest, 0)
        total = nest.total(Combiner.ADD, scalars.widened(element))
        counted = scalars.constant(1, i64)
        for axis, (at, size) in enumerate(zip(self.spatial_indices(nest), self.counted_sizes(nest), strict=True)):
            counted = scalars.multiply(counted, self._counted(nest, at, axis, size))
        counted = scalars.maximum(counted, scalars.constant(1, i64))
        divisor = scalars.convert(counted, total.type, unsigned_source=False, unsigned_target=False)
        return scalars.rounded(scalars.divide(total, divisor), element)

    def _counted(self, nest: Nest, at: Index, axis: int, size: Size) -> SSAValue:
        """How many elements along an axis of `size` a window covers, or of the axis with its padding."""
        windows, padded = self.windows, bool(self.count_include_pad.value.data)
        step, start = windows.dilation[axis], at * windows.strides[axis] - windows.low[axis]
        low, behind = (-windows.low[axis], windows.high[axis]) if padded else (0, 0)
        first, last = range_of(start, nest.extents)
        end = size + behind if isinstance(size, int) else None
        if first is not None and last is not None and end is not None:  # noqa: SIM102  (the types need it)
            if first >= low and last + windows.reach(axis) <= end:
                return scalars.constant(windows.extent[axis], i64)

        def taps_below(bound: int, size: Size) -> SSAValue:
            """Places of the window in front of an index, which is a number behind a size: from 0 to its extent."""
            if isinstance(size, int):
                before = nest.position((start * -1 + (size + bound + step - 1)) // step)
            else:
                before = scalars.subtract(nest.count(size, plus=bound + step - 1), nest.position(start))
                before = scalars.divide(before, scalars.constant(step, i64))  # less than 0 counts as 0
            most = scalars.constant(windows.extent[axis], i64)
            return scalars.minimum(scalars.maximum(before, scalars.constant(0, i64)), most)

        return scalars.subtract(taps_below(behind, size), taps_below(low, 0))


class GlobalPoolOp(SpatialOp, ABC):
    """Pooling over all of height and width, which stay as axes of size 1."""

    def pooled_sizes(self, sizes: Shape) -> Shape:
        """1 and 1."""
        return (1, 1)

    def channel_element(self, nest: Nest) -> SSAValue:
        """The operand's element at any height and width."""
        spatial = [nest.reduced(nest.shape(0)[self.layout.data.index(letter)]) for letter in "HW"]
        return nest.read(0, self.with_spatial(nest, spatial))

    def flops(self) -> int | None:
        """One operation for each element of the operand."""
        return element_count(self.input.type)


@irdl_op_definition
class GlobalMaxPool2dOp(GlobalPoolOp):
    """The greatest element of each channel.

    Shapes: [N, C, H, W] to [N, C, 1, 1], or NHWC.
    Types: one type of numbers.
    Kind: out_ewise_fusable.
    Cost: one operation an element of the operand.
    Source: ONNX GlobalMaxPool, Relay `nn.global_max_pool2d`.
    """

    name = "fuse.global_max_pool2d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    FLOAT_ONLY: ClassVar[bool] = False

    layout = string(_NCHW)
    """`NCHW` or `NHWC`."""

    def pool(self, x: Array) -> Array:
        """The maximum over both axes; of nothing it is the least value, as for `max`."""
        least, _ = limits(self.input.type.element_type, unsigned=is_unsigned(self.input.type))
        return x.max(axis=(2, 3), keepdims=True, initial=x.dtype.type(least))

    def loops(self, nest: Nest) -> SSAValue:
        """The maximum over both axes."""
        unsigned = is_unsigned(self.input.type)
        return nest.total(Combiner.MAXIMUM, self.channel_element(nest), unsigned=unsigned)


@irdl_op_definition
class GlobalAvgPool2dOp(GlobalPoolOp):
    """The average of each channel.

    Shapes: [N, C, H, W] to [N, C, 1, 1], or NHWC.
    Types: floating point; f16 and bf16 are summed in f32.
    Kind: out_ewise_fusable.
    Cost: one operation an element of the operand.
    Source: ONNX GlobalAveragePool, Relay `nn.global_avg_pool2d`.
    """

    name = "fuse.global_avg_pool2d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    layout = string(_NCHW)
    """`NCHW` or `NHWC`."""

    def pool(self, x: Array) -> Array:
        """The mean over both axes."""
        return mean(widened(x), (2, 3), keepdims=True)

    def loops(self, nest: Nest) -> SSAValue:
        """The sum over both axes, divided by the number of elements."""
        element = self.channel_element(nest)
        total = nest.total(Combiner.ADD, scalars.widened(element))
        sizes = [nest.extent(nest.shape(0)[self.layout.data.index(letter)]) for letter in "HW"]
        count = scalars.convert(scalars.multiply(*sizes), total.type, unsigned_source=False, unsigned_target=False)
        return scalars.rounded(scalars.divide(total, count), element)


@irdl_op_definition
class AdaptiveAvgPool2dOp(SpatialOp):
    """Averages over windows that divide the operand as evenly as possible into `output_size`.

    Shapes: [N, C, H, W] to [N, C, *output_size], or NHWC; window i of n covers floor(i * H / n) to
        ceil((i + 1) * H / n), which is left out.
    Types: floating point; f16 and bf16 are summed in f32.
    Kind: out_ewise_fusable.
    Cost: one operation for each element of each window.
    Source: Relay `nn.adaptive_avg_pool2d`, PyTorch `AdaptiveAvgPool2d`.
    """

    name = "fuse.adaptive_avg_pool2d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    output_size = integers()
    """Height and width of the result."""
    layout = string(_NCHW)
    """`NCHW` or `NHWC`."""

    def pooled_sizes(self, sizes: Shape) -> Shape:
        """The output size."""
        return integer_list(self.output_size, 2, "output_size", least=1)

    def _bounds(self, size: int, axis: int) -> list[tuple[int, int]]:
        """First index of each window along an axis, and the first behind it."""
        count = self.output_size.get_values()[axis]
        return [(at * size // count, -(-(at + 1) * size // count)) for at in range(count)]

    def pool(self, x: Array) -> Array:
        """Sums along one axis after the other, divided by the sizes of the windows."""
        y, counts = widened(x), np.ones((), np.int64)
        for axis in (2, 3):
            bounds = self._bounds(x.shape[axis], axis - 2)
            lines = np.moveaxis(y, axis, 0)
            y = np.stack([lines[first:end].sum(axis=0) for first, end in bounds], axis=axis)
            counts = np.multiply.outer(counts, [end - first for first, end in bounds])
        with np.errstate(all="ignore"):
            return np.asarray(y / counts.astype(y.dtype))

    def loops(self, nest: Nest) -> SSAValue:
        """The sum over a window as long as the longest, divided by the number of elements of this one."""
        sizes, counts = self.spatial_sizes(nest), self.output_size.get_values()
        places: list[Index] = []
        guards: list[Guard] = []
        covered = scalars.constant(1, i64)
        for at, size, count in zip(self.spatial_indices(nest), sizes, counts, strict=True):
            first, end = at * size // count, (at * size + (size + count - 1)) // count
            longest = _longest_part(size, count)
            tap = nest.reduced(longest)
            places.append(first + tap)
            guards.append(Guard(end - first - tap - 1, longest))
            covered = scalars.multiply(covered, nest.position(end - first))
        element = nest.read(0, self.with_spatial(nest, places), guards)
        total = nest.total(Combiner.ADD, scalars.widened(element))
        count = scalars.convert(covered, total.type, unsigned_source=False, unsigned_target=False)
        return scalars.rounded(scalars.divide(total, count), element)

    def flops(self) -> int | None:
        """One operation for each element of each window."""
        shape = self.nchw_shape
        if DYNAMIC in shape:
            return None
        counts = self.output_size.get_values()
        # Parts next to each other share an element, unless a part begins where another ends.
        covered = [size + count - math.gcd(size, count) for size, count in zip(shape[2:], counts, strict=True)]
        return product((*shape[:2], *covered))


def _longest_part(size: int, count: int) -> int:
    """Elements of the longest of `count` parts; part i covers floor(i * size / count) to ceil((i + 1) * size / count).

    There may be any number of parts, so none is made. With what both have in common taken out, the beginnings leave
    every rest of a division by `count`: a part reaches into one more element than its share has if it begins or ends
    inside of one, and into two if it does both.
    """
    common = math.gcd(size, count)
    whole, rest = divmod(size // common, count // common)
    return whole + min(rest, 2)
