"""Random programs of ops that move elements, with maps and reductions between them, on shapes of any rank."""

from collections.abc import Callable, Sequence
from math import prod

from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from fuse_dialect.dialect.ops import (
    activation,
    broadcast,
    concatenation,
    elementwise,
    indexing,
    layout,
    matmul,
    normalization,
    reduction,
    replication,
)
from fuse_dialect.dialect.types import tensor, tensor_type

Draw = Callable[[st.SearchStrategy[int]], int]
GREATEST = 200
"""Elements of a value, at most."""


def _number(draw: Draw, low: int, high: int) -> int:
    return draw(st.integers(low, high))


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(tensor_type(value).get_shape())


def _axis(draw: Draw, value: SSAValue) -> int:
    return _number(draw, 0, len(_shape(value)) - 1)


def _transpose(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    order = list(range(len(_shape(x))))
    for place in range(len(order)):
        other = _number(draw, place, len(order) - 1)
        order[place], order[other] = order[other], order[place]
    return layout.TransposeOp(x, permutation=order)


def _reshape(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    rest, sizes = prod(_shape(x)), list[int]()
    while rest > 1 and len(sizes) < 3:
        divisors = [size for size in range(1, rest + 1) if rest % size == 0]
        sizes.append(divisors[_number(draw, 0, len(divisors) - 1)])
        rest //= sizes[-1]
    return layout.ReshapeOp(x, result_types=[tensor([*sizes, rest], f32)])


def _reverse(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    return layout.ReverseOp(x, axes=[_axis(draw, x)])


def _slice(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    axis = _axis(draw, x)
    size = _shape(x)[axis]
    begin = _number(draw, 0, size - 1)
    if _number(draw, 0, 3) == 0:
        return indexing.StridedSliceOp(x, begin=[begin], end=[-size - 1], strides=[-1], axes=[axis])
    return indexing.StridedSliceOp(x, begin=[begin], end=[size], strides=[_number(draw, 1, 2)], axes=[axis])


def _pad(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    mode = ["constant", "edge", "reflect", "wrap"][_number(draw, 0, 3)]
    rank = len(_shape(x))
    low, high = [0] * rank, [0] * rank
    axis = _axis(draw, x)
    low[axis], high[axis] = _number(draw, -1 if _shape(x)[axis] > 2 else 0, 2), _number(draw, 0, 2)
    return indexing.PadOp(x, values[0], low=low, high=high, mode=mode)


def _tile(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    return replication.TileOp(x, reps=[_number(draw, 1, 2) for _ in range(_number(draw, 1, len(_shape(x)) + 1))])


def _repeat(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    return replication.RepeatOp(x, repeats=2, axis=_axis(draw, x))


def _expand(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    return replication.ExpandDimsOp(x, axis=_number(draw, 0, len(_shape(x))))


def _take(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    mode = ["clip", "wrap"][_number(draw, 0, 1)]
    return indexing.TakeOp(x, values[1], axis=_axis(draw, x), mode=mode)


def _concatenate(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    others = [value for value in values[2:] if _shape(value) == _shape(x)]
    other = others[_number(draw, 0, len(others) - 1)]
    if _number(draw, 0, 1):
        return concatenation.StackOp(x, other, axis=_number(draw, 0, len(_shape(x))))
    return concatenation.ConcatenateOp(x, other, axis=_axis(draw, x))


def _split(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    axis = _axis(draw, x)
    first = _number(draw, 0, _shape(x)[axis])
    sizes = [first, _shape(x)[axis] - first]
    return concatenation.SplitOp(x, axis=axis, sizes=sizes if first else sizes[::-1])


def _unary(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    return (activation.SigmoidOp, activation.ReluOp, elementwise.NegativeOp, elementwise.AbsOp)[_number(draw, 0, 3)](x)


def _binary(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    others = [value for value in values[2:] if _shape(value) == _shape(x)]
    return (broadcast.AddOp, broadcast.SubtractOp, broadcast.MaximumOp)[_number(draw, 0, 2)](
        x, others[_number(draw, 0, len(others) - 1)]
    )


def _reduce(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    classes = (reduction.SumOp, reduction.MaxOp, reduction.MeanOp, reduction.VarianceOp)
    return classes[_number(draw, 0, 3)](x, axes=[_axis(draw, x)], keepdims=bool(_number(draw, 0, 1)))


def _softmax(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    return normalization.SoftmaxOp(x, axis=_axis(draw, x))


def _product(draw: Draw, x: SSAValue, values: Sequence[SSAValue]) -> Operation:
    others = [value for value in values[2:] if len(_shape(value)) == 2 and _shape(value)[1] == _shape(x)[-1]]
    return matmul.DenseOp(x, others[_number(draw, 0, len(others) - 1)]) if others else elementwise.AbsOp(x)


_MAKERS = (
    _transpose,
    _reshape,
    _reshape,
    _reverse,
    _slice,
    _pad,
    _tile,
    _repeat,
    _expand,
    _take,
    _concatenate,
    _split,
    _unary,
    _unary,
    _binary,
    _reduce,
    _softmax,
    _product,
)


@st.composite
def random_moves(draw: Draw, max_ops: int = 10) -> ModuleOp:
    """A module with one function `main` of a number, two indices and a tensor, and one or two results."""
    shape = [_number(draw, 1, 4) for _ in range(_number(draw, 1, 3))]
    types = [TensorType(f32, []), TensorType(i64, [2]), TensorType(f32, shape)]
    block = Block(arg_types=types)
    values: list[SSAValue] = list(block.args)
    for _ in range(_number(draw, 1, max_ops)):
        usable = [value for value in values[2:] if _shape(value)][-5:]
        if not usable:
            break
        x = usable[_number(draw, 0, len(usable) - 1)]
        op = _MAKERS[_number(draw, 0, len(_MAKERS) - 1)](draw, x, values)
        if all(0 < prod(_shape(result)) <= GREATEST and len(_shape(result)) <= 5 for result in op.results):
            block.add_op(op)
            values += op.results
        elif isinstance(op, concatenation.SplitOp):
            block.add_op(op)
            whole, empty = sorted(op.results, key=lambda result: -prod(_shape(result)))
            if _number(draw, 0, 1):
                # What has no elements joins what has them, behind it or in front.
                pieces = [whole, empty] if _number(draw, 0, 1) else [empty, whole]
                joined = concatenation.ConcatenateOp(*pieces, axis=op.axis.value.data)
                block.add_op(joined)
                whole = joined.results[0]
            values.append(whole)
        else:
            op.drop_all_references()
    results = [values[-1], values[_number(draw, 2, len(values) - 1)]][: _number(draw, 1, 2)]
    block.add_op(func.ReturnOp(*results))
    return ModuleOp([func.FuncOp("main", FunctionType.from_lists(types, [r.type for r in results]), Region(block))])
