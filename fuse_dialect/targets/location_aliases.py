"""Names for locations that are printed more than once.

A location may be made of others: a call site names two. Written out wherever it is used, `loc(callsite(#a at #a))`
doubles its text, and forty such lines are terabytes. MLIR prints the parts as aliases at the end of the file; so do we,
where a location that is made of others is used twice. All that is used once stays where it is.
"""

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, DictionaryAttr, FusedLoc, ModuleOp, NameLoc
from xdsl.ir import Attribute, Operation

from fuse_dialect.frontends.mlir.locations import RANGE

LOCATIONS_OF_OTHERS = (CallSiteLoc, FusedLoc, NameLoc)
"""Locations that may hold other ones."""


def shared_locations(module: ModuleOp, *, of_ops: bool) -> list[Attribute]:
    """The locations made of others that are used more than once, each behind its parts.

    Args:
        module: What is to be printed.
        of_ops: Whether the places of ops and of block arguments are printed, or only what stands in attributes.

    Complexity: O(ops + attributes + locations): shared parts are looked at once.
    """
    uses: dict[int, int] = {}
    order: list[Attribute] = []
    for root in _roots(module, of_ops=of_ops):
        pending: list[tuple[Attribute, bool]] = [(root, False)]
        while pending:
            attribute, is_done = pending.pop()
            if is_done:
                order.append(attribute)
                continue
            uses[id(attribute)] = uses.get(id(attribute), 0) + 1
            if uses[id(attribute)] == 1:
                pending.append((attribute, True))
                pending.extend((part, False) for part in reversed(_parts(attribute)))
    return [each for each in order if uses[id(each)] > 1 and _is_long(each)]


def _roots(module: ModuleOp, *, of_ops: bool) -> Iterator[Attribute]:
    for op in module.walk():
        for value in (*op.attributes.values(), *op.properties.values()):
            if isinstance(value, (*LOCATIONS_OF_OTHERS, ArrayAttr, DictionaryAttr)):
                yield value
        if of_ops:
            yield from _places(op)


def _places(op: Operation) -> Iterator[Attribute]:
    yield op.location
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                yield argument.location


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
