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


def goes_along(constant: Operation) -> bool:
    """Whether a constant goes wherever it is read and is never an argument.

    1. Its type may not be that of an argument.
    2. A reduction of StableHLO starts with it and is recognised by it: one that starts with infinity may be an
       `argmin`, one that starts with an argument could be anything.
    """
    (result,) = constant.results
    return result.type.name == SHAPE_TYPE or any(_starts(use.operation, use.index) for use in result.uses)


def _starts(op: Operation, place: int) -> bool:
    """Whether a reduction reads there what it starts with: the second half of its operands, or the last of them."""
    match op.name:
        case "stablehlo.reduce" | "stablehlo.reduce_window":
            return 2 * place >= len(op.operands)
        case "stablehlo.select_and_scatter":
            return place == len(op.operands) - 1
        case _:
            return False


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
