"""What the attentions of com.microsoft share: heads, masks, rotations, and the product of scores and values.

Letters of shapes: B samples, N heads, S rows of the query, L new rows of keys, P rows of the cache, T = P + L, and H
columns of a head.
"""

import math
from collections.abc import Sequence

import numpy as np

from fuse_dialect.analysis.sizes import Size, subtract
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import GreaterEqualOp, GreaterOp, LessEqualOp, LessOp, LogicalAndOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, StackOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp
from fuse_dialect.dialect.ops.normalization import SoftmaxOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp
from fuse_dialect.dialect.ops.trigonometry import TanhOp
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.constants import counted
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape, reshape_to_sizes, transpose
from fuse_dialect.frontends.onnx.values import Constant, Value

LOWEST = float(np.finfo(np.float32).min)


def sliced(node: OnnxNode, x: Value, axis: int, begin: int, end: int, stride: int = 1) -> Value:
    """Part of an axis."""
    return node.emit(StridedSliceOp, x, begin=[begin], end=[end], strides=[stride], axes=[axis])


def split_heads(node: OnnxNode, x: Value, heads: int) -> Value:
    """[B, S, N * H] as [B, N, S, H].

    Raises:
        FuseError: The columns are not a multiple of the heads.
    """
    if node.rank(x) != 3 or heads < 1 or node.static_shape(x, 2)[0] % heads:
        raise FuseError(f"expects rows of columns for {heads} heads, got {node.type_of(x)}")
    batch, rows, columns = node.sizes(x)
    assert isinstance(columns, int)
    return transpose(node, reshape_to_sizes(node, x, [batch, rows, heads, columns // heads]), [0, 2, 1, 3])


def merged_heads(node: OnnxNode, x: Value) -> Value:
    """[B, N, S, H] as [B, S, N * H]."""
    batch, heads, rows, size = node.sizes(x)
    assert isinstance(heads, int)
    assert isinstance(size, int)
    return reshape_to_sizes(node, transpose(node, x, [0, 2, 1, 3]), [batch, rows, heads * size])


def appended(node: OnnxNode, past: Value | None, new: Value) -> Value:
    """The rows of the cache, and the new ones behind them: [B, N, T, H]."""
    return new if past is None else node.emit(ConcatenateOp, past, new, axis=2)


def attend(
    node: OnnxNode,
    query: Value,
    key: Value,
    value: Value,
    *,
    scale: float,
    added: Sequence[Value] = (),
    allowed: Value | None = None,
    softcap: float = 0.0,
    sink: Value | None = None,
) -> Value:
    """Softmax(scale * Q * K' + added) * V, [B, N, S, H].

    Args:
        node: The node.
        query: [B, N, S, H].
        key: [B, N, T, H].
        value: [B, N, T, H of values].
        scale: 0 for one over the root of H.
        added: What is added to the scores, of shapes that broadcast to theirs.
        allowed: Where a row may look, of a shape that broadcasts to the scores'.
        softcap: The bound that scores approach by tanh; 0 for none.
        sink: A score for each head beside those of the keys, [1 or N], whose value is zeros.
    """
    head = node.static_shape(query, 3)[0]
    scores = node.emit(BatchMatmulOp, query, key, transpose_b=True)
    scores = node.emit(MultiplyOp, scores, node.scalar(scale or 1 / math.sqrt(head), scores))
    if softcap:
        bent = node.emit(TanhOp, node.emit(MultiplyOp, scores, node.scalar(1 / softcap, scores)))
        scores = node.emit(MultiplyOp, bent, node.scalar(softcap, scores))
    for more in added:
        scores = node.emit(AddOp, scores, more)
    if allowed is not None:
        scores = node.emit(WhereOp, allowed, scores, node.scalar(LOWEST, scores))
    shares = node.emit(SoftmaxOp, scores, axis=-1) if sink is None else _softmax_beside(node, scores, sink)
    return node.emit(BatchMatmulOp, shares, value)


def _softmax_beside(node: OnnxNode, scores: Value, sink: Value) -> Value:
    """Softmax over the scores and one more for each head, which is dropped."""
    batch, heads, rows, columns = node.static_shape(scores)
    column = reshape(node, sink, [1, math.prod(node.static_shape(sink)), 1, 1])
    column = node.emit(BroadcastToOp, column, type=node.typed(scores, [batch, heads, rows, 1]))
    shares = node.emit(SoftmaxOp, node.emit(ConcatenateOp, scores, column, axis=3), axis=-1)
    return sliced(node, shares, 3, 0, columns)


def causal(node: OnnxNode, rows: int | Size, columns: int | Size) -> Value:
    """Where a row may look when the last row sees all columns, [S, T]."""
    first = subtract(columns, rows)
    own = expand_dims(node, counted(node, rows, 0), [1])
    if isinstance(first, int):
        own = node.emit(AddOp, own, Constant(np.array(first)))
    else:
        raise FuseError("needs to know by how many rows the cache is longer than the query")
    return node.emit(LessEqualOp, expand_dims(node, counted(node, columns, 0), [0]), own)


def padding_mask(node: OnnxNode, mask: Value, batch: int | Size, columns: int | Size, filter_value: float) -> Value:
    """What is added to the scores, of rank 4: the filter value where the mask has 0, or beyond lengths.

    A mask is [B, T], [B, S, T], or lengths [B], or ends and starts [2 * B].

    Raises:
        FuseError: It has another shape.
    """
    kept = mask
    match node.rank(mask):
        case 1:
            kept = expand_dims(node, _within(node, mask, batch, columns), [1, 2])
        case 2:
            kept = expand_dims(node, node.emit(GreaterOp, mask, node.scalar(0, mask)), [1, 2])
        case 3:
            kept = expand_dims(node, node.emit(GreaterOp, mask, node.scalar(0, mask)), [1])
        case _:
            raise FuseError(f"expects a mask of rank 1 to 3, got {node.type_of(mask)}")
    zero = Constant(np.zeros((), np.float32))
    return node.emit(WhereOp, kept, zero, Constant(np.array(filter_value, np.float32)))


def _within(node: OnnxNode, mask: Value, batch: int | Size, columns: int | Size) -> Value:
    """Whether a column is before the end of a sample, and not before its start: [B, T]."""
    count = node.sizes(mask)[0]
    places = expand_dims(node, counted(node, columns, 0), [0])
    wide = expand_dims(node, cast_to(node, mask, np.dtype(np.int64)), [1])
    if count == batch:
        return node.emit(LessOp, places, wide)
    if not isinstance(count, int) or not isinstance(batch, int) or count != 2 * batch:
        raise FuseError(f"expects lengths of {batch} samples, or their ends and starts, got {node.type_of(mask)}")
    ends, starts = sliced(node, wide, 0, 0, batch), sliced(node, wide, 0, batch, 2 * batch)
    return node.emit(LogicalAndOp, node.emit(LessOp, places, ends), node.emit(GreaterEqualOp, places, starts))


def rotated(node: OnnxNode, x: Value, places: Value, *, cosines: Value, sines: Value, interleaved: bool) -> Value:
    """The first columns of every head, turned by the angles of their places; the others stay.

    Args:
        node: The node.
        x: [B, N, S, H].
        places: Rows of the tables, [B or 1, S].
        cosines: [places, R / 2], R columns being turned.
        sines: As the cosines.
        interleaved: Whether pairs are neighbours, or half of R apart.
    """
    size, half = node.static_shape(x, 3)[0], node.static_shape(cosines, 1)[0]
    if 2 * half > size:
        raise FuseError(f"turns {2 * half} columns of heads of size {size}")
    cos, sin = (expand_dims(node, node.emit(TakeOp, table, places, axis=0), [1]) for table in (cosines, sines))
    if interleaved:
        one, other = (sliced(node, x, 3, start, 2 * half, 2) for start in (0, 1))
    else:
        one, other = sliced(node, x, 3, 0, half), sliced(node, x, 3, half, 2 * half)
    left = node.emit(SubtractOp, node.emit(MultiplyOp, one, cos), node.emit(MultiplyOp, other, sin))
    right = node.emit(AddOp, node.emit(MultiplyOp, one, sin), node.emit(MultiplyOp, other, cos))
    if interleaved:
        pairs = node.emit(StackOp, left, right, axis=4)
        turned = reshape_to_sizes(node, pairs, [*node.sizes(x)[:3], 2 * half])
    else:
        turned = node.emit(ConcatenateOp, left, right, axis=3)
    if 2 * half == size:
        return turned
    return node.emit(ConcatenateOp, turned, sliced(node, x, 3, 2 * half, size), axis=3)
