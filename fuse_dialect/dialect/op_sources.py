"""Where ops come from: names that a model gives its nodes, paths of modules, lines of programs.

1. A name with a place inside it, as PyTorch and JAX give them, is said with the place: `encoder.layer.0 (model.py:52)`.
2. Of several locations in one the first counts that says anything.
3. A name inside that the outer one begins with, the path of a module, adds nothing: what is inside of it is said.
4. What was called and names no line, as JAX prints its own functions, has that of the call.
"""

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation

from fuse_dialect.dialect.places import place_of

_MOST_NESTED = 100
"""Locations within locations that are looked through for a name."""


def source_of(op: Operation) -> str:
    """Where an op comes from: the name that a model gives it, a place in a file, or both; empty if that is unknown."""
    return _text(op.location, _MOST_NESTED)


def _text(location: Attribute, nested: int) -> str:
    """What a location says (1 to 4)."""
    match location:
        case _ if not nested:
            return ""
        case NameLoc():
            name, inner = location.desc.data, location.location
            if isinstance(inner, NameLoc) and name.startswith(f"{inner.desc.data}/"):
                inner = inner.location  # (3)
            place = _text(inner, nested - 1)
            return f"{name} ({place})" if place and place != name else name
        case FileLineColLoc():
            # The folder of a file says little, and much of it.
            name, line, column = location.filename.data, location.line.data, location.column.data
            where = f"{line}:{column}" if column > 1 else f"{line}"
            return f"{name.rpartition('/')[2] if name.endswith('.py') else name}:{where}"
        case CallSiteLoc():
            callee, caller = _text(location.callee, nested - 1), place_of(location.caller)
            if callee and caller is not None and place_of(location.callee) is None:
                return f"{callee} ({_text(caller, 1)})"  # (4)
            return callee or _text(location.caller, nested - 1)
        case FusedLoc():
            parts = cast("ArrayAttr[Attribute]", location.locations).data
            return next((text for part in parts if (text := _text(part, nested - 1))), "")
        case _:
            return ""
