"""Which functions a pass may change: not those that are finished, or belong to another compiler."""

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.ir import Operation

LEFT_ALONE = ("primitive", "fuse.compiler")
"""Attributes of functions that are finished, or belong to another compiler."""


def walk_unfinished(root: Operation) -> Iterator[Operation]:
    """All ops in the order of the text, without those inside functions that are left alone.

    Ops may be put before the one that is visited, and that one may go; regions are walked without recursion.
    """
    pending = [root]
    while pending:
        op = pending.pop()
        if op.regions and not is_left_alone(op):
            inner = [inner for region in op.regions for block in region.blocks for inner in block.ops]
            pending.extend(reversed(inner))
        yield op


def is_left_alone(op: Operation) -> bool:
    """Whether the op is a function that no pass changes."""
    return isinstance(op, func.FuncOp) and any(name in op.attributes for name in LEFT_ALONE)
