"""Operators of com.microsoft.nchwc, which onnxruntime's optimizer writes at the level `all`, for the processor at hand.

1. Channels stand in blocks of 16, with AVX-512, or 8. A tensor has the shape [N, C, H, W] all the same, C being a
   multiple of the block. Here it is such a tensor in the usual order: nobody sees the blocks but these operators.
2. Channels that fill up the last block are zeros where a tensor enters, and what weights of zeros make of them behind.
3. Weights are stored in blocks, [O / block, I / block, H, W, I, O] or, where inputs are not in blocks, [O / block, I,
   H, W, O]. Which block it was stands nowhere: where the channels allow both, it is that of this processor, as for
   onnxruntime itself.

Source: onnxruntime, core/optimizer/nchwc_transformer.cc and core/mlas/lib/reorder.cpp.
"""

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.indexing import PadOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode
from fuse_dialect.frontends.onnx.operators.convolutions import import_conv
from fuse_dialect.frontends.onnx.operators.pools import (
    import_average_pool,
    import_global_average_pool,
    import_global_max_pool,
    import_max_pool,
)
from fuse_dialect.frontends.onnx.operators.resizing import resize_to_multiples
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import Array
from fuse_dialect.frontends.onnx.values import Constant, Value
from fuse_dialect.frontends.onnx.vendor.activations import activated, with_bias
from fuse_dialect.frontends.onnx.vendor.heads import sliced
from fuse_dialect.frontends.onnx.vendor.products import channels_first, channels_last, with_operand
from fuse_dialect.machines.host import host_features

OPERATORS = OperatorTable()

_WIDE, _NARROW = 16, 8

OPERATORS.operator("GlobalAveragePool")(import_global_average_pool)
OPERATORS.operator("GlobalMaxPool")(import_global_max_pool)
OPERATORS.operator("AveragePool")(import_average_pool)


@OPERATORS.operator("MaxPool")
def import_blocked_max_pool(node: OnnxNode) -> Value:
    """MaxPool, without places."""
    return import_max_pool(node)[0]


def _block(channels: int) -> int:
    """How many channels stand together, of a multiple of it (3)."""
    if channels % _NARROW:
        raise FuseError(f"expects channels in blocks of {_NARROW} or {_WIDE}, got {channels}")
    return _WIDE if channels % _WIDE == 0 and "avx512f" in host_features() else _NARROW


def _channels(node: OnnxNode, x: Value) -> int:
    """The number of channels of an image."""
    if (channels := node.shape(x)[1]) == DYNAMIC:
        raise DynamicShapeError(f"needs a static number of channels, got {node.type_of(x)}")
    return channels


@OPERATORS.operator("ReorderInput")
def import_reorder_input(node: OnnxNode) -> Value:
    """The image, with channels of zeros up to a whole block."""
    x = node.operand(0)
    x = channels_first(node, x) if node.flag("channels_last") else x
    channels = _channels(node, x)
    block = _WIDE if "avx512f" in host_features() else _NARROW
    missing = -channels % block
    if not missing:
        return x
    rank = node.rank(x)
    return node.emit(PadOp, x, node.scalar(0, x), low=[0] * rank, high=[0, missing, *[0] * (rank - 2)])


@OPERATORS.operator("ReorderOutput")
def import_reorder_output(node: OnnxNode) -> Value:
    """The image without the channels that filled up its last block."""
    x, channels = node.operand(0), node.integer("channels")
    own = _channels(node, x)
    if not 0 < channels <= own:
        raise FuseError(f"expects between 1 and {own} channels, got {channels}")
    x = x if channels == own else sliced(node, x, 1, 0, channels)
    return channels_last(node, x) if node.flag("channels_last") else x


@OPERATORS.operator("Conv")
def import_blocked_conv(node: OnnxNode) -> Value:
    """A convolution, the sum with the operand Sum, and an activation."""
    weight = Constant(_in_order(node.constant(1), node.integer("group", 1)), node.name_of(1))
    inner = with_operand(node, 1, weight)
    return activated(node, with_bias(node, import_conv(inner), 3))


def _in_order(weight: Array, groups: int) -> Array:
    """A weight in the usual order of its elements (3)."""
    if weight.ndim != 4:
        raise FuseError(f"expects a weight of rank 4, got rank {weight.ndim}")
    outputs, inputs, height, width = weight.shape
    block = _block(outputs)
    if inputs < block or (groups == outputs and inputs == 1):
        parts = weight.reshape(outputs // block, inputs, height, width, block)
        return np.ascontiguousarray(parts.transpose(0, 4, 1, 2, 3)).reshape(weight.shape)
    if inputs % block:
        raise FuseError(f"expects inputs in blocks of {block}, got {inputs}")
    parts = weight.reshape(outputs // block, inputs // block, height, width, block, block)
    return np.ascontiguousarray(parts.transpose(0, 5, 1, 4, 2, 3)).reshape(weight.shape)


@OPERATORS.operator("Upsample")
def import_blocked_upsample(node: OnnxNode) -> Value:
    """Images enlarged by whole factors."""
    mode = node.string("mode", "nearest")
    return resize_to_multiples(
        node,
        node.integers("scales"),
        mode=mode,
        coordinates=node.string("coordinate_transformation_mode", "asymmetric"),
    )
