"""ONNX operators whose result is known at import: constants, and questions about shapes."""

import math

import numpy as np
import onnx_ir as ir

from fuse_dialect.analysis.sizes import Size, add, product_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, MaximumOp, MinimumOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp, GreaterEqualOp, LessEqualOp
from fuse_dialect.dialect.ops.dynamic import DynArangeOp, DynFullOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.types import DYNAMIC, element_type_of, tensor
from fuse_dialect.frontends.onnx.builder import SMALL
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import expand_dims
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import Array, dtype_of
from fuse_dialect.frontends.onnx.values import Constant, Value, settled

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
    """One element in every place: a constant that takes the memory of one, or `dyn_full` of a computed shape."""
    value: Array = node.tensor_attribute("value") if node.has("value") else np.zeros(1, np.float32)
    if value.size != 1:
        raise FuseError(f"expects attribute 'value' to hold one element, got {value.size}")
    element = value.reshape(())
    if not node.is_known(0):
        return _dynamic_full(node, element)
    shape = node.constant_ints(0)
    if min(shape, default=0) < 0:
        raise FuseError(f"expects sizes that are not negative, got {shape}")
    return Constant(splat(element, shape))


def _dynamic_full(node: OnnxNode, element: Array) -> Value:
    sizes = node.known_elements(0)
    if sizes is None:
        return node.emit(DynFullOp, Constant(element), node.integer_list(0))
    dims = [DYNAMIC if isinstance(size, Size) else size for size in sizes]
    if any(dim < 0 and dim != DYNAMIC for dim in dims):
        raise FuseError(f"expects sizes that are not negative, got {sizes}")
    type = tensor(dims, element_type_of(element.dtype))
    result = node.emit(DynFullOp, Constant(element), node.integer_list(0), type=type)
    node.builder.name_sizes(result, sizes)
    return result


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
    count = product_of(node.sizes(node.operand(0)))
    if not isinstance(count, Size) and count > np.iinfo(_INT64).max:
        raise FuseError(f"counts {count} elements, which no integer of 64 bits can say")
    return settled(np.array(count, object), _INT64)


@OPERATORS.operator("Range")
def import_range(node: OnnxNode) -> Value:
    """Numbers from a start in equal steps, by `dyn_arange` where the running model says which."""
    if not all(node.is_known(index) for index in range(3)):
        return _dynamic_range(node)
    start, stop, step = (node.constant_scalar(index) for index in range(3))
    dtype = node.dtype(node.operand(0))
    if step == 0 or not all(math.isfinite(number) for number in (start, stop, step)):
        raise FuseError(f"expects finite numbers and a step other than 0, got {start}, {stop} and {step}")
    count = max(0, math.ceil((stop - start) / step))
    return arange(node, count, dtype, start, step)


def _dynamic_range(node: OnnxNode) -> Value:
    result = node.emit(DynArangeOp, *(node.integer_scalar(index) for index in range(3)))
    bounds = [node.known_elements(index) for index in range(3)] if node.dtype(node.operand(0)).kind in "iu" else []
    if bounds and bounds[0] == [0] and bounds[2] == [1] and bounds[1] is not None:
        (stop,) = bounds[1]
        if isinstance(stop, Size) and stop.is_extent:
            node.builder.name_sizes(result, [stop])
    return result


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
    sizes = node.sizes(x)
    if len(sizes) != 2:
        raise FuseError(f"expects an operand of rank 2, got rank {len(sizes)}")
    dtype = dtype_of(ir.DataType(node.integer("dtype"))) if node.has("dtype") else node.dtype(x)
    rows, columns = _row_and_column(node, sizes[0], sizes[1], node.integer("k", 0))
    return cast_to(node, node.emit(EqualOp, rows, columns), dtype)


@OPERATORS.operator("Trilu")
def import_trilu(node: OnnxNode) -> Value:
    """The upper or lower triangle; zeros elsewhere."""
    x = node.operand(0)
    sizes = node.sizes(x)
    if len(sizes) < 2:
        raise FuseError(f"expects an operand of rank 2 or more, got rank {len(sizes)}")
    height, width = sizes[-2:]
    is_known = node.optional(1) is None or node.is_known(1)
    offset = int(node.constant_scalar(1)) if is_known and node.optional(1) is not None else 0
    if isinstance(height, int) and isinstance(width, int):
        offset = max(-height - 1, min(offset, width + 1))
    rows, columns = _row_and_column(node, height, width, offset)
    if not is_known:
        # Half of the range is more than any size, and a sum with a row stays inside.
        low, high = (Constant(np.array(bound)) for bound in (-(1 << 62), 1 << 62))
        computed = node.emit(MinimumOp, node.emit(MaximumOp, node.integer_scalar(1), low), high)
        rows = node.emit(AddOp, rows, computed)
    inside = node.emit(LessEqualOp if node.flag("upper", True) else GreaterEqualOp, rows, columns)
    return node.emit(WhereOp, inside, x, node.scalar(0, x))


def _row_and_column(node: OnnxNode, height: int | Size, width: int | Size, offset: int) -> tuple[Value, Value]:
    """The row numbers plus `offset` as a column vector, and the column numbers as a row vector."""
    return expand_dims(node, counted(node, height, offset), [1]), expand_dims(node, counted(node, width, 0), [0])


def counted(node: OnnxNode, count: int | Size, start: int) -> Value:
    """`count` numbers from `start` on."""
    if isinstance(count, Size):
        bounds = (start, add(count, start), 1)
        result = node.emit(DynArangeOp, *(settled(np.array(bound, object), _INT64) for bound in bounds))
        node.builder.name_sizes(result, [count])
        return result
    if count > SMALL:
        raise UnsupportedFormError(f"matrices of {count} rows or columns are too large")
    return Constant(np.arange(start, count + start))


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
