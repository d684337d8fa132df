"""Conversion between element types, and tensors of one number: kind `elemwise`."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.fields import tensor_operand, tensor_result
from fuse_dialect.dialect.op import Array, MapOp
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Tensor,
    are_compatible,
    byte_count,
    element_dtype,
    is_float,
    is_unsigned,
    require_rank,
    require_same_element,
    shape_text,
    tensor_type,
    with_element,
    with_shape,
)
from fuse_dialect.loops.special_functions import as_integers
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class CastOp(MapOp):
    """Each element in another type, as a C cast.

    Floats truncate toward zero, wider integers lose their upper bits, anything but zero becomes true. A float
    outside the range of an integer type becomes the nearest number of that type, nan becomes 0.

    Shapes: any, unchanged.
    Types: any to any; the result type must be spelled out.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.ndarray.astype`, ONNX Cast, Relay `cast`, StableHLO `convert`.
    """

    name = "fuse.cast"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute] | None:
        """Nothing: the result type says what to convert to."""
        return None

    def refine_types(self) -> Sequence[Attribute]:
        """The operand's shape."""
        return (with_element(self.input.type, self.result.type.element_type),)

    def verify_(self) -> None:
        """Check that the shape stays."""
        super().verify_()
        expected = with_element(self.input.type, self.result.type.element_type)
        if not are_compatible(expected, self.result.type):
            raise VerifyException(f"expects a result of type {expected}, got {self.result.type}")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.ndarray.astype`, within the range of integers."""
        (x,), dtype = operands, element_dtype(self.result.type.element_type)
        with np.errstate(all="ignore"):
            target = self.result.type.element_type
            if is_float(self.input.type) and isinstance(target, IntegerType) and target != i1:
                return (as_integers(x, dtype),)
            return (x.astype(dtype),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """The conversion that `arith` has for the two types."""
        return scalars.convert(
            elements[0],
            scalars.signless(self.result.type.element_type),
            unsigned_source=is_unsigned(self.input.type),
            unsigned_target=is_unsigned(self.result.type),
        )


@irdl_op_definition
class BitcastOp(MapOp):
    """The bits of each element read as another type of the same size.

    Shapes: any, unchanged.
    Types: any to any of as many bytes, true being a byte of 1; the result type must be spelled out.
    Kind: elemwise.
    Cost: no operations.
    Source: `numpy.ndarray.view`, ONNX BitCast, Relay `reinterpret`, StableHLO `bitcast_convert`.
    """

    name = "fuse.bitcast"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute] | None:
        """Nothing: the result type says as what the bits are read."""
        return None

    def refine_types(self) -> Sequence[Attribute]:
        """The operand's shape."""
        return (with_element(self.input.type, self.result.type.element_type),)

    def verify_(self) -> None:
        """Check that shape and size of the elements stay."""
        super().verify_()
        expected = with_element(self.input.type, self.result.type.element_type)
        if not are_compatible(expected, self.result.type):
            raise VerifyException(f"expects a result of type {expected}, got {self.result.type}")
        sizes = [byte_count(with_shape(type, [1])) for type in (self.input.type, self.result.type)]
        if sizes[0] != sizes[1]:
            raise VerifyException(f"expects elements of {sizes[0]} bytes, got {self.result.type.element_type}")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.ndarray.view`."""
        dtype = element_dtype(self.result.type.element_type)
        data = np.ascontiguousarray(operands[0]).reshape(operands[0].shape)
        return (data.view(np.uint8) != 0 if dtype == np.bool_ else data.view(dtype),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """The bits; integers are signless here, so that between integers nothing happens."""
        source, target = elements[0].type, scalars.signless(self.result.type.element_type)
        if source == target:
            return elements[0]
        if i1 in (source, target):
            return scalars.convert(elements[0], target, unsigned_source=True, unsigned_target=True)
        return scalars.cast(arith.BitcastOp, elements[0], target)


@irdl_op_definition
class FullOp(MapOp):
    """A tensor of one number.

    Shapes: rank 0 to the static shape of the result type, which must be spelled out.
    Types: any, unchanged.
    Kind: elemwise.
    Cost: no operations.
    Source: `numpy.full`, ONNX ConstantOfShape, Relay `full`, StableHLO `broadcast_in_dim` of a scalar.
    """

    name = "fuse.full"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    fill = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute] | None:
        """Nothing: the result type says how many elements there are."""
        require_rank(self.fill.type, 0, "fill")
        return None

    def verify_(self) -> None:
        """Check that the elements keep their type and are known in number."""
        super().verify_()
        require_same_element((self.fill.type, self.result.type))
        if DYNAMIC in self.result.type.get_shape():
            raise VerifyException(f"expects a static result shape, got {shape_text(self.result.type.get_shape())}")

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.full`."""
        (fill,) = operands
        return (np.full(self.result.type.get_shape(), fill, fill.dtype),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """The number."""
        return elements[0]


class ConstantLikeOp(MapOp, ABC):
    """A tensor of the operand's type that holds one known number; the operand's elements are not read."""

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0
    NUMBER: ClassVar[int]
    """The number."""

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.full_like`."""
        return (np.full_like(operands[0], self.NUMBER),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """The number."""
        return scalars.constant(self.NUMBER, elements[0].type)


@irdl_op_definition
class ZerosLikeOp(ConstantLikeOp):
    """Zeros in the shape of the operand.

    Shapes: any, unchanged.
    Types: any, unchanged.
    Kind: elemwise.
    Cost: no operations.
    Source: `numpy.zeros_like`, Relay `zeros_like`.
    """

    name = "fuse.zeros_like"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    NUMBER: ClassVar[int] = 0


@irdl_op_definition
class OnesLikeOp(ConstantLikeOp):
    """Ones in the shape of the operand.

    Shapes: any, unchanged.
    Types: any, unchanged.
    Kind: elemwise.
    Cost: no operations.
    Source: `numpy.ones_like`, Relay `ones_like`.
    """

    name = "fuse.ones_like"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    NUMBER: ClassVar[int] = 1


def cast_to(x: SSAValue | Operation, type: Tensor) -> SSAValue:
    """The value in the element type of `type`: for ops that are made of others."""
    value = SSAValue.get(x)
    own = tensor_type(value)
    if own.element_type == type.element_type:
        return value
    return CastOp(value, result_types=[with_element(own, type.element_type)]).result


def widen(x: SSAValue) -> SSAValue:
    """The value in the type in which formulas are computed: f16 and bf16 become f32, all others stay."""
    own = tensor_type(x)
    return cast_to(x, with_element(own, f32)) if byte_count(with_shape(own, [1])) == 2 and is_float(own) else x


def scalar(number: float, like: SSAValue) -> SSAValue:
    """A constant of rank 0 in the element type of `like`."""
    return constant(np.array(number, element_dtype(tensor_type(like).element_type))).result
