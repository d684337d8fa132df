"""Real numbers that become bytes: rounded, moved by the zero point, bounded. Every result in 8 bits ends so.

1. `roundeven`, an addition and a conversion that bounds are one function, `BYTE` or `INDEX`, with the zero point. It
   gives the same for every number, nan too: numbers so large that an addition would round are bounded anyhow.
2. Machines that have the instructions convert with rounding, and bound when they narrow integers.
3. What is looked up or computed with afterwards (`INDEX`) stays as wide as it is; where 32 bits are wanted, a byte is
   made nowhere.
"""

from collections.abc import Sequence
from dataclasses import replace

from fuse_dialect.loops.bodies import needed_of
from fuse_dialect.loops.functions import BYTE, INDEX
from fuse_dialect.loops.program import Apply, Body, Instruction, Literal, LoopProgram
from fuse_dialect.machines.machine import Machine, Unit

GREATEST = 255
"""The greatest byte without a sign."""


def with_rounding(program: LoopProgram, machine: Machine) -> LoopProgram:
    """The program with these functions, on machines that have the instructions (2)."""
    if Unit.BYTE_SHUFFLES not in machine.units:
        return program
    stages = [
        replace(stage, body=_with_rounding(stage.body, 0), finish=_with_rounding(stage.finish, 1))
        for stage in program.stages
    ]
    return replace(program, stages=tuple(stages))


def _with_rounding(body: Body, first: int) -> Body:
    """The body with these functions."""
    changed = list(body)
    for number, each in enumerate(body):
        match each:
            case Apply("arith.fptoui", (place,), "i8"):
                found = _rounded(body, first, place)
            case Apply("arith.extui", (place,), "i32") if place >= first:
                found = None
                match body[place - first]:
                    case Apply("arith.fptoui", (rounded,), "i8"):
                        found = _rounded(body, first, rounded)
                    case _:
                        pass
            case _:
                continue
        if found is not None:
            place, zero = found
            name = BYTE if number == len(body) - 1 and each.element == "i8" else INDEX
            changed[number] = replace(each, function=name, operands=(place,), parameter=zero)
    return needed_of(changed, first) if changed != list(body) else body


def _rounded(body: Sequence[Instruction], first: int, place: int) -> tuple[int, int] | None:
    """The place of a number that is rounded, and the zero point that is added; `None` if it is not so."""
    zero = 0.0
    match body[place - first] if place >= first else None:
        case Apply("arith.addf", (rounded, other), "f32") if other >= first and rounded >= first:
            literal = body[other - first]
            if not isinstance(literal, Literal):
                return None
            place, zero = rounded, float(literal.value)
        case _:
            pass
    match body[place - first] if place >= first else None:
        case Apply("math.roundeven", (value,), "f32") if zero in range(GREATEST + 1):
            return value, int(zero)
        case _:
            return None
