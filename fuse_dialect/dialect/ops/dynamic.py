"""Shapes as values: `shape_of`, and ops whose shape is an operand that is computed while the program runs.

Each `dyn_` op means the op without the prefix: `static_form` builds it once the numbers that size the result are known.
So there is one definition of what an op means, for `evaluate` at run time and for `refine-shapes` before.

Kinds are TVM's. A `dyn_` op counts as opaque wherever its result type leaves a size open, see `kind_of`.
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.dynamic_form import DynamicOp, shape_of_type, sizes_in
from fuse_dialect.dialect.fields import (
    Integers,
    PropertyValue,
    flag,
    integer,
    optional_integers,
    optional_reals,
    real,
    string,
    tensor_operand,
    tensor_result,
)
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.conversion import FullOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.ops.normalization import OneHotOp
from fuse_dialect.dialect.ops.opaque import ArangeOp, TopkOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, TileOp
from fuse_dialect.dialect.ops.resizing import Resize2dOp
from fuse_dialect.dialect.shape_rules import require_integers, require_numbers
from fuse_dialect.dialect.types import (
    DYNAMIC,
    broadcast_shapes,
    normalize_axes,
    normalize_axis,
    require_rank,
    require_same_element,
    shape_text,
    tensor,
    with_element,
    with_shape,
)
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class ShapeOfOp(FuseOp):
    """The sizes of the operand; its elements are not read.

    Shapes: any of rank r; result [r].
    Types: any; the result is i64.
    Kind: opaque.
    Cost: no arithmetic.
    Source: `numpy.shape`, ONNX Shape, Relay `shape_of`.
    """

    name = "fuse.shape_of"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """One number for each axis."""
        return (tensor([self.input.type.get_num_dims()], i64),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.shape`."""
        return (np.array(operands[0].shape, np.int64),)


@irdl_op_definition
class DynBroadcastToOp(DynamicOp):
    """The operand, repeated along its axes of size 1 and along new axes in front, to a computed shape.

    Shapes: `shape` is a list of known length; result: what the operand's shape and `shape` broadcast to, so a 1 in
        `shape` keeps the operand's size.
    Types: any, unchanged; `shape` of integers.
    Kind: broadcast.
    Cost: no operations.
    Source: ONNX Expand, Relay `dyn.broadcast_to`.
    """

    name = "fuse.dyn_broadcast_to"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    NUMBERS: ClassVar[tuple[int, ...]] = (1,)

    input = tensor_operand()
    shape = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's sizes above 1; `?` elsewhere."""
        source = tuple(self.input.type.get_shape())
        added = max(0, self.count_in(self.shape, "shape") - len(source))
        kept = [dim if dim > 1 else DYNAMIC for dim in source]
        return (with_shape(self.input.type, [*[DYNAMIC] * added, *kept]),)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`broadcast_to` the shape of both."""
        target = broadcast_shapes(shape_of_type(data[0].type), sizes_in(numbers[0], "sizes"))
        return BroadcastToOp(*data, result_types=[with_shape(self.input.type, target)])


@irdl_op_definition
class DynReshapeOp(DynamicOp):
    """The elements in the same order under a computed shape.

    Shapes: `shape` is a list of known length; a -1 in it is what remains, a 0 the size that the operand has there.
    Types: any, unchanged; `shape` of integers.
    Kind: injective.
    Cost: no operations.
    Source: ONNX Reshape, Relay `dyn.reshape`.
    """

    name = "fuse.dyn_reshape"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    NUMBERS: ClassVar[tuple[int, ...]] = (1,)
    RESHAPE_ONLY: ClassVar[bool] = True

    input = tensor_operand()
    shape = tensor_operand()
    result = tensor_result()

    allowzero = flag()
    """Whether a 0 in `shape` is the size 0."""

    def infer_types(self) -> Sequence[Attribute]:
        """As many `?` as `shape` has elements."""
        return (with_shape(self.input.type, [DYNAMIC] * self.count_in(self.shape, "shape")),)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`reshape` to the sizes, -1 replaced by what remains."""
        target = self.sizes_for(shape_of_type(data[0].type), numbers[0].reshape(-1).tolist())
        shape = [DYNAMIC if size == -1 else size for size in target]
        return ReshapeOp(*data, result_types=[with_shape(self.input.type, shape)])

    def sizes_for(self, source: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """The sizes of the result.

        Args:
            source: Those of the operand.
            sizes: The numbers.

        Returns:
            A -1 is replaced by what remains, unless a size of the operand is not known.

        Raises:
            VerifyException: The numbers are not what the op may get.
        """
        target = [*sizes]
        if any(size < -1 for size in target):
            raise VerifyException(f"expects sizes of at least -1, got {target}")
        for axis, size in enumerate(target):
            if size == 0 and not self.allowzero.value.data:
                if axis >= len(source):
                    raise VerifyException(
                        f"expects sizes of the operand to keep, got {target} for {shape_text(source)}"
                    )
                target[axis] = source[axis]
        if target.count(-1) > 1:
            raise VerifyException(f"expects at most one size of -1, got {target}")
        if -1 in target and DYNAMIC not in source:
            count, known = prod(source), prod(size for size in target if size != -1)
            if known == 0 or count % known:
                raise VerifyException(f"expects sizes that {count} elements fill, got {target}")
            target[target.index(-1)] = count // known
        return target


@irdl_op_definition
class DynFullOp(DynamicOp):
    """A tensor of one number, in a computed shape.

    Shapes: `fill` of rank 0; `shape` is a list of known length.
    Types: any, unchanged; `shape` of integers.
    Kind: elemwise.
    Cost: no operations.
    Source: `numpy.full`, ONNX ConstantOfShape, Relay `dyn.full`.
    """

    name = "fuse.dyn_full"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    NUMBERS: ClassVar[tuple[int, ...]] = (1,)

    fill = tensor_operand()
    shape = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """As many `?` as `shape` has elements."""
        require_rank(self.fill.type, 0, "fill")
        return (with_shape(self.fill.type, [DYNAMIC] * self.count_in(self.shape, "shape")),)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`full` of the sizes."""
        return FullOp(*data, result_types=[with_shape(self.fill.type, sizes_in(numbers[0], "sizes"))])


@irdl_op_definition
class DynStridedSliceOp(DynamicOp):
    """`input[begin:end:strides]` on some axes, with computed numbers.

    Shapes: one number of `begin`, `end` and `strides`, lists of known length, for each of `axes`, which are the first
        ones when left out. Numbers mean what they mean in `strided_slice`.
    Types: any, unchanged; the lists of integers.
    Kind: injective.
    Cost: no operations.
    Source: ONNX Slice, Relay `dyn.strided_slice`.
    """

    name = "fuse.dyn_strided_slice"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    PICKED_OPERANDS: ClassVar[tuple[int, ...]] = (0,)
    NUMBERS: ClassVar[tuple[int, ...]] = (1, 2, 3)

    input = tensor_operand()
    begin = tensor_operand()
    end = tensor_operand()
    strides = tensor_operand()
    result = tensor_result()

    axes = optional_integers()
    """The sliced axes; the first ones when left out."""

    def _sliced(self) -> tuple[int, ...]:
        shape = shape_of_type(self.input.type)
        names = ("begin", "end", "strides")
        counts = [self.count_in(self.operands[place], name) for place, name in zip(self.NUMBERS, names, strict=True)]
        axes: Sequence[int] = range(counts[0]) if self.axes is None else self.axes.get_values()
        if any(count != len(axes) for count in counts):
            raise VerifyException(f"expects as many begins, ends and strides as axes, got {counts} for {len(axes)}")
        return normalize_axes(axes, len(shape))

    def infer_types(self) -> Sequence[Attribute]:
        """`?` on the sliced axes."""
        sliced = self._sliced()
        shape = [DYNAMIC if axis in sliced else dim for axis, dim in enumerate(shape_of_type(self.input.type))]
        return (with_shape(self.input.type, shape),)

    def part_of(self, operands: Sequence[Array]) -> Array | None:
        """The part of its first operand that it is; `None` where the static form rejects the numbers."""
        data, begin, end, strides = operands
        axes: Sequence[int] = range(len(begin)) if self.axes is None else self.axes.get_values()
        slices = [slice(None)] * data.ndim
        for axis, first, last, stride in zip(axes, begin.tolist(), end.tolist(), strides.tolist(), strict=True):
            if not stride or slices[axis] != slice(None):
                return None
            slices[axis] = slice(first, last, stride)
        return data[tuple(slices)]

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`strided_slice` with the numbers."""
        begin, end, strides = ([int(number) for number in array] for array in numbers)
        axes: Integers | list[int] = list(range(len(begin))) if self.axes is None else self.axes
        return StridedSliceOp(*data, begin=begin, end=end, strides=strides, axes=axes)


@irdl_op_definition
class DynTileOp(DynamicOp):
    """The operand as a whole repeated along its axes, computed numbers of times.

    Shapes: `reps` is a list of known length; the shorter of shape and `reps` is filled up with ones in front.
    Types: any, unchanged; `reps` of integers.
    Kind: injective.
    Cost: no operations.
    Source: `numpy.tile`, ONNX Tile, Relay `dyn.tile`.
    """

    name = "fuse.dyn_tile"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    NUMBERS: ClassVar[tuple[int, ...]] = (1,)

    input = tensor_operand()
    reps = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's sizes on axes that `reps` does not reach; `?` elsewhere."""
        shape, count = shape_of_type(self.input.type), self.count_in(self.reps, "reps")
        return (with_shape(self.input.type, [*shape[: max(0, len(shape) - count)], *[DYNAMIC] * count]),)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`tile` with the numbers."""
        return TileOp(*data, reps=sizes_in(numbers[0], "reps"))


@irdl_op_definition
class DynPadOp(DynamicOp):
    """The operand with elements around it, or less elements where a width is negative, by computed widths.

    Shapes: axis i grows by `low[i]` before and `high[i]` behind; both have one number an axis.
    Types: any; `value` has rank 0 and the operand's type, and counts in mode `constant` alone. Modes are as in `pad`.
    Kind: injective.
    Cost: no operations.
    Source: `numpy.pad`, ONNX Pad, Relay `dyn.nn.pad`.
    """

    name = "fuse.dyn_pad"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    NUMBERS: ClassVar[tuple[int, ...]] = (2, 3)

    input = tensor_operand()
    value = tensor_operand()
    low = tensor_operand()
    high = tensor_operand()
    result = tensor_result()

    mode = string("constant")
    """`constant`, `edge`, `reflect` or `wrap`."""

    def infer_types(self) -> Sequence[Attribute]:
        """A `?` for each axis."""
        require_same_element((self.input.type, self.value.type))
        require_rank(self.value.type, 0, "value")
        rank = self.input.type.get_num_dims()
        for operand, name in ((self.low, "low"), (self.high, "high")):
            if (count := self.count_in(operand, name)) != rank:
                raise VerifyException(f"expects {rank} numbers in '{name}', got {count}")
        return (with_shape(self.input.type, [DYNAMIC] * rank),)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`pad` by the widths."""
        low, high = ([int(number) for number in array] for array in numbers)
        return PadOp(*data, low=low, high=high, mode=self.mode)


@irdl_op_definition
class DynArangeOp(DynamicOp):
    """The numbers from a computed `start` towards a computed `stop`, which is left out, `step` apart.

    Shapes: operands of rank 0; result [ceil((stop - start) / step)], or [0] where that is negative.
    Types: numbers, all of one type; computed in f64.
    Kind: opaque.
    Cost: no operations that are known before the program runs.
    Source: `numpy.arange`, ONNX Range, Relay `arange`.
    """

    name = "fuse.dyn_arange"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    NUMBERS: ClassVar[tuple[int, ...]] = (0, 1, 2)

    start = tensor_operand()
    stop = tensor_operand()
    step = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """One axis of unknown size."""
        require_same_element((self.start.type, self.stop.type, self.step.type))
        require_numbers(self.start.type)
        for operand, name in ((self.start, "start"), (self.stop, "stop"), (self.step, "step")):
            require_rank(operand.type, 0, name)
        return (with_shape(self.start.type, [DYNAMIC]),)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`arange` of the numbers."""
        start, stop, step = (float(number) for number in numbers)
        op = ArangeOp(result_types=[with_shape(self.start.type, [DYNAMIC])], start=start, stop=stop, step=step)
        return ArangeOp(result_types=[with_shape(self.start.type, [op.length])], start=start, stop=stop, step=step)


@irdl_op_definition
class DynResize2dOp(DynamicOp):
    """An image sampled at a computed resolution.

    Shapes: [N, C, H, W] to [N, C, *size], or NHWC; `size` has two numbers. `scales`, where given, replace
        size / operand size in the formula of the coordinates.
    Types: as `resize2d`; `size` of integers.
    Kind: injective.
    Cost: as `resize2d`, and not known before the program runs.
    Source: ONNX Resize, Relay `dyn.image.resize2d`.
    """

    name = "fuse.dyn_resize2d"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    NUMBERS: ClassVar[tuple[int, ...]] = (1,)

    input = tensor_operand()
    size = tensor_operand()
    result = tensor_result()

    layout = string("NCHW")
    """`NCHW` or `NHWC`."""
    method = string("nearest")
    """`nearest`, `linear` or `cubic`."""
    coordinate_transformation_mode = string("half_pixel")
    """Where a pixel lies in the operand, as in `resize2d`."""
    nearest_mode = string("round_prefer_floor")
    """How a place becomes a pixel, as in `resize2d`."""
    scales = optional_reals()
    """Vertical and horizontal scale, for the places alone; result / operand size when left out."""
    cubic_alpha = real(-0.75)
    """The slope of the cubic kernel at a distance of one pixel."""
    exclude_outside = flag()
    """Whether pixels beyond the ends count for nothing, as in `resize2d`."""
    antialias = flag()
    """Whether all pixels that a pixel of a smaller result covers count."""
    roi = optional_reals()
    """The part of the operand that `tf_crop_and_resize` takes, as in `resize2d`."""
    extrapolation_value = real(0.0)
    """What `tf_crop_and_resize` puts where `roi` reaches beyond the operand."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's batch and channels; `?` for height and width."""
        if (count := self.count_in(self.size, "size")) != 2:
            raise VerifyException(f"expects 2 numbers in 'size', got {count}")
        result = self._resized(Block(arg_types=[self.input.type]).args, (1, 1)).result.type
        shape = list(shape_of_type(result))
        for letter in "HW":
            shape[self.layout.data.index(letter)] = DYNAMIC
        return (with_shape(result, shape),)

    def _resized(self, data: Sequence[SSAValue], size: Sequence[int]) -> Resize2dOp:
        properties: dict[str, PropertyValue] = {**self.properties}
        return Resize2dOp(*data, result_types=None, attributes=None, size=size, **properties)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`resize2d` to the size."""
        return self._resized(data, sizes_in(numbers[0], "sizes", 1))

    def native_shapes(self, operands: Sequence[Sequence[int]], numbers: Sequence[Array]) -> Sequence[Sequence[int]]:
        """The operand's batch and channels with the numbers for height and width."""
        shape = list(operands[0])
        for letter, size in zip("HW", numbers[0].reshape(-1).tolist(), strict=True):
            place = self.layout.data.index(letter)
            if size < 1 or shape[place] < 1:
                raise VerifyException("expects pixels, and sizes of at least 1")  # the static form says more
            shape[place] = size
        return (shape,)

    def loops(self, nest: Nest) -> SSAValue:
        """Those of `resize2d`."""
        return self._resized(Block(arg_types=[self.input.type]).args, (1, 1)).loops(nest)


@irdl_op_definition
class DynTopkOp(DynamicOp):
    """The first `k` elements of each sorted line, and their indices, for a computed `k`.

    Shapes: any of rank 1 or more; `k` of rank 0; both results have `k` elements on `axis`.
    Types: numbers; `k` an integer; the indices are i64.
    Kind: opaque.
    Cost: not known before the program runs.
    Source: ONNX TopK, Relay `dyn.topk`.
    """

    name = "fuse.dyn_topk"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    NUMBERS: ClassVar[tuple[int, ...]] = (1,)

    input = tensor_operand()
    k = tensor_operand()
    values = tensor_result()
    indices = tensor_result()

    axis = integer(-1)
    """The axis of the lines."""
    is_ascend = flag()
    """Whether the smallest element comes first."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape with `?` on the axis, twice."""
        require_numbers(self.input.type)
        require_rank(self.k.type, 0, "k")
        require_integers(self.k.type, "k")
        shape = list(shape_of_type(self.input.type))
        shape[normalize_axis(self.axis.value.data, len(shape))] = DYNAMIC
        values = with_shape(self.input.type, shape)
        return (values, with_element(values, i64))

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`topk` of that many."""
        return TopkOp(*data, k=int(numbers[0]), axis=self.axis, is_ascend=self.is_ascend)


@irdl_op_definition
class DynOneHotOp(DynamicOp):
    """For each index a line of a computed number of elements: `on_value` at the index, `off_value` elsewhere.

    Shapes: indices of any rank, the values and `depth` of rank 0; result with a new axis of size `depth` at `axis`.
    Types: integer indices and `depth`; the values and the result of any type. Indices mean what they do in `one_hot`.
    Kind: out_ewise_fusable.
    Cost: not known before the program runs.
    Source: ONNX OneHot, Relay `dyn.one_hot`.
    """

    name = "fuse.dyn_one_hot"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    NUMBERS: ClassVar[tuple[int, ...]] = (3,)

    indices = tensor_operand()
    on_value = tensor_operand()
    off_value = tensor_operand()
    depth = tensor_operand()
    result = tensor_result()

    axis = integer(-1)
    """Where the new axis stands in the result."""

    def infer_types(self) -> Sequence[Attribute]:
        """The shape of the indices with a new axis of unknown size."""
        require_rank(self.depth.type, 0, "depth")
        require_integers(self.depth.type, "depth")
        values = Block(arg_types=[self.indices.type, self.on_value.type, self.off_value.type]).args
        known = OneHotOp(*values, depth=1, axis=self.axis).result.type
        shape = list(shape_of_type(known))
        shape[normalize_axis(self.axis.value.data, len(shape))] = DYNAMIC
        return (with_shape(known, shape),)

    def static_form(self, data: Sequence[SSAValue], numbers: Sequence[Array]) -> FuseOp:
        """`one_hot` of that depth."""
        return OneHotOp(*data, depth=int(numbers[0]), axis=self.axis)
