"""Complex numbers as pairs of real ones, between `stablehlo.complex` and the ops that take the parts.

1. What an op makes of numbers that `stablehlo.complex` ops are, is a `stablehlo.complex` op of what it makes of their
   parts. One that nobody needs is erased, so that no complex number is left of a computation that begins and ends
   with real ones.
2. An op that moves elements, or adds them up, does to each part what it does to real numbers: its own rule is asked
   twice.
3. A product of matrices is four, or two where one side is known to be real.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import ComplexType, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from fuse_dialect.dialect.constants import constant, stored_data
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.types import element_dtype
from fuse_dialect.frontends.fuse_values import NoFuseFormError, broadcast, cast_to, result, scalar, shape, tensor
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME
from fuse_dialect.frontends.stablehlo.rules.arithmetic import difference, times, total
from fuse_dialect.frontends.stablehlo.rules.building import Rule, combined_by, known_number, of_passing, only_op, word
from fuse_dialect.frontends.stablehlo.rules.contractions import CONTRACTIONS
from fuse_dialect.frontends.stablehlo.rules.indexing import INDEXING
from fuse_dialect.frontends.stablehlo.rules.reductions import REDUCTIONS
from fuse_dialect.frontends.stablehlo.rules.shapes import SHAPES
from fuse_dialect.frontends.stablehlo.split_complex import is_complex_type, part_type

Parts = tuple[SSAValue, SSAValue]
"""The real and the imaginary parts."""


def is_pair(value: SSAValue) -> bool:
    """Whether a value is given by its parts."""
    return isinstance(value, OpResult) and value.op.name == "stablehlo.complex"


def is_of_complex(op: Operation) -> bool:
    """Whether an op takes or gives complex numbers."""
    return any(is_complex_type(value.type) for value in (*op.operands, *op.results))


def parts(value: SSAValue) -> Parts:
    """The parts of complex numbers, or of real ones.

    Raises:
        NoFuseFormError: An op has made the numbers that has no rule.
    """
    if isinstance(value, OpResult) and is_pair(value):
        real, imaginary = value.op.operands
        return real, imaginary
    if is_complex_type(value.type):
        raise NoFuseFormError("complex numbers")
    return value, broadcast(scalar(value, 0), shape(value))


def pair(real: SSAValue, imaginary: SSAValue) -> SSAValue:
    """The complex numbers of two parts."""
    type = TensorType(ComplexType(tensor(real).element_type), shape(real))  # pyright: ignore[reportArgumentType]
    return BY_NAME["stablehlo.complex"].create(operands=[real, imaginary], result_types=[type]).results[0]


def is_zero(value: SSAValue) -> bool:
    """Whether all elements are known to be 0."""
    return known_number(value) == 0


def _on_parts(cls: type[FuseOp]) -> Rule:
    """An op that does to each part what it does to real numbers."""

    def rule(op: Operation) -> Sequence[SSAValue]:
        reals, imaginaries = zip(*map(parts, op.operands), strict=True)
        return [pair(result(cls(*reals)), result(cls(*imaginaries)))]

    return rule


def _parts_of_op(
    op: Operation,
    rule: Rule,
    regions: Callable[[Operation], Sequence[Region]] | None = None,
    scale: SSAValue | None = None,
) -> Parts:
    """What a rule makes of an op on each part; operands that are not complex stay. The last may be a scale of both."""
    found: list[SSAValue] = []
    for index in range(2):
        operands = [parts(each)[index] if is_complex_type(each.type) else each for each in op.operands]
        made = type(op).create(
            operands=operands if scale is None else [*operands[:-1], scale],
            result_types=[part_type(type) if is_complex_type(type) else type for type in op.result_types],
            properties=op.properties,
            attributes=op.attributes,
            regions=[] if regions is None else list(regions(op)),
        )
        found += of_passing(made, rule)
    return found[0], found[1]


def _moving(rule: Rule) -> Rule:
    return lambda op: [pair(*_parts_of_op(op, rule))]


def _summing(rule: Rule) -> Rule:
    """An op with a region that adds, that keeps the second of two elements, or that multiplies by real numbers."""

    def regions(op: Operation) -> Sequence[Region]:
        name = combined_by(op)
        scales = op.name == "stablehlo.scatter" and name == "multiply" and is_zero(parts(op.operands[2])[1])
        if not (scales or name == "add" or _keeps_second(op)):
            raise NoFuseFormError("complex numbers that are not added up")
        element = part_type(next(each.type for each in op.operands if is_complex_type(each.type))).element_type
        type: TensorType[Attribute] = TensorType(element, [])
        block = Block(arg_types=[type, type])
        with ImplicitBuilder(block):
            value: SSAValue = block.args[1]
            if name:
                value = BY_NAME[f"stablehlo.{name}"].create(operands=list(block.args), result_types=[type]).results[0]
            BY_NAME["stablehlo.return"].create(operands=[value])
        return [Region(block)]

    def converted(op: Operation) -> Sequence[SSAValue]:
        scales = op.name == "stablehlo.scatter" and combined_by(op) == "multiply"
        scale = parts(op.operands[2])[0] if scales else None
        return [pair(*_parts_of_op(op, rule, regions, scale))]

    return converted


def _keeps_second(op: Operation) -> bool:
    block = op.regions[0].first_block
    if block is None or only_op(block) is not None or block.last_op is None:
        return False
    return block.first_op is block.last_op and tuple(block.last_op.operands) == (block.args[-1],)


def product(x: Parts, y: Parts) -> Parts:
    """The products of complex numbers."""
    real = difference(times(x[0], y[0]), times(x[1], y[1]))
    return real, total(times(x[0], y[1]), times(x[1], y[0]))


def _multiply(op: Operation) -> Sequence[SSAValue]:
    return [pair(*product(*map(parts, op.operands)))]


def _contraction(rule: Rule) -> Rule:
    def converted(op: Operation) -> Sequence[SSAValue]:
        def of(one: SSAValue, other: SSAValue) -> SSAValue:
            made = type(op).create(
                operands=[one, other], result_types=list(map(part_type, op.result_types)), properties=op.properties
            )
            return of_passing(made, rule)[0]

        (a, b_), (c_, d) = map(parts, op.operands)
        if is_zero(d):
            return [pair(of(a, c_), of(b_, c_))]
        if is_zero(b_):
            return [pair(of(a, c_), of(a, d))]
        return [pair(difference(of(a, c_), of(b_, d)), total(of(a, d), of(b_, c_)))]

    return converted


def _conjugate(op: Operation) -> Sequence[SSAValue]:
    real, imaginary = parts(op.operands[0])
    return [pair(real, result(e.NegativeOp(imaginary)))]


def _part(index: int) -> Rule:
    return lambda op: [parts(op.operands[0])[index]]


def _convert(op: Operation) -> Sequence[SSAValue]:
    """Other widths; a real number becomes one without an imaginary part."""
    if not is_complex_type(op.results[0].type):
        raise NoFuseFormError("complex numbers as real ones")
    element = part_type(op.results[0].type).element_type
    (x,) = op.operands
    if is_complex_type(x.type):
        real, imaginary = parts(x)
        return [pair(cast_to(real, element), cast_to(imaginary, element))]
    real = cast_to(x, element)
    return [pair(real, broadcast(scalar(real, 0), shape(real)))]


def _constant(op: Operation) -> Sequence[SSAValue]:
    """Two constants."""
    value, type = op.properties["value"], tensor(op.results[0])
    if not isinstance(value, DenseIntOrFPElementsAttr) or value.get_type() != type:
        raise NoFuseFormError("a constant of another type")
    data = stored_data(cast("DenseIntOrFPElementsAttr", value))
    numbers = np.frombuffer(data, element_dtype(part_type(type).element_type)).reshape(-1, 2)
    sizes = tuple(type.get_shape())
    count = int(np.prod(sizes))
    if len(numbers) == count:
        return [pair(*(constant(np.ascontiguousarray(part).reshape(sizes)).result for part in numbers.T))]
    if len(numbers) != 1:
        raise NoFuseFormError("a constant of another number of elements")
    return [pair(*(constant(np.broadcast_to(part.reshape(()), sizes)).result for part in numbers.T))]


def _compare(op: Operation) -> Sequence[SSAValue]:
    (x, y), direction = map(parts, op.operands), word(op, "comparison_direction")
    if direction == "EQ":
        return [result(c.LogicalAndOp(*(result(c.EqualOp(one, other)) for one, other in zip(x, y, strict=True))))]
    if direction == "NE":
        return [result(c.LogicalOrOp(*(result(c.NotEqualOp(one, other)) for one, other in zip(x, y, strict=True))))]
    raise NoFuseFormError("an order of complex numbers")


def _is_finite(op: Operation) -> Sequence[SSAValue]:
    real, imaginary = parts(op.operands[0])
    # Of a number less itself only finite ones leave 0, so a sum of two such is 0.
    zero = total(difference(real, real), difference(imaginary, imaginary))
    return [result(c.EqualOp(zero, scalar(zero, 0)))]


_MOVING = {
    "stablehlo.broadcast": SHAPES,
    "stablehlo.broadcast_in_dim": SHAPES,
    "stablehlo.concatenate": SHAPES,
    "stablehlo.pad": SHAPES,
    "stablehlo.reshape": SHAPES,
    "stablehlo.reverse": SHAPES,
    "stablehlo.slice": SHAPES,
    "stablehlo.transpose": SHAPES,
    "stablehlo.dynamic_slice": INDEXING,
    "stablehlo.dynamic_update_slice": INDEXING,
    "stablehlo.gather": INDEXING,
}
"""Ops that move elements, with the table of their rules."""
_SUMMING = {"stablehlo.reduce": REDUCTIONS, "stablehlo.reduce_window": REDUCTIONS, "stablehlo.scatter": INDEXING}
"""Ops that add elements up, or replace some."""


def _select(op: Operation) -> Sequence[SSAValue]:
    which, *chosen = op.operands
    (a, b_), (c_, d) = map(parts, chosen)
    return [pair(result(b.WhereOp(which, a, c_)), result(b.WhereOp(which, b_, d)))]


PAIRS: Mapping[str, Rule] = {
    **{name: _moving(table[name]) for name, table in _MOVING.items()},
    **{name: _summing(table[name]) for name, table in _SUMMING.items()},
    "stablehlo.add": _on_parts(b.AddOp),
    "stablehlo.compare": _compare,
    "stablehlo.constant": _constant,
    "stablehlo.convert": _convert,
    "stablehlo.dot_general": _contraction(CONTRACTIONS["stablehlo.dot_general"]),
    "stablehlo.dot": _contraction(CONTRACTIONS["stablehlo.dot"]),
    "stablehlo.imag": _part(1),
    "stablehlo.is_finite": _is_finite,
    "stablehlo.multiply": _multiply,
    "stablehlo.negate": _on_parts(e.NegativeOp),
    "stablehlo.real": _part(0),
    "stablehlo.select": _select,
    "stablehlo.subtract": _on_parts(b.SubtractOp),
    "chlo.conj": _conjugate,
    "chlo.constant": _constant,
}
"""Rules of ops on pairs, by the name of the op; those of functions stand in `complex_functions.py`."""
