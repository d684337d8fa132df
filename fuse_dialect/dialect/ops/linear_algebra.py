"""Sums of products by an equation, determinants, and sums of overlapping blocks."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.einsum import Equation, Label
from fuse_dialect.dialect.fields import integers, string, tensor_operand, tensor_operands, tensor_result
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import (
    integer_list,
    product,
    quotient,
    require_float,
    require_numbers,
    require_rank_at_least,
    unify,
)
from fuse_dialect.dialect.types import DYNAMIC, element_count, require_rank, require_same_element, with_shape
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.loops.indices import Guard, Index, number
from fuse_dialect.loops.program import Combiner
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class EinsumOp(FuseOp):
    """Products of elements of the operands, summed, as an equation says: `bij,bjk->bik` is a batched matrix product.

    Shapes: as the equation says; axes of one label have one size, axes of `...` broadcast.
    Types: one type of numbers; f16 and bf16 are summed in f32.
    Kind: injective.
    Cost: as many products and sums as there are combinations of labels.
    Source: `numpy.einsum`, ONNX Einsum, Relay `einsum`.
    """

    name = "fuse.einsum"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    OPERANDS_FORM_TUPLE: ClassVar[bool] = True

    inputs = tensor_operands()
    result = tensor_result()

    equation = string()
    """Labels of the axes of each operand, a letter each, and `->` with those of the result."""

    def parsed(self) -> Equation:
        """The labels of operands and result."""
        ranks = [operand.type.get_num_dims() for operand in self.inputs]
        return Equation.parse(self.equation.data, ranks)

    def infer_types(self) -> Sequence[Attribute]:
        """The sizes of the labels of the result."""
        types = [operand.type for operand in self.inputs]
        if not types:
            raise VerifyException("expects 1 or more operands, got none")
        require_same_element(types)
        require_numbers(types[0])
        equation = self.parsed()
        sizes = equation.sizes([type.get_shape() for type in types])
        return (with_shape(types[0], [sizes[label] for label in equation.result]),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.einsum`."""
        equation = self.parsed()
        labels, result = equation.numbered()
        terms = [part for operand, own in zip(operands, labels, strict=True) for part in (widened(operand), own)]
        return (
            np.asarray(np.einsum(*terms, result, optimize=len(operands) > 2)).astype(operands[0].dtype, copy=False),
        )

    def loops(self, nest: Nest) -> SSAValue:
        """The product of one element of each operand, summed over the labels that the result has not."""
        equation = self.parsed()
        at: dict[Label, Index] = dict(zip(equation.result, nest.at, strict=True))
        reduces = False
        for operand, labels in enumerate(equation.operands):
            for label, size in zip(labels, nest.shape(operand), strict=True):
                if label not in at:
                    at[label], reduces = nest.reduced(size), True
        value: SSAValue | None = None
        for operand, labels in enumerate(equation.operands):
            indices = [
                number(0) if isinstance(label, int) and size == 1 else at[label]
                for label, size in zip(labels, nest.shape(operand), strict=True)
            ]
            element = nest.read(operand, indices)
            value = scalars.widened(element) if value is None else scalars.multiply(value, scalars.widened(element))
        assert value is not None, "the shape rule wants an operand"
        total = nest.total(Combiner.ADD, value) if reduces else value
        wanted = scalars.signless(self.result.type.element_type)
        return (
            total
            if total.type == wanted
            else scalars.convert(total, wanted, unsigned_source=False, unsigned_target=False)
        )

    def flops(self) -> int | None:
        """A product for each operand but the first, and a sum, for each combination of labels."""
        combinations = product(self.parsed().sizes([operand.type.get_shape() for operand in self.inputs]).values())
        return None if combinations == DYNAMIC else combinations * len(self.inputs)


@irdl_op_definition
class DetOp(FuseOp):
    """The determinants of the square matrices in the last two axes.

    Shapes: [..., M, M] to [...].
    Types: floating point; f16 and bf16 are computed in f32.
    Kind: opaque.
    Cost: 2 / 3 * M^3 operations a matrix, rounded down.
    Source: ONNX Det, `numpy.linalg.det`.
    """

    name = "fuse.det"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The shape without the matrices."""
        require_float(self.input.type)
        *batch, rows, columns = require_rank_at_least(self.input.type, 2, "input")
        unify(rows, columns, "the last two axes")
        return (with_shape(self.input.type, batch),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.det`."""
        return (np.asarray(np.linalg.det(widened(operands[0]))).astype(operands[0].dtype, copy=False),)

    def flops(self) -> int | None:
        """An elimination for each matrix."""
        count, size = element_count(self.input.type), self.input.type.get_shape()[-1]
        return None if count is None else count * 2 * size // 3


@irdl_op_definition
class Col2imOp(FuseOp):
    """Blocks put back where a sliding window took them from; where they overlap they are summed.

    Shapes: input [N, C * number of elements of a block, number of blocks]; result [N, C, *image_shape].
    Types: numbers; f16 and bf16 are summed in f32.
    Kind: opaque.
    Cost: one operation an element of the input.
    Source: ONNX Col2Im, PyTorch `nn.functional.fold`.
    """

    name = "fuse.col2im"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    input = tensor_operand()
    result = tensor_result()

    image_shape = integers()
    """Sizes of the image."""
    block_shape = integers()
    """Sizes of a block."""
    strides = integers()
    """How far blocks are apart, along each axis."""
    padding = integers()
    """Zeros before each axis of the image, then after each."""
    dilation = integers()
    """Distance of the elements of a block, along each axis."""

    def windows(self) -> Windows:
        """The blocks as windows of the image."""
        return Windows.of(self.block_shape.get_values(), self.strides, self.padding, self.dilation)

    def infer_types(self) -> Sequence[Attribute]:
        """Images of the given shape."""
        require_numbers(self.input.type)
        batch, columns, blocks = require_rank(self.input.type, 3, "input")
        windows = self.windows()
        sizes = integer_list(self.image_shape, len(windows.extent), "image_shape", least=1)
        unify(blocks, product(windows.counts(sizes)), "the last axis and the blocks of the image")
        channels = quotient(columns, product(windows.extent), "the second axis")
        return (with_shape(self.input.type, (batch, channels, *sizes)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """For each place in a block, the elements of all blocks added to the image."""
        (x,), windows, sizes = operands, self.windows(), self.image_shape.get_values()
        counts = windows.counts(sizes)
        taken = widened(x).reshape(len(x), x.shape[1] // product(windows.extent), *windows.extent, *counts)
        full = [low + size + high for low, size, high in zip(windows.low, sizes, windows.high, strict=True)]
        y = np.zeros((*taken.shape[:2], *full), taken.dtype)
        for offset in np.ndindex(*windows.extent):
            y[(..., *windows.tap_slices(offset, counts))] += taken[(slice(None), slice(None), *offset)]
        inner = tuple(slice(low, low + size) for low, size in zip(windows.low, sizes, strict=True))
        return (y[(..., *inner)].astype(x.dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """For each element of the image the sum over the places in a block that may have come to lie there."""
        windows, (sample, channel, *at) = self.windows(), nest.at
        counts = windows.counts(self.image_shape.get_values())
        place, block, guards = channel, number(0), list[Guard]()
        for axis, index in enumerate(at):
            tap, offset, more = _block_of(nest, windows, axis, index)
            guards += [*more, Guard(offset, counts[axis])]
            place, block = place * windows.extent[axis] + tap, block * counts[axis] + offset
        element = nest.read(0, [sample, place, block], guards)
        return scalars.rounded(nest.total(Combiner.ADD, scalars.widened(element)), element)

    def flops(self) -> int | None:
        """A sum for each element of a block."""
        return element_count(self.input.type)


def _block_of(nest: Nest, windows: Windows, axis: int, index: Index) -> tuple[Index, Index, list[Guard]]:
    """Along an axis, a place in a block, and the block of which it comes to lie at an element of the image.

    Returns:
        The place, the number of the block, which may be out of range, and what must hold besides.
    """
    stride, dilation, size = windows.strides[axis], windows.dilation[axis], windows.extent[axis]
    shifted = index + windows.low[axis]
    if dilation > 1 or size < stride:
        tap = nest.reduced(size)
        offset = shifted - tap * dilation
        return tap, offset // stride, [Guard(offset % stride, 1)]
    # Of as many neighbours as the stride has elements one lies there.
    turn = nest.reduced(-(-size // stride))
    tap = shifted % stride + turn * stride
    return tap, shifted // stride - turn, [Guard(tap, size)] if size % stride else []
