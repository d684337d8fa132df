"""The attribute by which an op of any dialect says how it reads its operands.

    "npu.matmul"(%x, %w, %c) {fuse.pattern_kind = #fuse.pattern_kind<out_ewise_fusable>,
                              fuse.edge_kinds = [#fuse.pattern_kind<out_ewise_fusable>,
                                                 #fuse.pattern_kind<out_ewise_fusable>,
                                                 #fuse.pattern_kind<elemwise>]}

Operands after the last kind are read as an op of its kind reads them.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation

from fuse_dialect.dialect.attributes import PatternKindAttr
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.fusion.kinds.edges import plain_edges
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.pattern_kind import PatternKind

EDGE_KINDS_ATTRIBUTE = "fuse.edge_kinds"


def edge_kinds_of(kinds: Sequence[PatternKind]) -> ArrayAttr[Attribute]:
    """The attribute that says some kinds."""
    return ArrayAttr([PatternKindAttr.of(kind) for kind in kinds])


def said_edges(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """The edges of an op that has the attribute.

    Raises:
        OpError: It is no array of kinds, or has more of them than the op has operands.
    """
    attribute = op.attributes[EDGE_KINDS_ATTRIBUTE]
    kinds = cast(ArrayAttr[Attribute], attribute).data if isinstance(attribute, ArrayAttr) else ()
    said = [each.kind for each in kinds if isinstance(each, PatternKindAttr)]
    if not said or len(said) != len(kinds):
        hint = "write [#fuse.pattern_kind<elemwise>, #fuse.pattern_kind<opaque>]"
        raise OpError(op, f"'{op_name(op)}' op attribute 'fuse.edge_kinds' is no list of kinds: {attribute}", hint)
    if len(said) > len(op.operands):
        raise OpError(op, f"'{op_name(op)}' op {too_many_edges(op, len(said), 'fuse.edge_kinds')}")
    return [*said, *plain_edges(op, kind)[len(said) :]]


def too_many_edges(op: Operation, edges: int, who: str) -> str:
    """End of a sentence: the op has fewer operands than somebody gives edges."""
    operands = len(op.operands)
    return f"has {operands} operand{'' if operands == 1 else 's'}, and {who} gives {edges} edges"
