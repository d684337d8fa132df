"""Ops whose sizes are computed while the program runs, and reshapes and concatenations of open sizes.

Linalg reports no error: sizes that do not fit are undefined behaviour there, where the interpreter says what is wrong.
"""

from collections.abc import Sequence
from functools import partial

from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f64, i64
from xdsl.ir import SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.loops import Nest, Place
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.dynamic import (
    DynArangeOp,
    DynBroadcastToOp,
    DynFullOp,
    DynOneHotOp,
    DynPadOp,
    DynReshapeOp,
    DynStridedSliceOp,
    DynTileOp,
    ShapeOfOp,
)
from fuse_dialect.dialect.picked_places import bounded, index_at, repeated, unfolded
from fuse_dialect.dialect.types import DYNAMIC, is_unsigned, normalize_axes, normalize_axis, tensor_type
from fuse_dialect.loops.indices import Index, number
from fuse_dialect.targets.linalg.arrays import signless_type, static_shape
from fuse_dialect.targets.linalg.steps import Steps, Table


def whole(value: int) -> SSAValue:
    """A number, as i64."""
    return scalars.constant(value, i64)


def number_in(nest: Nest, operand: int, place: int) -> SSAValue:
    """An element of a list, as i64."""
    return index_at(nest, [number(place)], operand)


def remainder(place: SSAValue, count: SSAValue) -> SSAValue:
    """What a division leaves; neither number is negative."""
    return scalars.apply(arith.RemSIOp, place, count)


def row_major(nest: Nest, at: Sequence[Index], sizes: Sequence[Size]) -> SSAValue:
    """The number of the element at some indices, counted in row-major order."""
    place = whole(0)
    for index, size in zip(at, sizes, strict=True):
        place = scalars.add(scalars.multiply(place, nest.count(size)), nest.position(index))
    return place


def write_shape_of(op: ShapeOfOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The sizes, one after the other."""
    sizes = [arith.IndexCastOp(steps.index(size), i64).result for size in operands[0].shape]
    type = TensorType(i64, [len(sizes)])
    if not sizes:
        return [tensor.EmptyOp([], type).tensor]
    return [tensor.FromElementsOp(*sizes, result_type=type).result]


def write_broadcast(op: DynBroadcastToOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The only element of an axis of size 1, else the own one."""
    x, shape = operands
    rank, (count,) = tensor_type(op.result).get_num_dims(), shape.type.get_shape()
    front = rank - len(x.shape)

    def size(nest: Nest, axis: int) -> SSAValue:
        wanted = number_in(nest, 1, axis - (rank - count)) if axis >= rank - count else whole(1)
        if axis < front:
            return wanted
        own = nest.count(x.shape[axis - front])
        return scalars.select(scalars.compare("equal", own, whole(1)), wanted, own)

    def element(nest: Nest) -> SSAValue:
        places: list[Place] = []
        for index, own in zip(nest.at[front:], x.shape, strict=True):
            is_one = scalars.compare("equal", nest.count(own), whole(1))
            place = scalars.select(is_one, whole(0), nest.position(index))
            places.append(place if isinstance(own, str) else number(0) if own == 1 else index)
        return nest.read(0, places)

    return [steps.stored(steps.shape(op.result.type, operands, size), [x], element).value]


def write_dyn_reshape(op: DynReshapeOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The elements in the same order under sizes of which -1 is what remains, and 0 the operand's."""
    x, shape = operands
    keeps, (count,) = not op.allowzero.value.data, shape.type.get_shape()

    def size(nest: Nest, axis: int) -> SSAValue:
        wanted = [number_in(nest, 1, place) for place in range(count)]
        if keeps:
            for place, own in zip(range(count), x.shape, strict=False):
                is_kept = scalars.compare("equal", wanted[place], whole(0))
                wanted[place] = scalars.select(is_kept, nest.count(own), wanted[place])
        known = whole(1)
        for each in wanted:
            known = scalars.multiply(known, scalars.select(scalars.is_negative(each), whole(1), each))
        rest = scalars.divide(nest.count(*x.shape), scalars.maximum(known, whole(1)))
        return scalars.select(scalars.is_negative(wanted[axis]), rest, wanted[axis])

    return [steps.stored(steps.shape(op.result.type, operands, size), [x], _same_element).value]


def write_reshape(op: FuseOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """A reshape to a type with `?`: the last one is what remains, one before it keeps the operand's size."""
    (x,) = operands
    sizes = list[Size](tensor_type(op.results[0]).get_shape())
    unknown = [axis for axis, size in enumerate(sizes) if size == DYNAMIC]
    for axis in unknown[:-1]:
        sizes[axis] = x.shape[axis]

    def remaining(nest: Nest) -> SSAValue:
        known = nest.count(*(size for axis, size in enumerate(sizes) if axis != unknown[-1]))
        return scalars.divide(nest.count(*x.shape), scalars.maximum(known, whole(1)))

    if unknown:
        sizes[unknown[-1]] = steps.size(operands, remaining)
    return [steps.stored(sizes, [x], _same_element).value]


def _same_element(nest: Nest) -> SSAValue:
    """The operand's element with the same place in row-major order."""
    return nest.read(0, unfolded(nest, row_major(nest, nest.at, nest.extents), nest.shape(0)))


def write_full(op: DynFullOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The number, everywhere."""
    shape = steps.shape(op.result.type, operands, lambda nest, axis: number_in(nest, 1, axis))
    return [steps.stored(shape, operands[:1], lambda nest: nest.read(0, ())).value]


def write_strided_slice(op: DynStridedSliceOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """From the first index on, in strides, where the numbers are brought into range as Python does."""
    x, begins, *_ = operands
    (count,) = begins.type.get_shape()
    axes = normalize_axes(range(count) if op.axes is None else op.axes.get_values(), len(x.shape))

    def cut(nest: Nest, axis: int) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Where the slice begins and ends along an axis, and its stride."""
        begin, end, stride = (number_in(nest, operand, axes.index(axis)) for operand in (1, 2, 3))
        own, is_back = nest.count(x.shape[axis]), scalars.is_negative(stride)
        start, stop = (
            scalars.select(is_back, bounded(each, own, is_back=True), bounded(each, own, is_back=False))
            for each in (begin, end)
        )
        return start, stop, stride

    def size(nest: Nest, axis: int) -> SSAValue | Size:
        return cut_length(*cut(nest, axis)) if axis in axes else x.shape[axis]

    def element(nest: Nest) -> SSAValue:
        places: list[Place] = list(nest.at)
        for axis in axes:
            start, _, stride = cut(nest, axis)
            places[axis] = scalars.add(start, scalars.multiply(nest.position(nest.at[axis]), stride))
        return nest.read(0, places)

    return [steps.stored(steps.shape(op.result.type, operands, size), operands, element).value]


def cut_length(start: SSAValue, stop: SSAValue, stride: SSAValue) -> SSAValue:
    """How many indices a slice has whose bounds are in range."""
    is_back = scalars.is_negative(stride)
    length = scalars.select(is_back, scalars.subtract(start, stop), scalars.subtract(stop, start))
    step = scalars.select(is_back, scalars.subtract(whole(0), stride), stride)
    spare = scalars.subtract(scalars.add(scalars.maximum(length, whole(0)), step), whole(1))
    return scalars.divide(spare, step)


def write_tile(op: DynTileOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The element at the place modulo the size."""
    x, reps = operands
    rank, (count,) = tensor_type(op.result).get_num_dims(), reps.type.get_shape()
    front = rank - len(x.shape)

    def size(nest: Nest, axis: int) -> SSAValue:
        times = number_in(nest, 1, axis - (rank - count)) if axis >= rank - count else whole(1)
        return times if axis < front else scalars.multiply(nest.count(x.shape[axis - front]), times)

    def element(nest: Nest) -> SSAValue:
        own = zip(nest.at[front:], x.shape, strict=True)
        return nest.read(0, [remainder(nest.position(index), nest.count(size)) for index, size in own])

    return [steps.stored(steps.shape(op.result.type, operands, size), [x], element).value]


def write_pad(op: DynPadOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The operand's element, found by the mode, or the value."""
    x, is_constant = operands[0], op.mode.data == "constant"

    def size(nest: Nest, axis: int) -> SSAValue:
        low, high = (number_in(nest, operand, axis) for operand in (2, 3))
        return scalars.add(scalars.add(nest.count(x.shape[axis]), low), high)

    def element(nest: Nest) -> SSAValue:
        inside = scalars.compare("equal", whole(0), whole(0))
        places: list[Place] = []
        for axis, index in enumerate(nest.at):
            low, high = (number_in(nest, operand, axis) for operand in (2, 3))
            start = scalars.maximum(scalars.subtract(whole(0), low), whole(0))
            kept = scalars.subtract(nest.count(x.shape[axis]), start)
            kept = scalars.add(kept, scalars.minimum(high, whole(0)))
            place = scalars.subtract(nest.position(index), scalars.maximum(low, whole(0)))
            for one, other in ((whole(0), place), (place, scalars.subtract(kept, whole(1)))):
                inside = scalars.apply(arith.AndIOp, inside, scalars.compare("less_equal", one, other))
            places.append(scalars.add(repeated(place, kept, "edge" if is_constant else op.mode.data), start))
        here = nest.read(0, places)
        return scalars.select(inside, here, nest.read(1, ())) if is_constant else here

    return [steps.stored(steps.shape(op.result.type, operands, size), operands, element).value]


def write_arange(op: DynArangeOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """A multiple of the step, from the start on."""
    target, unsigned = signless_type(tensor_type(op.result).element_type), is_unsigned(op.result.type)

    def given(nest: Nest, operand: int) -> SSAValue:
        sign = is_unsigned(nest.type_of(operand))
        return scalars.convert(nest.read(operand, ()), f64, unsigned_source=sign, unsigned_target=False)

    def count(nest: Nest) -> SSAValue:
        start, stop, step = (given(nest, operand) for operand in range(3))
        length = scalars.apply(math.CeilOp, scalars.divide(scalars.subtract(stop, start), step))
        length = scalars.select(scalars.is_negative(length), scalars.constant(0, f64), length)
        return scalars.convert(length, i64, unsigned_source=False, unsigned_target=False)

    def element(nest: Nest) -> SSAValue:
        place = scalars.convert(nest.position(nest.at[0]), f64, unsigned_source=False, unsigned_target=False)
        value = scalars.add(given(nest, 0), scalars.multiply(place, given(nest, 2)))
        return scalars.convert(value, target, unsigned_source=False, unsigned_target=unsigned)

    # In a tensor: compilers that run sizes on a host of their own may have no f64 there.
    counted = steps.stored((), operands, count)
    shape = steps.shape(op.result.type, [counted], lambda nest, axis: nest.read(0, ()))
    return [steps.stored(shape, operands, element).value]


def write_one_hot(op: DynOneHotOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The index compared with the place on the new axis."""
    own = operands[0].shape
    axis = normalize_axis(op.axis.value.data, len(own) + 1)

    def size(nest: Nest, along: int) -> SSAValue | Size:
        return index_at(nest, (), 3) if along == axis else own[along - (along > axis)]

    def element(nest: Nest) -> SSAValue:
        wanted = index_at(nest, [*nest.at[:axis], *nest.at[axis + 1 :]], 0)
        counted = scalars.add(wanted, index_at(nest, (), 3))
        place = scalars.select(scalars.is_negative(wanted), counted, wanted)
        is_hit = scalars.compare("equal", place, nest.position(nest.at[axis]))
        return scalars.select(is_hit, nest.read(1, ()), nest.read(2, ()))

    return [steps.stored(steps.shape(op.result.type, operands, size), operands, element).value]


def write_concatenate(op: ConcatenateOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Each operand put behind those before it."""
    rank = len(operands[0].shape)
    axis = normalize_axis(op.axis.value.data, rank)
    starts = [steps.size(operands, partial(_length, axis=axis, count=count)) for count in range(len(operands))]

    def size(nest: Nest, along: int) -> SSAValue | Size:
        return _length(nest, axis, len(operands)) if along == axis else operands[0].shape[along]

    result = steps.empty(steps.shape(op.result.type, operands, size), operands[0].type.element_type)
    for table, start in zip(operands, starts, strict=True):
        result = tensor.InsertSliceOp.get(
            source=table.value,
            dest=result,
            static_offsets=[DYNAMIC_INDEX if place == axis else 0 for place in range(rank)],
            static_sizes=static_shape(table.shape),
            static_strides=[1] * rank,
            offsets=[steps.index(start)],
            sizes=[steps.index(size) for size in table.shape if isinstance(size, str)],
            result_type=result.type,
        ).result
    return [result]


def _length(nest: Nest, axis: int, count: int) -> SSAValue:
    """The sizes of the first operands along an axis, added up."""
    total = whole(0)
    for operand in range(count):
        total = scalars.add(total, nest.count(nest.shape(operand)[axis]))
    return total
