"""The pattern kind of any op of any dialect.

The first of these that speaks decides:

1. the discardable attribute `fuse.pattern_kind` on the op;
2. the trait of its class, but opaque for an op of the dialect whose operands' elements say how large its results are,
   unless the result types say it too (TVM `IsDataDependent`, src/relay/transforms/fuse_ops.cc);
3. the rows of `foreign`, keyed by the op's name, whether or not its dialect is registered.

An op of which none speaks is *unknown*: opaque, and possibly with effects, so it stays where it is. A row does not
count for an op that may have effects all the same: it works on buffers, gives nothing, or holds in a region an op that
may have effects.
"""

from functools import cache
from typing import cast

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType, UnregisteredOp
from xdsl.ir import Attribute, Operation, OpResult
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, RecursiveMemoryEffect, is_side_effect_free

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE, OpPatternKind, PatternKindAttr
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.fusion.kinds.foreign import SHAPE_TYPE, foreign_op
from fuse_dialect.fusion.kinds.region_effects import RegionEffects
from fuse_dialect.pattern_kind import PatternKind

_trait_kinds: dict[type[Operation], PatternKind | None] = {}
"""What the trait of a class says, found once a class: looking through its traits costs as much as all the rest."""

_sized_by_elements: set[type[Operation]] = set()
"""Those of these classes for which `FuseOp.SIZED_BY_ELEMENTS` holds."""


def _has_open_size(op: Operation) -> bool:
    """Whether a result type leaves a size open."""
    return any(is_tensor(result.type) and DYNAMIC in result.type.get_shape() for result in op.results)


@cache
def _is_unregistered(op_class: type[Operation]) -> bool:
    """Whether the class stands for an op of an unregistered dialect; `isinstance` on xDSL's classes is slow."""
    return issubclass(op_class, UnregisteredOp)


@cache
def _is_buffer(type_class: type[Attribute]) -> bool:
    """Whether types of the class are buffers; `isinstance` on xDSL's classes is slow."""
    return issubclass(type_class, MemRefType | UnrankedMemRefType)


def op_name(op: Operation) -> str:
    """Name of the op as written in the IR, also for an op of an unregistered dialect."""
    return cast(UnregisteredOp, op).op_name.data if _is_unregistered(type(op)) else op.name


def kind_of(op: Operation, effects: RegionEffects | None = None) -> PatternKind | None:
    """Pattern kind of the op, or `None` when it is unknown.

    Args:
        op: Any op.
        effects: Remembers what is found about regions, for a caller that asks for ops at several depths.

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
        if issubclass(cls, FuseOp) and cls.SIZED_BY_ELEMENTS:
            _sized_by_elements.add(cls)
    if kind is not None:
        return PatternKind.OPAQUE if cls in _sized_by_elements and _has_open_size(op) else kind
    rule = foreign_op(op_name(op)).kind
    if rule is None or _may_have_effects(op, effects) or _computes_with_shapes(op):
        return None
    return rule if isinstance(rule, PatternKind) else rule(op)


def _computes_with_shapes(op: Operation) -> bool:
    """Whether an op reads a list of sizes that is no constant: it stays where the list is computed."""
    return any(
        value.type.name == SHAPE_TYPE
        and not (isinstance(value, OpResult) and foreign_op(op_name(value.op)).is_constant)
        for value in op.operands
    )


def _may_have_effects(op: Operation, effects: RegionEffects | None) -> bool:
    """Whether an op of the tables is one of the forms that may have effects."""
    if not op.results or any(_is_buffer(type(value.type)) for value in op.operands):
        return True
    return bool(op.regions) and (effects or RegionEffects()).may_have(op, _is_harmless)


def _is_harmless(op: Operation, effects: RegionEffects) -> bool:
    """Whether an op inside an op of the tables is, apart from its own regions, known to have no effects."""
    if op.next_op is None and op.has_trait(IsTerminator):
        return True
    row = foreign_op(op_name(op))
    return (
        (_has_effects_of_regions_alone(op) if op.regions else is_side_effect_free(op))
        or row.has_no_effects
        or row.is_constant
        or kind_of(op, effects) is not None
    )


def _has_effects_of_regions_alone(op: Operation) -> bool:
    """Whether an op has no effects but those of its regions; xDSL would go through the regions for each op anew."""
    traits = op.get_traits_of_type(MemoryEffect)
    return bool(traits) and all(isinstance(trait, RecursiveMemoryEffect | NoMemoryEffect) for trait in traits)
