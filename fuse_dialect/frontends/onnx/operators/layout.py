"""ONNX operators that move elements without looking at them, between shapes that do not depend on them."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fuse_dialect.analysis.sizes import Size, add, divide, integers_of, multiply, product_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp
from fuse_dialect.dialect.ops.dynamic import DynBroadcastToOp, DynReshapeOp, DynStridedSliceOp, DynTileOp
from fuse_dialect.dialect.ops.layout import (
    BatchFlattenOp,
    DepthToSpaceOp,
    ReshapeOp,
    SpaceToDepthOp,
    SqueezeOp,
    TransposeOp,
)
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, TileOp
from fuse_dialect.dialect.types import DYNAMIC, broadcast_shapes, normalize_axes, normalize_axis
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import Array
from fuse_dialect.frontends.onnx.values import Constant, Value, size_vector

OPERATORS = OperatorTable()


def reshape(node: OnnxNode, value: Value, shape: Sequence[int]) -> Value:
    """The elements in another shape; no op when the shape is the same, or when the value is a constant."""
    if tuple(shape) == node.shape(value) and DYNAMIC not in shape:
        return value
    if isinstance(value, Constant) and value.array.size == math.prod(shape):
        array = value.array
        if array.size and not any(array.strides):
            return Constant(_splat_of(array, shape), value.name)
        return Constant(array.reshape(tuple(shape)), value.name)
    return node.emit(ReshapeOp, value, type=node.typed(value, shape))


def _splat_of(array: Array, shape: Sequence[int]) -> Array:
    return np.broadcast_to(array[(0,) * array.ndim], tuple(shape))


@OPERATORS.operator("Reshape")
def import_reshape(node: OnnxNode) -> Value:
    """`reshape`; 0 keeps a size and -1 is what remains. `dyn_reshape` to a shape that the running model computes."""
    x, wanted = node.operand(0), node.known_elements(1)
    if wanted is None:
        return node.emit(DynReshapeOp, x, node.integer_list(1), allowzero=node.flag("allowzero"))
    sizes = node.sizes(x)
    shape: list[int | Size] = []
    for axis, size in enumerate(wanted):
        if size == 0 and not node.flag("allowzero"):
            if axis >= len(sizes):
                raise FuseError(f"keeps the size of axis {axis}, but the operand has rank {len(sizes)}")
            size = sizes[axis]
        shape.append(size)
    if shape.count(-1) > 1 or any(isinstance(size, int) and size < -1 for size in shape):
        raise FuseError(f"expects sizes and at most one -1, got {list(wanted)}")
    return reshape_to_sizes(node, x, _resolve(sizes, shape))


def _resolve(sizes: Sequence[int | Size], shape: list[int | Size]) -> list[int | Size]:
    """The shape with -1 replaced by what remains, where that is known."""
    if -1 not in shape:
        return shape
    rest = list(sizes)
    others = [size for size in shape if size != -1]
    for size in [size for size in others if isinstance(size, Size)]:
        if size not in rest:
            return shape
        rest.remove(size)
        others.remove(size)
    left = [size for size in rest if isinstance(size, Size)]
    count = math.prod(size for size in rest if isinstance(size, int))
    known = math.prod(size for size in others if isinstance(size, int))
    if len(left) > 1 or (left and count != known) or not known or count % known:
        return shape
    remaining: int | Size = left[0] if left else count // known
    return [remaining if size == -1 else size for size in shape]


def reshape_to_sizes(node: OnnxNode, x: Value, shape: Sequence[int | Size]) -> Value:
    """The elements in another shape, of sizes some of which are known when the model runs; -1 is what remains.

    It is `reshape` where the result type can say the shape: the last `?` is computed, and one before it keeps the size
    that the operand has there.
    """
    sizes = node.sizes(x)
    if tuple(shape) == sizes and not isinstance(x, Constant):
        return x
    dims = [size if isinstance(size, int) and size >= 0 else DYNAMIC for size in shape]
    if DYNAMIC not in dims:
        return reshape(node, x, dims)
    if _says_shape(sizes, shape, dims):
        result = reshape(node, x, dims)
    else:
        # A 0 that kept a size has been replaced by it.
        result = node.emit(DynReshapeOp, x, size_vector(list(shape)), type=node.typed(x, dims), allowzero=True)
    node.builder.name_sizes(result, [size if isinstance(size, Size) else None for size in shape])
    return result


def _says_shape(sizes: Sequence[int | Size], shape: Sequence[int | Size], dims: Sequence[int]) -> bool:
    """Whether `reshape` to a type of these dimensions means the shape."""
    unknown = [axis for axis, dim in enumerate(dims) if dim == DYNAMIC]
    if len(unknown) > 1:
        shared = unknown[-2] + 1
        return tuple(sizes[:shared]) == tuple(shape[:shared])
    # What remains of no elements is anything.
    return 0 not in dims


@OPERATORS.operator("Flatten")
def import_flatten(node: OnnxNode) -> Value:
    """`batch_flatten` at axis 1, else `reshape`."""
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.integer("axis", 1)
    if axis != len(shape):
        axis = normalize_axis(axis, len(shape))
    if axis == 1 and len(shape) > 1:
        return node.emit(BatchFlattenOp, x)
    sizes = node.sizes(x)
    return reshape_to_sizes(node, x, [product_of(sizes[:axis]), product_of(sizes[axis:])])


@OPERATORS.operator("Transpose")
def import_transpose(node: OnnxNode) -> Value:
    """`transpose`; reverses the axes by default."""
    x = node.operand(0)
    order = node.integers("perm") if node.has("perm") else list(reversed(range(node.rank(x))))
    return transpose(node, x, order)


def transpose(node: OnnxNode, value: Value, order: Sequence[int]) -> Value:
    """The value with its axes in another order; no op when the order is the same."""
    if list(order) == list(range(node.rank(value))):
        return value
    return node.emit(TransposeOp, value, permutation=order)


@OPERATORS.operator("Unsqueeze")
def import_unsqueeze(node: OnnxNode) -> Value:
    """`expand_dims`, one for each run of neighbouring axes."""
    x = node.operand(0)
    axes = node.axes(1, since=13)
    if axes is None:
        raise FuseError("expects attribute 'axes'")
    axes = normalize_axes(axes, node.rank(x) + len(axes))
    return expand_dims(node, x, axes)


def expand_dims(node: OnnxNode, value: Value, axes: Sequence[int]) -> Value:
    """The value with unit axes at these places of the result, which are counted from the front and ascend."""
    if isinstance(value, Constant):
        shape = list(value.array.shape)
        for axis in axes:
            shape.insert(axis, 1)
        return reshape(node, value, shape)
    start = 0
    while start < len(axes):
        stop = start + 1
        while stop < len(axes) and axes[stop] == axes[stop - 1] + 1:
            stop += 1
        value = node.emit(ExpandDimsOp, value, axis=axes[start], num_newaxis=stop - start)
        start = stop
    return value


@OPERATORS.operator("Squeeze")
def import_squeeze(node: OnnxNode) -> Value:
    """`squeeze`."""
    x = node.operand(0)
    shape = node.shape(x)
    axes = node.axes(1, since=13)
    if axes is None:
        axes = [axis for axis, size in enumerate(node.static_shape(x)) if size == 1]
    axes = list(normalize_axes(axes, len(shape)))
    return squeeze(node, x, axes)


def squeeze(node: OnnxNode, value: Value, axes: Sequence[int]) -> Value:
    """The value without these unit axes, which are counted from the front."""
    if not axes:
        return value
    shape = node.shape(value)
    if isinstance(value, Constant) and all(shape[axis] == 1 for axis in axes):
        return reshape(node, value, [size for axis, size in enumerate(shape) if axis not in axes])
    return node.emit(SqueezeOp, value, axes=axes)


@OPERATORS.operator("Concat")
def import_concat(node: OnnxNode) -> Value:
    """`concatenate`."""
    operands = node.all_operands()
    axis = node.integer("axis")
    return operands[0] if len(operands) == 1 else node.emit(ConcatenateOp, *operands, axis=axis)


@OPERATORS.operator("Split")
def import_split(node: OnnxNode) -> Sequence[Value]:
    """`split`."""
    x = node.operand(0)
    axis = normalize_axis(node.integer("axis", 0), node.rank(x))
    extent = node.shape(x)[axis]
    if node.has("split"):
        sizes: list[int | Size] = list(node.integers("split"))
    elif node.optional(1) is not None:
        known = node.known_elements(1)
        sizes = [*node.constant_ints(1)] if known is None else known
    else:
        parts = node.integer("num_outputs", len(node.node.outputs))
        if parts != len(node.node.outputs) or parts < 1:
            raise FuseError(f"expects attribute 'num_outputs' to be {len(node.node.outputs)}, got {parts}")
        if extent == DYNAMIC:
            return _split_evenly(node, x, axis, parts)
        chunk = -(-extent // parts)
        sizes = [max(0, min(chunk, extent - index * chunk)) for index in range(parts)]
    if any(isinstance(size, Size) for size in sizes):
        raise DynamicShapeError(f"splits axis {axis} at sizes that depend on dynamic ones")
    return node.emit_all(SplitOp, x, axis=axis, sizes=integers_of(sizes))


def _split_evenly(node: OnnxNode, x: Value, axis: int, parts: int) -> Sequence[Value]:
    """Slices of equal size along an axis of dynamic size; the last may be smaller."""
    chunk = divide(add(node.sizes(x)[axis], parts - 1), parts)
    bounds = [size_vector([multiply(chunk, index)]) for index in range(parts + 1)]
    ones = size_vector([1])
    return [node.emit(DynStridedSliceOp, x, begin, end, ones, axes=[axis]) for begin, end in pairwise(bounds)]


@OPERATORS.operator("Expand")
def import_expand(node: OnnxNode) -> Value:
    """`broadcast_to` the shape that the operand's and the wanted shape broadcast to.

    `dyn_broadcast_to` where a size of it is no size of the operand, and known only when the model runs.
    """
    x, wanted = node.operand(0), node.known_elements(1)
    if wanted is None:
        return node.emit(DynBroadcastToOp, x, node.integer_list(1))
    sizes = node.sizes(x)
    own = dict(zip(range(len(wanted) - len(sizes), len(wanted)), sizes, strict=True))
    target = broadcast_shapes(
        node.shape(x), [size if isinstance(size, int) and size >= 0 else DYNAMIC for size in wanted]
    )
    if any(isinstance(size, Size) and own.get(axis) != size for axis, size in enumerate(wanted)):
        # ONNX forbids -1 here; where no size is dynamic it has kept the operand's size all along.
        shape = [1 if isinstance(size, int) and size < 0 else size for size in wanted]
        result = node.emit(DynBroadcastToOp, x, size_vector(shape), type=node.typed(x, target))
        node.builder.name_sizes(result, _broadcast_sizes(sizes, wanted))
        return result
    if target == node.shape(x):
        return x
    result = node.emit(BroadcastToOp, x, type=node.typed(x, target))
    node.builder.name_sizes(result, _aligned_sizes(sizes, len(target)))
    return result


def _broadcast_sizes(one: Sequence[int | Size], other: Sequence[int | Size]) -> list[int | Size | None]:
    """Sizes of two shapes broadcast, `None` where it depends on the input which of two it is."""
    rank = max(len(one), len(other))
    pairs = zip([*[1] * (rank - len(one)), *one], [*[1] * (rank - len(other)), *other], strict=True)
    return [b if a in (1, b) else a if b == 1 else None for a, b in pairs]


def _aligned_sizes(sizes: Sequence[int | Size], rank: int) -> list[Size | None]:
    named = [size if isinstance(size, Size) else None for size in sizes]
    return [*[None] * (rank - len(named)), *named]


@OPERATORS.operator("Tile")
def import_tile(node: OnnxNode) -> Value:
    """`tile`, or `dyn_tile`."""
    x = node.operand(0)
    if node.is_known(1):
        return node.emit(TileOp, x, reps=node.constant_ints(1))
    result = node.emit(DynTileOp, x, node.integer_list(1))
    reps = node.known_elements(1)
    if reps is not None:
        sizes = [multiply(size, rep) for size, rep in zip(node.sizes(x), reps, strict=True)]
        node.builder.name_sizes(result, sizes)
    return result


@OPERATORS.operator("DepthToSpace")
def import_depth_to_space(node: OnnxNode) -> Value:
    """`depth_to_space`."""
    mode, block = node.string("mode", "DCR"), node.integer("blocksize")
    return node.emit(DepthToSpaceOp, node.operand(0), block_size=block, mode=mode)


@OPERATORS.operator("SpaceToDepth")
def import_space_to_depth(node: OnnxNode) -> Value:
    """`space_to_depth`; with mode CRD its channels are then put in another order."""
    x, block, mode = node.operand(0), node.integer("blocksize"), node.string("mode", "DCR")
    result = node.emit(SpaceToDepthOp, x, block_size=block)
    if mode == "DCR":
        return result
    if mode != "CRD":
        raise UnsupportedFormError(f"the mode '{mode}' is not supported")
    n, _, height, width = node.sizes(result)
    channels = node.shape(result)[1]
    if channels == DYNAMIC:
        raise DynamicShapeError(f"needs a static number of channels, got {node.type_of(x)}")
    inner = channels // (block * block)
    parts = reshape_to_sizes(node, result, [n, block * block, inner, height, width])
    return reshape_to_sizes(node, transpose(node, parts, [0, 2, 1, 3, 4]), [n, channels, height, width])
