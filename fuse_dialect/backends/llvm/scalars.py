"""Scalar bodies of programs as code, for one element or for a vector of them: `emit_body`.

1. A value has the register type of its element, see `elements`; f16 and bf16 are computed in f32 and rounded after
   every function, as the interpreter does.
2. Nothing here is undefined for any operand: integer functions are guarded, conversions of floats to integers
   saturate and give 0 for nan.
3. nan and infinities are as in NumPy. Multiplications and additions may fuse.

`interpreters/scalar.py` says what every function means.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I8, I16, Type, Value, constant
from fuse_dialect.backends.llvm import integers, trigonometry, vector_math
from fuse_dialect.backends.llvm.byte_rounding import bounded_quotient, cut_byte, rounded_byte
from fuse_dialect.backends.llvm.byte_tables import look_up
from fuse_dialect.backends.llvm.elements import narrowed, register_type, widened
from fuse_dialect.backends.llvm.floats import Floats
from fuse_dialect.loops import functions
from fuse_dialect.loops.functions import Parameter, Variant
from fuse_dialect.loops.program import Apply, Body, Extent, Guard, Index, Inside, Instruction, Literal, Position, Read
from fuse_dialect.machines.machine import Machine, Unit

Values: TypeAlias = Mapping[int, Value]
"""Values of a body's instructions, by place."""


class Surroundings(Protocol):
    """How a body gets at what is outside of it."""

    def read(self, read: Read, values: Values) -> Value:
        """An element of a buffer, in registers; `values` are those of the body so far, for computed indices."""
        ...

    def position(self, index: Index) -> Value:
        """The value of an index, as i64."""
        ...

    def extent(self, size: str) -> Value:
        """The value of a symbolic size, as i64."""
        ...

    def inside(self, guards: Sequence[Guard]) -> Value:
        """Whether guards hold, as i1."""
        ...


@dataclass(frozen=True, slots=True)
class Scalars:
    """Where code is written, and for how many elements at once."""

    f: Function
    machine: Machine
    lanes: int
    """Elements at once; 0 for code on scalars."""
    fast_math: bool = False
    """Whether nan and infinities may be ignored."""

    def wide(self, value: Value) -> Value:
        """The value in every lane."""
        return value if value.type.lanes == self.lanes else self.f.splat(value, self.lanes)


def emit_body(scalars: Scalars, around: Surroundings, body: Body, first: Sequence[Value] = ()) -> list[Value]:
    """The values of a body's instructions.

    Args:
        scalars: Where it is written.
        around: What is outside of it.
        body: The instructions.
        first: Values at the places before the first instruction: the combined value, for a stage's `finish`.

    Returns:
        A value for each place; the last one counts.
    """
    values = dict(enumerate(first))
    items: list[Instruction | None] = [None] * len(values)
    for instruction in body:
        # Values of all lanes alike stay scalars in nests; here each instruction expects vectors.
        values[len(items)] = scalars.wide(emit_instruction(scalars, around, instruction, values, items))
        items.append(instruction)
    return list(values.values())


def emit_instruction(
    scalars: Scalars,
    around: Surroundings,
    instruction: Instruction,
    values: Values,
    body: Sequence[Instruction | None],
) -> Value:
    """The value of one instruction.

    Args:
        scalars: Where it is written.
        around: What is outside of the body.
        instruction: The instruction.
        values: Values of the instruction's operands, by place.
        body: The instructions by place; `None` for a combined value.
    """
    f = scalars.f
    match instruction:
        case Literal():
            return _literal(scalars, instruction)
        case Read():
            return around.read(instruction, values)
        case Position():
            return _resized(f, around.position(instruction.index), instruction.element)
        case Extent():
            return _resized(f, around.extent(instruction.size), instruction.element)
        case Inside():
            return around.inside(instruction.guards)
        case Apply():
            sources = [body[place] for place in instruction.operands]
            literals = [source if isinstance(source, Literal) else None for source in sources]
            operands = [
                scalars.wide(values[place]) if literal is None else _literal(scalars, literal)
                for place, literal in zip(instruction.operands, literals, strict=True)
            ]
            return apply(scalars, instruction, operands, literals)


def apply(
    scalars: Scalars, instruction: Apply, operands: Sequence[Value], literals: Sequence[Literal | None] = ()
) -> Value:
    """The value of a function.

    Args:
        scalars: Where it is written.
        instruction: The function, its parameter, and the element type of the result.
        operands: Its operands, all of as many lanes.
        literals: Which operands are constants.
    """
    name, f = instruction.function, scalars.f
    result = register_type(instruction.element, scalars.lanes)
    match name, instruction.parameter:
        case functions.TABLE, bytes() as table:
            return look_up(f, scalars.machine, table, operands[0])
        case functions.BYTE | functions.INDEX, int() as zero:
            return rounded_byte(f, operands[0], zero, result, is_index=name == functions.INDEX)
        case functions.CUT_BYTE, _:
            return cut_byte(f, operands[0])
        case "arith.divf", Variant.BOUNDED if literals and literals[1] is not None and scalars.lanes:
            return _by_known(f, operands[0], literals[1])
        case functions.BYTE_PAIR, _:
            return _pair(f, operands[0])
        case "arith.cmpi", str() as predicate:
            return f.compare(predicate, *operands)
        case "arith.cmpf", str() as predicate:
            return f.compare(predicate, *(widened(f, operand) for operand in operands))
        case _:
            return _plain_function(scalars, instruction, operands, literals, result)


def _by_known(f: Function, x: Value, literal: Literal) -> Value:
    """A bounded quotient by a number that is known."""
    by = np.float32(literal.value)
    divisor, reciprocal, bound = (
        constant(x.type, float(each)) for each in (by, np.float32(1) / by, by * functions.BOUND)
    )
    return bounded_quotient(f, x, divisor, reciprocal, bound)


def _pair(f: Function, x: Value) -> Value:
    """Two bytes as two numbers of 16 bits: one instruction for all lanes."""
    count = 2 * max(x.type.lanes, 1)
    words = f.cast("zext", f.cast("bitcast", x, I8.wide(count)), I16.wide(count))
    return f.cast("bitcast", words, x.type.of("i32"))


def _plain_function(
    scalars: Scalars,
    instruction: Apply,
    operands: Sequence[Value],
    literals: Sequence[Literal | None],
    result: Type,
) -> Value:
    """The value of a function of operands alone, in the form that a variant of it has."""
    name, f = instruction.function, scalars.f
    if name in _INTEGER_FUNCTIONS:
        return _INTEGER_FUNCTIONS[name](f, operands, result)
    if name in _CONVERSIONS:
        return _CONVERSIONS[name](f, operands[0], result)
    if name in ("arith.maximumf", "arith.minimumf"):
        return _extremum(scalars, name == "arith.maximumf", operands[0], operands[1], literals)
    wide = [widened(f, operand) for operand in operands]
    variant = _VARIANTS.get((name, instruction.parameter))
    if variant is not None:
        return variant(Floats(f, wide[0].type, scalars.machine), wide[0])
    # Powers by small constants are what models have most; a product is closer than a logarithm.
    if name == "math.powf" and len(literals) == 2 and literals[1] is not None:
        simple = _SIMPLE_POWERS.get(float(literals[1].value))
        if simple is not None:
            return narrowed(f, simple(Floats(f, wide[0].type, scalars.machine), wide[0]), result)
    return narrowed(f, _FLOAT_FUNCTIONS[name](Floats(f, wide[0].type, scalars.machine), *wide), result)


def extreme(scalars: Scalars, greater: bool, lhs: Value, rhs: Value) -> Value:
    """The greater (or smaller) of two floats; nan when one is nan.

    One instruction of x86 does it if nan does not matter, as with `fast_math`.
    """
    f = scalars.f
    predicate = "ogt" if greater else "olt"
    # `maxps` gives its second operand if one is nan: then only a nan in the first is left to see to.
    wide = widened(f, rhs)
    chosen = f.select(f.compare(predicate, wide, widened(f, lhs)), rhs, lhs)  # gives lhs if one of them is nan
    if scalars.fast_math:
        return chosen
    # Frozen, or LLVM makes one selection of the two, of two comparisons and no `maxps`.
    return f.select(f.compare("uno", wide, wide), rhs, f.freeze(chosen))


def _extremum(scalars: Scalars, greater: bool, lhs: Value, rhs: Value, literals: Sequence[Literal | None]) -> Value:
    """The same with 0 greater than -0, which reductions leave open."""
    f = scalars.f
    for literal, number, other in zip(literals, (lhs, rhs), (rhs, lhs), strict=False):
        if literal is not None and literal.value == literal.value:
            # The other operand is chosen where it is nan, and of equal numbers unless the literal is the zero to take.
            takes_zero = literal.value == 0 and (str(literal.value)[0] != "-") == greater
            predicate = ("oge" if takes_zero else "ogt") if greater else ("ole" if takes_zero else "olt")
            return f.select(f.compare(predicate, widened(f, number), widened(f, other)), number, other)
    if scalars.fast_math:
        return extreme(scalars, greater, lhs, rhs)
    wide, other = widened(f, lhs), widened(f, rhs)
    chosen = f.select(f.compare("ogt" if greater else "olt", wide, other), lhs, rhs)
    # Equal numbers have the same bits unless they are zeros: then the signs decide.
    bits = [f.cast("bitcast", each, each.type.of(f"i{each.type.bits}")) for each in (lhs, rhs)]
    joined = f.cast("bitcast", f.binary("and" if greater else "or", *bits), lhs.type)
    chosen = f.select(f.compare("oeq", wide, other), joined, chosen)
    return f.select(f.compare("uno", wide, wide), lhs, chosen)


def _literal(scalars: Scalars, literal: Literal) -> Value:
    return constant(register_type(literal.element, scalars.lanes), literal.value)


def _resized(f: Function, value: Value, element: str) -> Value:
    type = register_type(element, value.type.lanes)
    if type.is_float:
        return narrowed(f, f.cast("sitofp", value, type.of("double")), type)
    if type.bits == 1:
        return f.compare("ne", value, constant(value.type, 0))
    return f.cast("trunc" if type.bits < 64 else "sext", value, type)


_IntegerFunction: TypeAlias = Callable[[Function, Sequence[Value], Type], Value]
_Conversion: TypeAlias = Callable[[Function, Value, Type], Value]


def _plain(operation: str) -> _IntegerFunction:
    return lambda f, operands, result: f.binary(operation, *operands)


def _intrinsic(name: str) -> _IntegerFunction:
    return lambda f, operands, result: f.intrinsic(name, result, operands)


def _shift(operation: str) -> _IntegerFunction:
    return lambda f, operands, result: integers.shift(f, operation, *operands)


_INTEGER_FUNCTIONS: dict[str, _IntegerFunction] = {
    "arith.addi": _plain("add"),
    "arith.subi": _plain("sub"),
    "arith.muli": _plain("mul"),
    "arith.andi": _plain("and"),
    "arith.ori": _plain("or"),
    "arith.xori": _plain("xor"),
    "arith.divsi": lambda f, operands, result: integers.divide(f, *operands, unsigned=False),
    "arith.divui": lambda f, operands, result: integers.divide(f, *operands, unsigned=True),
    "arith.remsi": lambda f, operands, result: integers.remainder(f, *operands, unsigned=False),
    "arith.remui": lambda f, operands, result: integers.remainder(f, *operands, unsigned=True),
    "arith.floordivsi": lambda f, operands, result: integers.floor_divide(f, *operands),
    "arith.maxsi": _intrinsic("smax"),
    "arith.maxui": _intrinsic("umax"),
    "arith.minsi": _intrinsic("smin"),
    "arith.minui": _intrinsic("umin"),
    "arith.shli": _shift("shl"),
    "arith.shrsi": _shift("ashr"),
    "arith.shrui": _shift("lshr"),
    "arith.select": lambda f, operands, result: f.select(*operands),
    "math.absi": lambda f, operands, result: f.call(
        f"llvm.abs.{result.mangled}", result, [*operands, constant(Type("i1"), 0)]
    ),
    "math.ipowi": lambda f, operands, result: integers.power(f, *operands),
}


def _saturating(operation: str) -> _Conversion:
    def convert(f: Function, x: Value, result: Type) -> Value:
        wide = widened(f, x)
        if result.bits in (8, 16):
            return _narrowed_to_integer(f, wide, result, is_signed=operation == "fptosi.sat")
        return f.intrinsic(operation, result, [wide], over=[result, wide.type])

    return convert


def _narrowed_to_integer(f: Function, x: Value, result: Type, *, is_signed: bool) -> Value:
    """The float as an integer of few bits by way of one of 32, which processors convert to; they take turns else."""
    bits = result.bits - is_signed
    least, zero = constant(x.type, -(1 << bits) if is_signed else 0), constant(x.type, 0)
    greatest = constant(x.type, (1 << bits) - 1)
    if is_signed:  # nan becomes 0, which is the least number of the others
        x = f.select(f.compare("ord", x, x), x, zero)
    x = f.select(f.compare("ogt", x, least), x, least)
    x = f.select(f.compare("olt", x, greatest), x, greatest)
    return f.cast("trunc", f.cast("fptosi", x, x.type.of("i32")), result)


def _from_integer(operation: str) -> _Conversion:
    def convert(f: Function, x: Value, result: Type) -> Value:
        if result.bits == 16:
            return narrowed(f, f.cast(operation, x, result.of("float")), result)
        return f.cast(operation, x, result)

    return convert


_CONVERSIONS: dict[str, _Conversion] = {
    "arith.extf": narrowed,
    "arith.truncf": narrowed,
    "arith.extsi": lambda f, x, result: f.cast("sext", x, result),
    "arith.extui": lambda f, x, result: f.cast("zext", x, result),
    "arith.trunci": lambda f, x, result: f.cast("trunc", x, result),
    "arith.bitcast": lambda f, x, result: f.cast("bitcast", x, result),
    "arith.fptosi": _saturating("fptosi.sat"),
    "arith.fptoui": _saturating("fptoui.sat"),
    "arith.sitofp": _from_integer("sitofp"),
    "arith.uitofp": _from_integer("uitofp"),
}


def _float_binary(operation: str) -> Callable[..., Value]:
    def write(m: Floats, lhs: Value, rhs: Value) -> Value:
        return m.f.float_binary(operation, lhs, rhs)

    return write


def _float_intrinsic(name: str) -> Callable[..., Value]:
    def write(m: Floats, *operands: Value) -> Value:
        return m.f.intrinsic(name, m.type, operands)

    return write


def _remainder(m: Floats, lhs: Value, rhs: Value) -> Value:
    """As `fmod`: exact. Where all quotients are small it is a fused multiplication, else the C library does it."""
    if Unit.FMA not in m.machine.units:
        return m.each("fmod", lhs, rhs)
    f, quotient = m.f, m.div(lhs, rhs)
    is_large = m.any(m.is_("uge", m.abs(quotient), 2.0**m.mantissa_bits))
    (result,) = f.either(is_large, lambda: [m.each("fmod", lhs, rhs)], lambda: [_small(m, lhs, rhs, quotient)])
    return result


def _small(m: Floats, lhs: Value, rhs: Value, quotient: Value) -> Value:
    """The remainder where the integral part of the quotient is exact, or one more for having been rounded."""
    f, zero = m.f, m.value(0.0)
    whole = f.intrinsic("trunc", m.type, [quotient])
    # Zero times an infinite divisor is nan, but the remainder is the dividend.
    rest = m.choose(m.is_("oeq", whole, zero), lhs, m.fma(m.neg(whole), rhs, lhs))
    # A quotient that was rounded up leaves a rest of the other sign: one divisor too much was taken.
    differ = f.binary("xor", m.is_("olt", rest, zero), m.is_("olt", lhs, zero))
    is_wrong = f.binary("and", differ, m.is_("une", rest, zero))
    return m.signed(m.choose(is_wrong, m.add(rest, m.signed(rhs, lhs)), rest), lhs)


_SIMPLE_POWERS: dict[float, Callable[[Floats, Value], Value]] = {
    2.0: lambda m, x: m.mul(x, x),
    3.0: lambda m, x: m.mul(m.mul(x, x), x),
    1.0: lambda m, x: x,
    -1.0: lambda m, x: m.div(1.0, x),
}
"""Powers that are a product or a quotient, nan and infinities included."""

_FLOAT_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "arith.addf": _float_binary("fadd"),
    "arith.subf": _float_binary("fsub"),
    "arith.mulf": _float_binary("fmul"),
    "arith.divf": _float_binary("fdiv"),
    "arith.remf": _remainder,
    "arith.negf": Floats.neg,
    "math.absf": Floats.abs,
    "math.ceil": _float_intrinsic("ceil"),
    "math.floor": _float_intrinsic("floor"),
    "math.trunc": _float_intrinsic("trunc"),
    "math.roundeven": Floats.nearest,
    "math.copysign": _float_intrinsic("copysign"),
    "math.fma": _float_intrinsic("fma"),
    "math.sqrt": _float_intrinsic("sqrt"),
    "math.rsqrt": vector_math.rsqrt,
    "math.exp": vector_math.exp,
    "math.exp2": vector_math.exp2,
    "math.expm1": vector_math.expm1,
    "math.log": vector_math.log,
    "math.log2": vector_math.log2,
    "math.log1p": vector_math.log1p,
    "math.tanh": vector_math.tanh,
    "math.erf": vector_math.erf,
    "math.sinh": vector_math.sinh,
    "math.cosh": vector_math.cosh,
    "math.asinh": vector_math.asinh,
    "math.acosh": vector_math.acosh,
    "math.atanh": vector_math.atanh,
    "math.powf": vector_math.pow,
    "math.sin": trigonometry.sin,
    "math.cos": trigonometry.cos,
    "math.tan": trigonometry.tan,
    "math.asin": trigonometry.asin,
    "math.acos": trigonometry.acos,
    "math.atan": trigonometry.atan,
}
_VARIANTS: dict[tuple[str, Parameter | None], vector_math.Function] = {
    ("math.exp", Variant.FALLING): vector_math.falling_exp,
    ("math.exp", Variant.LIFTED): vector_math.lifted_exp,
}
"""Variants of f32 with code of their own; others are written as the function itself."""
FUNCTIONS = frozenset(
    {
        *_INTEGER_FUNCTIONS,
        *_CONVERSIONS,
        *_FLOAT_FUNCTIONS,
        "arith.cmpi",
        "arith.cmpf",
        "arith.maximumf",
        "arith.minimumf",
    }
)
"""Every function that has native code."""
