"""Ops that move elements by a fixed rule: kind `injective`, no arithmetic."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.axis_layout import AxisLayout, permutation
from fuse_dialect.dialect.fields import (
    Integer,
    integer,
    integers,
    string,
    tensor_operand,
    tensor_result,
)
from fuse_dialect.dialect.loops import Nest, reshaped
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import (
    integer_list,
    one_of,
    product,
    quotient,
    require_positive,
    require_rank_at_least,
)
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    element_count,
    normalize_axes,
    normalize_axis,
    require_rank,
    shape_text,
    with_shape,
)
from fuse_dialect.loops.indices import Index
from fuse_dialect.pattern_kind import PatternKind


class MoveOp(FuseOp, ABC):
    """One operand whose elements the result holds in another arrangement."""

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    @property
    def shape(self) -> Shape:
        """Shape of the operand."""
        return tuple(self.input.type.get_shape())

    def source(self, nest: Nest) -> Sequence[Index]:
        """Indices of the operand's element that stands at `nest.at` in the result: the same row-major place."""
        return reshaped(nest)

    def loops(self, nest: Nest) -> SSAValue:
        """The element at `source`."""
        return nest.read(0, self.source(nest))


@irdl_op_definition
class ReshapeOp(MoveOp):
    """The elements in the same order under another shape, which the result type gives.

    Shapes: any; the same number of elements. The last `?` of the result is computed; one before it keeps the size that
        the operand has there, and needs equal dimensions up to it. The last is 0 beside a 0 of the result; where a 0 is
        known at run time alone it keeps its size, too.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.reshape`, ONNX Reshape, Relay `reshape`, StableHLO `reshape`.
    """

    name = "fuse.reshape"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    RESHAPE_ONLY: ClassVar[bool] = True

    def infer_types(self) -> None:
        """Nothing: the result type says the shape."""

    def verify_(self) -> None:
        """Check that both types have the same elements."""
        super().verify_()
        source, target = self.input.type, self.result.type
        if source.element_type != target.element_type:
            raise VerifyException(f"expects a result of {source.element_type}, got {target.element_type}")
        before, after = element_count(source), element_count(target)
        if before is not None and after is not None and before != after:
            raise VerifyException(
                f"expects a result of {before} elements as in {shape_text(self.shape)}, "
                f"got {after} in {shape_text(target.get_shape())}"
            )
        self._check_unknown(target.get_shape(), before)

    def _check_unknown(self, shape: Sequence[int], count: int | None) -> None:
        unknown = [axis for axis, dim in enumerate(shape) if dim == DYNAMIC]
        shared = unknown[-2] + 1 if len(unknown) > 1 else 0
        if self.shape[:shared] != tuple(shape[:shared]):
            raise VerifyException(
                f"expects every '?' of the result but the last behind equal leading dimensions, "
                f"got {shape_text(self.shape)} and {shape_text(shape)}"
            )
        known = product(dim for dim in shape if dim != DYNAMIC)
        if count is not None and unknown and (count % known if known else count):
            raise VerifyException(f"expects a result that {count} elements fill, got {shape_text(shape)}")

    def refine_types(self) -> Sequence[Attribute]:
        """`?` before the last keep the operand's sizes; the last is what remains, where all sizes are known."""
        shape = list(self.result.type.get_shape())
        if DYNAMIC not in self.shape:
            filled = self.filled(self.shape)
            return (with_shape(self.result.type, filled if product(filled) == product(self.shape) else shape),)
        unknown = [axis for axis, dim in enumerate(shape) if dim == DYNAMIC]
        for axis in unknown[:-1]:
            # A 0 would say something of the last `?`, which it does not where it comes at run time.
            shape[axis] = self.shape[axis] or DYNAMIC
        return (with_shape(self.result.type, shape),)

    def filled(self, source: Sequence[int]) -> list[int]:
        """The sizes of the result for those of the operand, whether it has as many elements or not."""
        shape = list(self.result.type.get_shape())
        unknown = [axis for axis, dim in enumerate(shape) if dim == DYNAMIC]
        for axis in unknown[:-1]:
            shape[axis] = source[axis]
        for last in unknown[-1:]:
            before, after = shape[:last], shape[last + 1 :]
            known = product(before) * product(after)
            if known:
                shape[last] = product(source) // known
                continue
            # Nothing can be computed from no elements: the size stays that of the operand, if the others allow it.
            keeps = 0 not in self.result.type.get_shape() and list(source[:last]) == before and len(source) > last
            keeps = keeps and product(source[last + 1 :]) == product(after)
            shape[last] = source[last] if keeps else 0
        return shape

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.reshape`; the last `?` of the result type is computed, one before it keeps the operand's size.

        The last one keeps it too where another size is 0 that the type does not say, if the dimensions allow it.
        """
        (x,) = operands
        shape = self.filled(x.shape)
        if product(shape) != x.size:
            declared = shape_text(self.result.type.get_shape())
            raise VerifyException(f"expects a result of {x.size} elements as in {shape_text(x.shape)}, got {declared}")
        return (x.reshape(shape),)


@irdl_op_definition
class TransposeOp(MoveOp):
    """The axes in another order: axis i of the result is axis `permutation[i]` of the operand.

    Shapes: any; `permutation` names each axis once.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.transpose`, ONNX Transpose, Relay `transpose`, StableHLO `transpose`.
    """

    name = "fuse.transpose"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    permutation = integers()
    """The axis of the operand that each axis of the result is."""

    @property
    def order(self) -> tuple[int, ...]:
        """The permutation, counted from the front.

        Raises:
            VerifyException: It does not name each axis once.
        """
        rank = len(self.shape)
        order = integer_list(self.permutation, rank, "permutation")
        normalize_axes(order, rank)
        return tuple(normalize_axis(axis, rank) for axis in order)

    def infer_types(self) -> Sequence[Attribute]:
        """The permuted shape."""
        return (with_shape(self.input.type, (self.shape[axis] for axis in self.order)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.transpose`."""
        return (operands[0].transpose(self.order),)

    def source(self, nest: Nest) -> Sequence[Index]:
        """Each index on the axis that it came from."""
        return [nest.at[self.order.index(axis)] for axis in range(len(nest.at))]


@irdl_op_definition
class SqueezeOp(MoveOp):
    """The operand without some axes of size 1.

    Shapes: any; `axes` have size 1. Empty `axes` mean all axes of size 1, and need a static shape.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.squeeze`, ONNX Squeeze, Relay `squeeze`.
    """

    name = "fuse.squeeze"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    RESHAPE_ONLY: ClassVar[bool] = True

    axes = integers()
    """The axes to drop; empty for all of size 1."""

    @property
    def squeezed(self) -> tuple[int, ...]:
        """The axes to drop, in increasing order.

        Raises:
            VerifyException: One of them is out of range or not of size 1.
        """
        shape = self.shape
        named = normalize_axes(self.axes.get_values(), len(shape))
        if not named and DYNAMIC in shape:
            raise VerifyException(f"expects named axes for a dynamic shape, got {shape_text(shape)}")
        for axis in named:
            if shape[axis] not in (1, DYNAMIC):
                raise VerifyException(f"expects size 1 on squeezed axis {axis}, got {shape[axis]}")
        return named or tuple(axis for axis, dim in enumerate(shape) if dim == 1)

    def infer_types(self) -> Sequence[Attribute]:
        """The shape without the squeezed axes."""
        dropped = self.squeezed
        return (with_shape(self.input.type, (dim for axis, dim in enumerate(self.shape) if axis not in dropped)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.squeeze`."""
        (x,) = operands
        if any(x.shape[axis] != 1 for axis in self.squeezed):
            declared = shape_text(self.result.type.get_shape())
            raise VerifyException(f"expects size 1 on squeezed axes, got {shape_text(x.shape)} for {declared}")
        return (np.squeeze(x, self.squeezed),)


@irdl_op_definition
class ReverseOp(MoveOp):
    """The elements in opposite order along `axes`.

    Shapes: any, unchanged.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.flip`, Relay `reverse`, StableHLO `reverse`.
    """

    name = "fuse.reverse"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    axes = integers()
    """The axes to reverse."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        normalize_axes(self.axes.get_values(), len(self.shape))
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.flip`."""
        return (np.flip(operands[0], self.axes.get_values()),)

    def source(self, nest: Nest) -> Sequence[Index]:
        """Counted from the other end along the axes."""
        reversed_axes = normalize_axes(self.axes.get_values(), len(self.shape))
        return [
            index * -1 + (nest.static(size)[0] - 1) if axis in reversed_axes else index
            for axis, (index, size) in enumerate(zip(nest.at, nest.shape(0), strict=True))
        ]


@irdl_op_definition
class BatchFlattenOp(MoveOp):
    """All axes but the first made one.

    Shapes: [N, ...], rank 1 or more; result [N, product of the others].
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: Relay `nn.batch_flatten`, ONNX Flatten with `axis = 1`.
    """

    name = "fuse.batch_flatten"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    RESHAPE_ONLY: ClassVar[bool] = True

    def infer_types(self) -> Sequence[Attribute]:
        """Two axes."""
        batch, *others = require_rank_at_least(self.input.type, 1, "input")
        return (with_shape(self.input.type, (batch, product(others))),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.reshape`."""
        (x,) = operands
        return (x.reshape(x.shape[0], product(x.shape[1:])),)


class BlockOp(MoveOp, ABC):
    """Blocks of `block_size` x `block_size` pixels against channels, in either direction."""

    if TYPE_CHECKING:  # xDSL reads a bare annotation as a definition; each op defines its own, with its defaults
        block_size: Integer
        layout: StringAttr

    def _shape_nchw(self) -> tuple[Shape, int]:
        layout = one_of(self.layout, ("NCHW", "NHWC"), "layout")
        shape = require_rank(self.input.type, 4, "input")
        return tuple(shape[i] for i in permutation(layout, "NCHW")), require_positive(
            self.block_size.value.data, "block_size"
        )

    def _result_type(self, nchw: Shape) -> Attribute:
        return with_shape(self.input.type, (nchw[i] for i in permutation("NCHW", self.layout.data)))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """A reshape, a transpose and a reshape, in NCHW."""
        x = operands[0].transpose(permutation(self.layout.data, "NCHW"))
        return (self._moved(x).transpose(permutation("NCHW", self.layout.data)),)

    @abstractmethod
    def _moved(self, x: Array) -> Array:
        """The rearranged array, both in NCHW."""

    def source(self, nest: Nest) -> Sequence[Index]:
        """Found in NCHW."""
        at = [nest.at[axis] for axis in permutation(self.layout.data, "NCHW")]
        channels = nest.static(nest.shape(0)[self.layout.data.index("C")])[0]
        found = self._source(at, channels)
        return [found[axis] for axis in permutation("NCHW", self.layout.data)]

    @abstractmethod
    def _source(self, at: Sequence[Index], channels: int) -> Sequence[Index]:
        """Indices in an operand of so many channels, both in NCHW."""


@irdl_op_definition
class DepthToSpaceOp(BlockOp):
    """Channels spread over blocks of pixels.

    Shapes: [N, C, H, W] with C divisible by block_size^2, or NHWC; result [N, C / b^2, H * b, W * b].
        In mode DCR the position in the block is the outer part of the channel number, in CRD the inner part.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: ONNX DepthToSpace, Relay `nn.depth_to_space`.
    """

    name = "fuse.depth_to_space"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    block_size = integer()
    """Height and width of a block."""
    layout = string("NCHW")
    """`NCHW` or `NHWC`."""
    mode = string("DCR")
    """`DCR` or `CRD`: the position in the block is the outer or the inner part of the channel number."""

    def infer_types(self) -> Sequence[Attribute]:
        """Fewer channels, more pixels."""
        one_of(self.mode, ("DCR", "CRD"), "mode")
        (n, c, h, w), b = self._shape_nchw()
        return (self._result_type((n, quotient(c, b * b, "channels"), product((h, b)), product((w, b)))),)

    def _moved(self, x: Array) -> Array:
        (n, c, h, w), b = x.shape, self.block_size.value.data
        if self.mode.data == "DCR":
            blocks = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
        else:
            blocks = x.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
        return blocks.reshape(n, c // (b * b), h * b, w * b)

    def _source(self, at: Sequence[Index], channels: int) -> Sequence[Index]:
        (n, c, h, w), b = at, self.block_size.value.data
        place = (h % b) * b + w % b
        channel = place * (channels // (b * b)) + c if self.mode.data == "DCR" else c * (b * b) + place
        return (n, channel, h // b, w // b)


@irdl_op_definition
class SpaceToDepthOp(BlockOp):
    """Blocks of pixels made channels; the position in the block is the outer part of the channel number.

    Shapes: [N, C, H, W] with H and W divisible by block_size, or NHWC; result [N, C * b^2, H / b, W / b].
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: ONNX SpaceToDepth, Relay `nn.space_to_depth`.
    """

    name = "fuse.space_to_depth"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    block_size = integer()
    """Height and width of a block."""
    layout = string("NCHW")
    """`NCHW` or `NHWC`."""

    def infer_types(self) -> Sequence[Attribute]:
        """More channels, fewer pixels."""
        (n, c, h, w), b = self._shape_nchw()
        return (self._result_type((n, product((c, b, b)), quotient(h, b, "height"), quotient(w, b, "width"))),)

    def _moved(self, x: Array) -> Array:
        (n, c, h, w), b = x.shape, self.block_size.value.data
        blocks = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
        return blocks.reshape(n, c * b * b, h // b, w // b)

    def _source(self, at: Sequence[Index], channels: int) -> Sequence[Index]:
        (n, c, h, w), b = at, self.block_size.value.data
        place = c // max(channels, 1)
        return (n, c % max(channels, 1), h * b + place // b, w * b + place % b)


@irdl_op_definition
class LayoutTransformOp(MoveOp):
    """The same tensor in another layout: axes reordered, cut in blocks (`NCHW4c`) or joined.

    Shapes: an axis for each letter of `src_layout`; an axis is divisible by the block that `dst_layout` cuts.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: Relay `layout_transform`.
    """

    name = "fuse.layout_transform"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    src_layout = string()
    """Layout of the operand."""
    dst_layout = string()
    """Layout of the result."""

    def _layouts(self) -> tuple[AxisLayout, AxisLayout]:
        source, target = AxisLayout.parse(self.src_layout.data), AxisLayout.parse(self.dst_layout.data)
        if sorted(source.primal) != sorted(target.primal):
            raise VerifyException(f"expects layouts of the same axes, got '{source.text}' and '{target.text}'")
        return source, target

    def infer_types(self) -> Sequence[Attribute]:
        """The shape in the other layout."""
        source, target = self._layouts()
        return (with_shape(self.input.type, target.shape(source.primal_sizes(self.shape))),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Blocks moved behind their axes and joined; axes reordered; axes cut and the blocks moved to their places."""
        (x,) = operands
        source, target = self._layouts()
        sizes = source.primal_sizes(x.shape)
        joined = x.transpose([source.axes.index(letter) for letter in source.split_axes])
        plain = joined.reshape([sizes[letter] for letter in source.primal])
        plain = plain.transpose([source.primal.index(letter) for letter in target.primal])
        cut = dict(zip(target.axes, target.shape(sizes), strict=True))
        parts = plain.reshape([cut[letter] for letter in target.split_axes])
        return (parts.transpose([target.split_axes.index(letter) for letter in target.axes]),)

    def source(self, nest: Nest) -> Sequence[Index]:
        """Blocks joined as in the result, and cut as in the operand."""
        source, target = self._layouts()
        at = dict(zip(target.axes, nest.at, strict=True))
        joined = {
            letter: at[letter] * target.blocks[letter] + at[letter.lower()] if letter in target.blocks else at[letter]
            for letter in target.primal
        }
        return [
            joined[letter.upper()] % source.blocks[letter.upper()]
            if letter.islower()
            else joined[letter] // source.blocks.get(letter, 1)
            for letter in source.axes
        ]
