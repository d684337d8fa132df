"""Unary elementwise ops: kind `elemwise`, one result element from the operand element of the same index."""

from abc import ABC
from collections.abc import Sequence

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import tensor_operand, tensor_result
from fuse_dialect.dialect.op import Array, MapOp
from fuse_dialect.dialect.types import is_float
from fuse_dialect.pattern_kind import PatternKind


class UnaryOp(MapOp, ABC):
    """Result of the operand's type."""

    input = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        return (self.input.type,)


class FloatUnaryOp(UnaryOp, ABC):
    """A function of real numbers: f16, bf16, f32 or f64."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type, which must be floating point."""
        if not is_float(self.input.type):
            raise VerifyException(f"expects floating-point elements, got {self.input.type.element_type}")
        return (self.input.type,)


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """e to the power of each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.exp`, ONNX Exp, Relay `exp`, StableHLO `exponential`.
    """

    name = "fuse.exp"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.exp`."""
        (x,) = operands
        return (np.exp(x),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`math.exp`."""
        return math.ExpOp(elements[0]).result
