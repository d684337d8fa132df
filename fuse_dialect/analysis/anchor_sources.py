"""Where the op of a kernel comes from that says most about it."""

from collections.abc import Iterable

from xdsl.ir import Operation

from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.fusion.kinds.kind_of import kind_of


def anchor_source(ops: Iterable[Operation]) -> str:
    """Where the op comes from that says most about a kernel: of those with a source the first of the highest kind."""
    best, found = -1, ""
    for op in ops:
        kind = kind_of(op)
        if kind is not None and kind > best and (source := source_of(op)):
            best, found = int(kind), source
    return found
