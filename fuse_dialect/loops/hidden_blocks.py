"""Blocks of columns that a mask hides from all rows of a strip, known when it runs. Pure data, and the proof.

`bands` knows what a comparison of positions hides, where sizes are known. Where columns are passed in blocks
(`one_pass`), a mask may be anything: a matrix of booleans, of zeros and -inf, positions of open length. So whoever runs
a block looks at its mask first, and leaves the block out if nothing in it counts.

1. A *score* is what the maximum combines, from a product that is computed for the block. Its *estimate* is the same
   instructions with 0 for that product: what the mask makes of it, which takes no product.
2. Products go into a score through instructions that are monotone or bounded in them: sums, differences, products and
   quotients by what is no product, a choice by what is no product, tanh. So a score is -inf where its estimate is.
3. A large negative estimate, -1e9 or less, counts as -inf for a row that has seen something: its maximum is above -1e8.
   As in `bands` (8), products of queries and keys are taken to stay between -1e8 and 1e8.
4. Every other total adds `exp(score - maximum)`, times what is a number for a hidden column: 0.
5. A row without any column that counts stays as it began. Its sum of 0 is corrected to nan, as it is in the program.

What a row of a block comes to is stored as a number: 0 if nothing of it counts. An estimate of nan is no number that is
hidden, so its block is computed. That infinite keys or values of hidden columns do no harm is the difference that
`bands` states.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from fuse_dialect.loops.bodies import BodyBuilder, indices_of, moved, operands
from fuse_dialect.loops.indices import axes_of, loop
from fuse_dialect.loops.program import Apply, Body, Instruction, Literal, Read, Stage

LARGE, SEEN = -1e9, -1e8
"""An estimate that counts as -inf, and the least maximum of a row that has seen something (3)."""
_LEAST_FACTOR = 1e-3
"""Of a difference under an exponential: 0.8e9 of it still is 0 (4)."""
_THROUGH = frozenset({"arith.addf", "arith.subf", "arith.negf", "math.tanh", "arith.extf", "arith.truncf"})
"""What a product may go through, in any operand (2)."""

_Numbers: TypeAlias = dict[tuple[Instruction, tuple[int, ...]], int]
"""What is computed, by its instruction and the numbers of its operands: equal numbers are equal values."""


def counting_stage(
    maximum: Stage, feeding: Mapping[str, Stage], others: Sequence[Body], rows: int, names: tuple[str, str]
) -> Stage | None:
    """The stage that says for each row whether something of a block counts; `None` if no mask is there, or proved.

    Args:
        maximum: The stage that combines scores, over rows and columns.
        feeding: The stages that give scores, by their buffers; of these too rows and columns are the parallel axes.
        others: What all other totals add, over rows and columns, and what products multiply with columns.
        rows: How many axes are rows.
        names: The buffers that it writes, and of the maximum before the block.

    Returns:
        A stage over the rows, in the element type of the maximum: 1 if something counts, 0 if not.
    """
    score, products = _score(maximum, feeding)
    if not _is_through(score, products):
        return None
    builder = BodyBuilder([axis.size for axis in maximum.axes])
    estimate = builder.finished(builder.copy(score, []))
    numbers: _Numbers = {}
    number = _numbered(maximum.body, numbers)[-1]
    if not _has_columns(estimate, rows):
        return None
    if not all(_adds_nothing(body, _numbered(body, numbers), number, maximum.buffer) for body in others):
        return None
    assert maximum.reduction is not None, "it combines scores"
    element = maximum.reduction.start.element
    at_row = tuple(loop(axis) for axis in range(rows))
    finish = (
        Literal(-float("inf"), element),
        Apply("arith.cmpf", (0, 1), "i1", "oeq"),
        Literal(LARGE, element),
        Apply("arith.cmpf", (0, 3), "i1", "ole"),
        Read(names[1], at_row, element),
        Literal(SEEN, element),
        Apply("arith.cmpf", (5, 6), "i1", "oge"),
        Apply("arith.andi", (4, 7), "i1"),
        Apply("arith.ori", (2, 8), "i1"),
        Literal(0.0, element),
        Literal(1.0, element),
        Apply("arith.select", (9, 10, 11), element),
    )
    return replace(maximum, name=names[0], buffer=names[0], body=estimate, finish=finish, store=at_row)


def _score(maximum: Stage, feeding: Mapping[str, Stage]) -> tuple[Body, set[int]]:
    """The instructions of a score, with 0 for each product that it is made of; and the places of these (1)."""
    body: list[Instruction] = []
    places: list[int] = []
    products: set[int] = set()
    for each in maximum.body:
        if isinstance(each, Read) and each.buffer in feeding:
            stage = feeding[each.buffer]
            assert stage.reduction is not None, "a product combines"
            products.add(len(body))
            ends = [len(body)]
            body.append(Literal(0.0, stage.reduction.start.element))
            for inner in stage.finish:
                body.append(moved(inner, ends))
                ends.append(len(body) - 1)
            places.append(ends[-1])
        else:
            body.append(moved(each, places))
            places.append(len(body) - 1)
    return tuple(body), products


def _is_through(body: Body, products: set[int]) -> bool:
    """Whether products go into the last value, and through nothing but what (2) names."""
    touched = set(products)
    for place, each in enumerate(body):
        mine = [operand in touched for operand in operands(each)]
        if not any(mine):
            continue
        touched.add(place)
        match each:
            case Apply("arith.mulf") if not all(mine):
                pass
            case Apply("arith.divf") if not mine[1]:
                pass
            case Apply("arith.select") if not mine[0]:
                pass
            case Apply(function) if function in _THROUGH:
                pass
            case _:
                return False
    return len(body) - 1 in touched


def _has_columns(body: Body, rows: int) -> bool:
    """Whether a value may be another one in each column."""
    return any(rows in axes_of(index) for index in indices_of(body))


class _Known(Enum):
    """What is known of a value of a hidden column."""

    NUMBER = "number"
    """Some number that the score has no part in."""
    SCORE = "score"
    LESS = "less"
    """The score less the maximum of its row: -inf, or negative by 0.9e9."""
    NOTHING = "nothing"
    """0."""
    ANY = "any"


def _adds_nothing(body: Body, numbers: Sequence[int], score: int, maximum: str) -> bool:
    """Whether a value is 0 where the score is hidden (4)."""
    known: list[_Known] = []
    for each, number in zip(body, numbers, strict=True):
        values = [known[place] for place in operands(each)]
        sources = [body[place] for place in operands(each)]
        known.append(_Known.SCORE if number == score else _value(each, values, sources, maximum))
    return known[-1] is _Known.NOTHING


def _value(each: Instruction, values: Sequence[_Known], sources: Sequence[Instruction], maximum: str) -> _Known:
    """What is known of an instruction, from what is known of its operands and what these are."""
    match each, values:
        case Literal(0.0), _:
            return _Known.NOTHING
        case Apply("arith.subf"), [_Known.SCORE, _] if isinstance(sources[1], Read) and sources[1].buffer == maximum:
            return _Known.LESS
        case Apply("arith.mulf"), [_Known.LESS, _] if _is_factor(sources[1]):
            return _Known.LESS
        case Apply("arith.mulf"), [_, _Known.LESS] if _is_factor(sources[0]):
            return _Known.LESS
        case Apply("math.exp" | "math.exp2"), [_Known.LESS]:
            return _Known.NOTHING
        case Apply("arith.mulf"), _ if _Known.NOTHING in values and {*values} <= {_Known.NOTHING, _Known.NUMBER}:
            return _Known.NOTHING
        case Apply("arith.divf"), [_Known.NOTHING, _Known.NUMBER]:
            return _Known.NOTHING
        case Apply("arith.addf" | "arith.extf" | "arith.truncf"), _ if {*values} == {_Known.NOTHING}:
            return _Known.NOTHING
        case Apply("arith.select"), [_, _Known.NOTHING, _Known.NOTHING]:
            return _Known.NOTHING
        case _:
            return _Known.NUMBER if {*values} <= {_Known.NUMBER, _Known.NOTHING} else _Known.ANY


def _is_factor(each: Instruction) -> bool:
    return isinstance(each, Literal) and isinstance(each.value, float) and _LEAST_FACTOR <= each.value < float("inf")


def _numbered(body: Body, numbers: _Numbers) -> list[int]:
    """The numbers of what the instructions of a body compute; new ones go into `numbers`."""
    found: list[int] = []
    for each in body:
        inner = operands(each)
        key = moved(each, dict.fromkeys(inner, 0)), tuple(found[place] for place in inner)
        found.append(numbers.setdefault(key, len(numbers)))
    return found
