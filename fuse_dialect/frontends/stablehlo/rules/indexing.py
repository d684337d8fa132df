"""Ops that read or write where other tensors say."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import i1, i8
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import reduction as r
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.dynamic import DynStridedSliceOp
from fuse_dialect.dialect.ops.indexing import GatherNdOp, TakeOp
from fuse_dialect.dialect.ops.opaque import ScatterNdOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    cast_to,
    clamp,
    counting,
    integers,
    result,
    scalar,
    shape,
    tensor,
    transpose,
)
from fuse_dialect.frontends.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from fuse_dialect.frontends.stablehlo.rules.building import Rule, combined_by, ints
from fuse_dialect.frontends.stablehlo.rules.dynamic import broadcast_to
from fuse_dialect.frontends.stablehlo.rules.shapes import pad, slice_of
from fuse_dialect.frontends.stablehlo.rules.sizes import (
    as_scalar,
    as_wide,
    counting_up_to,
    drop_axis,
    insert_axes,
    item,
    last_start,
    positions,
    size_list,
    size_of,
)

MOST_PLACES = 1 << 16
"""Indexed places of a slice, which become an index vector each."""


def _start(x: SSAValue, axis: int, start: SSAValue, part: SSAValue | int) -> SSAValue:
    """Where a dynamic slice begins on an axis: StableHLO moves it until it fits."""
    if isinstance(part, int):
        return clamp(start, 0, last_start((x, axis), part, start))
    whole = last_start((x, axis), 0, start)
    return clamp(start, 0, result(b.SubtractOp(scalar(start, whole) if isinstance(whole, int) else whole, part)))


def _dynamic_slice(op: Operation) -> Sequence[SSAValue]:
    x, *starts = op.operands
    starts = list(map(as_wide, starts))
    for axis, (start, part) in enumerate(zip(starts, ints(op, "slice_sizes"), strict=True)):
        if part != shape(x)[axis]:
            line = result(b.AddOp(counting(part, tensor(start).element_type), _start(x, axis, start, part)))
            x = result(TakeOp(x, line, axis=axis))
    return [x]


def _dynamic_update_slice(op: Operation) -> Sequence[SSAValue]:
    """Where a position lies inside, the element of the update; the update is read at clipped positions elsewhere."""
    x, update, *starts = op.operands
    starts = list(map(as_wide, starts))
    sizes, parts = shape(x), shape(update)
    if 0 in parts:  # there is no element to be read at a clipped position
        return [x]
    inside: SSAValue | None = None
    for axis, (start, size, known) in enumerate(zip(starts, sizes, parts, strict=True)):
        if known == size != DYNAMIC:
            continue
        part = known if known != DYNAMIC else as_scalar(size_of((update, axis)), tensor(start).element_type)
        number = scalar(start, part) if isinstance(part, int) else part
        line = positions((x, axis), tensor(start).element_type)
        line = result(b.SubtractOp(line, _start(x, axis, start, part)))
        most = part - 1 if isinstance(part, int) else result(b.SubtractOp(part, scalar(part, 1)))
        update = result(TakeOp(update, clamp(line, 0, most), axis=axis))
        fits = result(c.LogicalAndOp(result(c.GreaterEqualOp(line, scalar(line, 0))), result(c.LessOp(line, number))))
        fits = insert_axes(fits, range(1, len(sizes) - axis))
        inside = fits if inside is None else result(c.LogicalAndOp(inside, fits))
    return [update if inside is None else result(b.WhereOp(inside, update, x))]


def _index_vectors(indices: SSAValue, axis: int) -> SSAValue:
    """The indices with the axis of their vectors last."""
    sizes = shape(indices)
    if axis == len(sizes):
        return insert_axes(indices, [axis])
    return transpose(indices, [*(each for each in range(len(sizes)) if each != axis), axis])


def _gather(op: Operation) -> Sequence[SSAValue]:
    """A gather of slices, each of whole axes and of single elements or parts of the axes that are indexed."""
    x, indices, *computed = op.operands
    indices = as_wide(indices)
    numbers = op.properties["dimension_numbers"]
    assert isinstance(numbers, GatherDimensionNumbersAttr), "the class of the op says so"
    offset, collapsed, batch, index_batch, index_map = (numbers.list_named(name) for name in list(numbers.FIELDS)[:5])
    sizes = shape(x)
    parts = _slice_sizes(op, offset, (*collapsed, *batch)) if computed else list(ints(op, "slice_sizes"))
    is_one = len(shape(indices)) == 1 and not batch and numbers.number_named("index_vector_dim") == 0
    if is_one and any(parts[axis] != 1 for axis in index_map):
        return [_part(x, indices, computed, parts, numbers)]
    rest = [axis for axis in range(len(sizes)) if axis not in (*batch, *index_map)]
    kept = [axis for axis in index_map if axis not in collapsed]
    boxes = [parts[axis] for axis in index_map]
    if DYNAMIC in boxes or math.prod(boxes) > MOST_PLACES:
        raise NoFuseFormError("large slices, or of open sizes, that are parts of an axis")
    if any(axis in collapsed for axis in rest):
        raise NoFuseFormError("an axis that is dropped and not indexed")
    x = _beginnings(x, computed, parts, rest)
    vectors = _index_vectors(indices, numbers.number_named("index_vector_dim"))
    places = len(shape(vectors)) - 1
    others = [axis for axis in range(places) if axis not in _without(index_batch, numbers)]
    batch_places = list(_without(index_batch, numbers))
    vectors = transpose(vectors, [*batch_places, *others, places])
    limits = [last_start((x, axis), parts[axis], vectors) for axis in index_map]
    x = transpose(x, [*batch, *index_map, *rest])
    now = [*(("place", axis) for axis in (*batch_places, *others)), *(("rest", axis) for axis in rest)]
    if math.prod(boxes) > 1:
        vectors = _with_boxes(_clamp_each(vectors, limits), boxes)
        found = result(GatherNdOp(x, vectors, batch_dims=len(batch), mode="fast"))
        for place in sorted((places + index_map.index(axis) for axis in index_map if axis in collapsed), reverse=True):
            found = drop_axis(found, place)
        now[places:places] = [("rest", axis) for axis in index_map if axis in kept]
        return [transpose(found, _slice_order(now, offset, (*rest, *kept)))]
    if len(index_map) == 1 and not batch:
        found = result(TakeOp(x, clamp(drop_axis(vectors, places), 0, limits[0]), axis=0))
    else:
        found = result(GatherNdOp(x, _clamp_each(vectors, limits), batch_dims=len(batch), mode="fast"))
    # Axes of `found`: batches, other places, whole slices. Axes of size 1 that the slices keep are put in last.
    found = insert_axes(found, [len(now) + place for place in range(len(kept))])
    now += [("rest", axis) for axis in kept]
    return [transpose(found, _slice_order(now, offset, (*rest, *kept)))]


def _slice_order(now: Sequence[tuple[str, int]], offset: Sequence[int], kept: Sequence[int]) -> list[int]:
    """The axes of a gather's result, in the order that it has: those of slices at `offset`, and places elsewhere."""
    window, place = iter(sorted(kept)), iter(range(len(now) - len(kept)))
    wanted = [("rest", next(window)) if axis in offset else ("place", next(place)) for axis in range(len(now))]
    return [now.index(each) for each in wanted]


def _with_boxes(vectors: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """Index vectors of all places in boxes of these sizes that begin where other vectors say."""
    places = len(shape(vectors)) - 1
    within = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)
    begins = insert_axes(vectors, range(places, places + len(sizes)))
    return result(b.AddOp(begins, integers(within, vectors)))


def _slice_sizes(op: Operation, offset: Sequence[int], dropped: Sequence[int]) -> list[int]:
    """The sizes of the slices of a dynamic gather, as far as the type of the result says them."""
    window = iter([shape(op.results[0])[axis] for axis in sorted(offset)])
    return [1 if axis in dropped else next(window) for axis in range(len(shape(op.operands[0])))]


def _beginnings(x: SSAValue, computed: Sequence[SSAValue], parts: Sequence[int], axes: Sequence[int]) -> SSAValue:
    """The tensor with no more than the first elements on some axes: as many as the slices have."""
    zeros = [0] * len(parts)
    known = [parts[axis] if axis in axes and parts[axis] != DYNAMIC else size for axis, size in enumerate(shape(x))]
    x = slice_of(x, zeros, known, [1] * len(parts))
    for axis in axes:
        if parts[axis] == DYNAMIC:
            count = item(computed[0], axis)
            begin, one = integers([0], count), integers([1], count)
            x = result(DynStridedSliceOp(x, begin, count, one, axes=[axis]))
    return x


def _part(
    x: SSAValue,
    starts: SSAValue,
    computed: Sequence[SSAValue],
    parts: Sequence[int],
    numbers: GatherDimensionNumbersAttr,
) -> SSAValue:
    """One slice at a vector of places, which is moved until it fits."""
    index_map, collapsed = numbers.list_named("start_index_map"), numbers.list_named("collapsed_slice_dims")
    x = _beginnings(x, computed, parts, [axis for axis in range(len(parts)) if axis not in index_map])
    element_type = tensor(starts).element_type
    for place, axis in enumerate(index_map):
        start, known = drop_axis(item(starts, place), 0), parts[axis]
        part = known if known != DYNAMIC else as_scalar(item(computed[0], axis), element_type)
        line = (
            counting(known, element_type) if known != DYNAMIC else counting_up_to(item(computed[0], axis), element_type)
        )
        x = result(TakeOp(x, result(b.AddOp(line, _start(x, axis, start, part))), axis=axis))
    for axis in sorted(collapsed, reverse=True):
        x = drop_axis(x, axis)
    return x


def _with_batches(vectors: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Index vectors that begin with their own positions on some axes."""
    places = len(shape(vectors)) - 1
    target = [*shape(vectors)[:-1], 1]
    sizes = size_list([[(vectors, axis)] for axis in range(places)] + [[]]) if axes and DYNAMIC in target else None
    columns: list[SSAValue] = []
    for axis in axes:
        line = insert_axes(positions((vectors, axis), tensor(vectors).element_type), range(1, places + 1 - axis))
        columns.append(broadcast(line, target) if sizes is None else broadcast_to(line, sizes, target))
    return result(ConcatenateOp(*columns, vectors, axis=places)) if columns else vectors


def _with_zeros(vectors: SSAValue, count: int) -> SSAValue:
    """Index vectors with so many zeros behind each."""
    rank = len(shape(vectors))
    return pad(vectors, scalar(vectors, 0), [0] * rank, [*[0] * (rank - 1), count], [0] * rank) if count else vectors


def _without(axes: Sequence[int], numbers: GatherDimensionNumbersAttr | ScatterDimensionNumbersAttr) -> Sequence[int]:
    """Axes of the indices as they are numbered without the axis of the vectors."""
    vector = numbers.number_named("index_vector_dim")
    return [axis - (axis > vector) for axis in axes]


def _clamp_each(vectors: SSAValue, limits: Sequence[int | SSAValue]) -> SSAValue:
    low = result(b.MaximumOp(vectors, scalar(vectors, 0)))
    return result(b.MinimumOp(low, _list_of(limits, vectors)))


def _list_of(numbers: Sequence[int | SSAValue], like: SSAValue) -> SSAValue:
    """Numbers and scalars as a list, with the elements' type of a tensor."""
    known = [each for each in numbers if isinstance(each, int)]
    if len(known) == len(numbers):
        return integers(known, like)
    lists = [integers([each], like) if isinstance(each, int) else insert_axes(each, [0]) for each in numbers]
    return result(ConcatenateOp(*lists, axis=0)) if len(lists) > 1 else lists[0]


_SCATTER_MODES = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min", "or": "max", "and": "min"}
_COMBINATIONS = {"add": b.AddOp, "mul": b.MultiplyOp, "max": b.MaximumOp, "min": b.MinimumOp}
_MODES_OF_BOOLEANS = {"update": "update", "add": "max", "max": "max", "mul": "min", "min": "min"}


def _scatter(op: Operation) -> Sequence[SSAValue]:
    """A scatter of windows; what lies outside is written to a place that is cut off again.

    Where windows are parts of an axis, or of one that is indexed, each of their places has an index vector. Of a window
    that lies partly outside the specification writes what is inside, and XLA nothing.
    """
    if len(op.operands) != 3:
        raise NoFuseFormError("several operands")
    x, indices, updates = op.operands
    indices = as_wide(indices)
    numbers = op.properties["scatter_dimension_numbers"]
    assert isinstance(numbers, ScatterDimensionNumbersAttr), "the class of the op says so"
    window, inserted, batch, index_batch, index_map = (numbers.list_named(name) for name in list(numbers.FIELDS)[:5])
    sizes = shape(x)
    inserted, index_map = (*batch, *inserted), (*batch, *index_map)
    kept = [axis for axis in range(len(sizes)) if axis not in inserted]
    update_of = dict(zip(kept, window, strict=True))
    """Which axis of the updates says an axis of the windows."""
    parts = {axis: shape(updates)[place] for axis, place in update_of.items()}
    partial = [axis for axis in kept if axis not in index_map and parts[axis] != sizes[axis]]
    rest = [axis for axis in kept if axis not in index_map and axis not in partial]
    if any(axis not in index_map for axis in inserted):
        raise NoFuseFormError("an axis that is dropped and not indexed")
    boxes = [parts.get(axis, 1) for axis in (*index_map, *partial)]
    if DYNAMIC in boxes or math.prod(boxes) > MOST_PLACES:
        raise NoFuseFormError("large windows, or of open sizes, that are parts of an axis")
    is_boolean = tensor(x).element_type == i1
    mode = _scatter_mode(op)
    if is_boolean:  # numbers 0 and 1: an 'or' is the greater of two, and not their sum
        x, updates, mode = cast_to(x, i8), cast_to(updates, i8), _MODES_OF_BOOLEANS[mode]
    if not index_map and not partial:
        whole = _on_the_whole(x, updates, window, mode)
        return [cast_to(whole, i1) if is_boolean else whole]
    vectors = _with_batches(
        _index_vectors(indices, numbers.number_named("index_vector_dim")), _without(index_batch, numbers)
    )
    has_boxes = bool(partial) or any(axis in kept for axis in index_map)
    index_map = (*index_map, *partial)
    limits = _list_of([last_start((x, axis), 0, vectors) for axis in index_map], vectors)
    if has_boxes:
        vectors = _with_zeros(vectors, len(partial))
        if _is_for_xla(op):
            lasts = [last_start((x, axis), part, vectors) for axis, part in zip(index_map, boxes, strict=True)]
            vectors = result(b.WhereOp(_all_between(vectors, _list_of(lasts, vectors)), vectors, limits))
        vectors = _with_boxes(vectors, boxes)
    lasts = [last_start((x, axis), 1, vectors) for axis in index_map]
    vectors = result(b.WhereOp(_all_between(vectors, _list_of(lasts, vectors)), vectors, limits))
    order = [*index_map, *rest]
    turned = transpose(x, order)
    spare = [1] * len(index_map) + [0] * len(rest)
    padded = pad(turned, scalar(x, 0), [0] * len(sizes), spare, [0] * len(sizes))
    places = [axis for axis in range(len(shape(updates))) if axis not in window]
    updates = transpose(updates, [*places, *(update_of[axis] for axis in (*index_map, *rest) if axis in update_of)])
    if has_boxes:
        alone = [len(places) + number for number, axis in enumerate(index_map) if axis not in update_of]
        updates = insert_axes(updates, alone)
    written = result(ScatterNdOp(padded, vectors, updates, mode=mode))
    # The spare place is the last one: all but it, where the size is not known.
    ends = [size if size != DYNAMIC or not more else -1 for size, more in zip(shape(turned), spare, strict=True)]
    cut = slice_of(written, [0] * len(sizes), ends, [1] * len(sizes))
    placed = transpose(cut, [order.index(axis) for axis in range(len(sizes))])
    return [cast_to(placed, i1) if is_boolean else placed]


def _is_for_xla(op: Operation) -> bool:
    """Whether the module says how many devices XLA compiles it for, as those of JAX do."""
    module = op
    while (parent := module.parent_op()) is not None:
        module = parent
    return "mhlo.num_partitions" in module.attributes


def _all_between(vectors: SSAValue, lasts: SSAValue) -> SSAValue:
    """For each index vector whether all its numbers are at least 0 and at most these."""
    between = c.LogicalAndOp(
        result(c.GreaterEqualOp(vectors, scalar(vectors, 0))), result(c.LessEqualOp(vectors, lasts))
    )
    return result(r.AllOp(result(between), axes=[len(shape(vectors)) - 1], keepdims=True))


def _on_the_whole(x: SSAValue, updates: SSAValue, window: Sequence[int], mode: str) -> SSAValue:
    """A scatter without indices, as `x.at[:].add(y)`: its one window is all of the tensor."""
    places = [axis for axis in range(len(shape(updates))) if axis not in window]
    if any(shape(updates)[axis] != 1 for axis in places):
        raise NoFuseFormError("several windows at one place")
    for axis in reversed(places):
        updates = drop_axis(updates, axis)
    return updates if mode == "update" else result(_COMBINATIONS[mode](x, updates))


def _scatter_mode(op: Operation) -> str:
    name = combined_by(op)
    if name in _SCATTER_MODES and (name not in ("or", "and") or tensor(op.operands[0]).element_type == i1):
        return _SCATTER_MODES[name]
    block = op.regions[0].blocks[0]
    last = block.last_op
    if last is block.first_op and last is not None and tuple(last.operands) == (block.args[1],):
        return "update"
    raise NoFuseFormError("a combination of its own")


INDEXING: Mapping[str, Rule] = {
    "stablehlo.dynamic_gather": _gather,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": _scatter,
}
"""Rules by the name of the op."""
