"""Convolutions: kind `out_ewise_fusable`. A bias is added by `bias_add`."""

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.counts import Size
from fuse_dialect.dialect.accumulation import exact_product, sum_element
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.axis_layout import permutation
from fuse_dialect.dialect.fields import Integer, Integers, integer, integers, string, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest, sum_of_products
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import (
    integer_list,
    one_of,
    product,
    quotient,
    require_numbers,
    require_positive,
    unify,
)
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    is_unsigned,
    require_rank,
    require_same_element,
    with_element,
    with_shape,
)
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.loops.indices import Guard, Index
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind

_Each = TypeVar("_Each")


class WindowedProductOp(FuseOp, ABC):
    """Products of a kernel with the windows of an input that has channels."""

    IS_PRODUCT: ClassVar[bool] = True

    DATA_LAYOUTS: ClassVar[tuple[str, str]]
    """Layouts of the input and the result; the first is the one in which the op is computed."""
    KERNEL_LAYOUTS: ClassVar[tuple[str, ...]]
    """Layouts of the kernel; the first is the one in which the op is computed."""

    if TYPE_CHECKING:  # xDSL reads a bare annotation as a definition; each op defines its own, with its defaults
        strides: Integers
        padding: Integers
        dilation: Integers
        groups: Integer
        data_layout: StringAttr
        kernel_layout: StringAttr

    input = tensor_operand()
    weight = tensor_operand()
    result = tensor_result()

    def canonical_shapes(self) -> tuple[Shape, Shape]:
        """Shapes of input and kernel with their axes in the order of the first layouts.

        Raises:
            VerifyException: Unknown layout, wrong rank or element type.
        """
        data = one_of(self.data_layout, self.DATA_LAYOUTS, "data_layout")
        kernel = one_of(self.kernel_layout, self.KERNEL_LAYOUTS, "kernel_layout")
        self.sum_element()
        x = require_rank(self.input.type, len(data), "input")
        w = require_rank(self.weight.type, len(kernel), "weight")
        return (
            tuple(x[axis] for axis in permutation(data, self.DATA_LAYOUTS[0])),
            tuple(w[axis] for axis in permutation(kernel, self.KERNEL_LAYOUTS[0])),
        )

    def sum_element(self) -> Attribute:
        """Element type of the result.

        Raises:
            VerifyException: The operands' types do not fit.
        """
        require_same_element((self.input.type, self.weight.type))
        require_numbers(self.input.type)
        return self.input.type.element_type

    def canonical(self, x: Array, w: Array) -> tuple[Array, Array]:
        """Input and kernel with their axes in the order of the first layouts, in the type of the sums."""
        return widened(x).transpose(self.data_axes), widened(w).transpose(self.kernel_axes)

    @property
    def data_axes(self) -> tuple[int, ...]:
        """Axes of the input, and of the result, in the order of the first layout."""
        return permutation(self.data_layout.data, self.DATA_LAYOUTS[0])

    @property
    def kernel_axes(self) -> tuple[int, ...]:
        """Axes of the kernel in the order of the first layout."""
        return permutation(self.kernel_layout.data, self.KERNEL_LAYOUTS[0])

    def in_layout(self, canonical: Sequence[_Each]) -> tuple[_Each, ...]:
        """Sizes or indices of the result in the order of the first layout, reordered to the op's layout."""
        return tuple(canonical[axis] for axis in permutation(self.DATA_LAYOUTS[0], self.data_layout.data))

    def loop_shapes(self, nest: Nest) -> tuple[tuple[Size, ...], tuple[Size, ...], list[Index]]:
        """Sizes of the input but its batch, those of the kernel, and indices of the result, in the first layouts."""
        data, x, w = self.data_axes, nest.shape(0), nest.shape(1)
        sizes = tuple(x[axis] for axis in data[1:])
        return sizes, nest.counted(*(w[axis] for axis in self.kernel_axes)), [nest.at[axis] for axis in data]

    def kernel_in_layout(self, canonical: Sequence[_Each]) -> tuple[_Each, ...]:
        """Sizes or indices of the kernel in the order of the first layout, reordered to the op's layout."""
        return tuple(canonical[axis] for axis in permutation(self.KERNEL_LAYOUTS[0], self.kernel_layout.data))

    def windows(self, extent: Shape) -> Windows:
        """The windows of a kernel of spatial `extent`."""
        return Windows.of(extent, self.strides, self.padding, self.dilation)


class ConvOp(WindowedProductOp, ABC):
    """A convolution in any number of spatial dimensions: shape rule, meaning and cost."""

    if TYPE_CHECKING:  # as in `WindowedProductOp`
        out_dtype: StringAttr
        pad_value: Integer

    def sum_element(self) -> Attribute:
        """Element type of the result: that of the operands, or `out_dtype`.

        Raises:
            VerifyException: The operands' types do not fit, or `pad_value` is none of the input's numbers.
        """
        value = self.pad_value.value.data
        if value and not self.out_dtype.data:
            raise VerifyException(f'expects out_dtype = "i32" with pad_value, got pad_value = {value}')
        low, high = (0, 255) if is_unsigned(self.input.type) else (-128, 127)
        if not low <= value <= high:
            raise VerifyException(f"expects pad_value from {low} to {high}, got {value}")
        return sum_element(self.input.type, self.weight.type, self.out_dtype)

    def infer_types(self) -> Sequence[Attribute]:
        """Batch of the input, output channels of the kernel, one element for each window."""
        (batch, channels, *sizes), (outputs, inputs, *extent) = self.canonical_shapes()
        groups = require_positive(self.groups.value.data, "groups")
        unify(quotient(channels, groups, "input channels"), inputs, "input channels of a group and of 'weight'")
        quotient(outputs, groups, "output channels")
        counts = self.windows(tuple(extent)).counts(sizes)
        return (
            with_element(with_shape(self.input.type, self.in_layout((batch, outputs, *counts))), self.sum_element()),
        )

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Matrix products of the kernel with the windows laid out as columns, one sample and group at a time."""
        x, w = self.canonical(*operands)
        groups, windows = self.groups.value.data, self.windows(w.shape[2:])
        counts, rank = windows.counts(x.shape[2:]), w.ndim - 2
        kernel = np.ascontiguousarray(w.reshape(groups, w.shape[0] // groups, product(w.shape[1:])))
        padded = windows.pad(x, self.pad_value.value.data, counts)
        is_exact = bool(self.out_dtype.data)
        y = np.empty((len(x), *kernel.shape[:2], product(counts)), np.int32 if is_exact else x.dtype)
        for sample, out in zip(padded, y, strict=True):
            taken = windows.view(sample, counts).transpose(0, *range(rank + 1, 2 * rank + 1), *range(1, rank + 1))
            taken = taken.reshape(groups, kernel.shape[2], product(counts))
            if is_exact:
                out[...] = exact_product(kernel, taken)
            else:
                np.matmul(kernel, taken, out=out)
        y = y.reshape(len(x), w.shape[0], *counts).transpose(self.in_layout(range(w.ndim)))
        return (y if is_exact else y.astype(operands[0].dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """Products over the input channels of the group and the places in the window."""
        (_, *sizes), (outputs, inputs, *extent), (sample, output, *at) = self.loop_shapes(nest)
        channel, taps = nest.reduced(inputs), [nest.reduced(size) for size in extent]
        source = channel
        if self.groups.value.data > 1:
            outputs, inputs = nest.static(outputs, inputs)
            source = output // max(outputs // self.groups.value.data, 1) * inputs + channel
        places, guards = self.windows(nest.static(*extent)).places(at, taps, sizes)
        x = nest.read(0, self.in_layout([sample, source, *places]), guards, self.pad_value.value.data)
        w = nest.read(1, self.kernel_in_layout([output, channel, *taps]))
        return sum_of_products(nest, x, w, self.result.type)

    def flops(self) -> int | None:
        """Two for each product of a result element with an element of its window in each input channel of its group."""
        _, (_, *taps) = self.canonical_shapes()
        products = product((*self.result.type.get_shape(), *taps))
        return None if products == DYNAMIC else 2 * products


@irdl_op_definition
class Conv1dOp(ConvOp):
    """Convolution along one spatial axis.

    Shapes: input [N, C, W] and weight [O, C / groups, K], or as the layouts say; result [N, O, W'] with
        W' = (W + padding - (K - 1) * dilation - 1) / strides + 1, rounded down.
    Types: one type of numbers; f16 and bf16 are summed in f32. With `out_dtype` each operand i8 or ui8, result i32.
    Kind: out_ewise_fusable.
    Cost: 2 * N * O * W' * (C / groups) * K.
    Source: ONNX Conv, Relay `nn.conv1d`, StableHLO `convolution`.
    """

    name = "fuse.conv1d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    DATA_LAYOUTS: ClassVar[tuple[str, str]] = ("NCW", "NWC")
    KERNEL_LAYOUTS: ClassVar[tuple[str, ...]] = ("OIW", "WIO")

    strides = integers([1])
    """How far the kernel moves, along each spatial axis."""
    padding = integers([0, 0])
    """Zeros before each spatial axis, then after each."""
    dilation = integers([1])
    """Distance of the elements that neighbours in the kernel meet, along each spatial axis."""
    groups = integer(1)
    """Number of parts of the channels that are convolved apart from each other."""
    data_layout = string("NCW")
    """`NCW` or `NWC`."""
    kernel_layout = string("OIW")
    """`OIW` or `WIO`."""
    pad_value = integer(0)
    """What stands around the input; other than 0 only with `out_dtype`: the number that means 0."""
    out_dtype = string("")
    """`i32` for the sums of products of 8-bit integers; by default the operands' type."""


@irdl_op_definition
class Conv2dOp(ConvOp):
    """Convolution along two spatial axes; with `groups = C` it is depthwise.

    Shapes: input [N, C, H, W] and weight [O, C / groups, KH, KW], or as the layouts say; result [N, O, H', W'] with
        H' = (H + top + bottom - (KH - 1) * dilation - 1) / strides + 1, rounded down. `padding` is top, left, bottom,
        right.
    Types: one type of numbers; f16 and bf16 are summed in f32. With `out_dtype` each operand i8 or ui8, result i32.
    Kind: out_ewise_fusable.
    Cost: 2 * N * O * H' * W' * (C / groups) * KH * KW.
    Source: ONNX Conv, Relay `nn.conv2d`, StableHLO `convolution`.
    """

    name = "fuse.conv2d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    DATA_LAYOUTS: ClassVar[tuple[str, str]] = ("NCHW", "NHWC")
    KERNEL_LAYOUTS: ClassVar[tuple[str, ...]] = ("OIHW", "HWIO", "OHWI")

    strides = integers([1, 1])
    """How far the kernel moves, along each spatial axis."""
    padding = integers([0, 0, 0, 0])
    """Zeros before each spatial axis, then after each."""
    dilation = integers([1, 1])
    """Distance of the elements that neighbours in the kernel meet, along each spatial axis."""
    groups = integer(1)
    """Number of parts of the channels that are convolved apart from each other."""
    data_layout = string("NCHW")
    """`NCHW` or `NHWC`."""
    kernel_layout = string("OIHW")
    """`OIHW`, `HWIO` or `OHWI`."""
    pad_value = integer(0)
    """What stands around the input; other than 0 only with `out_dtype`: the number that means 0."""
    out_dtype = string("")
    """`i32` for the sums of products of 8-bit integers; by default the operands' type."""


@irdl_op_definition
class Conv3dOp(ConvOp):
    """Convolution along three spatial axes.

    Shapes: input [N, C, D, H, W] and weight [O, C / groups, KD, KH, KW], or as the layouts say; result
        [N, O, D', H', W'] as for `conv2d`. `padding` is front, top, left, back, bottom, right.
    Types: one type of numbers; f16 and bf16 are summed in f32. With `out_dtype` each operand i8 or ui8, result i32.
    Kind: out_ewise_fusable.
    Cost: 2 * N * O * D' * H' * W' * (C / groups) * KD * KH * KW.
    Source: ONNX Conv, Relay `nn.conv3d`, StableHLO `convolution`.
    """

    name = "fuse.conv3d"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    DATA_LAYOUTS: ClassVar[tuple[str, str]] = ("NCDHW", "NDHWC")
    KERNEL_LAYOUTS: ClassVar[tuple[str, ...]] = ("OIDHW", "DHWIO")

    strides = integers([1, 1, 1])
    """How far the kernel moves, along each spatial axis."""
    padding = integers([0, 0, 0, 0, 0, 0])
    """Zeros before each spatial axis, then after each."""
    dilation = integers([1, 1, 1])
    """Distance of the elements that neighbours in the kernel meet, along each spatial axis."""
    groups = integer(1)
    """Number of parts of the channels that are convolved apart from each other."""
    data_layout = string("NCDHW")
    """`NCDHW` or `NDHWC`."""
    kernel_layout = string("OIDHW")
    """`OIDHW` or `DHWIO`."""
    pad_value = integer(0)
    """What stands around the input; other than 0 only with `out_dtype`: the number that means 0."""
    out_dtype = string("")
    """`i32` for the sums of products of 8-bit integers; by default the operands' type."""


class ConvTransposeOp(WindowedProductOp, ABC):
    """A transposed convolution in any number of spatial dimensions: shape rule, meaning and cost."""

    if TYPE_CHECKING:  # as in `WindowedProductOp`
        output_padding: Integers

    def infer_types(self) -> Sequence[Attribute]:
        """The input for which a convolution with these windows would give the op's input."""
        (batch, channels, *sizes), (inputs, outputs, *extent) = self.canonical_shapes()
        groups = require_positive(self.groups.value.data, "groups")
        quotient(channels, groups, "input channels")
        unify(channels, inputs, "input channels and channels of 'weight'")
        grown = self.grown(self.windows(tuple(extent)), sizes)
        return (with_shape(self.input.type, self.in_layout((batch, product((outputs, groups)), *grown))),)

    def grown(self, windows: Windows, sizes: Sequence[int]) -> Shape:
        """Spatial sizes of the result for those of the input.

        Raises:
            VerifyException: The padding cuts off more than there is.
        """
        extra = integer_list(self.output_padding, len(sizes), "output_padding", least=0)
        grown: list[int] = []
        for axis, size in enumerate(sizes):
            reach = windows.reach(axis)
            if DYNAMIC in (size, reach):
                grown.append(DYNAMIC)
                continue
            full = (size - 1) * windows.strides[axis] + reach + extra[axis]
            if full < windows.low[axis] + windows.high[axis]:
                cut = windows.low[axis] + windows.high[axis]
                raise VerifyException(f"expects padding of at most {full} in all, got {cut} (spatial axis {axis})")
            grown.append(full - windows.low[axis] - windows.high[axis])
        return tuple(grown)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Matrix products give what each input element adds at each place of its window; these are then summed."""
        x, w = self.canonical(*operands)
        groups, windows = self.groups.value.data, self.windows(w.shape[2:])
        sizes, extent = x.shape[2:], w.shape[2:]
        grown = self.grown(windows, sizes)
        full = tuple(low + size + high for low, size, high in zip(windows.low, grown, windows.high, strict=True))
        kernel = w.reshape(groups, w.shape[0] // groups, product(w.shape[1:])).swapaxes(1, 2)
        added = kernel @ x.reshape(len(x), groups, w.shape[0] // groups, product(sizes))
        added = added.reshape(len(x), groups * w.shape[1], *extent, *sizes)
        y = np.zeros((len(x), groups * w.shape[1], *full), x.dtype)
        for offset in np.ndindex(*extent) if product(sizes) else ():
            y[(..., *windows.tap_slices(offset, sizes))] += added[(slice(None), slice(None), *offset)]
        y = y[(..., *(slice(low, low + size) for low, size in zip(windows.low, grown, strict=True)))]
        return (y.transpose(self.in_layout(range(y.ndim))).astype(operands[0].dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """Products over the input channels of the group and the places whose windows meet the element."""
        (channels, *sizes), (inputs, outputs, *extent), (sample, output, *at) = self.loop_shapes(nest)
        windows, own = self.windows(nest.static(*extent)), output
        channels = inputs if isinstance(inputs, int) else channels
        if self.groups.value.data > 1:
            channels, outputs = nest.static(channels, outputs)
            share, own = channels // self.groups.value.data, output % max(outputs, 1)
            channel = (output // max(outputs, 1)) * share + nest.reduced(share)
        else:
            channel = nest.reduced(channels)
        taps = [nest.reduced(size) for size in extent]
        places: list[Index] = []
        guards: list[Guard] = []
        for axis, (index, tap, stride) in enumerate(zip(at, taps, windows.strides, strict=True)):
            offset = index - tap * windows.dilation[axis] + windows.low[axis]
            places.append(offset // stride)
            guards += [Guard(offset % stride, 1), Guard(offset // stride, sizes[axis])]
        x = nest.read(0, self.in_layout([sample, channel, *places]), guards)
        # The kernel is guarded, too: zero times its infinities would be nan, where nothing is added.
        w = nest.read(1, self.kernel_in_layout([channel, own, *taps]), guards)
        return sum_of_products(nest, x, w, self.result.type)

    def flops(self) -> int | None:
        """Two for each product of an input element with an element of the kernel of its channel."""
        _, (_, *taps) = self.canonical_shapes()
        products = product((*self.input.type.get_shape(), *taps))
        return None if products == DYNAMIC else 2 * products


@irdl_op_definition
class Conv2dTransposeOp(ConvTransposeOp):
    """The gradient of a two-dimensional convolution: each input element adds a scaled kernel to the result.

    Shapes: input [N, C, H, W], weight [C, O / groups, KH, KW]; result [N, O, H', W'] with
        H' = (H - 1) * strides + (KH - 1) * dilation + 1 + output_padding - top - bottom. `padding` is top, left,
        bottom, right of the result.
    Types: one type of numbers; f16 and bf16 are summed in f32.
    Kind: out_ewise_fusable.
    Cost: 2 * N * C * H * W * (O / groups) * KH * KW.
    Source: ONNX ConvTranspose, Relay `nn.conv2d_transpose`.
    """

    name = "fuse.conv2d_transpose"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    DATA_LAYOUTS: ClassVar[tuple[str, str]] = ("NCHW", "NHWC")
    KERNEL_LAYOUTS: ClassVar[tuple[str, ...]] = ("IOHW",)

    strides = integers([1, 1])
    """How far the kernel moves, along each spatial axis."""
    padding = integers([0, 0, 0, 0])
    """Zeros before each spatial axis, then after each."""
    output_padding = integers([0, 0])
    """What the result grows by at the end of each spatial axis."""
    dilation = integers([1, 1])
    """Distance of the elements that neighbours in the kernel meet, along each spatial axis."""
    groups = integer(1)
    """Number of parts of the channels that are convolved apart from each other."""
    data_layout = string("NCHW")
    """`NCHW` or `NHWC`."""
    kernel_layout = string("IOHW")
    """`IOHW`, the only one."""


@irdl_op_definition
class Conv3dTransposeOp(ConvTransposeOp):
    """The gradient of a three-dimensional convolution: each input element adds a scaled kernel to the result.

    Shapes: input [N, C, D, H, W], weight [C, O / groups, KD, KH, KW]; result [N, O, D', H', W'] with
        H' = (H - 1) * strides + (KH - 1) * dilation + 1 + output_padding - top - bottom. `padding` is front, top,
        left, back, bottom, right of the result.
    Types: one type of numbers; f16 and bf16 are summed in f32.
    Kind: out_ewise_fusable.
    Cost: 2 * N * C * D * H * W * (O / groups) * KD * KH * KW.
    Source: ONNX ConvTranspose, Relay `nn.conv3d_transpose`.
    """

    name = "fuse.conv3d_transpose"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    DATA_LAYOUTS: ClassVar[tuple[str, str]] = ("NCDHW", "NDHWC")
    KERNEL_LAYOUTS: ClassVar[tuple[str, ...]] = ("IODHW",)

    strides = integers([1, 1, 1])
    """How far the kernel moves, along each spatial axis."""
    padding = integers([0, 0, 0, 0, 0, 0])
    """Zeros before each spatial axis, then after each."""
    output_padding = integers([0, 0, 0])
    """What the result grows by at the end of each spatial axis."""
    dilation = integers([1, 1, 1])
    """Distance of the elements that neighbours in the kernel meet, along each spatial axis."""
    groups = integer(1)
    """Number of parts of the channels that are convolved apart from each other."""
    data_layout = string("NCDHW")
    """`NCDHW` or `NDHWC`."""
    kernel_layout = string("IODHW")
    """`IODHW`, the only one."""
