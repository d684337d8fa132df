"""Names for locations that are printed more than once.

A location may be made of others: a call site names two. Written out wherever it is used, `loc(callsite(#a at #a))`
doubles its text, and forty such lines are terabytes. MLIR prints the parts as aliases, most of them at the end of the
file; so do we, where a location that is made of others is used twice. All that is used once stays where it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, DictionaryAttr, FusedLoc, ModuleOp, NameLoc
from xdsl.ir import Attribute, BlockArgument, Operation

from fuse_dialect.frontends.mlir.locations import RANGE

LOCATIONS_OF_OTHERS = (CallSiteLoc, FusedLoc, NameLoc)
"""Locations that may hold other ones."""


@dataclass(frozen=True, slots=True)
class SharedLocations:
    """The locations made of others that are used more than once, each behind its parts."""

    early: Sequence[Attribute]
    """What block arguments or attributes name: MLIR reads those only behind their definitions."""
    late: Sequence[Attribute]
    """What ops alone name."""


def shared_locations(module: ModuleOp, *, of_ops: bool) -> SharedLocations:
    """The locations that are to be printed by name.

    Args:
        module: What is to be printed.
        of_ops: Whether the places of ops and of block arguments are printed, or only what stands in attributes.

    Complexity: O(ops + attributes + locations): shared parts are looked at once.
    """
    search = _Search()
    for op in module.walk():
        for value in (*op.attributes.values(), *op.properties.values()):
            if isinstance(value, (*LOCATIONS_OF_OTHERS, ArrayAttr, DictionaryAttr)):
                search.visit(cast(Attribute, value))
        if of_ops:
            for argument in _arguments(op):
                search.visit(argument.location)
    count = len(search.order)
    if of_ops:
        for op in module.walk():
            search.visit(op.location)
    holding: set[int] = set()
    """What has a name, or parts that have one."""
    named: tuple[list[Attribute], list[Attribute]] = [], []
    for place, each in enumerate(search.order):
        is_late, holds = place >= count, any(id(part) in holding for part in _parts(each))
        # MLIR looks for an alias behind the module only where it is all that an op says, and in no part.
        if _is_long(each) and (search.uses[id(each)] > 1 or (is_late and holds)):
            named[is_late].append(each)
            holds = True
        if holds:
            holding.add(id(each))
    return SharedLocations(*named)


@dataclass(eq=False, slots=True)
class _Search:
    """A walk through locations and their parts."""

    uses: dict[int, int] = field(default_factory=dict[int, int])
    """How often each is named, by identity."""
    order: list[Attribute] = field(default_factory=list[Attribute])
    """Each once, behind its parts."""

    def visit(self, root: Attribute) -> None:
        """Count a use, and those of the parts when it is the first."""
        pending: list[tuple[Attribute, bool]] = [(root, False)]
        while pending:
            attribute, is_done = pending.pop()
            if is_done:
                self.order.append(attribute)
                continue
            self.uses[id(attribute)] = self.uses.get(id(attribute), 0) + 1
            if self.uses[id(attribute)] == 1:
                pending.append((attribute, True))
                pending.extend((part, False) for part in reversed(_parts(attribute)))


def _arguments(op: Operation) -> Iterator[BlockArgument]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _parts(attribute: Attribute) -> tuple[Attribute, ...]:
    if isinstance(attribute, ArrayAttr):
        return cast("ArrayAttr[Attribute]", attribute).data
    if isinstance(attribute, DictionaryAttr):
        return tuple(attribute.data.values())
    return attribute.parameters if isinstance(attribute, LOCATIONS_OF_OTHERS) else ()


def _is_range(attribute: Attribute) -> bool:
    return isinstance(attribute, FusedLoc) and attribute.metadata == RANGE


def _is_long(attribute: Attribute) -> bool:
    """Whether writing it out repeats more than a name and a place."""
    if isinstance(attribute, NameLoc):
        return isinstance(attribute.location, LOCATIONS_OF_OTHERS) and not _is_range(attribute.location)
    return isinstance(attribute, CallSiteLoc | FusedLoc) and not _is_range(attribute)
