"""The kinds of the edges into any op of any dialect."""

from collections.abc import Sequence
from functools import cache

from xdsl.ir import Operation

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.fusion.kinds.edge_kinds import EDGE_KINDS_ATTRIBUTE, said_edges
from fuse_dialect.fusion.kinds.edges import EdgeRule, plain_edges
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.pattern_kind import PatternKind


def has_edges_of_its_kind(op: Operation, kind: PatternKind) -> bool:
    """Whether all edges have the kind of the op, as those of most ops do: nobody need look at its operands."""
    return kind is not PatternKind.BROADCAST and not op.attributes and _is_ours(type(op))


def edges_of(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """The kind of the edge from each operand of an op.

    An op that says its kind by attribute has the edges that it says too, or those that TVM gives an op of that kind.

    Args:
        op: An operator.
        kind: What `kind_of` says of it.

    Raises:
        OpError: The attribute `fuse.edge_kinds` is wrong.
    """
    if op.attributes and EDGE_KINDS_ATTRIBUTE in op.attributes:
        return said_edges(op, kind)
    if _is_ours(type(op)) or PATTERN_KIND_ATTRIBUTE in op.attributes:
        return plain_edges(op, kind)
    return _rule(op_name(op))(op, kind)


@cache
def _is_ours(op_class: type[Operation]) -> bool:
    """Whether TVM knows ops of the class; `issubclass` on xDSL's classes is slow."""
    return issubclass(op_class, FuseOp)


@cache
def _rule(name: str) -> EdgeRule:
    return foreign_op(name).edges
