"""Rows of the ops that move elements, pick them, convert or count them."""

from math import prod

from xdsl.dialects.builtin import TupleType, f32, i1, i32, i64
from xdsl.ir import Attribute

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import (
    broadcast,
    comparison,
    concatenation,
    conversion,
    indexing,
    layout,
    opaque,
    quantization,
    reduction,
    replication,
    sequences,
    tuples,
)
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, integer_type, tensor, with_element
from fuzzing.arrays import ELEMENTS, INTEGERS
from fuzzing.draft import Draft, Known, Proposal, factors
from fuzzing.table import Rows

ROWS = Rows()
row = ROWS.row
_BYTES = (integer_type(8, unsigned=False), integer_type(8, unsigned=True))
_INDEX_TYPES = (i32, i64, i64, *INTEGERS)


@row(broadcast.WhereOp)
def _where(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    if subject.element != i1 or draft.chance(0.1):
        condition = draft.find(lambda known: known.element == i1 and len(known.shape) <= len(subject.shape))
        if condition is None or draft.chance(0.5):
            condition = draft.companion(subject)
            condition = draft.fresh(condition.shape, i1)
        pair = [subject, draft.companion(subject)]
        draft.random.shuffle(pair)
        return Proposal([condition, *pair])
    other = draft.fresh(subject.shape, draft.element)
    return Proposal([subject, other, draft.companion(other)])


@row(broadcast.PowerOp)
def _power(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    power = draft.companion(subject)
    if draft.chance(0.3):
        power = draft.fresh(power.shape, draft.random.choice(ELEMENTS))
    return Proposal([subject, power])


@row(broadcast.BiasAddOp, broadcast.PreluOp)
def _channels(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    if not subject.shape:
        return None
    axis = draft.axis(len(subject.shape))
    size = subject.shape[axis]
    vector = draft.find(lambda known: known.shape == (size,) and known.element == subject.element)
    if vector is None or draft.chance(0.5):
        vector = draft.fresh((size,), subject.element)
    return Proposal([subject, vector], {"axis": axis})


@row(quantization.RequantizeOp)
def _requantize(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    axis = draft.axis(len(subject.shape)) if subject.shape else 0
    along = bool(subject.shape) and draft.chance(0.5)
    scale = draft.fresh((subject.shape[axis],) if along else (), f32)
    properties = {"axis": axis, "input_zero": draft.random.choice((0, 0, 5)), "zero": draft.random.choice((0, 7))}
    return Proposal([subject, scale], {**properties, "out_dtype": draft.random.choice(("i8", "ui8"))})


@row(quantization.RequantizeSumOp)
def _requantize_sum(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    other = draft.find(lambda known: known.shape == subject.shape and known.element in (*_BYTES, i32))
    if other is None or draft.chance(0.5):
        other = draft.fresh(subject.shape, draft.random.choice((*_BYTES, i32)))
    zeros = {"rhs_zero": draft.random.choice((0, 3)), "zero": draft.random.choice((0, 7))}
    scales = {"lhs_scale": 0.5, "rhs_scale": 1.25, "scale": draft.random.choice((1.0, 0.75))}
    return Proposal([subject, other], {**scales, **zeros, "out_dtype": draft.random.choice(("i8", "ui8"))})


def other_element(draft: Draft, *, size: int | None = None) -> Attribute:
    """An element type, often that of the draft."""
    types = [type for type in ELEMENTS if size is None or element_dtype(type).itemsize == size]
    return draft.element if draft.element in types and draft.chance(0.4) else draft.random.choice(types)


@row(conversion.CastOp, conversion.BitcastOp)
def _cast(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    size = subject.array.dtype.itemsize if op_class is conversion.BitcastOp else None
    return Proposal([subject], {}, [with_element(subject.tensor, other_element(draft, size=size))])


@row(conversion.FullOp)
def _full(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    fill = subject if not subject.shape else draft.of_rank(subject, 0)
    return Proposal([fill], {}, [tensor(draft.shape(draft.random.randint(0, 4)), fill.element)])


@row(replication.BroadcastToOp)
def _broadcast_to(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    shape = [draft.size() if size == 1 else size for size in subject.tensor.get_shape()]
    added = [draft.size() for _ in range(draft.random.randint(0, 2))]
    return Proposal([subject], {}, [tensor([*added, *shape], subject.element)])


@row(replication.ExpandDimsOp)
def _expand(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    count = draft.random.randint(0, 2)
    rank = len(subject.shape)
    return Proposal([subject], {"axis": draft.random.randrange(-rank - 1, rank + 1), "num_newaxis": count})


@row(replication.RepeatOp)
def _repeat(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    return Proposal([subject], {"axis": draft.axis(len(subject.shape)), "repeats": draft.random.randint(0, 4)})


@row(replication.TileOp)
def _tile(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    count = draft.random.randint(0, len(subject.shape) + 1)
    return Proposal([subject], {"reps": [draft.random.choice((0, 1, 1, 1, 2, 3)) for _ in range(count)]})


@row(layout.ReshapeOp)
def _reshape(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    shape = factors(draft.random, subject.array.size, draft.random.randint(0, 5))
    types = list(subject.tensor.get_shape())
    if shape and (DYNAMIC in types or draft.chance(0.1)):
        if draft.chance(0.4) and len(types) > 1:
            # Sizes of the operand are kept up to an axis, and the last is computed.
            kept = draft.random.randint(1, len(types) - 1)
            rest = prod(subject.shape[kept:])
            return Proposal(
                [subject], {}, [tensor([*types[:kept], rest if DYNAMIC in types[:kept] else DYNAMIC], subject.element)]
            )
        shape[draft.random.randrange(len(shape))] = DYNAMIC
    return Proposal([subject], {}, [tensor(shape, subject.element)])


@row(layout.TransposeOp)
def _transpose(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    rank = len(subject.shape)
    return Proposal([subject], {"permutation": draft.random.sample(range(rank), rank)})


@row(layout.SqueezeOp)
def _squeeze(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    ones = [axis for axis, size in enumerate(subject.shape) if size == 1]
    if not ones:
        shape = [1 if draft.chance(0.4) else size for size in draft.shape(3)]
        subject = draft.fresh(shape, subject.element)
        ones = [axis for axis, size in enumerate(shape) if size == 1]
    return Proposal([subject], {"axes": draft.random.sample(ones, draft.random.randint(0, len(ones)))})


@row(layout.DepthToSpaceOp, layout.SpaceToDepthOp)
def _blocks(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    block, is_depth = draft.random.choice((1, 2, 2, 3)), op_class is layout.DepthToSpaceOp
    word = draft.random.choice(("NCHW", "NHWC"))
    scaled = {"C": block * block, "H": 1, "W": 1} if is_depth else {"C": 1, "H": block, "W": block}

    def fits(known: Known) -> bool:
        sizes = dict(zip(word, known.shape, strict=False))
        return len(known.shape) == 4 and all(sizes[letter] % scaled[letter] == 0 for letter in scaled)

    if not fits(subject):
        sizes = {letter: draft.random.randint(0 if draft.chance(0.05) else 1, 3) for letter in word}
        shape = [sizes[letter] * scaled.get(letter, 1) for letter in word]
        if subject.array.size and prod(shape) == subject.array.size:
            subject = draft.reshaped(subject, shape) or subject
        else:
            subject = draft.fresh(shape, subject.element)
    mode = {"mode": draft.random.choice(("DCR", "CRD"))} if is_depth else {}
    return Proposal([subject], {"block_size": block, "layout": word, **mode})


@row(layout.LayoutTransformOp)
def _layout(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    rank = len(subject.shape)
    letters = "NCHWDEFG"[:rank]
    if not 0 < rank == len(letters):
        return None
    target = draft.random.sample(letters, rank)
    cut = draft.random.choice(letters)
    size = subject.shape[letters.index(cut)]
    blocks = [block for block in (1, 2, 3, 4, 5, 8) if size and size % block == 0]
    blocked = draft.chance(0.6) and bool(blocks)
    block = f"{draft.random.choice(blocks)}{cut.lower()}" if blocked else ""
    source, result = letters, "".join(target) + block
    if blocked and draft.chance(0.4):
        # The other way: a blocked layout is joined again.
        number = int(block[:-1])
        shape = [subject.shape[letters.index(letter)] // (number if letter == cut else 1) for letter in target]
        joined = draft.fresh([*shape, number], subject.element)
        return Proposal([joined], {"src_layout": result, "dst_layout": source})
    return Proposal([subject], {"src_layout": source, "dst_layout": result})


@row(concatenation.ConcatenateOp)
def _concatenate(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    rank = len(subject.shape)
    if not rank:
        return None
    axis = draft.axis(rank)
    at, operands = axis % rank, [subject]
    for _ in range(draft.random.randint(0, 3)):
        found = draft.find(
            lambda known: (
                known.element == subject.element
                and len(known.shape) == rank
                and all(a == b for i, (a, b) in enumerate(zip(known.shape, subject.shape, strict=True)) if i != at)
            )
        )
        if found is None or draft.chance(0.4):
            found = draft.fresh([draft.size() if i == at else s for i, s in enumerate(subject.shape)], subject.element)
        operands.append(found)
    draft.random.shuffle(operands)
    return Proposal(operands, {"axis": axis})


@row(concatenation.SplitOp)
def _split(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    rank = len(subject.shape)
    if not rank:
        return None
    axis = draft.axis(rank)
    size = subject.shape[axis]
    cuts = sorted(draft.random.randint(0, size) for _ in range(draft.random.randint(0, 3)))
    sizes = [end - start for start, end in zip([0, *cuts], [*cuts, size], strict=True)]
    return Proposal([subject], {"axis": axis, "sizes": sizes})


def bound(draft: Draft, size: int) -> int:
    """An end of a slice: in range, beyond it, or as far as numbers go."""
    way = draft.random.random()
    if way < 0.08:
        return draft.random.choice((2**63 - 1, -(2**63), 2**31 - 1, -(2**31)))
    return draft.random.randint(-size - 2, size + 2) if way < 0.6 else draft.random.randint(0, size)


@row(indexing.StridedSliceOp)
def _slice(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    rank = len(subject.shape)
    axes = draft.axes(rank) if draft.chance(0.6) else None
    over = list(range(draft.random.randint(0, rank))) if axes is None else axes
    begin = [bound(draft, subject.shape[axis]) for axis in over]
    end = [bound(draft, subject.shape[axis]) for axis in over]
    strides = [draft.random.choice((1, 1, 1, 2, 3, -1, -1, -2, 5)) for _ in over] if draft.chance(0.7) else None
    return Proposal([subject], {"begin": begin, "end": end, "strides": strides, "axes": axes})


def indices(draft: Draft, shape: list[int], size: int, element: Attribute | None = None) -> Known:
    """Indices of an axis, from either end; seldom some that are out of range."""
    element = draft.random.choice(_INDEX_TYPES) if element is None else element
    dtype = element_dtype(element)
    low = 0 if dtype.kind == "u" or draft.chance(0.5) else -size
    beyond = 3 if draft.chance(0.1) else 0
    array = draft.arrays.integers(low - (beyond if low else 0), max(size, low + 1) + beyond, shape)
    return draft.fresh(shape, element, array=array.astype(dtype))


@row(indexing.TakeOp)
def _take(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    rank = len(subject.shape)
    if not rank:
        return None
    axis = draft.axis(rank) if draft.chance(0.8) else None
    size = subject.array.size if axis is None else subject.shape[axis]
    index = draft.find(lambda known: known.array.dtype.kind in "iu" and known is not subject)
    if index is None or draft.chance(0.7):
        shape = list(draft.shape(draft.random.choice((0, 1, 1, 1, 2))))
        index = indices(draft, [1] if draft.chance(0.2) else shape, size)
    mode = draft.random.choice(("clip", "wrap", "fast"))
    return Proposal([subject, index], {"axis": axis, "mode": mode})


@row(indexing.GatherOp)
def _gather(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    rank = len(subject.shape)
    if not rank:
        return None
    axis = draft.axis(rank)
    shape = [
        draft.size() if at == axis % rank else draft.random.choice((size, size, max(size - 1, 0)))
        for at, size in enumerate(subject.shape)
    ]
    return Proposal([subject, indices(draft, shape, subject.shape[axis])], {"axis": axis})


def _positions(draft: Draft, sizes: tuple[int, ...], lead: list[int]) -> Known:
    """Positions in axes of these sizes, as the last axis."""
    element = draft.random.choice(_INDEX_TYPES)
    columns = [indices(draft, [*lead, 1], size, element).array for size in sizes]
    array = draft.arrays.integers(0, 1, [*lead, 0]).astype(element_dtype(element))
    for column in columns:
        import numpy as np

        array = np.concatenate([array, column], axis=-1)
    return draft.fresh(array.shape, element, array=array, keep_closed=True)


@row(indexing.GatherNdOp)
def _gather_nd(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    rank = len(subject.shape)
    batch = draft.random.randint(0, min(rank, 2)) if draft.chance(0.4) else 0
    count = draft.random.randint(0, rank - batch)
    lead = [*subject.shape[:batch], *draft.shape(draft.random.randint(0, 2))]
    if prod(lead) > 400:
        lead = [*subject.shape[:batch]]
    index = _positions(draft, subject.shape[batch : batch + count], lead)
    return Proposal([subject, index], {"batch_dims": batch})


@row(opaque.ScatterNdOp)
def _scatter_nd(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    count = draft.random.randint(0, len(subject.shape))
    lead = list(draft.shape(draft.random.randint(0, 2)))
    index = _positions(draft, subject.shape[:count], [min(size, 9) for size in lead])
    updates = draft.fresh([*index.shape[:-1], *subject.shape[count:]], subject.element)
    mode = draft.random.choice(("update", "add", "mul", "min", "max"))
    return Proposal([subject, index, updates], {"mode": mode})


@row(indexing.PadOp)
def _pad(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    widths = [[draft.random.choice((0, 0, 1, 2, 3, -1)) for _ in subject.shape] for _ in range(2)]
    mode = draft.random.choice(("constant", "constant", "edge", "reflect", "wrap"))
    return Proposal([subject, draft.fresh((), subject.element)], {"low": widths[0], "high": widths[1], "mode": mode})


@row(reduction.ArgmaxOp, reduction.ArgminOp)
def _position(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    axes = [draft.axis(len(subject.shape))] if subject.shape and draft.chance(0.8) else None
    options = {"keepdims": draft.chance(0.5), "select_last_index": draft.chance(0.5)}
    return Proposal([subject], {"axes": axes, **options})


@row(tuples.TupleOp)
def _tuple(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    others = [draft.random.choice(draft.values) for _ in range(draft.random.randint(0, 2))]
    nested = [known for known in draft.values if isinstance(known.type, TupleType)]
    return Proposal([subject, *others, *([nested[-1]] if nested and draft.chance(0.2) else [])])


@row(tuples.GetTupleElementOp)
def _element(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    made = [known for known in draft.values if isinstance(known.type, TupleType)]
    if not made:
        made = draft.apply(tuples.TupleOp, Proposal([subject, draft.companion(subject)])) or []
    if not made:
        return None
    last = made[-1]
    assert isinstance(last.type, TupleType), "chosen so"
    return Proposal([last], {"index": draft.random.randrange(len(last.type.types))})


@row(opaque.TopkOp)
def _topk(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    if not subject.shape:
        return None
    axis = draft.axis(len(subject.shape))
    k = draft.random.randint(0, subject.shape[axis])
    return Proposal([subject], {"axis": axis, "k": k, "is_ascend": draft.chance(0.5)})


@row(opaque.ArangeOp)
def _arange(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    start, step = draft.random.choice((0.0, 1.0, -3.0, 0.5)), draft.random.choice((1.0, 2.0, 0.5, -1.0))
    count = draft.size()
    stop = start + count * step if draft.chance(0.8) else start - step
    length = count if stop != start - step else 0
    size = DYNAMIC if draft.chance(0.2) else length
    return Proposal([], {"start": start, "stop": stop, "step": step}, [tensor([size], draft.element)])


@row(comparison.BandOp)
def _band(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    rows, columns = draft.size(), draft.size()
    lower, upper = sorted(draft.random.randint(-rows - 1, columns + 1) for _ in range(2))
    numbers = {"inside": draft.random.choice((0.0, 1.0)), "outside": draft.random.choice((0.0, 1.0))}
    return Proposal([], {"lower": lower, "upper": upper, **numbers}, [tensor([rows, columns], draft.element)])


@row(sequences.ReverseSequenceOp)
def _reverse_sequence(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    subject = subject if len(subject.shape) > 1 else draft.of_rank(subject, 2)
    rank = len(subject.shape)
    batch, axis = draft.random.sample(range(rank), 2)
    element = draft.random.choice(_INDEX_TYPES)
    lengths = draft.arrays.integers(0, subject.shape[axis] + 2, subject.shape[batch]).astype(element_dtype(element))
    places = {"seq_axis": axis - rank * draft.chance(0.2), "batch_axis": batch - rank * draft.chance(0.2)}
    return Proposal([subject, draft.fresh(lengths.shape, element, array=lengths)], places)
