"""The pattern kind of any op of any dialect.

The first of these that speaks decides:

1. the discardable attribute `fuse.pattern_kind` on the op;
2. the trait of its class;
3. the tables of `foreign_kinds`, keyed by the op's name, whether or not its dialect is registered.

An op of which none speaks is *unknown*: opaque, and possibly with effects, so it stays where it is.
"""

from functools import cache
from typing import cast

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE, OpPatternKind, PatternKindAttr
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.foreign_kinds import KIND_OF_DIALECT, KIND_OF_OP
from fuse_dialect.pattern_kind import PatternKind

_trait_kinds: dict[type[Operation], PatternKind | None] = {}
"""What the trait of a class says, found once a class: looking through its traits costs as much as all the rest."""


@cache
def _is_unregistered(op_class: type[Operation]) -> bool:
    """Whether the class stands for an op of an unregistered dialect; `isinstance` on xDSL's classes is slow."""
    return issubclass(op_class, UnregisteredOp)


def op_name(op: Operation) -> str:
    """Name of the op as written in the IR, also for an op of an unregistered dialect."""
    return cast(UnregisteredOp, op).op_name.data if _is_unregistered(type(op)) else op.name


def kind_of(op: Operation) -> PatternKind | None:
    """Pattern kind of the op, or `None` when it is unknown.

    Raises:
        OpError: The attribute `fuse.pattern_kind` is there but names no kind.
    """
    if op.attributes and (attribute := op.attributes.get(PATTERN_KIND_ATTRIBUTE)) is not None:
        if isinstance(attribute, PatternKindAttr):
            return attribute.kind
        hint = "write #fuse.pattern_kind<injective>"
        raise OpError(op, f"'{op_name(op)}' op attribute 'fuse.pattern_kind' is no pattern kind: {attribute}", hint)
    cls = type(op)
    if cls in _trait_kinds:
        kind = _trait_kinds[cls]
    else:
        trait = cls.get_trait(OpPatternKind)
        kind = _trait_kinds[cls] = None if trait is None else trait.kind
    if kind is not None:
        return kind
    name = op_name(op)
    rule = KIND_OF_OP.get(name)
    if rule is None:
        rule = KIND_OF_DIALECT.get(name.split(".", 1)[0])
    return rule if rule is None or isinstance(rule, PatternKind) else rule(op)
