"""ONNX operators on two or more tensors, element by element, with NumPy broadcasting."""

import numpy as np
import onnx_ir as ir

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import (
    AddOp,
    DivideOp,
    MaximumOp,
    MinimumOp,
    ModOp,
    MultiplyOp,
    PowerOp,
    SubtractOp,
    WhereOp,
)
from fuse_dialect.dialect.ops.comparison import (
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LeftShiftOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalOrOp,
    LogicalXorOp,
    RightShiftOp,
)
from fuse_dialect.dialect.ops.conversion import BitcastOp, CastOp
from fuse_dialect.dialect.types import element_type_of, with_element
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import dtype_of
from fuse_dialect.frontends.onnx.values import Value

OPERATORS = OperatorTable()

_GREATEST = {"float8_e4m3fn": 448.0, "float8_e4m3fnuz": 240.0, "float8_e5m2": 57344.0, "float8_e5m2fnuz": 57344.0}
"""Greatest number of each float of 8 bits, but of those without sign."""

OPERATORS.simple(
    [
        ("Add", AddOp),
        ("Sub", SubtractOp),
        ("Mul", MultiplyOp),
        ("Div", DivideOp),
        ("Pow", PowerOp),
        ("BitwiseAnd", BitwiseAndOp),
        ("BitwiseOr", BitwiseOrOp),
        ("BitwiseXor", BitwiseXorOp),
        ("And", LogicalAndOp),
        ("Or", LogicalOrOp),
        ("Xor", LogicalXorOp),
        ("Equal", EqualOp),
        ("Greater", GreaterOp),
        ("GreaterOrEqual", GreaterEqualOp),
        ("Less", LessOp),
        ("LessOrEqual", LessEqualOp),
        ("Where", WhereOp),
    ]
)


def _chain(node: OnnxNode, op: type[FuseOp]) -> Value:
    result, *others = node.all_operands()
    for other in others:
        result = node.emit(op, result, other)
    return result


@OPERATORS.operator("Sum")
def import_sum(node: OnnxNode) -> Value:
    """`add`, one less than there are operands."""
    return _chain(node, AddOp)


@OPERATORS.operator("Max")
def import_max(node: OnnxNode) -> Value:
    """`maximum`, one less than there are operands."""
    return _chain(node, MaximumOp)


@OPERATORS.operator("Min")
def import_min(node: OnnxNode) -> Value:
    """`minimum`, one less than there are operands."""
    return _chain(node, MinimumOp)


@OPERATORS.operator("Mean")
def import_mean(node: OnnxNode) -> Value:
    """The sum over the number of operands."""
    operands = node.all_operands()
    return node.emit(DivideOp, _chain(node, AddOp), node.scalar(len(operands), operands[0]))


@OPERATORS.operator("Mod")
def import_mod(node: OnnxNode) -> Value:
    """`mod`: the sign of the divisor, or with `fmod` that of the dividend."""
    return node.emit(ModOp, node.operand(0), node.operand(1), fmod=node.flag("fmod"))


@OPERATORS.operator("BitShift")
def import_bit_shift(node: OnnxNode) -> Value:
    """`left_shift` or `right_shift`."""
    directions = {"LEFT": LeftShiftOp, "RIGHT": RightShiftOp}
    direction = node.string("direction")
    if direction not in directions:
        raise UnsupportedFormError(f"the direction '{direction}' is not supported")
    return node.emit(directions[direction], node.operand(0), node.operand(1))


@OPERATORS.operator("BitwiseNot")
def import_bitwise_not(node: OnnxNode) -> Value:
    """Exclusive or with all bits set."""
    (x,) = node.all_operands()
    dtype = node.dtype(x)
    if dtype.kind not in "iu":
        raise UnsupportedFormError(f"elements of type {dtype} are not supported")
    ones = np.iinfo(dtype).max if dtype.kind == "u" else -1
    return node.emit(BitwiseXorOp, x, node.scalar(ones, x))


_FEW_BITS = ("int4", "uint4", "int2", "uint2")
"""Integers of less than a byte, by their names in `ml_dtypes`."""


@OPERATORS.operator("Cast")
def import_cast(node: OnnxNode) -> Value:
    """`cast`."""
    return _converted(node, dtype_of(_data_type(node.integer("to"))))


def _data_type(number: int) -> ir.DataType | None:
    try:
        return ir.DataType(number)
    except ValueError:
        return None


@OPERATORS.operator("CastLike")
def import_cast_like(node: OnnxNode) -> Value:
    """`cast` to the element type of the second operand."""
    return _converted(node, node.dtype(node.operand(1)))


def _converted(node: OnnxNode, dtype: "np.dtype[np.generic]") -> Value:
    """The first operand in another type, as the attributes of Cast say."""
    if dtype.name == "float8_e8m0fnu" and node.string("round_mode", "up") != "nearest":
        raise UnsupportedFormError(f"rounding '{node.string('round_mode', 'up')}' to {dtype} is not supported")
    x = node.operand(0)
    if dtype.name in _FEW_BITS and node.dtype(x).kind not in "biu" and node.dtype(x).name not in _FEW_BITS:
        # As onnx's own cases have it: of what is out of range the lowest bits stay.
        x = cast_to(node, x, np.dtype(np.int64))
    return saturating_cast(node, x, dtype, saturate=node.flag("saturate", True))


def saturating_cast(node: OnnxNode, x: Value, dtype: "np.dtype[np.generic]", *, saturate: bool = True) -> Value:
    """The value in another type; a float of 8 bits has its greatest number where the operand is greater."""
    greatest = _GREATEST.get(dtype.name)
    if greatest is not None and saturate and node.dtype(x) not in (dtype, np.dtype(np.bool_)):
        x = node.emit(ClipOp, x, min=-greatest, max=greatest)
    return cast_to(node, x, dtype)


@OPERATORS.operator("BitCast")
def import_bit_cast(node: OnnxNode) -> Value:
    """`bitcast`."""
    x = node.operand(0)
    element = element_type_of(dtype_of(_data_type(node.integer("to"))))
    return node.emit(BitcastOp, x, type=with_element(node.type_of(x), element))


def cast_to(node: OnnxNode, value: Value, dtype: "np.dtype[np.generic]") -> Value:
    """The value with another element type; itself when it has that type."""
    if node.dtype(value) == dtype:
        return value
    return node.emit(CastOp, value, type=with_element(node.type_of(value), element_type_of(dtype)))
