"""Constants: which ops they are, and which of them fuse."""

from collections.abc import Collection

from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation

from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.kinds.foreign import CONSTANT_OPS, SHAPE_TYPE
from fuse_dialect.fusion.kinds.kind_of import op_name


def is_constant(op: Operation) -> bool:
    """Whether the op is a constant: `arith.constant`, or what stands for it in another dialect, of one result."""
    return op_name(op) in CONSTANT_OPS and not op.operands and len(op.results) == 1


def cannot_be_passed(constant: Operation) -> bool:
    """Whether a constant has a type of which no argument is allowed, so that it goes wherever it is read."""
    return constant.results[0].type.name == SHAPE_TYPE


_SCALAR_TYPES: Collection[Attribute] = (i1, i32, i64, f32, f64)


def is_scalar_constant(op: Operation) -> bool:
    """Whether a constant fuses as an elementwise op: one i1, i32, i64, f32 or f64, or a tensor without a value.

    Source: TVM `IsSimpleScalar`, src/relay/transforms/fuse_ops.cc.
    """
    if op.name == "tensor.empty":
        return True
    type = op.results[0].type
    if is_tensor(type):
        return type.get_num_dims() == 0 and type.element_type in _SCALAR_TYPES
    return type in _SCALAR_TYPES
