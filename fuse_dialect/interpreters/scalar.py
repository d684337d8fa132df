"""The NumPy meaning of the scalar code in the bodies of map ops, on all elements at once.

1. A value of an `arith` or `math` op is an array of that scalar's values, one for each element of the result.
2. Integers are signless: arrays hold them as signed, and the ops that read them as unsigned say so.
3. f16 and bf16 are computed in f32 and rounded after every op, as hardware does.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.dialect.accumulation import widened
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.op import Array, MapOp
from fuse_dialect.dialect.scalars import RemFOp, predicate_of, signless
from fuse_dialect.dialect.special_functions import (
    as_integers,
    erf,
    integer_power,
    maximum,
    minimum,
    of_reals,
    power,
    truncated_quotient,
)
from fuse_dialect.dialect.types import element_dtype, is_tensor
from fuse_dialect.kernels.functions import Parameter

Function: TypeAlias = Callable[..., Array]
"""Arrays of operands to the array of results; casting to the result's element type comes after."""


def _unsigned(array: Array) -> Array:
    """Signless integers, read as unsigned."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "i" else array


def _signed(array: Array) -> Array:
    """Signless integers, read as signed: a true i1 is -1."""
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def _on_unsigned(function: Function) -> Function:
    """The function on operands that are read as unsigned."""
    return lambda *operands: function(*(_unsigned(operand) for operand in operands))


def _on_floats(function: Function) -> Function:
    """The function on operands that hold f32 instead of f16 and bf16."""
    return lambda *operands: function(*(widened(operand) for operand in operands))


def _fused_multiply_add(x: Array, y: Array, z: Array) -> Array:
    """`x * y + z`, rounded once when `z` all but cancels the product, and within one unit otherwise.

    Source: T. J. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18 (1971).
    """
    if x.dtype == np.float32:
        return x.astype(np.float64) * y + z  # the product of two f32 is exact in f64
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return (product + z) + np.where(np.isfinite(error), error, 0)


def _halves(x: Array) -> tuple[Array, Array]:
    """Two f64 of 26 bits each, whose sum is `x`."""
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _never(x: Array, y: Array) -> Array:
    return np.zeros(np.broadcast_shapes(x.shape, y.shape), np.bool_)


def _is_unordered(x: Array, y: Array) -> Array:
    return np.isnan(x) | np.isnan(y)


def _differ_ordered(x: Array, y: Array) -> Array:
    return (x < y) | (x > y)


def _not(predicate: Function) -> Function:
    return lambda *operands: np.logical_not(predicate(*operands))


_FLOAT_FUNCTIONS: dict[type[Operation], Function] = {
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.NegfOp: np.negative,
    RemFOp: np.fmod,
    arith.MaximumfOp: maximum,
    arith.MinimumfOp: minimum,
    arith.ExtFOp: np.positive,
    arith.TruncFOp: np.positive,
    math.AbsFOp: np.abs,
    math.AcosOp: partial(of_reals, np.arccos),
    math.AcoshOp: partial(of_reals, np.arccosh),
    math.AsinOp: partial(of_reals, np.arcsin),
    math.AsinhOp: partial(of_reals, np.arcsinh),
    math.AtanOp: partial(of_reals, np.arctan),
    math.AtanhOp: partial(of_reals, np.arctanh),
    math.CeilOp: np.ceil,
    math.CopySignOp: np.copysign,
    math.CosOp: partial(of_reals, np.cos),
    math.CoshOp: partial(of_reals, np.cosh),
    math.ErfOp: erf,
    math.Exp2Op: partial(of_reals, np.exp2),
    math.ExpM1Op: partial(of_reals, np.expm1),
    math.ExpOp: partial(of_reals, np.exp),
    math.FloorOp: np.floor,
    math.FmaOp: _fused_multiply_add,
    math.Log1pOp: partial(of_reals, np.log1p),
    math.Log2Op: partial(of_reals, np.log2),
    math.LogOp: partial(of_reals, np.log),
    math.PowFOp: power,
    math.RoundEvenOp: np.rint,
    math.RsqrtOp: _reciprocal_root,
    math.SinOp: partial(of_reals, np.sin),
    math.SinhOp: partial(of_reals, np.sinh),
    math.SqrtOp: np.sqrt,
    math.TanOp: partial(of_reals, np.tan),
    math.TanhOp: partial(of_reals, np.tanh),
    math.TruncOp: np.trunc,
}

_INTEGER_FUNCTIONS: dict[type[Operation], Function] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.DivSIOp: truncated_quotient,
    arith.DivUIOp: _on_unsigned(np.floor_divide),
    arith.FloorDivSIOp: np.floor_divide,
    arith.RemSIOp: np.fmod,
    arith.RemUIOp: _on_unsigned(np.fmod),
    arith.MaxSIOp: np.maximum,
    arith.MaxUIOp: _on_unsigned(np.maximum),
    arith.MinSIOp: np.minimum,
    arith.MinUIOp: _on_unsigned(np.minimum),
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift,
    arith.ShRSIOp: np.right_shift,
    arith.ShRUIOp: _on_unsigned(np.right_shift),
    arith.TruncIOp: np.positive,
    arith.ExtSIOp: _signed,
    arith.ExtUIOp: _unsigned,
    arith.SIToFPOp: _signed,
    arith.UIToFPOp: _unsigned,
    arith.SelectOp: np.where,
    math.AbsIOp: np.abs,
    math.IPowIOp: integer_power,
}

_FUNCTIONS: dict[type[Operation], Function] = _INTEGER_FUNCTIONS | {
    op: _on_floats(function) for op, function in _FLOAT_FUNCTIONS.items()
}

_INTEGER_PREDICATES: tuple[Function, ...] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    _on_unsigned(np.less),
    _on_unsigned(np.less_equal),
    _on_unsigned(np.greater),
    _on_unsigned(np.greater_equal),
)
"""Meaning of `arith.cmpi` by the number of its predicate: eq ne slt sle sgt sge ult ule ugt uge."""

_FLOAT_PREDICATES: tuple[Function, ...] = (
    _never,
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    _differ_ordered,
    _not(_is_unordered),
    _not(_differ_ordered),
    _not(np.less_equal),
    _not(np.less),
    _not(np.greater_equal),
    _not(np.greater),
    np.not_equal,
    _is_unordered,
    _not(_never),
)
"""Meaning of `arith.cmpf` by the number of its predicate: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une
uno true. A comparison of NumPy is ordered, so an unordered one is the negation of its opposite."""


_BY_NAME: dict[str, Function] = {op.name: function for op, function in _FUNCTIONS.items()}
"""Meaning of the scalar functions that need no more than their operands."""
_COMPARISONS: dict[str, dict[str, Function]] = {
    arith.CmpiOp.name: dict(zip(arith.CMPI_COMPARISON_OPERATIONS, _INTEGER_PREDICATES, strict=True)),
    arith.CmpfOp.name: {
        predicate: _on_floats(function)
        for predicate, function in zip(arith.CMPF_COMPARISON_OPERATIONS, _FLOAT_PREDICATES, strict=True)
    },
}
"""Meaning of the comparisons, by predicate."""

FUNCTIONS = frozenset(
    {
        *_BY_NAME,
        *_COMPARISONS,
        arith.FPToSIOp.name,
        arith.FPToUIOp.name,
        arith.BitcastOp.name,
    }
)
"""Every function that has a meaning."""


def evaluate_scalar(op: Operation, operands: Sequence[Array]) -> Array:
    """The values of the one result of an `arith` or `math` op, in the result's element type.

    Raises:
        InterpretationError: The op has no meaning here.
    """
    match op:
        case arith.ConstantOp():
            return np.asarray(constant_array(op.value)).astype(element_dtype(op.result.type), copy=False)
        case _:
            return evaluate_function(op.name, operands, element_dtype(op.results[0].type), predicate_of(op))


def evaluate_function(
    name: str, operands: Sequence[Array], dtype: "np.dtype[np.generic]", parameter: Parameter | None = None
) -> Array:
    """The values of a scalar function, rounded to `dtype`.

    Args:
        name: An op of `arith` or `math`.
        operands: Arrays that broadcast; integers are signed, as signless ones are read.
        dtype: Of the result.
        parameter: The predicate of a comparison. A variant of a function is the function itself.

    Raises:
        InterpretationError: The function has no meaning here.
    """
    if name == arith.FPToSIOp.name:
        return as_integers(operands[0], dtype)
    if name == arith.FPToUIOp.name:
        return as_integers(operands[0], np.dtype(f"u{dtype.itemsize}")).astype(dtype, copy=False)
    if name == arith.BitcastOp.name:
        return np.ascontiguousarray(operands[0]).reshape(operands[0].shape).view(dtype)
    function = _COMPARISONS[name].get(str(parameter)) if name in _COMPARISONS else _BY_NAME.get(name)
    if function is None:
        raise InterpretationError(f"'{name}' op has no meaning in a scalar body")
    return np.asarray(function(*operands)).astype(dtype, copy=False)


def run_scalar_body(op: MapOp, *operands: Array) -> Array:
    """The result of a map op, computed by its scalar body.

    Args:
        op: The op; its operand and result types are used.
        operands: One array for each operand, of the operand's element type.

    Returns:
        The same as `op.evaluate`, up to rounding.

    Raises:
        InterpretationError: The body holds an op that has no meaning here.
    """
    result_type = op.result_types[0]
    assert is_tensor(result_type)
    block = Block(arg_types=[signless(type.element_type) for type in op.operand_types if is_tensor(type)])
    with building(block):
        result = op.scalar_body(*block.args)
    rank = result_type.get_num_dims()
    aligned = [_aligned(array, op.operand_axes(index), rank) for index, array in enumerate(operands)]
    values: dict[SSAValue, Array] = dict(zip(block.args, map(_signless, aligned), strict=True))
    with np.errstate(all="ignore"):
        for inner in block.ops:
            values[inner.results[0]] = evaluate_scalar(inner, [values[operand] for operand in inner.operands])
        computed = values[result].astype(element_dtype(result_type.element_type), copy=False)
    shape = result_type.get_shape() if result_type.has_static_shape() else ()
    return np.broadcast_to(computed, np.broadcast_shapes(shape, *(array.shape for array in aligned)))


def _aligned(array: Array, axes: Sequence[int], rank: int) -> Array:
    """The array with `rank` axes, of which its own are `axes`."""
    sizes = dict(zip(axes, array.shape, strict=True))
    return array.reshape([sizes.get(axis, 1) for axis in range(rank)])


def _signless(array: Array) -> Array:
    return array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array
