"""Sizes that are polynomials: what computes with sizes is run once on these, and what it found is a formula afterwards.

1. A `TracedSize` is a polynomial with integer coefficients over *atoms*: the open sizes of the inputs, and numbers that
   steps of the trace give (quotients, sizes that an op alone can say). It has the value that it has for the sizes that
   are traced.
2. It behaves as an integer does in arithmetic. A comparison is answered by the value, and noted as a *condition*: what
   follows from the trace is right for all sizes that meet the conditions, and for no others.
3. It is no number where somebody needs one, as an index or in an array of numbers: such code is not traced.

Source: the shape guards of PyTorch's `torch.fx.experimental.symbolic_shapes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, TypeAlias, Union, cast

Monomial: TypeAlias = tuple[int, ...]
"""Numbers of atoms, in order; one that occurs twice is squared."""
Size: TypeAlias = Union[int, "TracedSize"]


_MOST_CONSTANT = 1 << 61
"""Of conditions that are noted; half of what is evaluated in 64 bits without a doubt, see `size_sections`."""


class Relation(Enum):
    """What a polynomial is in a condition."""

    ZERO = "= 0"
    NOT_ZERO = "!= 0"
    NOT_NEGATIVE = ">= 0"


class UntraceableError(Exception):
    """Something needs to know more of a size than polynomials say."""


@dataclass(eq=False, slots=True)
class SizeTrace:
    """Atoms and conditions of sizes that are traced."""

    values: list[int] = field(default_factory=list[int])
    """Of the atoms."""
    conditions: dict[tuple[Relation, "Terms"], None] = field(default_factory=dict[tuple[Relation, "Terms"], None])
    """In order, each once."""
    quotients: dict["Quotient", int] = field(default_factory=dict["Quotient", int])
    """Atoms that are quotients."""
    derived: list[Any] = field(default_factory=list[Any])
    """What gives the atoms behind those of the inputs, in order: quotients, and what the owner of the trace adds."""

    def atom(self, value: int) -> int:
        """A new one; an integer as far as arithmetic goes (2), and typed as one."""
        self.values.append(value)
        return self.size_of(len(self.values) - 1)

    def size_of(self, atom: int) -> int:
        """An atom by its number."""
        return cast("int", TracedSize(self, {(atom,): 1}, self.values[atom]))

    def hold(self, relation: Relation, size: Size) -> None:
        """Note what is so."""
        if not isinstance(size, TracedSize):
            return
        # What is at most 2^61 is at most 2^63, too, and can be evaluated in 64 bits.
        over = size.terms.get((), 0) - _MOST_CONSTANT
        if relation is Relation.NOT_NEGATIVE and 0 < over <= size.value:
            self.conditions[relation, terms_of(size - over)] = None
        else:
            self.conditions[relation, size.key] = None


Terms: TypeAlias = tuple[tuple[Monomial, int], ...]
"""A polynomial: coefficients by monomial, in order."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """An atom: a polynomial divided by another one, which is positive, rounded down."""

    number: Terms
    divisor: Terms


@dataclass(eq=False, slots=True)
class TracedSize:
    """A polynomial that depends on some atom (1)."""

    trace: SizeTrace
    terms: dict[Monomial, int]
    """Coefficients, none of which is 0."""
    value: int

    @property
    def key(self) -> Terms:
        """The polynomial as something to compare."""
        return tuple(sorted(self.terms.items()))

    def _made(self, terms: dict[Monomial, int]) -> Size:
        terms = {monomial: number for monomial, number in terms.items() if number}
        if not terms:
            return 0
        if len(terms) == 1 and () in terms:
            return terms[()]
        return TracedSize(self.trace, terms, value_of(terms, self.trace.values))

    def _plus(self, other: object, sign: int) -> Size:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        found = dict(self.terms)
        for monomial, number in terms.items():
            found[monomial] = found.get(monomial, 0) + sign * number
        return self._made(found)

    def __add__(self, other: object) -> Size:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> Size:
        return self._plus(other, -1)

    def __rsub__(self, other: object) -> Size:
        return -self + other if isinstance(other, int) else NotImplemented

    def __neg__(self) -> "TracedSize":
        return TracedSize(self.trace, {monomial: -number for monomial, number in self.terms.items()}, -self.value)

    def __mul__(self, other: object) -> Size:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        found: dict[Monomial, int] = {}
        for one, first in self.terms.items():
            for two, second in terms.items():
                both = tuple(sorted((*one, *two)))
                found[both] = found.get(both, 0) + first * second
        return self._made(found)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Size:
        divisor = _terms(other)
        if divisor is None:
            return NotImplemented
        if len(divisor) == 1:
            ((monomial, number),) = divisor.items()
            exact = _divided(self.terms, monomial, number)
            if exact is not None and other != 0:
                return self._made(exact)
        return self._quotient(divisor)

    def __rfloordiv__(self, other: object) -> Size:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        return TracedSize(self.trace, terms, value_of(terms, self.trace.values))._quotient(self.terms)

    def __mod__(self, other: object) -> Size:
        if not isinstance(other, int | TracedSize):
            return NotImplemented
        return self - (self // other) * other

    def __rmod__(self, other: object) -> Size:
        if not isinstance(other, int):
            return NotImplemented
        return other - (other // self) * self

    def _quotient(self, divisor: dict[Monomial, int]) -> Size:
        by = value_of(divisor, self.trace.values)
        if by <= 0:
            raise UntraceableError("a divisor is not positive")
        quotient = Quotient(self.key, tuple(sorted(divisor.items())))
        if quotient not in self.trace.quotients:
            self.trace.derived.append(quotient)
            self.trace.quotients[quotient] = self.trace.atom(self.value // by)
        return self.trace.quotients[quotient]

    def _compared(self, other: object) -> "Size | None":
        return None if _terms(other) is None else self - other

    def __eq__(self, other: object) -> bool:
        difference = self._compared(other)
        if difference is None:
            return NotImplemented
        if isinstance(difference, int):
            return not difference
        self.trace.hold(Relation.NOT_ZERO if difference.value else Relation.ZERO, difference)
        return not difference.value

    def __ne__(self, other: object) -> bool:
        found = self.__eq__(other)
        return NotImplemented if found is NotImplemented else not found

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __lt__(self, other: object) -> bool:
        difference = self._compared(other)
        if difference is None:
            return NotImplemented
        if isinstance(difference, int):
            return difference < 0
        is_less = difference.value < 0
        self.trace.hold(Relation.NOT_NEGATIVE, -difference - 1 if is_less else difference)
        return is_less

    def __ge__(self, other: object) -> bool:
        found = self.__lt__(other)
        return found if found is NotImplemented else not found

    def __gt__(self, other: object) -> bool:
        return -self < -other if isinstance(other, int | TracedSize) else NotImplemented

    def __le__(self, other: object) -> bool:
        return -self >= -other if isinstance(other, int | TracedSize) else NotImplemented

    def __bool__(self) -> bool:
        return self != 0


def _terms(other: object) -> "dict[Monomial, int] | None":
    """What an operand is as a polynomial; `None` if it is no integer."""
    if isinstance(other, TracedSize):
        return other.terms
    if isinstance(other, int):
        return {(): int(other)} if other else {}
    return None


def value_of(terms: "dict[Monomial, int] | Terms", atoms: Sequence[int]) -> int:
    """The value of a polynomial for those of its atoms."""
    items = terms.items() if isinstance(terms, dict) else terms
    return sum([number * prod([atoms[atom] for atom in monomial]) for monomial, number in items])


MOST_PRODUCT = 1 << 44
"""Products of atoms are not taken to be larger, so that a condition on a size of 2^62 need not be looked at."""


def holds(relation: Relation, value: int) -> bool:
    """Whether a polynomial of this value meets a condition."""
    match relation:
        case Relation.ZERO:
            return value == 0
        case Relation.NOT_ZERO:
            return value != 0
        case Relation.NOT_NEGATIVE:
            return value >= 0


def always_holds(relation: Relation, terms: Terms) -> bool:
    """Whether a condition holds for all products of atoms up to `MOST_PRODUCT`."""
    constant = sum(number for monomial, number in terms if not monomial)
    rest = MOST_PRODUCT * sum(abs(number) for monomial, number in terms if monomial)
    return (relation is Relation.NOT_NEGATIVE and constant >= rest) or (
        relation is Relation.NOT_ZERO and abs(constant) > rest
    )


def _divided(terms: dict[Monomial, int], monomial: Monomial, number: int) -> "dict[Monomial, int] | None":
    """A polynomial divided by one term; `None` if a rest is left, or the term is 0."""
    found: dict[Monomial, int] = {}
    for own, factor in terms.items():
        left = list(own)
        for atom in monomial:
            if atom not in left:
                return None
            left.remove(atom)
        if not number or factor % number:
            return None
        found[tuple(left)] = factor // number
    return found


def is_same(one: Size, other: Size) -> bool:
    """Whether two sizes are equal for all values of the atoms; nothing is noted."""
    difference = one - other
    return not isinstance(difference, TracedSize) and not difference


def terms_of(size: Size) -> Terms:
    """A size as a polynomial."""
    return size.key if isinstance(size, TracedSize) else (((), size),)


def is_known(size: Size) -> bool:
    """Whether a size is a number."""
    return not isinstance(size, TracedSize)
