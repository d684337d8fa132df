"""Random programs in the `fuse` dialect: every kind of operator, several results, tuples, barriers, constants."""

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation, Region, SSAValue

from fuse_dialect.dialect.ops import (
    activation,
    broadcast,
    comparison,
    concatenation,
    elementwise,
    indexing,
    layout,
    matmul,
    normalization,
    opaque,
    reduction,
    tuples,
)
from fuse_dialect.dialect.types import Tensor, is_tensor

SHAPE = (3, 4, 4)
"""All values have this shape or one that broadcasts to it, so that any two of them can meet in an operator."""

Draw = Callable[[st.SearchStrategy[int]], int]


def _pick(draw: Draw, items: Sequence[SSAValue]) -> SSAValue:
    """Some earlier value, recent ones more often."""
    recent = draw(st.booleans())
    low = max(0, len(items) - 4) if recent else 0
    return items[draw(st.integers(low, len(items) - 1))]


def _full(draw: Draw, values: Sequence[SSAValue]) -> SSAValue:
    full = [value for value in values if value.type == TensorType(f32, SHAPE)]
    return _pick(draw, full)


def _constant(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    shape = [(), (), (4,), (4, 1)][draw(st.integers(0, 3))]
    count = int(np.prod(shape))
    type = TensorType(f32, shape)
    data = [0.25 * (i + draw(st.integers(-3, 3))) for i in range(count)]
    return [arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, data), type)]


def _where(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    condition = comparison.LessOp(_full(draw, values), _pick(draw, values))
    return [condition, broadcast.WhereOp(condition, _full(draw, values), _pick(draw, values))]


def _split(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    split = concatenation.SplitOp(_full(draw, values), axis=1, sizes=[1, 3])
    part = elementwise.ExpOp(split.results[0]) if draw(st.booleans()) else elementwise.AbsOp(split.results[0])
    return [split, part, concatenation.ConcatenateOp(split.results[1], part, axis=1)]


def _tuple(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    pair = tuples.TupleOp(_full(draw, values), _full(draw, values))
    return [pair, tuples.GetTupleElementOp(pair, index=draw(st.integers(0, 1)))]


def _concatenate(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    joined = concatenation.ConcatenateOp(_full(draw, values), _full(draw, values), axis=2)
    return [joined, indexing.StridedSliceOp(joined, begin=[1], end=[8], strides=[2], axes=[2])]


def _reduce(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    cls = [reduction.SumOp, reduction.MaxOp, reduction.MeanOp][draw(st.integers(0, 2))]
    return [cls(_full(draw, values), axes=[draw(st.integers(0, 2))], keepdims=True)]


def _unary(*classes: type[Operation]) -> Callable[[Draw, Sequence[SSAValue]], list[Operation]]:
    return lambda draw, values: [classes[draw(st.integers(0, len(classes) - 1))](_pick(draw, values))]


def _on_full(*classes: type[Operation]) -> Callable[[Draw, Sequence[SSAValue]], list[Operation]]:
    return lambda draw, values: [classes[draw(st.integers(0, len(classes) - 1))](_full(draw, values))]


def _binary(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    classes = (broadcast.AddOp, broadcast.SubtractOp, broadcast.MultiplyOp, broadcast.MaximumOp)
    return [classes[draw(st.integers(0, 3))](_pick(draw, values), _pick(draw, values))]


def _matmul(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    return [matmul.BatchMatmulOp(_full(draw, values), _full(draw, values))]


def _transpose(draw: Draw, values: Sequence[SSAValue]) -> list[Operation]:
    return [layout.TransposeOp(_full(draw, values), permutation=[0, 2, 1])]


_MAKERS = (
    _unary(elementwise.ExpOp, elementwise.AbsOp, activation.SigmoidOp, activation.ReluOp, elementwise.NegativeOp),
    _binary,
    _binary,
    _where,
    _transpose,
    _split,
    _concatenate,
    _reduce,
    _on_full(normalization.SoftmaxOp),
    _matmul,
    _tuple,
    _constant,
    _on_full(opaque.SortOp, opaque.StopFusionOp),
)


@st.composite
def random_programs(draw: Draw, max_ops: int = 25) -> ModuleOp:
    """A module with one function `main` of two arguments and one to three results."""
    full = TensorType(f32, SHAPE)
    block = Block(arg_types=[full, full])
    values: list[SSAValue] = list(block.args)
    for _ in range(draw(st.integers(1, max_ops))):
        ops = _MAKERS[draw(st.integers(0, len(_MAKERS) - 1))](draw, values)
        block.add_ops(ops)
        values += [result for result in ops[-1].results if _is_usable(result)]
    results = [_pick(draw, values) for _ in range(draw(st.integers(1, 3)))]
    block.add_op(func.ReturnOp(*results))
    type = FunctionType.from_lists([full, full], [value.type for value in results])
    return ModuleOp([func.FuncOp("main", type, Region(block))])


def _is_usable(value: SSAValue) -> bool:
    """Whether the value broadcasts to `SHAPE`."""
    if not is_tensor(value.type):
        return False
    type: Tensor = value.type
    pairs = zip(reversed(type.get_shape()), reversed(SHAPE), strict=False)
    return type.get_num_dims() <= len(SHAPE) and all(dim in (1, size) for dim, size in pairs)
