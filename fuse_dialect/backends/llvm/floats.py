"""Formulas on floats, scalars or vectors alike: what mathematical functions are written with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import F64, I32, Type, Value, constant
from fuse_dialect.machines.machine import Machine, Unit

Number: TypeAlias = Value | float
"""A value of the formula's type, or a constant."""


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer that is an exponent."""

    number: Value
    """As a float."""
    bits: Value
    """An integer that ends in it plus two biases, modulo four times the greatest exponent."""


@dataclass(frozen=True, slots=True)
class Floats:
    """Writes the operations of a formula; f32 and f64, any number of lanes."""

    f: Function
    type: Type
    machine: Machine

    @property
    def integer(self) -> Type:
        """As many lanes of integers as wide as the floats."""
        return self.type.of("i32" if self.type.bits == 32 else "i64")

    @property
    def mantissa_bits(self) -> int:
        """Bits of the fraction."""
        return 23 if self.type.bits == 32 else 52

    @property
    def bias(self) -> int:
        """What is added to exponents."""
        return 127 if self.type.bits == 32 else 1023

    def value(self, number: Number) -> Value:
        """The number as an operand."""
        return number if isinstance(number, Value) else constant(self.type, number)

    def add(self, lhs: Number, rhs: Number) -> Value:
        """`lhs + rhs`."""
        return self.f.fadd(self.value(lhs), self.value(rhs), "")

    def sub(self, lhs: Number, rhs: Number) -> Value:
        """`lhs - rhs`."""
        return self.f.fsub(self.value(lhs), self.value(rhs), "")

    def mul(self, lhs: Number, rhs: Number) -> Value:
        """`lhs * rhs`."""
        return self.f.fmul(self.value(lhs), self.value(rhs), "")

    def div(self, lhs: Number, rhs: Number) -> Value:
        """`lhs / rhs`."""
        return self.f.fdiv(self.value(lhs), self.value(rhs), "")

    def fma(self, lhs: Number, rhs: Number, addend: Number) -> Value:
        """`lhs * rhs + addend`, rounded once, whatever that costs."""
        return self._call("fma", self.value(lhs), self.value(rhs), self.value(addend))

    def mad(self, lhs: Number, rhs: Number, addend: Number) -> Value:
        """`lhs * rhs + addend`, rounded once or twice, whatever is faster."""
        return self._call("fmuladd", self.value(lhs), self.value(rhs), self.value(addend))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The polynomial in `x` with these coefficients, that of the highest power first (Horner)."""
        result: Number = coefficients[0]
        for coefficient in coefficients[1:]:
            result = self.mad(result, x, coefficient)
        return self.value(result)

    def neg(self, x: Value) -> Value:
        """`-x`."""
        return self.f.fneg(x)

    def abs(self, x: Value) -> Value:
        """`|x|`."""
        return self._call("fabs", x)

    def sqrt(self, x: Value) -> Value:
        """The square root, correctly rounded."""
        return self._call("sqrt", x)

    def nearest(self, x: Value) -> Value:
        """The nearest integer as a float, the even one of two."""
        if Unit.ROUNDING in self.machine.units:
            return self._call("rint", x)
        # Added to 2**23 (2**52), what is less loses its fraction; what is not less has none.
        shift = 2.0**self.mantissa_bits
        magnitude = self.abs(x)
        whole = self.signed(self.sub(self.add(magnitude, shift), shift), x)
        return self.choose(self.is_("olt", magnitude, shift), whole, x)

    def whole_part(self, x: Value, factor: float) -> "Whole":
        """The integer nearest to `x * factor`, which is less than a quarter of 2**23 (2**52)."""
        # So large a number has no room for a fraction, and its last bits are the integer.
        shift = 1.5 * 2.0**self.mantissa_bits + 2 * self.bias
        large = self.mad(x, factor, shift)
        return Whole(self.sub(large, shift), self.bits(large))

    def signed(self, magnitude: Number, sign: Value) -> Value:
        """`magnitude` with the sign of `sign`."""
        return self._call("copysign", self.value(magnitude), sign)

    def at_most(self, x: Value, limit: float) -> Value:
        """The smaller of `x` and a constant; nan stays nan."""
        # The comparison is false for nan, which is chosen then: an intrinsic would give the bound.
        bound = self.value(limit)
        return self.f.select(self.f.compare("ogt", x, bound), bound, x)

    def at_least(self, x: Value, limit: float) -> Value:
        """The greater of `x` and a constant; nan stays nan."""
        bound = self.value(limit)
        return self.f.select(self.f.compare("olt", x, bound), bound, x)

    def is_(self, predicate: str, lhs: Value, rhs: Number) -> Value:
        """`fcmp`."""
        return self.f.compare(predicate, lhs, self.value(rhs))

    def choose(self, condition: Value, yes: Number, no: Number) -> Value:
        """`yes` where the condition holds, else `no`."""
        return self.f.select(condition, self.value(yes), self.value(no))

    def bits(self, x: Value) -> Value:
        """The float's bits as an integer."""
        return self.f.cast("bitcast", x, self.integer)

    def from_bits(self, bits: Value) -> Value:
        """The float that has these bits."""
        return self.f.cast("bitcast", bits, self.type)

    def whole(self, number: int) -> Value:
        """An integer constant as wide as the floats."""
        return constant(self.integer, number)

    def to_integer(self, x: Value) -> Value:
        """An integral float as an integer; whatever comes out for one that does not fit, it is one value."""
        return self.f.freeze(self.f.cast("fptosi", x, self.integer))

    def to_float(self, x: Value) -> Value:
        """An integer as a float."""
        return self.f.cast("sitofp", x, self.type)

    def scaled(self, x: Value, exponent: "Whole") -> Value:
        """`x * 2**exponent` for an `exponent` of at most 1.5 times the greatest exponent, of either sign.

        The result is right also where it is denormal or infinite: AVX-512 has an instruction, else two factors do it.
        """
        # Narrower forms need AVX-512VL, which not every processor with AVX-512F has.
        whole_vector = self.type.lanes * self.type.bits == 512
        if whole_vector and Unit.SCALING in self.machine.units:
            name = "llvm.x86.avx512.mask.scalef." + ("ps.512" if self.type.bits == 32 else "pd.512")
            mask = constant(Type("i16" if self.type.bits == 32 else "i8"), -1)
            return self.f.call(name, self.type, [x, exponent.number, constant(self.type, 0.0), mask, constant(I32, 4)])
        # A power of two beyond the normal numbers has no bits of its own; half of the exponent always has. The bits
        # end in the exponent plus two biases: each factor gets one.
        mantissa = self.whole(self.mantissa_bits)
        half = self.f.binary("shl", self.f.binary("lshr", exponent.bits, self.whole(1)), mantissa)
        rest = self.f.binary("sub", self.f.binary("shl", exponent.bits, mantissa), half)
        return self.mul(self.mul(x, self.from_bits(half)), self.from_bits(rest))

    def power_of_two(self, exponent: Value) -> Value:
        """`2**exponent` for an integer in the range of normal numbers."""
        biased = self.f.binary("add", exponent, self.whole(self.bias))
        return self.from_bits(self.f.binary("shl", biased, self.whole(self.mantissa_bits)))

    def doubles(self) -> "Floats":
        """As many lanes of f64."""
        return Floats(self.f, F64.wide(self.type.lanes), self.machine)

    def each(self, function: str, *operands: Value) -> Value:
        """A function of the C library, lane by lane; `function` is the name for f64."""
        symbol = function + "f" if self.type.bits == 32 else function
        if not self.type.lanes:
            return self.f.call(symbol, self.type, operands)
        result = Value("poison", self.type)
        # The C library has no vectors, and no process has a library that does.
        for lane in range(self.type.lanes):
            scalars = [self.f.element(operand, lane) for operand in operands]
            result = self.f.insert(result, self.f.call(symbol, self.type.scalar, scalars), lane)
        return result

    def any(self, condition: Value) -> Value:
        """Whether the condition holds in any lane."""
        if not condition.type.lanes:
            return condition
        return self.f.intrinsic("vector.reduce.or", condition.type.scalar, [condition], over=[condition.type])

    def _call(self, name: str, *operands: Value) -> Value:
        return self.f.intrinsic(name, self.type, operands)
