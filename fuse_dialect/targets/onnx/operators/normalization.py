"""Normalizations, as ONNX operators."""

from collections.abc import Callable, Sequence

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import normalization, opaque
from fuse_dialect.targets.onnx.graph import GraphWriter, axis_of, prop, shape_of
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()
_SOFTMAX: dict[type[FuseOp], str] = {
    normalization.SoftmaxOp: "Softmax",
    normalization.LogSoftmaxOp: "LogSoftmax",
}


@ROWS.row(*_SOFTMAX)
def write_softmax(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Softmax` or `LogSoftmax`."""
    return graph.emit(_SOFTMAX[type(op)], *operands, axis=prop(op, "axis"))


@ROWS.row(normalization.BatchNormOp)
def write_batch_norm(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`BatchNormalization`, with the channels on axis 1."""
    return _with_axis_at(
        1,
        graph,
        op,
        operands[0],
        lambda value: graph.emit("BatchNormalization", value, *operands[1:], epsilon=prop(op, "epsilon")),
    )


@ROWS.row(normalization.LayerNormOp)
def write_layer_norm(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`LayerNormalization`, along the last axis."""
    return _with_axis_at(
        None,
        graph,
        op,
        operands[0],
        lambda value: graph.emit("LayerNormalization", value, *operands[1:], axis=-1, epsilon=prop(op, "epsilon")),
    )


@ROWS.row(normalization.InstanceNormOp)
def write_instance_norm(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`InstanceNormalization`, with the channels on axis 1."""
    return _with_axis_at(
        1,
        graph,
        op,
        operands[0],
        lambda value: graph.emit("InstanceNormalization", value, *operands[1:], epsilon=prop(op, "epsilon")),
    )


@ROWS.row(normalization.GroupNormOp)
def write_group_norm(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`GroupNormalization`, with the channels on axis 1."""
    groups, epsilon = prop(op, "num_groups"), prop(op, "epsilon")
    return _with_axis_at(
        1,
        graph,
        op,
        operands[0],
        lambda value: graph.emit("GroupNormalization", value, *operands[1:], num_groups=groups, epsilon=epsilon),
    )


@ROWS.row(opaque.LrnOp)
def write_lrn(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`LRN`, with the channels on axis 1."""
    numbers = {name: prop(op, name) for name in ("size", "alpha", "beta", "bias")}
    return _with_axis_at(1, graph, op, operands[0], lambda value: graph.emit("LRN", value, **numbers))


def _with_axis_at(place: int | None, graph: GraphWriter, op: FuseOp, value: str, write: Callable[[str], str]) -> str:
    """What `write` makes of the value with the op's axis at `place`, brought back to where the axis was.

    With no place the axis becomes the last one, and there is no batch.
    """
    rank = len(shape_of(op.operands[0]))
    axis = axis_of(op, rank)
    has_batch = place is not None
    place = rank - 1 if place is None else place
    if has_batch and (rank <= place or axis == 0):
        # There is no batch in front of the channels: one of a single sample is put there. An axis from behind would not
        # do, because statistics are taken over all but the batch and the channels.
        return graph.emit("Squeeze", write(graph.unsqueeze(value, [0])), graph.integers([0]))
    others = [other for other in range(rank) if other != axis]
    order = [*others[:place], axis, *others[place:]]
    result = write(graph.transpose(value, order))
    return graph.transpose(result, [order.index(other) for other in range(rank)])
