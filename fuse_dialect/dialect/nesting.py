"""What is inside an op, at any depth, without recursion: xDSL's `walk` takes the depth for each op that it gives."""

from xdsl.ir import Operation


def ops_inside(op: Operation) -> list[Operation]:
    """The ops in the regions of `op`, at any depth, each before those inside it, in the order of the text."""
    inside: list[Operation] = []
    pending = [op]
    while pending:
        outer = pending.pop()
        inside.append(outer)
        if outer.regions:
            nested = [inner for region in outer.regions for block in region.blocks for inner in block.ops]
            pending.extend(reversed(nested))
    return inside[1:]
