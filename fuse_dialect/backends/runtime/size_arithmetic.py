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
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynArangeOp, DynBroadcastToOp, DynFullOp, DynReshapeOp, DynStridedSliceOp
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor, normalize_axes

_Evaluate = Callable[..., Sequence[Array]]


@dataclass(frozen=True, slots=True)
class _Step:
    evaluate: _Evaluate
    operands: tuple[int, ...]
    """Places among the values."""
    forms: tuple[tuple[np.dtype[Any], Shape], ...]
    """Of the results, as their types declare them."""


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
            case _:
                return None
    return None


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
    return _Step(evaluate, tuple(places[operand] for operand in op.operands), tuple(forms))


def meaning_on_sizes(op: FuseOp) -> _Evaluate | None:
    """The meaning of an op, by NumPy's own views where it has computed numbers; `None` if there is none here."""
    if not isinstance(op, DynamicOp):
        return op.evaluate
    make = _DYNAMIC.get(type(op))
    return None if make is None else make(op)


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
}
