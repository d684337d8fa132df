"""Which line of a program a location attribute names."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import Attribute, Operation

from fuse_dialect.dialect.nesting import ops_inside


def place_of(location: Attribute) -> FileLineColLoc | None:
    """The file, line and column that a location names first, if it names any.

    Of a call site that is what was called, and, where that has no place, who called it.

    Complexity: O(distinct parts): a location that stands for two times itself is looked at once.
    """
    pending, seen = [location], {id(location)}
    while pending:
        current = pending.pop()
        parts: tuple[Attribute, ...] = ()
        match current:
            case FileLineColLoc():
                return current
            case NameLoc():
                parts = (current.location,)
            case CallSiteLoc():
                parts = (current.callee, current.caller)
            case FusedLoc(locations=ArrayAttr(data=parts)):
                pass
            case _:
                pass
        fresh = [part for part in parts if id(part) not in seen]
        seen.update(map(id, fresh))
        pending.extend(reversed(fresh))
    return None


def place_at_call(ops: Sequence[Operation], call: Operation) -> None:
    """Give the place of a call to the inlined ops that have none of their own, and to those inside them."""
    if place_of(call.location) is None:
        return
    made: dict[int, tuple[LocationAttr, LocationAttr]] = {}
    """By identity of a location: the location, which thereby lives on, and what takes its place."""
    for outer in ops:
        for op in (outer, *(ops_inside(outer) if outer.regions else ())):
            own = op.location
            if id(own) not in made:
                made[id(own)] = own, _at_call(own, call.location)
            op.location = made[id(own)][1]


def _at_call(own: LocationAttr, call: LocationAttr) -> LocationAttr:
    if isinstance(own, UnknownLoc):
        return call
    return own if place_of(own) is not None else CallSiteLoc(own, call)
