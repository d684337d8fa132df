"""What the rules are made of: reading an op's properties, and building `fuse` ops from values.

Ops that are made insert themselves where the pass has its builder. A rule that finds no way raises
`NoFuseFormError`, and what it has made so far is dropped.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from fuse_dialect.dialect.constants import constant_array, constant_of, without_repeats
from fuse_dialect.frontends.stablehlo.attributes import Word
from fuse_dialect.frontends.stablehlo.clauses import ints_of

Rule: TypeAlias = Callable[[Operation], Sequence[SSAValue]]
"""The values of an op's results.

Raises:
    NoFuseFormError: There is none.
"""


def ints(op: Operation, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
    """A property that is a list of integers."""
    value = op.properties.get(name)
    return tuple(default) if value is None else ints_of(value)


def number(op: Operation, name: str, default: int = 0) -> int:
    """A property that is an integer, or a flag."""
    value = op.properties.get(name)
    return default if value is None else cast("IntegerAttr", value).value.data


def word(op: Operation, name: str) -> str:
    """A property that is a word."""
    value = op.properties.get(name)
    return value.data if isinstance(value, Word | StringAttr) else ""


def padding(op: Operation, rank: int) -> list[tuple[int, int]]:
    """The property `padding`: what is added before and behind each axis."""
    value = op.properties.get("padding")
    if value is None:
        return [(0, 0)] * rank
    numbers = [int(cast(int, each)) for each in cast(DenseIntOrFPElementsAttr, value).get_values()]
    numbers *= 1 if len(numbers) != 1 else 2 * rank
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def of_passing(op: Operation, rule: Rule) -> Sequence[SSAValue]:
    """What a rule makes of an op that is made for it alone, and is in no program afterwards."""
    values = rule(op)
    op.detach()
    op.erase()
    return values


_CARRIES_ON = frozenset(
    (
        "fuse.full",
        "fuse.broadcast_to",
        "fuse.reshape",
        "stablehlo.broadcast_in_dim",
        "stablehlo.reshape",
        "stablehlo.broadcast",
    )
)


def known_number(value: SSAValue) -> "np.generic | None":
    """The number that all elements of a tensor are, if a constant says so."""
    while isinstance(value, OpResult) and value.op.name in _CARRIES_ON:
        value = value.op.operands[0]
    array = constant_of(value)
    if array is None and isinstance(value, OpResult) and value.op.name == "stablehlo.constant":
        array = constant_array(value.op.properties["value"])
    if array is None or not array.size:
        return None
    elements = without_repeats(array).reshape(-1)
    return elements[0] if elements.size == 1 or bool((elements == elements[0]).all()) else None


def only_op(block: Block) -> Operation | None:
    """The op of a region that does one thing with its two arguments and returns the result."""
    first = block.first_op
    if first is None or first.next_op is None or first.next_op is not block.last_op or len(block.args) != 2:
        return None
    forwards = tuple(first.operands) in (tuple(block.args), tuple(block.args)[::-1])
    return first if forwards and tuple(first.next_op.operands) == tuple(first.results) else None


def combined_by(op: Operation, region: int = 0) -> str:
    """Name of the op that a region combines two elements by; empty if it does anything else."""
    block = op.regions[region].first_block
    inner = None if block is None else only_op(block)
    return "" if inner is None else inner.name.removeprefix("stablehlo.")
