"""Elements side by side, of which it is known how many there are, in vectors.

Whole vectors come first. The rest is one with a mask. Without masks lanes would be tested one by one, so the rest is
shorter vectors, each at most half as long as the one before.
"""

from collections.abc import Callable
from typing import TypeAlias

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.machines.machine import Machine, Unit

Fill: TypeAlias = Callable[[Value, int, Value | None], None]
"""Writes the elements from one on: so many lanes, 0 for a single one, without those that a mask leaves out."""


def fill_line(f: Function, machine: Machine, lanes: int, count: int, fill: Fill) -> None:
    """Write a number of elements.

    Args:
        f: Where it is written.
        machine: What has masks, or not.
        lanes: Elements of a whole vector.
        count: How many elements there are.
        fill: Writes some of them.
    """
    whole = count // lanes * lanes
    if whole:
        with f.loop(f.i64(0), f.i64(whole), lanes, hints=["unroll.disable"]) as loop:
            fill(loop.index, lanes, None)
    if Unit.MASKS in machine.units and whole < count:
        fill(f.i64(whole), lanes, f.first_lanes(f.i64(count - whole), lanes))
        return
    while whole < count:
        part = 1 << (count - whole).bit_length() - 1
        fill(f.i64(whole), part if part > 1 else 0, None)
        whole += part
