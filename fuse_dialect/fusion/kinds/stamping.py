"""Rows of kinds, written on the ops of a module: from there on nobody needs the rows.

An op gets the attributes `fuse.pattern_kind`, and `fuse.edge_kinds` and `fuse.reshape_only` if its row says so, unless

1. it has `fuse.pattern_kind` already: what is closer to the op wins;
2. or it has no results. An operator has some; what has none is there for its effects, or ends a block.
"""

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE, PatternKindAttr
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.fusion.kinds.edge_kinds import EDGE_KINDS_ATTRIBUTE, edge_kinds_of, too_many_edges
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.kinds.kind_rows import KindRow, KindTable
from fuse_dialect.fusion.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE


def stamp_kinds(module: ModuleOp, table: KindTable) -> list[str]:
    """Write the kinds of a table on the ops of a module.

    Returns:
        The names of all ops that could have had a row.

    Raises:
        OpError: An op has fewer operands than its row has edges.

    Complexity: O(ops + names of ops * rows of their dialects).
    """
    named: dict[str, list[Operation]] = {}
    for op in ops_inside(module):
        if op.results:  # (2)
            named.setdefault(op_name(op), []).append(op)
    for name, rows in table.matching(named).items():
        for op in named[name] if rows else ():
            if PATTERN_KIND_ATTRIBUTE not in op.attributes:  # (1)
                _stamp(op, rows[0])
    return list(named)


def _stamp(op: Operation, row: KindRow) -> None:
    if len(row.edges) > len(op.operands):
        message = f"'{op_name(op)}' op {too_many_edges(op, len(row.edges), str(row.place))}"
        raise OpError(op, message, "a row for ops of different numbers of operands gives the edges that all have")
    op.attributes[PATTERN_KIND_ATTRIBUTE] = PatternKindAttr.of(row.kind)
    if row.edges:
        op.attributes[EDGE_KINDS_ATTRIBUTE] = edge_kinds_of(row.edges)
    if row.reshape_only:
        op.attributes[RESHAPE_ONLY_ATTRIBUTE] = UnitAttr()
