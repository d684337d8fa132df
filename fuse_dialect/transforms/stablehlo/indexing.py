"""Ops that read or write where other tensors say."""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import reduction as r
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.indexing import GatherNdOp, TakeOp
from fuse_dialect.dialect.ops.opaque import ScatterNdOp
from fuse_dialect.frontends.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from fuse_dialect.transforms.stablehlo.building import (
    NoFuseFormError,
    Rule,
    broadcast,
    clamp,
    combined_by,
    counting,
    integers,
    ints,
    reshape,
    result,
    scalar,
    shape,
    static_shape,
    tensor,
    transpose,
)
from fuse_dialect.transforms.stablehlo.shapes import pad, slice_of


def _starts(op: Operation, first: int, limits: Sequence[int]) -> list[SSAValue]:
    """Where a dynamic slice begins on each axis: StableHLO moves it until it fits."""
    return [clamp(start, 0, limit) for start, limit in zip(op.operands[first:], limits, strict=True)]


def _dynamic_slice(op: Operation) -> Sequence[SSAValue]:
    x = op.operands[0]
    sizes, wanted = static_shape(x), ints(op, "slice_sizes")
    starts = _starts(op, 1, [size - part for size, part in zip(sizes, wanted, strict=True)])
    for axis, (start, size, part) in enumerate(zip(starts, sizes, wanted, strict=True)):
        if part != size:
            line = result(b.AddOp(counting(part, tensor(start).element_type), start))
            x = result(TakeOp(x, line, axis=axis))
    return [x]


def _dynamic_update_slice(op: Operation) -> Sequence[SSAValue]:
    """Where a position lies inside, the element of the update; the update is read at clipped positions elsewhere."""
    x, update = op.operands[:2]
    sizes, parts = static_shape(x), static_shape(update)
    starts = _starts(op, 2, [size - part for size, part in zip(sizes, parts, strict=True)])
    inside: SSAValue | None = None
    for axis, (start, size, part) in enumerate(zip(starts, sizes, parts, strict=True)):
        if part == size:
            continue
        line = result(b.SubtractOp(counting(size, tensor(start).element_type), start))
        update = result(TakeOp(update, clamp(line, 0, part - 1), axis=axis))
        fits = result(
            c.LogicalAndOp(result(c.GreaterEqualOp(line, scalar(line, 0))), result(c.LessOp(line, scalar(line, part))))
        )
        fits = reshape(fits, [size, *[1] * (len(sizes) - axis - 1)])
        inside = fits if inside is None else result(c.LogicalAndOp(inside, fits))
    return [update if inside is None else result(b.WhereOp(inside, update, x))]


def _index_vectors(indices: SSAValue, axis: int) -> SSAValue:
    """The indices with the axis of their vectors last."""
    sizes = static_shape(indices)
    if axis == len(sizes):
        return reshape(indices, [*sizes, 1])
    return transpose(indices, [*(each for each in range(len(sizes)) if each != axis), axis])


def _gather(op: Operation) -> Sequence[SSAValue]:
    """A gather of whole slices, or of single elements of an axis."""
    x, indices = op.operands
    numbers = op.properties["dimension_numbers"]
    assert isinstance(numbers, GatherDimensionNumbersAttr), "the class of the op says so"
    offset, collapsed, batch, index_batch, index_map = (numbers.list_named(name) for name in list(numbers.FIELDS)[:5])
    sizes, parts = static_shape(x), ints(op, "slice_sizes")
    rest = [axis for axis in range(len(sizes)) if axis not in (*batch, *index_map)]
    kept = [axis for axis in index_map if axis not in collapsed]
    if any(parts[axis] != 1 for axis in index_map) or any(parts[axis] != sizes[axis] for axis in rest):
        raise NoFuseFormError("slices that are parts of an axis")
    if any(axis in collapsed for axis in rest):
        raise NoFuseFormError("an axis that is dropped and not indexed")
    vectors = _index_vectors(indices, numbers.number_named("index_vector_dim"))
    places = len(shape(vectors)) - 1
    others = [axis for axis in range(places) if axis not in _without(index_batch, numbers)]
    batch_places = list(_without(index_batch, numbers))
    vectors = transpose(vectors, [*batch_places, *others, places])
    limits = [sizes[axis] - 1 for axis in index_map]
    x = transpose(x, [*batch, *index_map, *rest])
    if len(index_map) == 1 and not batch:
        line = clamp(reshape(vectors, shape(vectors)[:-1]), 0, limits[0])
        found = result(TakeOp(x, line, axis=0))
    else:
        found = result(GatherNdOp(x, _clamp_each(vectors, limits), batch_dims=len(batch)))
    # Axes of `found`: batches, other places, whole slices. Axes of size 1 that the slices keep are put in last.
    now = [*(("place", axis) for axis in (*batch_places, *others)), *(("rest", axis) for axis in rest)]
    kept_sizes = shape(found)
    found = reshape(found, [*kept_sizes, *[1] * len(kept)])
    now += [("rest", axis) for axis in kept]
    window = iter(sorted((*rest, *kept)))
    place = iter(range(places))
    wanted = [("rest", next(window)) if axis in offset else ("place", next(place)) for axis in range(len(now))]
    return [transpose(found, [now.index(each) for each in wanted])]


def _with_batches(vectors: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Index vectors that begin with their own positions on some axes."""
    sizes = static_shape(vectors)[:-1]
    columns = [
        broadcast(
            reshape(counting(sizes[axis], tensor(vectors).element_type), [sizes[axis], *[1] * (len(sizes) - axis)]),
            [*sizes, 1],
        )
        for axis in axes
    ]
    return result(ConcatenateOp(*columns, vectors, axis=len(sizes))) if columns else vectors


def _without(axes: Sequence[int], numbers: GatherDimensionNumbersAttr | ScatterDimensionNumbersAttr) -> Sequence[int]:
    """Axes of the indices as they are numbered without the axis of the vectors."""
    vector = numbers.number_named("index_vector_dim")
    return [axis - (axis > vector) for axis in axes]


def _clamp_each(vectors: SSAValue, limits: Sequence[int]) -> SSAValue:
    low = result(b.MaximumOp(vectors, scalar(vectors, 0)))
    return result(b.MinimumOp(low, integers(limits, vectors)))


_SCATTER_MODES = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


def _scatter(op: Operation) -> Sequence[SSAValue]:
    """A scatter of whole slices or single elements; what lies outside is written to a place that is cut off again."""
    if len(op.operands) != 3:
        raise NoFuseFormError("several operands")
    x, indices, updates = op.operands
    numbers = op.properties["scatter_dimension_numbers"]
    assert isinstance(numbers, ScatterDimensionNumbersAttr), "the class of the op says so"
    window, inserted, batch, index_batch, index_map = (numbers.list_named(name) for name in list(numbers.FIELDS)[:5])
    sizes = static_shape(x)
    inserted, index_map = (*batch, *inserted), (*batch, *index_map)
    rest = [axis for axis in range(len(sizes)) if axis not in index_map]
    if sorted(inserted) != sorted(index_map):
        raise NoFuseFormError("windows that are parts of an axis")
    if [static_shape(updates)[axis] for axis in window] != [sizes[axis] for axis in rest]:
        raise NoFuseFormError("windows that are parts of an axis")
    if tensor(x).element_type == i1:
        raise NoFuseFormError("booleans")
    mode = _scatter_mode(op)
    vectors = _with_batches(
        _index_vectors(indices, numbers.number_named("index_vector_dim")), _without(index_batch, numbers)
    )
    limits = [sizes[axis] for axis in index_map]
    is_inside = result(
        c.LogicalAndOp(
            result(c.GreaterEqualOp(vectors, scalar(vectors, 0))),
            result(c.LessOp(vectors, integers(limits, vectors))),
        )
    )
    all_inside = result(r.AllOp(is_inside, axes=[len(shape(vectors)) - 1], keepdims=True))
    vectors = result(b.WhereOp(all_inside, vectors, integers(limits, vectors)))
    order = [*index_map, *rest]
    turned = transpose(x, order)
    spare = [1] * len(index_map) + [0] * len(rest)
    padded = pad(turned, scalar(x, 0), [0] * len(sizes), spare, [0] * len(sizes))
    places = [axis for axis in range(len(shape(updates))) if axis not in window]
    updates = transpose(updates, [*places, *window])
    written = result(ScatterNdOp(padded, vectors, updates, mode=mode))
    cut = slice_of(written, [0] * len(sizes), shape(turned), [1] * len(sizes))
    return [transpose(cut, [order.index(axis) for axis in range(len(sizes))])]


def _scatter_mode(op: Operation) -> str:
    name = combined_by(op)
    if name in _SCATTER_MODES:
        return _SCATTER_MODES[name]
    block = op.regions[0].blocks[0]
    last = block.last_op
    if last is block.first_op and last is not None and tuple(last.operands) == (block.args[1],):
        return "update"
    raise NoFuseFormError("a combination of its own")


INDEXING: Mapping[str, Rule] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": _scatter,
}
"""Rules by the name of the op."""
