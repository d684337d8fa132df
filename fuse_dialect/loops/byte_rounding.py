"""Real numbers that become bytes: rounded, moved by the zero point, bounded. Every result in 8 bits ends so.

1. `roundeven`, an addition and a conversion that bounds are one function, `BYTE` or `INDEX`, with the zero point. It
   gives the same for every number, nan too: numbers so large that an addition would round are bounded anyhow.
2. Machines that have the instructions convert with rounding, and bound when they narrow integers.
3. What is looked up or computed with afterwards (`INDEX`) stays as wide as it is; where 32 bits are wanted, a byte is
   made nowhere.
4. A zero point that is computed is added as it is, and the conversion behind it is `CUT_BYTE`.
5. A quotient that becomes a byte is exact as far as bytes go (`Variant.BOUNDED`): then a product with the reciprocal,
   and two more that correct it, do for a division. The divisor is positive, and neither tiny nor huge: constants are
   known, and of others and of computed zero points code asks where they are the same for a loop.
6. Four vectors of 32 bits are one of bytes where that is as wide as a processor looks up bytes.
7. So they are where a padded row chooses between them and the padding, if the choice is the same for all of them.
"""

from collections import Counter
from dataclasses import replace

from fuse_dialect.loops.bodies import needed_of, operands
from fuse_dialect.loops.functions import BOUND, BYTE, CUT_BYTE, INDEX, TABLE, Variant
from fuse_dialect.loops.program import Apply, Body, Instruction, Literal, LoopProgram
from fuse_dialect.machines.machine import Machine, Unit

GREATEST = 255
"""The greatest byte without a sign."""
TOGETHER = 4
"""Vectors of 32 bits that are one of bytes (6)."""
LEAST_DIVISOR, GREATEST_DIVISOR = 2.0**-60, 2.0**60
"""Of a quotient that products do for (5)."""
_BYTES = 32
"""Of the vectors that four vectors become (6)."""


def joins_vectors(machine: Machine, lanes: int) -> bool:
    """Whether four vectors of so many lanes are one for instructions on bytes (6)."""
    is_short = Unit.BYTE_SHUFFLES in machine.units and Unit.BYTE_TABLES not in machine.units
    return is_short and TOGETHER * lanes == machine.vector_bytes == _BYTES


def joined_places(body: Body, first: int) -> frozenset[int]:
    """The places of bytes that are looked up, rounded to at the end, or rounded to and looked up (6).

    The end may be a choice between such bytes and one byte for all (7), which is a place of bytes then, too.
    """
    looked_up = {each.operands[0] for each in body if isinstance(each, Apply) and each.function == TABLE}
    last = first + len(body) - 1
    ends = {last}
    match body[-1:]:
        case (Apply("arith.select", (_, byte, _), "i8"),) if byte in _only_chosen(body):
            ends.add(byte)
        case _:
            pass
    found = {
        place
        for place, each in enumerate(body, first)
        if isinstance(each, Apply)
        and (each.function == TABLE or (each.function in (BYTE, CUT_BYTE, INDEX) and place in ends | looked_up))
    }
    return frozenset(found | {last} if found & (ends - {last}) else found)


def with_rounding(program: LoopProgram, machine: Machine) -> LoopProgram:
    """The program with these functions, on machines that have the instructions (2)."""
    if Unit.BYTE_SHUFFLES not in machine.units:
        return program
    bounds = Unit.FMA in machine.units
    stages = [
        replace(
            stage,
            body=_with_rounding(stage.body, 0, bounds=bounds),
            finish=_with_rounding(stage.finish, 1, bounds=bounds),
        )
        for stage in program.stages
    ]
    return replace(program, stages=tuple(stages))


def _with_rounding(body: Body, first: int, *, bounds: bool) -> Body:
    """The body with these functions, and with bounded quotients if products do for them."""
    changed = list(body)
    chosen = _only_chosen(body)
    for number, each in enumerate(body):
        match each:
            case Apply("arith.fptoui", (place,), "i8"):
                if bounds and (quotient := _bounded(body, first, number)) is not None:
                    changed[quotient - first] = replace(body[quotient - first], parameter=Variant.BOUNDED)
            case Apply("arith.extui", (byte,), "i32") if byte >= first:
                match body[byte - first]:
                    case Apply("arith.fptoui", (place,), "i8"):
                        pass
                    case _:
                        continue
            case _:
                continue
        is_last = number == len(body) - 1 and each.element == "i8"
        found = _rounded(body, first, place)
        if found is not None:
            value, zero = found
            name = BYTE if is_last else INDEX
            changed[number] = replace(each, function=name, operands=(value,), parameter=zero)
        elif (is_last or first + number in chosen) and place >= first and _element(body[place - first]) == "f32":
            changed[number] = replace(each, function=CUT_BYTE)
    return needed_of(changed, first) if changed != list(body) else body


def _rounded(body: Body, first: int, place: int) -> tuple[int, int] | None:
    """The place of a number that is rounded, and the zero point that is added; `None` if it is not so (1)."""
    rounding, added = _addition(body, first, place)
    zero = 0.0 if added is None else _number(body, first, added)
    match body[rounding - first] if rounding >= first else None:
        case Apply("math.roundeven", (value,), "f32") if zero is not None and zero in range(GREATEST + 1):
            return value, int(zero)
        case _:
            return None


def _addition(body: Body, first: int, place: int) -> tuple[int, int | None]:
    """The place of what a zero point is added to, and of that."""
    match body[place - first] if place >= first else None:
        case Apply("arith.addf", (rounded, other), "f32"):
            return rounded, other
        case _:
            return place, None


def _number(body: Body, first: int, place: int) -> float | None:
    """The value of a literal."""
    literal = body[place - first] if place >= first else None
    return float(literal.value) if isinstance(literal, Literal) else None


def _only_chosen(body: Body) -> set[int]:
    """The places of values that are chosen or not, and used for nothing else."""
    choices = [each for each in body if isinstance(each, Apply) and each.function == "arith.select"]
    others = [each for each in body if not (isinstance(each, Apply) and each.function == "arith.select")]
    used = {place for each in others for place in operands(each)}
    return {place for each in choices for place in each.operands[1:]} - used


def _element(instruction: Instruction) -> str:
    return instruction.element if isinstance(instruction, Apply) else ""


def zero_point_of(body: Body, first: int, quotient: int) -> int | None:
    """The place of what is added to a bounded quotient when it has been rounded; `None` for nothing, or a literal."""
    for each in body:
        match each:
            case Apply("arith.addf", (rounded, other), "f32") if rounded >= first:
                rounding = body[rounded - first]
                is_its_own = isinstance(rounding, Apply) and rounding.operands == (quotient,)
                if is_its_own and _number(body, first, other) is None:
                    return other
            case _:
                pass
    return None


def _bounded(body: Body, first: int, conversion: int) -> int | None:
    """The place of the quotient that a conversion makes a byte of, if it may be bounded (5)."""
    uses = Counter(place for each in body for place in set(operands(each)))
    end = body[conversion]
    assert isinstance(end, Apply)
    rounding, added = _addition(body, first, end.operands[0])
    match body[rounding - first] if rounding >= first else None:
        case Apply("math.roundeven", (quotient,), "f32") if quotient >= first:
            pass
        case _:
            return None
    match body[quotient - first]:
        case Apply("arith.divf", (_, divisor), "f32"):
            pass
        case _:
            return None
    if any(uses[place] > 1 for place in (quotient, rounding, end.operands[0])):
        return None
    zero = None if added is None else _number(body, first, added)
    if zero is not None and not abs(zero) <= BOUND / 2:
        return None
    by = _number(body, first, divisor)
    if by is not None and (not LEAST_DIVISOR <= by <= GREATEST_DIVISOR or (added is not None and zero is None)):
        return None
    return quotient
