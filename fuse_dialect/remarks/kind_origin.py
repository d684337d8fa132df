"""Where the kind of an op comes from, in words: the same steps as `kind_of`, in the same order."""

from xdsl.ir import Operation

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE, OpPatternKind
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.pattern_kind import PatternKind


def kind_origin(op: Operation) -> str:
    """What says the kind of the op, or why nothing does.

    Raises:
        OpError: The attribute `fuse.pattern_kind` is there but names no kind.
    """
    kind = kind_of(op)
    if PATTERN_KIND_ATTRIBUTE in op.attributes:
        return f"the attribute {PATTERN_KIND_ATTRIBUTE} on the op"
    trait = type(op).get_trait(OpPatternKind)
    if trait is not None:
        if kind is PatternKind.OPAQUE and trait.kind is not PatternKind.OPAQUE:
            return (
                f"{trait.kind.keyword} by its definition, but the elements of its operands say how large its result is"
            )
        return "the definition of the operator"
    rule = foreign_op(op_name(op)).kind
    if rule is None:
        return f"no row of the table of other dialects has it; {PATTERN_KIND_ATTRIBUTE} on the op, or --kinds, says it"
    if kind is None:
        return "the table of other dialects has a row for it, but this one may have effects"
    if isinstance(rule, PatternKind):
        return "the row of the table of other dialects"
    return "the row of the table of other dialects, which looks at the op"
