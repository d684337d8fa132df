"""ONNX operators on integers that depend on dynamic dimensions: shape arithmetic, computed at import.

`Shape` of `tensor<?x128x768xf32>` is known but for one element. These operators move or combine such elements; what
they give is a constant again as soon as no unknown size is left in it.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
import onnx_ir as ir

from fuse_dialect.analysis.sizes import (
    Element,
    Size,
    UnknownError,
    add,
    divide,
    is_equal,
    multiply,
    product_of,
    subtract,
)
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.node import NeedsConstantError, OnnxNode
from fuse_dialect.frontends.onnx.operators.reductions import reduced_axes
from fuse_dialect.frontends.onnx.tensors import Array
from fuse_dialect.frontends.onnx.values import Constant, SizeVector, Value, elements_of, settled

_MAX_ELEMENTS = 1 << 12
"""Of an operand that is followed element by element."""
_INTEGERS = {ir.DataType.INT32.value: np.dtype(np.int32), ir.DataType.INT64.value: np.dtype(np.int64)}
"""Types that sizes may have; others have no place for them."""


def import_on_sizes(node: OnnxNode) -> Value | None:
    """The result when an operand is a `SizeVector`; `None` for other nodes, and for what only the running model knows.

    Raises:
        FuseError: The operator cannot be computed on sizes.
    """
    if SizeVector not in map(type, node.operands):
        return None
    operands = [operand for operand in node.operands if operand is not None]
    known = all(isinstance(operand, Constant | SizeVector) for operand in operands)
    rule = _RULES.get(node.node.op_type)
    if rule is None or not known:
        return None
    if any(_size_of(operand) > _MAX_ELEMENTS for operand in operands):
        return None  # a table that a size picks from is no list of sizes
    try:
        return rule(node)
    except (UnknownError, NeedsConstantError):
        return None


def _size_of(value: Value) -> int:
    match value:
        case Constant():
            return value.array.size
        case SizeVector():
            return value.elements.size
        case _:
            return 0


def _elements(node: OnnxNode, index: int) -> Array:
    value = node.operand(index)
    assert isinstance(value, Constant | SizeVector)
    return elements_of(value)


def _type(node: OnnxNode, index: int = 0) -> np.dtype[np.generic]:
    """The element type of an operand, which is that of the result."""
    return node.dtype(node.operand(index))


def _gather(node: OnnxNode) -> Value:
    return settled(_objects(np.take(_elements(node, 0), node.constant(1), axis=node.integer("axis", 0))), _type(node))


def _concat(node: OnnxNode) -> Value:
    parts = [_elements(node, index) for index in range(node.operand_count)]
    return settled(np.concatenate(parts, axis=node.integer("axis")), _type(node))


def _slice(node: OnnxNode) -> Value:
    x = _elements(node, 0)
    if node.opset < 10:
        starts, ends = node.integers("starts"), node.integers("ends")
        axes = node.integers("axes") if node.has("axes") else list(range(len(starts)))
        steps = [1] * len(starts)
    else:
        starts, ends = node.constant_ints(1), node.constant_ints(2)
        axes = node.constant_ints(3) if node.optional(3) is not None else list(range(len(starts)))
        steps = node.constant_ints(4) if node.optional(4) is not None else [1] * len(starts)
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        extent = x.shape[axis]
        # An end of a backward slice that lies before the first element keeps it, and a start there is that element.
        index[axis] = (
            slice(start, end, step) if step > 0 else slice(max(start, -extent), None if end < -extent else end, step)
        )
    return settled(x[tuple(index)], _type(node))


def _unsqueeze(node: OnnxNode) -> Value:
    axes = node.axes(1, since=13)
    if axes is None:
        raise FuseError("expects attribute 'axes'")
    return settled(np.expand_dims(_elements(node, 0), tuple(axes)), _type(node))


def _squeeze(node: OnnxNode) -> Value:
    axes = node.axes(1, since=13)
    return settled(_objects(np.squeeze(_elements(node, 0), None if axes is None else tuple(axes))), _type(node))


def _reshape(node: OnnxNode) -> Value:
    return settled(_elements(node, 0).reshape(node.constant_ints(1)), _type(node))


def _cast(node: OnnxNode) -> Value:
    dtype = _INTEGERS.get(node.integer("to"))
    if dtype is None:
        raise UnknownError("sizes as other numbers are computed by the running model")
    elements = _elements(node, 0).copy()
    for position in np.ndindex(elements.shape):
        if not isinstance(elements[position], Size):
            elements[position] = np.array(int(elements[position])).astype(dtype).item()  # what is too great wraps
    return settled(elements, dtype)


def _same(node: OnnxNode) -> Value:
    return node.operand(0)


def _elementwise(node: OnnxNode) -> Value:
    rule = _ELEMENT_RULES[node.node.op_type]
    boolean = node.node.op_type == "Equal"
    lhs, rhs = np.broadcast_arrays(_elements(node, 0), _elements(node, 1))
    result = np.empty(lhs.shape, object)
    for position in np.ndindex(lhs.shape):
        try:
            result[position] = rule(cast(Element, lhs[position]), cast(Element, rhs[position]))
        except ZeroDivisionError as error:
            raise FuseError(str(error)) from error
    return settled(result, np.dtype(np.bool_) if boolean else _type(node))


def _where(node: OnnxNode) -> Value:
    condition, lhs, rhs = np.broadcast_arrays(node.constant(0), _elements(node, 1), _elements(node, 2))
    return settled(_objects(np.where(condition, lhs, rhs)), _type(node, 1))


def _product(node: OnnxNode) -> Value:
    axes, sizes = reduced_axes(node), _elements(node, 0)
    if axes is None:
        return node.operand(0)
    if len(axes) < sizes.ndim:
        raise UnknownError
    result = product_of(list(sizes.flat))
    return settled(
        _objects(np.full([1] * sizes.ndim if node.flag("keepdims", True) else [], result, object)), _type(node)
    )


def _objects(value: object) -> Array:
    """An array of objects, also for the single object that NumPy gives for rank 0."""
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    array = np.empty((), object)
    array[()] = value
    return array


_ELEMENT_RULES: dict[str, Callable[[Element, Element], Element]] = {
    "Add": add,
    "Sub": subtract,
    "Mul": multiply,
    "Div": divide,
    "Equal": is_equal,
}
"""ONNX operators on pairs of elements."""

_RULES: dict[str, Callable[[OnnxNode], Value]] = {
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Cast": _cast,
    "Identity": _same,
    "Add": _elementwise,
    "Sub": _elementwise,
    "Mul": _elementwise,
    "Div": _elementwise,
    "Equal": _elementwise,
    "Where": _where,
    "ReduceProd": _product,
}
