"""Functions of one byte as tables: models in 8 bits round after each step, so a chain of steps has 256 results.

1. A chain leads from one integer of 8 bits to another by functions of that integer and of constants alone.
2. Its table is what `loops.meanings` makes of all 256 integers: the same to the bit as the chain by NumPy, functions
   of `math` included.
3. A chain of a few instructions stays as it is: looking up takes some, too. Only its end is looked up; what lies
   between is computed if something else reads it.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fuse_dialect.loops.bodies import cost, needed_of, operands
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.functions import TABLE
from fuse_dialect.loops.meanings import evaluate_function
from fuse_dialect.loops.program import Apply, Body, Instruction, Literal, LoopProgram, Read
from fuse_dialect.loops.special_functions import Array

_WORTH = 12
"""What a chain costs at least that is looked up, in additions."""
_COUNT = 256
"""Numbers of 8 bits."""


def with_tables(program: LoopProgram) -> LoopProgram:
    """The program with tables in place of long chains from byte to byte."""
    stages = tuple(
        replace(stage, body=_with_tables(stage.body, 0), finish=_with_tables(stage.finish, 1))
        for stage in program.stages
    )
    return program if stages == program.stages else replace(program, stages=stages)


def _with_tables(body: Body, first: int) -> Body:
    """The body with tables; `first` values stand before its first instruction."""
    sources = _sources(body, first)
    changed = list(body)
    needed = {first + len(body) - 1}
    # From the end, so that the longest chains are found first, and nothing inside of them is looked up.
    for place in range(first + len(body) - 1, first - 1, -1):
        if place in needed:
            changed[place - first] = _looked_up(body, first, place, sources.get(place)) or body[place - first]
            needed.update(operands(changed[place - first]))
    return body if changed == list(body) else needed_of(changed, first)


def _sources(body: Body, first: int) -> dict[int, int | None]:
    """For each place the byte that it is a function of (1): `None` for constants; other places are left out."""
    sources: dict[int, int | None] = {}
    for place, instruction in enumerate(body, first):
        match instruction:
            case Literal():
                sources[place] = None
                continue
            case Apply(_, used) if all(each in sources for each in used):
                found = {sources[each] for each in used} - {None}
                if len(found) < 2:
                    sources[place] = found.pop() if found else None
                    continue
            case _:
                pass
        # What depends on several bytes, or on floats, may be the byte that a chain begins with.
        if isinstance(instruction, Apply | Read) and instruction.element == "i8":
            sources[place] = place
    return sources


def _looked_up(body: Body, first: int, place: int, source: int | None) -> Apply | None:
    """The table of a chain from one byte to another; `None` for a short one (3), and for what is none."""
    end = body[place - first]
    if source is None or source == place or not isinstance(end, Apply) or end.element != "i8":
        return None
    chain = {place}
    # What is computed of constants may stand in front of the byte.
    for number in range(place, first - 1, -1):
        if number in chain:
            chain.update(each for each in operands(body[number - first]) if each != source)
    if cost(tuple(body[number - first] for number in sorted(chain))) < _WORTH:
        return None
    values: dict[int, Array] = {source: np.arange(_COUNT).astype(np.uint8).view(np.int8)}
    with np.errstate(all="ignore"):
        for number in sorted(chain):
            values[number] = _evaluated(body[number - first], values)
    return Apply(TABLE, (source,), "i8", np.broadcast_to(values[place], _COUNT).tobytes(), end.origin)


def _evaluated(instruction: Instruction, values: Mapping[int, Array]) -> Array:
    """The values of an instruction for all bytes (2)."""
    match instruction:
        case Literal(value, element):
            return np.full((1,), value, dtype_named(element))
        case Apply(function, used, element, parameter):
            return evaluate_function(function, [values[each] for each in used], dtype_named(element), parameter)
        case _:
            raise AssertionError("a chain has functions and constants alone")
