"""Attentions of com.microsoft, with caches: Attention, MultiHeadAttention, GroupQueryAttention, RotaryEmbedding.

Source: onnxruntime, contrib_ops/cpu/bert/attention_cpu_base.h and gqa_attention_base.h.
"""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.analysis.sizes import Size
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, MaximumOp, MinimumOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp, GreaterOp, LessEqualOp, LessOp, LogicalAndOp
from fuse_dialect.dialect.ops.concatenation import SplitOp, StackOp
from fuse_dialect.dialect.ops.indexing import GatherOp, PadOp, TakeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, RepeatOp
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.constants import counted
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape, transpose
from fuse_dialect.frontends.onnx.operators.linear import matrix_product
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, SizeVector, Value
from fuse_dialect.frontends.onnx.vendor.heads import (
    appended,
    attend,
    causal,
    merged_heads,
    padding_mask,
    rotated,
    sliced,
    split_heads,
)

OPERATORS = OperatorTable()

_INT64 = np.dtype(np.int64)


@OPERATORS.operator("Attention")
def import_attention(node: OnnxNode) -> Sequence[Value]:
    """Attention whose queries, keys and values are one product of the input; the cache is [2, B, N, P, H]."""
    if node.flag("do_rotary") or node.flag("past_present_share_buffer"):
        raise UnsupportedFormError("'do_rotary' and 'past_present_share_buffer' are not supported")
    projected = matrix_product(node, node.operand(0), node.operand(1))
    if (bias := node.optional(2)) is not None:
        projected = node.emit(AddOp, projected, bias)
    return attention_of(node, projected, mask=3, past=4, bias=5)


def attention_of(node: OnnxNode, projected: Value, *, mask: int, past: int, bias: int | None) -> Sequence[Value]:
    """The results of Attention, from the queries, keys and values side by side.

    Args:
        node: The node.
        projected: [B, S, columns of Q, K and V].
        mask: Place of the operand with the mask.
        past: Place of the operand with the cache.
        bias: Place of the operand that is added to the scores.
    """
    heads, columns = node.integer("num_heads"), node.static_shape(projected, 2)[0]
    sizes = node.integers("qkv_hidden_sizes", [columns // 3] * 3)
    if len(sizes) != 3 or sum(sizes) != columns or min(sizes) < 1:
        raise FuseError(f"expects 'qkv_hidden_sizes' to be 3 numbers whose sum is {columns}, got {sizes}")
    query, key, value = (
        split_heads(node, part, heads) for part in node.emit_all(SplitOp, projected, axis=2, sizes=sizes)
    )
    if (cache := node.optional(past)) is not None:
        key, value = (
            appended(node, node.emit(TakeOp, cache, Constant(np.array(index)), axis=0), new)
            for index, new in enumerate((key, value))
        )
    added = None if bias is None else node.optional(bias)
    result = _masked(node, query, key, value, mask=node.optional(mask), added=added)
    if not node.is_used(1):
        return (result,)
    return (result, node.emit(StackOp, key, value, axis=0))


def _masked(
    node: OnnxNode, query: Value, key: Value, value: Value, *, mask: Value | None, added: Value | None
) -> Value:
    """Attention with the masks that the node's attributes and operands describe, [B, S, N * H]."""
    batch, rows, columns = node.sizes(query)[0], node.sizes(query)[2], node.sizes(key)[2]
    more = [] if added is None else [added]
    if mask is not None:
        more.append(padding_mask(node, mask, batch, columns, node.real("mask_filter_value", -10000.0)))
    allowed = causal(node, rows, columns) if node.flag("unidirectional") and rows != 1 else None
    result = attend(node, query, key, value, scale=node.real("scale", 0.0), added=more, allowed=allowed)
    return merged_heads(node, result)


@OPERATORS.operator("MultiHeadAttention")
def import_multi_head_attention(node: OnnxNode) -> Sequence[Value]:
    """Attention of queries, keys and values that are operands, alone or packed; the caches are [B, N, P, H].

    Operands: query, key, value, bias, mask, what is added to the scores, past keys, past values.
    """
    if node.optional(8) is not None or node.optional(9) is not None:
        raise UnsupportedFormError("the operands 'past_sequence_length' and 'cache_indirection' are not supported")
    query, key, value = _heads_of(node)
    key, value = appended(node, node.optional(6), key), appended(node, node.optional(7), value)
    result = _masked(node, query, key, value, mask=node.optional(4), added=node.optional(5))
    if node.is_used(3):
        raise UnsupportedFormError("the result 'qk' is not supported")
    return (result, key, value)


def _heads_of(node: OnnxNode) -> tuple[Value, Value, Value]:
    """Queries, keys and values with their biases, each [B, N, S, H]."""
    heads, query, key, value = node.integer("num_heads"), node.operand(0), node.optional(1), node.optional(2)
    bias = node.optional(3)
    if node.rank(query) == 5:
        if bias is not None:
            raise UnsupportedFormError("a bias of packed queries, keys and values is not supported")
        one, two, three = (_packed(node, query, index) for index in range(3))
        return one, two, three
    if key is None:
        raise FuseError("expects operand 1")
    if node.rank(key) == 5:
        parts = [query, None, None]
        packed = [_packed(node, key, index) for index in range(2)]
    elif node.rank(key) == 4 and value is not None:
        # Keys and values of another sequence have their heads already.
        parts, packed = [query, None, None], [key, value]
    elif value is not None:
        parts, packed = [query, key, value], []
    else:
        raise FuseError("expects operand 2")
    found = [_with_part(node, part, bias, parts, index) for index, part in enumerate(parts) if part is not None]
    one, two, three = (*(split_heads(node, part, heads) for part in found), *packed)
    return one, two, three


def _packed(node: OnnxNode, value: Value, index: int) -> Value:
    """One of the tensors in [B, L, N, parts, H]."""
    return transpose(node, node.emit(TakeOp, value, Constant(np.array(index)), axis=3), [0, 2, 1, 3])


def _with_part(node: OnnxNode, x: Value, bias: Value | None, parts: Sequence[Value | None], index: int) -> Value:
    """A tensor plus its part of the bias, in which those of all three follow each other."""
    if bias is None:
        return x
    size = node.static_shape(x, 2)[0]
    widths = [node.static_shape(part, 2)[0] if part is not None else size for part in parts]
    begin = sum(widths[:index])
    return node.emit(AddOp, x, sliced(node, bias, 0, begin, begin + size))


@OPERATORS.operator("RotaryEmbedding")
def import_rotary_embedding(node: OnnxNode) -> Value:
    """Columns turned by angles of their places; x is [B, S, N * H] or [B, N, S, H]."""
    if node.flag("is_packed_batching"):
        raise UnsupportedFormError("'is_packed_batching' is not supported")
    x, places, cosines = node.operand(0), node.operand(1), node.operand(2)
    flat = node.rank(x) == 3
    if flat:
        width = node.static_shape(x, 2)[0]
        heads = node.integer("num_heads", 0)
        if not (node.integer("rotary_embedding_dim", 0) and heads):
            heads = width // (2 * node.static_shape(cosines, 1)[0])
        x = split_heads(node, x, heads)
    rows = node.sizes(x)[2]
    if node.rank(places) == 1 or node.shape(places) == (1,):
        first = cast_to(node, reshape(node, places, [1, 1]), _INT64)
        places = node.emit(AddOp, expand_dims(node, counted(node, rows, 0), [0]), first)
    interleaved = node.flag("interleaved")
    result = rotated(node, x, places, cosines=cosines, sines=node.operand(3), interleaved=interleaved)
    if (scale := node.real("scale", 1.0)) != 1.0:
        raise UnsupportedFormError(f"the scale {scale} is not supported")
    return merged_heads(node, result) if flat else result


@OPERATORS.operator("GroupQueryAttention")
def import_group_query_attention(node: OnnxNode) -> Sequence[Value]:
    """Causal attention in which several heads of queries share one of keys; results, and the caches [B, N, T, H].

    Sample b has `seqlens_k[b] + 1` rows in all, the last S of them new: its new keys stand behind as many rows of the
    cache, and zeros follow. A cache of a longer length than all rows keeps its length.
    """
    heads, shared = node.integer("num_heads"), node.integer("kv_num_heads")
    if heads < 1 or shared < 1 or heads % shared:
        raise FuseError(f"expects heads that are a multiple of those of keys, got {heads} and {shared}")
    if node.operand_count > 12 or node.is_used(3):
        raise UnsupportedFormError("quantized caches and the result 'output_qk' are not supported")
    query, key, value = _grouped(node, heads, shared)
    rows = node.sizes(query)[2]
    if not isinstance(rows, int):
        raise DynamicShapeError(f"needs a static number of rows, got {node.type_of(node.operand(0))}")
    lengths = cast_to(node, reshape(node, node.operand(5), [node.static_shape(query)[0]]), _INT64)
    kept = node.emit(AddOp, lengths, Constant(np.array(1 - rows)))
    kept = node.emit(MaximumOp, kept, Constant(np.array(0)))
    own = node.emit(AddOp, expand_dims(node, kept, [1]), Constant(np.arange(rows)[None]))
    if node.flag("do_rotary"):
        places = own if node.optional(9) is None else node.operand(9)
        tables, interleaved = (node.operand(7), node.operand(8)), node.flag("rotary_interleaved")
        query, key = (
            rotated(node, x, places, cosines=tables[0], sines=tables[1], interleaved=interleaved) for x in (query, key)
        )
    length = _total_length(node, rows)
    key, value = (_cached(node, node.optional(index), new, kept, length) for index, new in ((3, key), (4, value)))
    every_key, every_value = (
        node.emit(RepeatOp, x, repeats=heads // shared, axis=1) if heads != shared else x for x in (key, value)
    )
    sink = node.optional(11)
    if sink is None and node.integer("smooth_softmax", 0) == 1:
        sink = Constant(np.zeros(1, np.float32))
    result = attend(
        node,
        query,
        every_key,
        every_value,
        scale=node.real("scale", 0.0),
        added=_bias_of_scores(node, length),
        allowed=_seen(node, own, lengths, length),
        softcap=node.real("softcap", 0.0),
        sink=sink,
    )
    return (merged_heads(node, result), key, value)


def _bias_of_scores(node: OnnxNode, length: int) -> list[Value]:
    """What is added to the scores, [B or 1, N or 1, S, T]: 0 where the cache is longer than all rows."""
    bias = node.optional(10)
    if bias is None:
        return []
    missing = length - node.static_shape(bias, 3)[0]
    if missing <= 0:
        return [bias]
    return [node.emit(PadOp, bias, node.scalar(0, bias), low=[0] * 4, high=[0, 0, 0, missing])]


def _grouped(node: OnnxNode, heads: int, shared: int) -> tuple[Value, Value, Value]:
    """Queries, keys and values, each [B, heads, S, H], from one operand or three."""
    query, key, value = node.operand(0), node.optional(1), node.optional(2)
    if key is None or value is None:
        every = split_heads(node, query, heads + 2 * shared)
        one, two, three = node.emit_all(SplitOp, every, axis=1, sizes=[heads, shared, shared])
        return one, two, three
    return split_heads(node, query, heads), split_heads(node, key, shared), split_heads(node, value, shared)


def _total_length(node: OnnxNode, rows: int) -> int:
    """Rows of the caches that are results."""
    past = 0 if node.optional(3) is None else node.sizes(node.operand(3))[2]
    given = node.operand(6)
    if isinstance(given, SizeVector):
        total: int | Size = given.elements.reshape(-1)[0]
    else:
        total = int(node.constant_scalar(6))
    if not isinstance(past, int) or not isinstance(total, int):
        raise DynamicShapeError("needs to know the lengths of its cache and of all rows")
    if total < rows:
        raise FuseError(f"expects at least as many rows in all as the query has, got {total} and {rows}")
    return max(past, total)


def _cached(node: OnnxNode, past: Value | None, new: Value, kept: Value, length: int) -> Value:
    """For each sample the rows of the cache that are kept, the new ones, and zeros: [B, N, T, H]."""
    batch, heads, rows, size = node.static_shape(new)
    if past is None or node.static_shape(past)[2] == 0:
        return _grown(node, new, length)
    behind = reshape(node, kept, [batch, 1, 1, 1])
    places = Constant(np.arange(length).reshape(1, 1, length, 1))
    old = _grown(node, past, length)
    if rows == 1:
        newest = node.emit(WhereOp, node.emit(EqualOp, places, behind), new, node.scalar(0, new))
    else:
        distance = node.emit(SubtractOp, places, behind)
        inside = node.emit(
            MinimumOp, node.emit(MaximumOp, distance, Constant(np.array(0))), Constant(np.array(rows - 1))
        )
        index = node.emit(BroadcastToOp, inside, type=node.typed(inside, [batch, heads, length, size]))
        picked = node.emit(GatherOp, new, index, axis=2)
        is_new = node.emit(LessOp, distance, Constant(np.array(rows)))
        newest = node.emit(WhereOp, is_new, picked, node.scalar(0, new))
    return node.emit(WhereOp, node.emit(LessOp, places, behind), old, newest)


def _grown(node: OnnxNode, x: Value, length: int) -> Value:
    """[B, N, P, H] with zeros behind up to `length` rows."""
    missing = length - node.static_shape(x)[2]
    if not missing:
        return x
    return node.emit(PadOp, x, node.scalar(0, x), low=[0] * 4, high=[0, 0, missing, 0])


def _seen(node: OnnxNode, own: Value, lengths: Value, length: int) -> Value:
    """Where rows may look, [B, 1, S, T]: not behind themselves, not into padding, and not further back than the window.

    Args:
        node: The node.
        own: Place of each row, [B, S].
        lengths: The last place of each sample that is no padding, [B].
        length: T.
    """
    places = Constant(np.arange(length).reshape(1, 1, 1, length))
    last = node.emit(MinimumOp, own, expand_dims(node, lengths, [1]))
    own, last = (expand_dims(node, value, [1, 3]) for value in (own, last))
    seen = node.emit(LessEqualOp, places, last)
    window = node.integer("local_window_size", -1)
    if window > 0:
        begin = node.emit(SubtractOp, own, Constant(np.array(window)))
        seen = node.emit(LogicalAndOp, seen, node.emit(GreaterOp, places, begin))
    return seen
