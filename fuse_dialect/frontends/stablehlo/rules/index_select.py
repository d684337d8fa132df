"""`torch_index_select`: whole slices at the positions that a list says."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops.indexing import GatherNdOp, TakeOp
from fuse_dialect.frontends.fuse_values import clamp, result, shape, transpose
from fuse_dialect.frontends.stablehlo.rules.building import Rule, number
from fuse_dialect.frontends.stablehlo.rules.sizes import as_wide, insert_axes, last_start


def _index_select(op: Operation) -> Sequence[SSAValue]:
    """The slice at each index, which is moved to the nearest one that there is, as that of a gather.

    Axes of the result: those before `dim`, those of the indices without their batches, those behind `dim`.
    """
    x, indices = op.operands[0], as_wide(op.operands[1])
    rank, axis, batches = len(shape(x)), number(op, "dim"), number(op, "batch_dims")
    axis += rank if axis < 0 else 0
    batches += len(shape(indices)) if batches < 0 else 0
    places = clamp(indices, 0, last_start((x, axis), 1, indices))
    if not batches:
        return [result(TakeOp(x, places, axis=axis))]
    between = list(range(batches, axis))
    x = transpose(x, [*range(batches), axis, *between, *range(axis + 1, rank)])
    vectors = insert_axes(places, [len(shape(places))])
    found = result(GatherNdOp(x, vectors, batch_dims=batches, mode="fast"))
    # Axes of `found`: batches, the other axes of the indices, `between`, those behind `axis`.
    listed = len(shape(indices)) - batches
    first = batches + listed
    order = [*range(batches), *range(first, first + len(between)), *range(batches, first)]
    return [transpose(found, [*order, *range(len(order), len(shape(found)))])]


INDEX_SELECT: Mapping[str, Rule] = {"stablehlo.torch_index_select": _index_select}
"""Rules by the name of the op."""
