"""Ops between one tensor and several: kind `injective`, no arithmetic."""

from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import (
    integer,
    integers,
    tensor_operand,
    tensor_operands,
    tensor_result,
    tensor_results,
)
from fuse_dialect.dialect.loops import LoopFormError, Nest, Piece
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import total, unify_shapes
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis, require_same_element, with_shape
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class ConcatenateOp(FuseOp):
    """The operands one after the other along `axis`.

    Shapes: one or more operands of one rank that differ on `axis` alone; their sizes on `axis` add up.
    Types: any, the same for all.
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.concatenate`, ONNX Concat, Relay `concatenate`, StableHLO `concatenate`.
    """

    name = "fuse.concatenate"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    OPERANDS_FORM_TUPLE: ClassVar[bool] = True
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    inputs = tensor_operands()
    result = tensor_result()

    axis = integer(0)
    """The axis along which the operands follow each other."""

    def infer_types(self) -> Sequence[Attribute]:
        """The shape that all share, with the sum on `axis`."""
        types = [operand.type for operand in self.inputs]
        if not types:
            raise VerifyException("expects 1 or more operands, got none")
        require_same_element(types)
        shape = tuple(types[0].get_shape())
        axis = normalize_axis(self.axis.value.data, len(shape))
        for type in types[1:]:
            shape = unify_shapes(shape, type.get_shape(), skip=axis)
        length = total(type.get_shape()[axis] for type in types)
        return (with_shape(types[0], (*shape[:axis], length, *shape[axis + 1 :])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.concatenate`."""
        return (np.concatenate(operands, self.axis.value.data),)

    def result_pieces(self) -> Sequence[Piece]:
        """One for each operand."""
        axis = normalize_axis(self.axis.value.data, self.result.type.get_num_dims())
        sizes = [operand.type.get_shape()[axis] for operand in self.inputs]
        if DYNAMIC in sizes:
            raise LoopFormError("needs static sizes")
        return [Piece(axis, start, size) for start, size in zip(accumulate([0, *sizes[:-1]]), sizes, strict=True)]

    def loops(self, nest: Nest) -> SSAValue:
        """The operand of the piece."""
        return nest.read(nest.piece, nest.at)


@irdl_op_definition
class StackOp(FuseOp):
    """The operands one after the other along a new axis, which is axis `axis` of the result.

    Shapes: one or more operands of one shape.
    Types: any, the same for all.
    Kind: injective.
    Cost: no arithmetic.
    Source: `numpy.stack`, Relay `stack`, ONNX ConcatFromSequence with `new_axis = 1`.
    """

    name = "fuse.stack"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    OPERANDS_FORM_TUPLE: ClassVar[bool] = True
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    inputs = tensor_operands()
    result = tensor_result()

    axis = integer(0)
    """Where the new axis stands in the result."""

    def infer_types(self) -> Sequence[Attribute]:
        """The shape that all share, with a new axis."""
        types = [operand.type for operand in self.inputs]
        if not types:
            raise VerifyException("expects 1 or more operands, got none")
        require_same_element(types)
        shape = tuple(types[0].get_shape())
        axis = normalize_axis(self.axis.value.data, len(shape) + 1)
        for type in types[1:]:
            shape = unify_shapes(shape, type.get_shape())
        return (with_shape(types[0], (*shape[:axis], len(types), *shape[axis:])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.stack`."""
        return (np.stack(operands, self.axis.value.data),)

    def result_pieces(self) -> Sequence[Piece]:
        """One for each operand."""
        axis = normalize_axis(self.axis.value.data, self.result.type.get_num_dims())
        return [Piece(axis, start, 1) for start in range(len(self.inputs))]

    def loops(self, nest: Nest) -> SSAValue:
        """The operand of the piece, which lacks the new axis."""
        axis = normalize_axis(self.axis.value.data, len(nest.at))
        return nest.read(nest.piece, (*nest.at[:axis], *nest.at[axis + 1 :]))


@irdl_op_definition
class SplitOp(FuseOp):
    """The operand cut along `axis` in pieces of the given `sizes`, one result each.

    Shapes: any; `sizes` add up to the size of `axis`.
    Types: any.
    Kind: injective.
    Cost: no arithmetic.
    Source: ONNX Split, Relay `split`, `numpy.split` with sizes in place of positions.
    """

    name = "fuse.split"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    pieces = tensor_results()

    axis = integer(0)
    """The axis that is cut."""
    sizes = integers()
    """Size of each result on the axis."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape with each of the sizes on `axis`."""
        shape, sizes = tuple(self.input.type.get_shape()), self.sizes.get_values()
        axis = normalize_axis(self.axis.value.data, len(shape))
        if not sizes or min(sizes) < 0:
            raise VerifyException(f"expects sizes of 0 or more, got {list(sizes)}")
        if shape[axis] not in (sum(sizes), DYNAMIC):
            raise VerifyException(f"expects sizes that add up to {shape[axis]}, got {list(sizes)}")
        return [with_shape(self.input.type, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.split`."""
        ends = np.cumsum(self.sizes.get_values()[:-1])
        return tuple(np.split(operands[0], ends, self.axis.value.data))

    def loops(self, nest: Nest) -> SSAValue:
        """The elements behind those of the results before."""
        axis, sizes = normalize_axis(self.axis.value.data, len(nest.at)), self.sizes.get_values()
        # Of an open size the first piece says nothing: it would be taken for all that the operand has.
        nest.equal(nest.shape(0)[axis], sum(sizes))
        start = sum(sizes[: nest.result])
        return nest.read(0, (*nest.at[:axis], nest.at[axis] + start, *nest.at[axis + 1 :]))
