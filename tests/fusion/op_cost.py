"""The cost of one op as a pair of numbers, as tests of ops say it."""

from typing import NamedTuple

from xdsl.ir import Operation

from fuse_dialect.analysis.op_costs import op_cost


class Cost(NamedTuple):
    flops: int
    bytes: int


def cost_of(op: Operation) -> Cost | None:
    """Arithmetic and bytes of an op, or `None` where sizes are open."""
    cost = op_cost(op)
    flops = None if cost.flops is None else cost.flops.number
    bytes = None if cost.bytes is None else cost.bytes.number
    return None if flops is None or bytes is None else Cost(flops, bytes)
