"""Elementwise ops and those that broadcast, as ONNX operators."""

import math
from collections.abc import Sequence

import numpy as np
from onnx import helper

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import activation, broadcast, comparison, conversion, elementwise, quantization
from fuse_dialect.dialect.types import DYNAMIC, is_float, tensor_type
from fuse_dialect.targets.onnx.graph import GraphWriter, axis_of, dtype_of, prop, shape_of
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()

ROWS.same(
    {
        broadcast.MaximumOp: "Max",
        broadcast.MinimumOp: "Min",
    }
)

_ORDERS: dict[type[FuseOp], str] = {
    comparison.LessOp: "Less",
    comparison.LessEqualOp: "LessOrEqual",
    comparison.GreaterOp: "Greater",
    comparison.GreaterEqualOp: "GreaterOrEqual",
}


@ROWS.row(elementwise.Log2Op)
def write_log2(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The natural logarithm over that of 2."""
    return graph.emit("Mul", graph.emit("Log", *operands), graph.scalar(1 / math.log(2), op.operands[0]))


@ROWS.row(elementwise.RsqrtOp)
def write_rsqrt(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Reciprocal` of `Sqrt`."""
    return graph.emit("Reciprocal", graph.emit("Sqrt", *operands))


@ROWS.row(elementwise.IsinfOp)
def write_isinf(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`IsInf`."""
    negative, positive = abs(prop(op, "detect_negative")), abs(prop(op, "detect_positive"))
    return graph.emit("IsInf", *operands, detect_negative=negative, detect_positive=positive)


@ROWS.row(activation.ReluOp)
def write_relu(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Relu`; unsigned numbers stay as they are."""
    return graph.emit("Identity" if dtype_of(op.operands[0]).kind == "u" else "Relu", *operands)


@ROWS.row(activation.ClipOp)
def write_clip(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Clip`; bounds of integers are rounded into the range, and brought into that of the type."""
    low, high = prop(op, "min"), prop(op, "max")
    dtype = dtype_of(op.operands[0])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low = None if low is None else math.ceil(max(low, limits.min)) if low < limits.max else limits.max
        high = None if high is None else math.floor(min(high, limits.max)) if high > limits.min else limits.min
        low, high = (None if bound is None else min(max(bound, limits.min), limits.max) for bound in (low, high))
    bounds = ["" if bound is None else graph.scalar(bound, dtype) for bound in (low, high)]
    return graph.emit("Clip", *operands, *bounds) if any(bounds) else graph.emit("Identity", *operands)


@ROWS.row(activation.SiluOp)
def write_silu(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The operand times its `Sigmoid`."""
    return graph.emit("Mul", *operands, graph.emit("Sigmoid", *operands))


@ROWS.row(activation.GeluOp)
def write_gelu(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Gelu`."""
    return graph.emit("Gelu", *operands, approximate=prop(op, "approximate"))


@ROWS.row(activation.LeakyReluOp)
def write_leaky_relu(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`LeakyRelu`."""
    return graph.emit("LeakyRelu", *operands, alpha=prop(op, "alpha"))


@ROWS.row(activation.EluOp)
def write_elu(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Elu`."""
    return graph.emit("Elu", *operands, alpha=prop(op, "alpha"))


@ROWS.row(activation.HardSigmoidOp)
def write_hard_sigmoid(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`HardSigmoid`; in 64 bits its formula, because attributes have 32."""
    x = op.operands[0]
    if dtype_of(x) == np.float64:
        line = graph.emit("Mul", *operands, graph.scalar(prop(op, "alpha"), x))
        line = graph.emit("Add", line, graph.scalar(prop(op, "beta"), x))
        return graph.emit("Clip", line, graph.scalar(0, x), graph.scalar(1, x))
    return graph.emit("HardSigmoid", *operands, alpha=prop(op, "alpha"), beta=prop(op, "beta"))


_BOUNDS_OF_FEW_BITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
"""The least and the greatest integer of less than a byte."""


@ROWS.row(conversion.CastOp)
def write_cast(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Cast`, which does not saturate to a float of 8 bits here: that is an op of its own.

    To 2 or 4 bits ONNX keeps the lowest ones of a real number, and onnxruntime rounds it: it is clipped and made an
    integer before.
    """
    dtype, x = dtype_of(op.results[0]), op.operands[0]
    if (bounds := _BOUNDS_OF_FEW_BITS.get(dtype.name)) and is_float(tensor_type(x)):
        inside = graph.emit("Clip", operands[0], *(graph.scalar(bound, x) for bound in bounds))
        return graph.cast(graph.cast(inside, np.dtype(np.int32)), dtype)
    if dtype.name.startswith("float8"):
        return graph.emit("Cast", operands[0], to=helper.np_dtype_to_tensor_dtype(dtype), saturate=0)
    return graph.cast(operands[0], dtype)


@ROWS.row(conversion.FullOp)
def write_full(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Expand` of the number."""
    return graph.emit("Expand", operands[0], graph.integers(shape_of(op.results[0])))


@ROWS.row(conversion.ZerosLikeOp, conversion.OnesLikeOp)
def write_like(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Expand` of 0 or 1 to the operand's `Shape`."""
    number = graph.scalar(int(isinstance(op, conversion.OnesLikeOp)), op.results[0])
    shape = shape_of(op.results[0])
    sizes = graph.emit("Shape", *operands) if DYNAMIC in shape else graph.integers(shape)
    return graph.emit("Expand", number, sizes)


@ROWS.row(broadcast.FloorDivideOp)
def write_floor_divide(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Floor` of `Div`; of signed integers, `Div` rounds to zero, and is one too much where the remainders differ."""
    dtype = dtype_of(op.operands[0])
    quotient = graph.emit("Div", *operands)
    if dtype.kind == "i":
        # Nothing here can overflow, which the dividend less its remainder may.
        is_same = graph.emit("Equal", graph.emit("Mod", *operands, fmod=0), graph.emit("Mod", *operands, fmod=1))
        return graph.emit("Sub", quotient, graph.cast(graph.emit("Not", is_same), dtype))
    return quotient if dtype.kind == "u" else graph.emit("Floor", quotient)


@ROWS.row(broadcast.ModOp)
def write_mod(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Mod`, which takes floats only with the sign of the dividend; the divisor is added where the signs differ."""
    with_sign_of_dividend = abs(prop(op, "fmod"))
    if with_sign_of_dividend or dtype_of(op.operands[0]).kind in "iu":
        return graph.emit("Mod", *operands, fmod=with_sign_of_dividend)
    rest = graph.emit("Mod", *operands, fmod=1)
    zero = graph.scalar(0, op.operands[0])
    signs = graph.emit("Xor", graph.emit("Less", rest, zero), graph.emit("Less", operands[1], zero))
    differs = graph.emit("And", signs, graph.emit("Not", graph.emit("Equal", rest, zero)))
    return graph.emit("Where", differs, graph.emit("Add", rest, operands[1]), rest)


@ROWS.row(broadcast.BiasAddOp)
def write_bias_add(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Add` of the vector along the axis."""
    rank = len(shape_of(op.operands[0]))
    return graph.emit("Add", operands[0], graph.along(operands[1], axis_of(op, rank), rank))


def _centered(graph: GraphWriter, op: FuseOp, index: int, operand: str, zero: int) -> str:
    """A quantized operand less its zero point, in 32 bits, as f32."""
    wide = operand if dtype_of(op.operands[index]) == np.int32 else graph.cast(operand, np.int32)
    if zero:
        wide = graph.emit("Sub", wide, graph.scalar(zero, np.dtype(np.int32)))
    return graph.cast(wide, np.float32)


def _rounded(graph: GraphWriter, op: quantization.QuantizingOp, value: str) -> str:
    """An f32 in units of the result's scale as integers of 8 bits."""
    low, high = op.bounds()
    number = np.dtype(np.float32)
    value = graph.emit("Add", graph.emit("Round", value), graph.scalar(op.zero.value.data, number))
    value = graph.emit("Clip", value, graph.scalar(low, number), graph.scalar(high, number))
    return graph.cast(value, np.uint8 if op.out_dtype.data == "ui8" else np.int8)


@ROWS.row(quantization.RequantizeOp)
def write_requantize(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The formula: `QuantizeLinear` rounds a quotient, where this rounds a product."""
    assert isinstance(op, quantization.RequantizeOp)
    rank, scale = len(shape_of(op.operands[0])), operands[1]
    if len(shape_of(op.operands[1])):
        scale = graph.along(scale, axis_of(op, rank), rank)
    centered = _centered(graph, op, 0, operands[0], op.input_zero.value.data)
    return _rounded(graph, op, graph.emit("Mul", centered, scale))


@ROWS.row(quantization.RequantizeSumOp)
def write_requantize_sum(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The formula."""
    assert isinstance(op, quantization.RequantizeSumOp)
    number = np.dtype(np.float32)
    parts = [
        graph.emit(
            "Mul", _centered(graph, op, index, operands[index], zero.value.data), graph.scalar(scale.value.data, number)
        )
        for index, (zero, scale) in enumerate(((op.lhs_zero, op.lhs_scale), (op.rhs_zero, op.rhs_scale)))
    ]
    total = graph.emit("Div", graph.emit("Add", *parts), graph.scalar(op.scale.value.data, number))
    return _rounded(graph, op, total)


@ROWS.row(broadcast.PreluOp)
def write_prelu(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`PRelu` with slopes along the axis."""
    rank = len(shape_of(op.operands[0]))
    return graph.emit("PRelu", operands[0], graph.along(operands[1], axis_of(op, rank), rank))


@ROWS.row(comparison.NotEqualOp)
def write_not_equal(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Not` of `Equal`."""
    return graph.emit("Not", graph.emit("Equal", *operands))


@ROWS.row(*_ORDERS)
def write_order(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The comparison; truth values are compared as 0 and 1."""
    if dtype_of(op.operands[0]) == np.bool_:
        operands = [graph.cast(operand, np.int32) for operand in operands]
    return graph.emit(_ORDERS[type(op)], *operands)


@ROWS.row(comparison.LeftShiftOp)
def write_left_shift(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`BitShift`, which takes unsigned integers: the same bits."""
    return _shifted(graph, op, operands, "LEFT")


@ROWS.row(comparison.RightShiftOp)
def write_right_shift(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`BitShift`; the bits of a negative number are turned before and after, so that ones come in."""
    if dtype_of(op.operands[0]).kind == "u":
        return _shifted(graph, op, operands, "RIGHT")
    number, places = operands
    negative = graph.emit("Less", number, graph.scalar(0, op.operands[0]))
    positive = graph.emit("Where", negative, graph.emit("BitwiseNot", number), number)
    moved = _shifted(graph, op, [positive, places], "RIGHT")
    return graph.emit("Where", negative, graph.emit("BitwiseNot", moved), moved)


def _shifted(graph: GraphWriter, op: FuseOp, operands: Sequence[str], direction: str) -> str:
    dtype = dtype_of(op.operands[0])
    if dtype.kind == "u":
        return graph.emit("BitShift", *operands, direction=direction)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = [graph.cast(operand, unsigned) for operand in operands]
    return graph.cast(graph.emit("BitShift", *bits, direction=direction), dtype)
