"""Quotients of what is approximated anyhow: a whole row may be multiplied by one reciprocal. Pure data.

1. A quotient is exact to the last place, as NumPy's is, unless somebody allows more (`fast_math`).
2. It need not be where a function of real numbers other than a root was applied to one of its operands, or to what that
   was made of: that function is off by more than a product with a reciprocal adds. So are the quotients of a softmax.
"""

from collections.abc import Sequence
from dataclasses import replace

from fuse_dialect.loops.functions import Variant, scalar_function
from fuse_dialect.loops.program import Apply, Body, LoopProgram, Read

FLOATS = ("f64", "f32", "f16", "bf16")


def with_rough_quotients(program: LoopProgram, *, all: bool) -> LoopProgram:
    """The program with its quotients marked that may be `Variant.ROUGH`.

    Args:
        program: The program.
        all: Whether every quotient may be, of approximated numbers or not.

    Complexity: linear in the number of instructions.
    """
    approximated: set[str] = set()
    stages = list(program.stages)
    for number, stage in enumerate(stages):
        body, known = _marked(stage.body, approximated, [], all=all)
        finish, known = _marked(stage.finish, approximated, known[-1:], all=all)
        stages[number] = replace(stage, body=body, finish=finish)
        if known[-1]:
            approximated.add(stage.buffer)
    return replace(program, stages=tuple(stages))


def _marked(body: Body, approximated: set[str], before: Sequence[bool], *, all: bool) -> tuple[Body, list[bool]]:
    """The body with its quotients marked, and of each of its values whether it is approximated.

    Args:
        body: The instructions.
        approximated: Buffers whose elements are.
        before: The same of the values that come before the first instruction: the combined one, for a `finish`.
        all: As for `with_rough_quotients`.
    """
    changed, known = list(body), list(before)
    for number, each in enumerate(body):
        match each:
            case Read(buffer):
                known.append(buffer in approximated)
            case Apply(function, operands, element) if element in FLOATS:
                is_approximated = any(known[place] for place in operands)
                if function == "arith.divf" and (is_approximated or all):
                    changed[number] = replace(each, parameter=Variant.ROUGH)
                known.append(is_approximated or scalar_function(function).units is not None)
            case _:
                known.append(False)
    return tuple(changed), known
