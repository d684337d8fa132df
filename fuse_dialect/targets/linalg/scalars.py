"""Bodies of loop programs as ops of `arith` and `math`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType, f32, i1, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.scalars import RemFOp, constant
from fuse_dialect.frontends.mlir.named_linalg import SCALAR_OPS
from fuse_dialect.loops.functions import Parameter
from fuse_dialect.loops.indices import Guard, Index, Loop, Quotient
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Extent,
    Inside,
    Instruction,
    Literal,
    Position,
    Read,
    Reduction,
    Value,
)
from fuse_dialect.targets.linalg.arrays import Arrays, element_type, index_constant
from fuse_dialect.targets.linalg.powers import is_power, power
from fuse_dialect.targets.linalg.unordered import combining_function

_PREDICATES: Mapping[str, Sequence[str]] = {
    arith.CmpfOp.name: tuple(arith.CMPF_COMPARISON_OPERATIONS),
    arith.CmpiOp.name: tuple(arith.CMPI_COMPARISON_OPERATIONS),
}


def literal_constant(literal: Literal) -> arith.ConstantOp:
    """A number as an op, which is inserted where a builder is open."""
    type = element_type(literal.element)
    if isinstance(type, AnyFloat):
        return arith.ConstantOp(FloatAttr(float(literal.value), type))
    width = int(literal.element.lstrip("ui"))
    return arith.ConstantOp(IntegerAttr(_wrapped(int(literal.value), width), IntegerType(width)))


def _wrapped(value: int, width: int) -> int:
    """An integer as the signless one of the same bits."""
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


def apply(name: str, operands: Sequence[SSAValue], type: Attribute, parameter: Parameter | None = None) -> SSAValue:
    """The value of a scalar function by its name; the parameter of one that compares is its predicate.

    Functions of `math` on f16 and bf16 are computed in f32, as the loop program says.
    """
    if name.startswith("math.") and isinstance(type, AnyFloat) and type.bitwidth == 16:
        wide = [arith.ExtFOp(operand, f32).result for operand in operands]
        return arith.TruncFOp(apply(name, wide, f32), type).result
    if name == RemFOp.name:
        return _remainder(operands[0], operands[1], constant(0, type))
    if is_power(name, operands):
        return power(*operands)
    properties: dict[str, Attribute] = {}
    if isinstance(parameter, str):
        properties["predicate"] = IntegerAttr(_PREDICATES[name].index(parameter), i64)
    op_class = SCALAR_OPS.get(name)
    if op_class is None:
        raise LoopFormError(f"computes '{name}', which is no op of arith or math")
    return op_class.create(operands=operands, result_types=[type], properties=properties).results[0]


def _remainder(lhs: SSAValue, rhs: SSAValue, zero: SSAValue) -> SSAValue:
    """`lhs` less the truncated quotient times `rhs`, with the sign of `lhs`: MLIR's `arith.remf` needs a C library.

    It is exact while the integral part of the quotient is, below 2**24 in f32. The quotient may have rounded up to the
    next integer; then the difference has the wrong sign, and is moved back.
    """
    quotient = math.TruncOp(arith.DivfOp(lhs, rhs).result).result
    difference = math.FmaOp(arith.NegfOp(quotient).result, rhs, lhs).result
    # Zero times an infinite divisor is nan, but the remainder is the dividend.
    is_whole = arith.CmpfOp(quotient, zero, "oeq").result
    rest = arith.SelectOp(is_whole, lhs, difference).result
    signs = [arith.CmpfOp(each, zero, "olt").result for each in (rest, lhs)]
    is_wrong = arith.AndIOp(arith.XOrIOp(signs[0], signs[1]).result, arith.CmpfOp(rest, zero, "une").result).result
    moved = arith.AddfOp(rest, math.CopySignOp(rhs, lhs).result).result
    return math.CopySignOp(arith.SelectOp(is_wrong, moved, rest).result, lhs).result


def combine(reduction: Reduction, total: SSAValue, value: SSAValue) -> SSAValue:
    """One step of a reduction; the total is the first operand, as in the named ops."""
    return apply(combining_function(reduction.combiner, reduction.start.element), [total, value], total.type)


@dataclass(frozen=True, slots=True)
class BodyWriter:
    """Writes a body inside the region of a `linalg.generic`."""

    arrays: Arrays
    inputs: Mapping[Read, SSAValue]
    """Reads that are inputs of the op, and the arguments of the block that hold their elements."""

    def write(self, body: Body, first: Sequence[SSAValue] = ()) -> SSAValue:
        """The value of the last instruction.

        Args:
            body: The instructions.
            first: Values that stand before the first instruction.
        """
        values = list(first)
        for instruction in body:
            values.append(self._instruction(instruction, values))
        return values[-1]

    def _instruction(self, instruction: Instruction, values: Sequence[SSAValue]) -> SSAValue:
        match instruction:
            case Read():
                return self._read(instruction, values)
            case Literal():
                return literal_constant(instruction).result
            case Position(index, element):
                return _integer(self._index(index), element_type(element))
            case Extent(size, element):
                return _integer(self.arrays.size(size), element_type(element))
            case Inside(guards):
                return self._inside(guards)
            case Apply(function, operands, element, parameter):
                return apply(function, [values[place] for place in operands], element_type(element), parameter)

    def _read(self, read: Read, values: Sequence[SSAValue]) -> SSAValue:
        if read in self.inputs:
            return self.inputs[read]
        inside = self._inside(read.guards) if read.guards else None
        places = [
            arith.IndexCastOp(values[index.place], IndexType()).result
            if isinstance(index, Value)
            else self._index(index)
            for index in read.indices
        ]
        if inside is not None:  # only there may an index be out of range
            places = [arith.SelectOp(inside, place, index_constant(0)).result for place in places]
        buffer = self.arrays.values[read.buffer]
        element = tensor.ExtractOp(buffer, places, element_type(read.element)).result
        if inside is None:
            return element
        assert read.otherwise is not None, "a read with guards says what it gives elsewhere"
        return arith.SelectOp(inside, element, literal_constant(read.otherwise).result).result

    def _index(self, index: Index) -> SSAValue:
        parts: list[SSAValue] = []
        taken: list[SSAValue] = []
        for atom, factor in index.terms:
            match atom:
                case Loop(axis):
                    part = IndexOp(axis).result
                case Quotient(of, by):
                    part = self._divided(of, by)[0]
                case _:
                    part = self._divided(atom.of, atom.by)[1]
            scaled = part if abs(factor) == 1 else arith.MuliOp(part, index_constant(abs(factor))).result
            (parts if factor > 0 else taken).append(scaled)
        if index.constant or not parts:
            parts.append(index_constant(index.constant))
        return reduce(_difference, [reduce(_sum, parts), *taken])

    def _divided(self, index: Index, by: int) -> tuple[SSAValue, SSAValue]:
        """Quotient rounded down and remainder that is not negative."""
        dividend, divisor = self._index(index), index_constant(by)
        quotient = arith.FloorDivSIOp(dividend, divisor).result
        return quotient, arith.SubiOp(dividend, arith.MuliOp(quotient, divisor).result).result

    def _inside(self, guards: Sequence[Guard]) -> SSAValue:
        """Whether 0 <= index < size for all guards: one unsigned comparison each."""
        return _all(
            [arith.CmpiOp(self._index(guard.index), self.arrays.size(guard.size), "ult").result for guard in guards]
        )


def _sum(one: SSAValue, other: SSAValue) -> SSAValue:
    return arith.AddiOp(one, other).result


def _difference(one: SSAValue, other: SSAValue) -> SSAValue:
    return arith.SubiOp(one, other).result


def _both(one: SSAValue, other: SSAValue) -> SSAValue:
    return arith.AndIOp(one, other).result


def _all(conditions: Sequence[SSAValue]) -> SSAValue:
    return reduce(_both, conditions) if conditions else arith.ConstantOp(IntegerAttr(1, i1)).result


def _integer(value: SSAValue, type: Attribute) -> SSAValue:
    return arith.IndexCastOp(value, type).result
