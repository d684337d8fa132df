"""ONNX operators whose result is known at import: constants, and questions about shapes."""

import math

import numpy as np
import onnx_ir as ir

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp, GreaterEqualOp, LessEqualOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.types import element_type_of, tensor
from fuse_dialect.frontends.onnx.builder import SMALL
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import Array, dtype_of
from fuse_dialect.frontends.onnx.values import Constant, Size, Value, settled

OPERATORS = OperatorTable()

_INT64 = np.dtype(np.int64)


@OPERATORS.operator("Constant")
def import_constant(node: OnnxNode) -> Value:
    """The value of whichever attribute is given."""
    name = node.node.outputs[0].name
    if node.has("value"):
        return Constant(node.tensor_attribute("value"), name)
    if node.has("value_float"):
        return Constant(np.array(node.real("value_float"), np.float32), name)
    if node.has("value_floats"):
        return Constant(np.array(node.reals("value_floats"), np.float32), name)
    if node.has("value_int"):
        return Constant(np.array(node.integer("value_int"), np.int64), name)
    if node.has("value_ints"):
        return Constant(np.array(node.integers("value_ints"), np.int64), name)
    raise UnsupportedFormError("only dense tensors of numbers are supported")


@OPERATORS.operator("ConstantOfShape")
def import_constant_of_shape(node: OnnxNode) -> Value:
    """One element in every place; takes the memory of one."""
    shape = node.constant_ints(0)
    if min(shape, default=0) < 0:
        raise FuseError(f"expects sizes that are not negative, got {shape}")
    value: Array = node.tensor_attribute("value") if node.has("value") else np.zeros(1, np.float32)
    if value.size != 1:
        raise FuseError(f"expects attribute 'value' to hold one element, got {value.size}")
    return Constant(splat(value.reshape(()), shape))


def splat(element: Array, shape: list[int]) -> Array:
    """An array that repeats the element of an array of rank 0, in the memory of one.

    Raises:
        FuseError: The shape has more elements than any machine can address.
    """
    if math.prod(shape) >= 1 << 48:
        raise FuseError(f"a tensor of shape {shape} is too large")
    return np.broadcast_to(element, shape)


@OPERATORS.operator("Shape")
def import_shape(node: OnnxNode) -> Value:
    """The shape, or the part from `start` to `end`."""
    sizes = list(node.sizes(node.operand(0)))
    start = node.integer("start", 0)
    end = node.integer("end") if node.has("end") else len(sizes)
    elements = np.empty(len(sizes), object)
    elements[:] = sizes
    return settled(elements[start:end], _INT64)


@OPERATORS.operator("Size")
def import_size(node: OnnxNode) -> Value:
    """The number of elements."""
    sizes = node.sizes(node.operand(0))
    if any(isinstance(size, Size) for size in sizes):
        raise DynamicShapeError("needs a static shape")
    count = math.prod(size for size in sizes if isinstance(size, int))
    if count > np.iinfo(_INT64).max:
        raise FuseError(f"counts {count} elements, which no integer of 64 bits can say")
    return Constant(np.array(count, np.int64))


@OPERATORS.operator("Range")
def import_range(node: OnnxNode) -> Value:
    """Numbers from a start in equal steps."""
    start, stop, step = (node.constant_scalar(index) for index in range(3))
    dtype = node.dtype(node.operand(0))
    if step == 0 or not all(math.isfinite(number) for number in (start, stop, step)):
        raise FuseError(f"expects finite numbers and a step other than 0, got {start}, {stop} and {step}")
    count = max(0, math.ceil((stop - start) / step))
    return arange(node, count, dtype, start, step)


def arange(node: OnnxNode, count: int, dtype: "np.dtype[np.generic]", start: float = 0, step: float = 1) -> Value:
    """`count` numbers from `start` in steps: a constant when they are few, else an op."""
    if count <= SMALL and node.builder.budget.take(bytes=count * dtype.itemsize):
        return Constant((start + step * np.arange(count)).astype(dtype))
    type = tensor([count], element_type_of(dtype))
    return node.emit(ArangeOp, type=type, start=float(start), stop=float(start + count * step), step=float(step))


@OPERATORS.operator("EyeLike")
def import_eye_like(node: OnnxNode) -> Value:
    """Ones where column - row = k, else zeros."""
    x = node.operand(0)
    shape = node.static_shape(x)
    if len(shape) != 2:
        raise FuseError(f"expects an operand of rank 2, got rank {len(shape)}")
    dtype = dtype_of(ir.DataType(node.integer("dtype"))) if node.has("dtype") else node.dtype(x)
    rows, columns = _row_and_column(node, shape[0], shape[1], node.integer("k", 0))
    return cast_to(node, node.emit(EqualOp, rows, columns), dtype)


@OPERATORS.operator("Trilu")
def import_trilu(node: OnnxNode) -> Value:
    """The upper or lower triangle; zeros elsewhere."""
    x = node.operand(0)
    shape = node.static_shape(x)
    if len(shape) < 2:
        raise FuseError(f"expects an operand of rank 2 or more, got rank {len(shape)}")
    height, width = shape[-2:]
    offset = int(node.constant_scalar(1)) if node.optional(1) is not None else 0
    rows, columns = _row_and_column(node, height, width, max(-height - 1, min(offset, width + 1)))
    inside = node.emit(LessEqualOp if node.flag("upper", True) else GreaterEqualOp, rows, columns)
    return node.emit(WhereOp, inside, x, node.scalar(0, x))


def _row_and_column(node: OnnxNode, height: int, width: int, offset: int) -> tuple[Value, Value]:
    """The row numbers plus `offset` as a column vector, and the column numbers as a row vector."""
    if max(height, width) > SMALL:
        raise UnsupportedFormError(f"matrices of {height} rows and {width} columns are too large")
    return Constant(np.arange(offset, height + offset)[:, None]), Constant(np.arange(width)[None, :])


@OPERATORS.operator("Identity")
def import_identity(node: OnnxNode) -> Value:
    """The operand."""
    return node.operand(0)


@OPERATORS.operator("OptionalHasElement")
def import_optional_has_element(node: OnnxNode) -> Value:
    """True for a tensor, false for what is left out."""
    return Constant(np.array(node.optional(0) is not None))


@OPERATORS.operator("OptionalGetElement")
def import_optional_get_element(node: OnnxNode) -> Value:
    """The tensor itself."""
    return node.operand(0)
