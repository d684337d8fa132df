"""Scalar functions: what is known of each, whoever asks. Pure data, one row for each function.

1. A function is an op of `arith` or `math`, or one that a backend makes of several: a dot product of quads, a table.
2. `cost` weighs work: what is computed again, what a fused kernel saves. All functions of real numbers cost the same:
   the reads and calls that it is weighed against differ by more.
3. `units` holds wherever a program runs, natively or by NumPy; it is what `docs/reference/accuracy.md` promises.
4. `instructions` and `chain` count the native code of f32 as it is written for AVX2, before LLVM sees it. While each
   instruction of a chain waits for the one before, a processor does what it sees of other elements, if it sees them.

`interpreters/scalar.py` says what every function means, `backends/llvm/scalars.py` how it is written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

DOT = "dot4"
"""The products of two quads of bytes, added up; the bytes of the first have no sign, those of the second have."""
SIGNED_DOT = "dot4.signed"
"""The same where the bytes of both have signs."""
UNSIGNED_DOT = "dot4.unsigned"
"""The same where the bytes of neither have."""
FLOAT_DOT = "dot2.bf16"
"""The products of two pairs of bf16, added up in f32; its parameter is how many elements of the second factor lie from
one number of a pair to the other before it is packed."""
PAIR_DOT = "dot2"
"""The products of two pairs of numbers of 16 bits, which have signs, added up in 32 bits."""
BYTE_PAIR = "pair"
"""Two bytes without a sign as two numbers of 16 bits: an i16 as an i32."""
TABLE = "table"
"""One of 256 bytes, by the number that a byte is without a sign; its parameter is these bytes."""
BYTE = "byte"
"""A float rounded, moved by an integer, and bounded as a byte without a sign; its parameter is the integer."""
CUT_BYTE = "cut"
"""A float bounded as a byte without a sign, and cut to an integer."""
INDEX = "index"
"""The same where something is computed with the byte, or a table is looked up."""


class Variant(Enum):
    """A form of a function that owes less than the function, because of what is known of its operands or its users."""

    ROUGH = "rough"
    """Of `arith.divf`: the quotient may be off by two units in the last place."""
    BOUNDED = "bounded"
    """Of `arith.divf`, in f32: what becomes a byte. Where the quotient is more than `BOUND`, it may be any number that
    is; where it is less than `-BOUND`, any such number, or nan."""
    FALLING = "falling"
    """Of `math.exp`: the operand is 0 or less, or nan."""
    LIFTED = "lifted"
    """The same, times a power of two that the backend chooses; anything for nan."""


Parameter: TypeAlias = str | int | bytes | Variant
"""What a function needs to know besides its operands: the predicate of a comparison as MLIR writes it (`olt`), the
integer of `BYTE` and `INDEX`, the bytes of `TABLE`, or which variant it is."""


BOUND = 1024
"""What is beyond it becomes the least or the greatest byte, though up to half of it is added."""
LONG_CHAIN = 12
"""So many instructions that wait for each other leave a processor idle: several vectors at once are faster."""


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """What is known of a function."""

    name: str
    """That of the op: `arith.addf`, `math.exp`."""
    cost: int = 1
    """How long it takes, about, in additions (2)."""
    instructions: int = 1
    """In how many it is written (4)."""
    chain: int = 1
    """How many of these wait for each other (4)."""
    has_branch: bool = False
    """Whether the C library computes some operands in f32, so that the code branches for each vector."""
    in_f64: bool = True
    """Whether f64 is computed without the C library."""
    units: float | None = None
    """Greatest error of f32, in units in the last place of the exact value; `None` if it is rounded once at most (3).

    Denormal results have the unit of the least normal number. f16 and bf16 are computed in f32 and rounded. f64 that
    is not computed by the C library is within 1.1 units.
    """

    @property
    def is_long(self) -> bool:
        """Whether a processor sees few elements ahead, because each is a long chain."""
        return self.chain >= LONG_CHAIN

    def is_straight(self, element: str) -> bool:
        """Whether the code for an element type has neither branches nor calls, so that vectors may run side by side."""
        return not self.has_branch if element != "f64" else self.in_f64


def _plain(names: str, *, cost: int = 1) -> Iterable[ScalarFunction]:
    """Exact functions that processors compute themselves."""
    return (ScalarFunction(name, cost) for name in names.split())


def _real(
    name: str, units: float, instructions: int, chain: int, *, has_branch: bool = False, in_f64: bool = False
) -> ScalarFunction:
    """A function of real numbers that is written out, as a series or a quotient of series."""
    return ScalarFunction(f"math.{name}", 10, instructions, chain, has_branch, in_f64, units)


# Of functions of real numbers: units, instructions, chain.
_ROWS = (
    *_plain("arith.addi arith.subi arith.muli arith.andi arith.ori arith.xori arith.shli arith.shrsi arith.shrui"),
    *_plain("arith.maxsi arith.maxui arith.minsi arith.minui arith.cmpi arith.cmpf arith.select"),
    *_plain("arith.addf arith.subf arith.mulf arith.negf arith.maximumf arith.minimumf"),
    ScalarFunction("arith.remf", 1, instructions=50, chain=10, has_branch=True, in_f64=False),
    *_plain("arith.fptosi arith.fptoui arith.sitofp arith.uitofp"),
    *_plain("arith.bitcast arith.extf arith.truncf arith.extsi arith.extui arith.trunci", cost=0),
    *_plain("arith.divf arith.divsi arith.divui arith.floordivsi arith.remsi arith.remui", cost=8),
    *_plain("math.absf math.absi math.ceil math.copysign math.floor math.fma math.roundeven math.trunc"),
    *_plain("math.sqrt", cost=8),
    *_plain("math.ipowi", cost=10),
    _real("exp", 1.5, 21, 16, in_f64=True),
    _real("exp2", 1.5, 22, 16),
    _real("expm1", 2, 25, 16),
    _real("log", 1, 32, 23, in_f64=True),
    _real("log2", 1.5, 34, 24),
    _real("log1p", 2, 74, 27),
    _real("tanh", 3, 20, 15),
    _real("erf", 2, 30, 21),
    _real("sinh", 2, 29, 19),
    _real("cosh", 2, 21, 17),
    _real("asinh", 2, 117, 36),
    _real("acosh", 2.5, 116, 34),
    _real("atanh", 2.5, 80, 32),
    _real("sin", 2, 51, 13, has_branch=True),
    _real("cos", 2, 50, 12, has_branch=True),
    _real("tan", 3, 47, 16, has_branch=True),
    _real("asin", 2.5, 18, 14),
    _real("acos", 1.5, 22, 14),
    _real("atan", 3, 19, 13),
    _real("rsqrt", 1.5, 2, 2, in_f64=True),
    _real("powf", 1, 93, 56),
    *_plain(" ".join((DOT, SIGNED_DOT, UNSIGNED_DOT, FLOAT_DOT, PAIR_DOT, BYTE_PAIR, TABLE, BYTE, CUT_BYTE, INDEX))),
)
SCALAR_FUNCTIONS: Mapping[str, ScalarFunction] = {row.name: row for row in _ROWS}
"""Every function that some backend can write."""

_OTHER = ScalarFunction("", cost=10, units=float("inf"))
"""A function without a row: nobody can write it, so it is as dear, and as inexact, as any."""

FOREIGN_COST = 4
"""What an op of another dialect costs for each element, of whose function nothing is known."""


def scalar_function(name: str) -> ScalarFunction:
    """What is known of a function by its name, whatever its parameter is."""
    return SCALAR_FUNCTIONS.get(name, _OTHER)
