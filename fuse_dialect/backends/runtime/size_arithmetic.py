"""The meaning of small primitives, without what a run on arrays of any size needs: limits, types at run time, errors.

What the sizes of the inputs settle is computed anew for each set of sizes, between two calls that take microseconds. So
`dyn_` ops are not made into the ops that they stand for, which takes ten times as long as what NumPy does. Where an op
rejects its operands, or gives what its type does not say, there is no answer: who asks turns to `Compiled.evaluate`,
which has words for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith, func
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.backends.runtime.traced_sizes import UntraceableError, is_known
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import (
    AddOp,
    DivideOp,
    FloorDivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    SubtractOp,
    WhereOp,
)
from fuse_dialect.dialect.ops.comparison import (
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    NotEqualOp,
)
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, StackOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.dynamic import (
    DynArangeOp,
    DynBroadcastToOp,
    DynFullOp,
    DynReshapeOp,
    DynStridedSliceOp,
    DynTopkOp,
    ShapeOfOp,
)
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, SqueezeOp
from fuse_dialect.dialect.ops.opaque import sorted_order
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.shape_assertion import is_shape_assertion
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, is_tensor, normalize_axes, with_shape

_Evaluate = Callable[..., Sequence[Array]]


@dataclass(frozen=True, slots=True)
class _Step:
    evaluate: _Evaluate
    operands: tuple[int, ...]
    """Places among the values."""
    forms: tuple[tuple[np.dtype[Any], Shape], ...]
    """Of the results, as their types declare them."""
    traced: _Evaluate | None = None
    """The same on arrays of traced sizes; `None` if there is no such meaning."""


@dataclass(frozen=True, slots=True)
class SizeArithmetic:
    """A primitive of ops that have an answer here."""

    constants: Sequence[Array]
    """The first values; the arguments come behind them."""
    steps: Sequence[_Step]
    returned: Sequence[int]
    """Places of what the function returns."""

    def __call__(self, arguments: Sequence[Array]) -> list[Array] | None:
        """The results, which may show the memory of arguments; `None` if there is no answer."""
        values = [*self.constants, *arguments]
        try:
            with np.errstate(all="ignore"):
                for step in self.steps:
                    results = step.evaluate(*[values[place] for place in step.operands])
                    for result, (dtype, shape) in zip(results, step.forms, strict=True):
                        array = np.asarray(result)
                        if not _fits(array.shape, shape):
                            return None
                        values.append(array if array.dtype == dtype else array.astype(dtype))
        except (ValueError, TypeError, IndexError, ArithmeticError, VerifyException):
            return None
        return [values[place] for place in self.returned]

    @property
    def is_traceable(self) -> bool:
        """Whether all that it computes are integers, by ops that have a meaning on traced ones."""
        return all(step.traced is not None for step in self.steps)

    def traced(self, arguments: Sequence[Any]) -> list[Array]:
        """The results as arrays of objects, integers and traced sizes.

        Args:
            arguments: Such arrays, or what has a shape and is asked for nothing else.

        Raises:
            UntraceableError: A number leaves the range of its type, or an op rejects what it gets.
        """
        values = [*[array.astype(object) for array in self.constants], *arguments]
        for step in self.steps:
            assert step.traced is not None, "it is traceable"
            try:
                results = step.traced(*[values[place] for place in step.operands])
            except ArithmeticError as error:
                raise UntraceableError(str(error)) from error
            for result, (dtype, shape) in zip(results, step.forms, strict=True):
                array = np.asarray(result, object)
                if not _fits(array.shape, shape) or not _in_range(array, dtype):
                    raise UntraceableError("not what the type declares")
                values.append(array)
        return [values[place] for place in self.returned]


def _in_range(array: Array, dtype: np.dtype[Any]) -> bool:
    if dtype == np.bool_:
        return True
    range = np.iinfo(dtype)
    # Of polynomials in 64 bits those who evaluate them see to that.
    numbers = [each for each in array.reshape(-1).tolist() if dtype != np.int64 or is_known(each)]
    return all(int(range.min) <= each <= int(range.max) for each in numbers)


def _fits(shape: Sequence[int], declared: Shape) -> bool:
    return len(shape) == len(declared) and all(
        size == known or known == DYNAMIC for size, known in zip(shape, declared, strict=True)
    )


def size_arithmetic(function: func.FuncOp) -> SizeArithmetic | None:
    """The function's meaning; `None` if it holds an op that has no answer here."""
    ops = list(function.body.block.ops)
    places: dict[SSAValue, int] = {}
    constants: list[Array] = []
    for op in ops:
        if isinstance(op, arith.ConstantOp):
            places[op.result] = len(constants)
            try:
                constants.append(constant_array(op.value))
            except VerifyException:
                return None
    for argument in function.body.block.args:
        places[argument] = len(places)
    steps: list[_Step] = []
    for op in ops:
        match op:
            case arith.ConstantOp():
                continue
            case func.ReturnOp():
                return SizeArithmetic(constants, steps, [places[value] for value in op.operands])
            case FuseOp():
                step = _step(op, places)
                if step is None:
                    return None
                steps.append(step)
            case _ if is_shape_assertion(op) and all(operand in places for operand in op.operands):
                steps.append(_Step(_check, tuple(places[operand] for operand in op.operands), (), _check))
            case _:
                return None
    return None


def _check(holds: Array, *_numbers: Array) -> Sequence[Array]:
    """What a check of sizes gives: nothing. Where it fails there is no answer, and who is asked next says why."""
    if not all(holds.reshape(-1).tolist()):
        raise ArithmeticError("a check of sizes fails")
    return ()


def _step(op: FuseOp, places: dict[SSAValue, int]) -> _Step | None:
    evaluate = meaning_on_sizes(op)
    forms: list[tuple[np.dtype[Any], Shape]] = []
    for result in op.results:
        if not is_tensor(result.type):
            return None
        places[result] = len(places)
        forms.append((element_dtype(result.type.element_type), tuple(result.type.get_shape())))
    if evaluate is None or any(operand not in places for operand in op.operands):
        return None
    is_integer = all(_dtype(each.type).kind in "ib" for each in (*op.operands, *op.results))
    traced = _TRACED.get(type(op)) if is_integer or isinstance(op, ShapeOfOp) else None
    return _Step(
        evaluate,
        tuple(places[operand] for operand in op.operands),
        tuple(forms),
        None if traced is None else traced(op),
    )


def meaning_on_sizes(op: FuseOp) -> _Evaluate | None:
    """The meaning of an op, by NumPy's own views where it has computed numbers; `None` if there is none here."""
    if not isinstance(op, DynamicOp):
        return op.evaluate
    make = _DYNAMIC.get(type(op))
    return None if make is None else make(op)


def sizes_of_results(op: FuseOp, shapes: Sequence[Shape]) -> list[Shape] | None:
    """The sizes of an op's results for operands of these; `None` if they do not say them.

    Raises:
        VerifyException: The op rejects them.
    """
    given: list[Tensor] = []
    for operand, shape in zip(op.operands, shapes, strict=True):
        assert is_tensor(operand.type), "an op on tensors"
        given.append(with_shape(operand.type, shape))
    properties: dict[str, PropertyValue] = {**op.properties}
    copy = type(op)(*Block(arg_types=given).args, result_types=op.result_types, attributes=None, **properties)
    return static_shapes(copy.refine_types() or op.result_types)


def static_shapes(types: Sequence[Attribute]) -> list[Shape] | None:
    """The shapes of types; `None` if one leaves a size open, or is that of a tuple."""
    shapes = [tuple(each.get_shape()) if is_tensor(each) else (DYNAMIC,) for each in types]
    return None if any(DYNAMIC in shape for shape in shapes) else shapes


def result_shapes(function: func.FuncOp, arguments: Sequence[Shape]) -> list[Shape] | None:
    """The sizes of what a primitive returns for arguments of these; `None` if shapes do not say them, or are wrong."""
    block = function.body.block
    shapes: dict[SSAValue, Shape] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        match op:
            case func.ReturnOp():
                return [shapes[value] for value in op.operands] if all(v in shapes for v in op.operands) else None
            case arith.ConstantOp():
                found = static_shapes(op.result_types)
            case FuseOp() if all(operand in shapes for operand in op.operands):
                try:
                    found = sizes_of_results(op, [shapes[operand] for operand in op.operands])
                except (VerifyException, ValueError):
                    return None
            case _:
                return None
        if found is None:
            return None
        shapes.update(zip(op.results, found, strict=True))
    return None


def _reshape(op: DynReshapeOp) -> _Evaluate:
    keeps = not op.allowzero.value.data

    def evaluate(x: Array, shape: Array) -> Sequence[Array]:
        target = shape.tolist()
        if any(size < -1 for size in target):
            raise ValueError("a size is negative")
        return (x.reshape([x.shape[axis] if keeps and not size else size for axis, size in enumerate(target)]),)

    return evaluate


def _broadcast_to(op: DynBroadcastToOp) -> _Evaluate:
    def evaluate(x: Array, shape: Array) -> Sequence[Array]:
        return (np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape.tolist()))),)

    return evaluate


def _full(op: DynFullOp) -> _Evaluate:
    def evaluate(fill: Array, shape: Array) -> Sequence[Array]:
        return (np.broadcast_to(fill, tuple(shape.tolist())),)

    return evaluate


def _strided_slice(op: DynStridedSliceOp) -> _Evaluate:
    axes = None if op.axes is None else op.axes.get_values()

    def evaluate(x: Array, begin: Array, end: Array, strides: Array) -> Sequence[Array]:
        cuts = [slice(None)] * x.ndim
        named = normalize_axes(range(begin.size) if axes is None else axes, x.ndim)
        for axis, *cut in zip(named, begin.tolist(), end.tolist(), strides.tolist(), strict=True):
            cuts[axis] = slice(*cut)
        return (x[tuple(cuts)],)

    return evaluate


def _topk(op: DynTopkOp) -> _Evaluate:
    axis, is_ascend = op.axis.value.data, bool(op.is_ascend.value.data)

    def evaluate(x: Array, k: Array) -> Sequence[Array]:
        if not 0 <= int(k) <= x.shape[axis]:
            raise ValueError("more elements than there are")
        order = sorted_order(x, axis, is_ascend=is_ascend).take(np.arange(int(k)), axis=axis)
        return np.take_along_axis(x, order, axis=axis), order

    return evaluate


def _arange(op: DynArangeOp) -> _Evaluate | None:
    if not is_tensor(op.start.type) or element_dtype(op.start.type.element_type).kind != "i":
        return None  # how many real numbers there are is a matter of rounding

    def evaluate(start: Array, stop: Array, step: Array) -> Sequence[Array]:
        numbers = int(start), int(stop), int(step)
        if max(map(abs, numbers)) >= _EXACT:
            raise ValueError("the op computes in f64")
        return (np.arange(*numbers, dtype=start.dtype),)

    return evaluate


_EXACT = 1 << 53
"""Below it, f64 has all integers."""
_DYNAMIC: Mapping[type[Operation], Callable[[Any], _Evaluate | None]] = {
    DynArangeOp: _arange,
    DynBroadcastToOp: _broadcast_to,
    DynFullOp: _full,
    DynReshapeOp: _reshape,
    DynStridedSliceOp: _strided_slice,
    DynTopkOp: _topk,
}


def _own(op: FuseOp) -> _Evaluate:
    """The meaning of an op that only puts elements elsewhere, or computes with whatever knows `+` and `*`."""
    return op.evaluate


def _sizes(op: FuseOp) -> _Evaluate:
    def evaluate(x: Array) -> Sequence[Array]:
        return (np.array([*x.shape, None], object)[:-1],)

    return evaluate


def _cast(op: FuseOp) -> _Evaluate:
    """Integers stay what they are, if they are in the range of the result."""
    is_truth = any(_dtype(value.type).kind == "b" for value in (*op.operands, *op.results))

    def evaluate(x: Array) -> Sequence[Array]:
        if is_truth:
            raise UntraceableError("a number of a truth value")
        return (x,)

    return evaluate


def _dtype(type: Attribute) -> np.dtype[Any]:
    assert is_tensor(type), "an op on tensors"
    return element_dtype(type.element_type)


def _maximum(op: FuseOp) -> _Evaluate:
    def evaluate(lhs: Array, rhs: Array) -> Sequence[Array]:
        return (np.maximum(lhs, rhs),)

    return evaluate


def _minimum(op: FuseOp) -> _Evaluate:
    def evaluate(lhs: Array, rhs: Array) -> Sequence[Array]:
        return (np.minimum(lhs, rhs),)

    return evaluate


def _quotient(op: FuseOp) -> _Evaluate:
    """Towards zero; of what is not negative that is the one that is rounded down."""

    def evaluate(lhs: Array, rhs: Array) -> Sequence[Array]:
        if any(number < 0 for number in (*lhs.reshape(-1).tolist(), *rhs.reshape(-1).tolist())):
            raise UntraceableError("a quotient of negative numbers")
        return (lhs // rhs,)

    return evaluate


_TRACED: Mapping[type[Operation], Callable[[Any], _Evaluate]] = {
    ShapeOfOp: _sizes,
    CastOp: _cast,
    MaximumOp: _maximum,
    MinimumOp: _minimum,
    DivideOp: _quotient,
    FloorDivideOp: _quotient,
    **dict.fromkeys(
        (
            *(AddOp, SubtractOp, MultiplyOp, EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp),
            *(LogicalAndOp, WhereOp),
            *(TakeOp, ConcatenateOp, StackOp, ReshapeOp, ExpandDimsOp, SqueezeOp, StridedSliceOp),
        ),
        _own,
    ),
}
"""Ops that have a meaning on arrays of integers and traced sizes."""
