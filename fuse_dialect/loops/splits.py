"""How a value changes when a total that it is computed from changes: factors and shifts, from instructions. Pure data.

A body `F(x, t)` depends on elements `x` of a column and on totals `t` of its row. Two forms say what another total
does:

1. a *factor*: `F(x, new) = F(x, old) * C`, where C is made of totals alone;
2. a *shift*: `F(x, new) = F(x, old) + D`, the same.

Rules go from operands to results, each an identity of real numbers: a product of values with factors has their product,
a sum of values with shifts their sum, the exponential of a value with a shift its exponential as factor, a logarithm of
one with a factor the logarithm as shift. What depends on no total has the factor 1 and the shift 0; what depends on no
column has the difference of its values, and their quotient if it is positive whatever the totals are. Whatever has no
rule has neither.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from fuse_dialect.loops.program import Apply, Body, Inside, Instruction, Literal, Position, Read


class Side(Enum):
    """Which value of a total."""

    OLD = "old"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Total:
    """What a buffer without columns holds for the row: a total, or what is computed from totals."""

    buffer: str
    side: Side


@dataclass(frozen=True, slots=True)
class Applied:
    """A scalar function of expressions."""

    function: str
    operands: tuple["Expression", ...]


Expression: TypeAlias = Number | Total | Applied
ONE, ZERO = Number(1.0), Number(0.0)


@dataclass(frozen=True, slots=True)
class Change:
    """What is known of a value."""

    factor: Expression | None
    shift: Expression | None
    of_row: Expression | None = None
    """Itself, by old totals, if it depends on no column."""


_NEITHER = Change(None, None)
_FIXED = Change(ONE, ZERO)


def times(one: Expression, other: Expression) -> Expression:
    """The product."""
    if one == ONE or other == ZERO:
        return other
    return one if other == ONE or one == ZERO else Applied("arith.mulf", (one, other))


def over(one: Expression, other: Expression) -> Expression:
    """The quotient."""
    return one if other == ONE else Applied("arith.divf", (one, other))


def plus(one: Expression, other: Expression) -> Expression:
    """The sum."""
    if one == ZERO:
        return other
    return one if other == ZERO else Applied("arith.addf", (one, other))


def minus(one: Expression, other: Expression) -> Expression:
    """The difference."""
    match one, other:
        case Number(0.0), Applied("arith.subf", (less, more)):
            return minus(more, less)
        case _:
            return one if other == ZERO else Applied("arith.subf", (one, other))


def is_positive(expression: Expression) -> bool:
    """Whether an expression is greater than 0 whatever its totals are, as far as exponentials do not underflow."""
    match expression:
        case Number(value):
            return value > 0
        case Applied("math.exp" | "math.exp2"):
            return True
        case Applied("arith.mulf" | "arith.divf" | "arith.addf", operands):
            return all(map(is_positive, operands))
        case _:
            return False


def renewed(expression: Expression) -> Expression:
    """The expression by new totals instead of old ones."""
    match expression:
        case Total(buffer):
            return Total(buffer, Side.NEW)
        case Applied(function, operands):
            return Applied(function, tuple(map(renewed, operands)))
        case _:
            return expression


def changes_of(body: Body, totals: frozenset[str]) -> list[Change]:
    """What is known of each value of a body.

    Args:
        body: Its instructions.
        totals: Buffers that hold one element for a row, which other stages of the chain compute.

    Complexity: linear in the number of instructions.
    """
    changes: list[Change] = []
    for each in body:
        changes.append(_change(each, changes, body, totals))
    return changes


def _change(each: Instruction, changes: Sequence[Change], body: Body, totals: frozenset[str]) -> Change:
    match each:
        case Read(buffer, guards=()) if buffer in totals:
            old = Total(buffer, Side.OLD)
            return _of_row(old)
        case Read(buffer) if buffer in totals:
            return _NEITHER  # of some columns it is the total, of others a number
        case Literal(float() as value):
            return Change(ONE, ZERO, Number(value))
        case Read() | Literal() | Position() | Inside():
            return _FIXED
        case Apply():
            operands = [changes[place] for place in each.operands]
            if all(change.factor == ONE and change.shift == ZERO for change in operands):
                return _FIXED
            known = [change.of_row for change in operands if change.of_row is not None]
            if len(known) == len(operands):
                return _of_row(Applied(each.function, tuple(known)))
            rule = _RULES.get(each.function)
            return _NEITHER if rule is None else rule(each, operands, body)
        case _:
            return _NEITHER


def _of_row(value: Expression) -> Change:
    new = renewed(value)
    # An old total may be 0, and nothing times a quotient by it is the new one.
    return Change(over(new, value) if is_positive(value) else None, minus(new, value), value)


_Rule: TypeAlias = Callable[[Apply, Sequence[Change], Body], Change]


def _product(_: Apply, operands: Sequence[Change], body: Body) -> Change:
    one, other = operands
    factor = None if one.factor is None or other.factor is None else times(one.factor, other.factor)
    shift = None
    for fixed, moved in ((one, other), (other, one)):
        if isinstance(fixed.of_row, Number) and moved.shift is not None:
            shift = times(fixed.of_row, moved.shift)
    return Change(factor, shift)


def _quotient(_: Apply, operands: Sequence[Change], body: Body) -> Change:
    one, other = operands
    factor = None if one.factor is None or other.factor is None else over(one.factor, other.factor)
    is_number = isinstance(other.of_row, Number) and one.shift is not None
    return Change(factor, over(one.shift, other.of_row) if is_number and one.shift and other.of_row else None)


def _sum(_: Apply, operands: Sequence[Change], body: Body) -> Change:
    one, other = operands
    shift = None if one.shift is None or other.shift is None else plus(one.shift, other.shift)
    return Change(_common(one, other), shift)


def _difference(_: Apply, operands: Sequence[Change], body: Body) -> Change:
    one, other = operands
    shift = None
    if one.shift is not None and other.shift is not None:
        shift = minus(one.shift, other.shift)
    return Change(_common(one, other), shift)


def _common(one: Change, other: Change) -> Expression | None:
    return one.factor if one.factor == other.factor else None


def _negative(_: Apply, operands: Sequence[Change], body: Body) -> Change:
    (one,) = operands
    return Change(one.factor, None if one.shift is None else minus(ZERO, one.shift))


def _exponential(apply: Apply, operands: Sequence[Change], body: Body) -> Change:
    (one,) = operands
    return Change(None if one.shift is None else Applied(apply.function, (one.shift,)), None)


def _logarithm(apply: Apply, operands: Sequence[Change], body: Body) -> Change:
    (one,) = operands
    has_logarithm = one.factor is not None and is_positive(one.factor)
    return Change(None, Applied(apply.function, (one.factor,)) if has_logarithm and one.factor is not None else None)


def _of_positive(apply: Apply, operands: Sequence[Change], body: Body) -> Change:
    """`|ab| = |a| |b|`."""
    (one,) = operands
    return Change(None if one.factor is None else Applied(apply.function, (one.factor,)), None)


def _converted(_: Apply, operands: Sequence[Change], body: Body) -> Change:
    return operands[0]


def _choice(apply: Apply, operands: Sequence[Change], body: Body) -> Change:
    """A choice that no total decides; 0 has any factor, and an infinity any shift."""
    condition, one, other = operands
    if condition.factor != ONE or condition.shift != ZERO:
        return _NEITHER
    one_is, other_is = (body[place] for place in apply.operands[1:])
    factor = one.factor if one.factor == other.factor or _is(other_is, 0.0) else None
    factor = other.factor if factor is None and _is(one_is, 0.0) else factor
    shift = one.shift if one.shift == other.shift or _is_infinite(other_is) else None
    shift = other.shift if shift is None and _is_infinite(one_is) else shift
    return Change(factor, shift)


def _bound(_: Apply, operands: Sequence[Change], body: Body) -> Change:
    """A maximum of two that move alike."""
    one, other = operands
    return Change(None, one.shift if one.shift == other.shift else None)


def _is(each: Instruction, number: float) -> bool:
    return isinstance(each, Literal) and each.value == number


def _is_infinite(each: Instruction) -> bool:
    return isinstance(each, Literal) and each.value in (float("inf"), -float("inf"))


_RULES: Mapping[str, _Rule] = {
    "arith.mulf": _product,
    "arith.divf": _quotient,
    "arith.addf": _sum,
    "arith.subf": _difference,
    "arith.negf": _negative,
    "math.exp": _exponential,
    "math.exp2": _exponential,
    "math.log": _logarithm,
    "math.log2": _logarithm,
    "math.absf": _of_positive,
    "arith.select": _choice,
    "arith.maximumf": _bound,
    "arith.minimumf": _bound,
    "arith.extf": _converted,
    "arith.truncf": _converted,
}
"""Functions of which something is known when a total changes."""


def expression_text(expression: Expression) -> str:
    """For people: `exp(max.old - max.new)`."""
    match expression:
        case Number(value):
            return f"{value:g}"
        case Total(buffer, side):
            return f"{buffer}.{side.value}"
        case Applied(function, operands):
            texts = [expression_text(operand) for operand in operands]
            if function in _SIGNS:
                nested = [
                    f"({text})" if isinstance(operand, Applied) and operand.function in _SIGNS else text
                    for operand, text in zip(operands, texts, strict=True)
                ]
                return f" {_SIGNS[function]} ".join(nested)
            return f"{function.partition('.')[2]}({', '.join(texts)})"


_SIGNS = {"arith.addf": "+", "arith.subf": "-", "arith.mulf": "*", "arith.divf": "/"}
