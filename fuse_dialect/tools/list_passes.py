"""The list of passes that `fuse-opt --list-passes` prints."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from xdsl.passes import ModulePass

from fuse_dialect.loading.pipeline import PassTable, option_fields, option_name
from fuse_dialect.universe import FUSE_UNIVERSE, OWN_NAMES

_INDENT = "  "


def pass_list(table: PassTable) -> str:
    """One line per pass with its summary, and the options of ours with their defaults; ours come first."""
    ours = [name for name in table if name in OWN_NAMES.all_passes]
    others = sorted(name for name in table if name not in OWN_NAMES.all_passes and name not in FUSE_UNIVERSE.all_passes)
    lines = ["passes of fuse_dialect:"]
    lines.extend(_line(name, table[name], with_options=True) for name in ours)
    lines.append("passes of xDSL and its plug-ins:")
    lines.extend(_line(name, table[name], with_options=False) for name in others)
    return "".join(f"{line}\n" for line in lines)


def _line(name: str, load: Callable[[], type[ModulePass]], *, with_options: bool) -> str:
    try:
        cls = load()
    except Exception as error:
        # A pass whose module cannot be imported, for want of an optional package, must not hide the others.
        return f"{_INDENT}{name}  (not available: {' '.join(str(error).split())})"
    options = [f"{option_name(field.name)}={_default(field)}" for field in option_fields(cls)] if with_options else []
    spelling = f"{name}{{{' '.join(options)}}}" if options else name
    return f"{_INDENT}{spelling}  {_summary(cls)}".rstrip()


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "?"
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)


def _summary(cls: type[ModulePass]) -> str:
    """The first line of the class's own docstring; dataclasses without one get a generated one, which says nothing."""
    doc = cls.__dict__.get("__doc__")
    if not isinstance(doc, str) or doc.startswith(f"{cls.__name__}("):
        return ""
    return next(iter(inspect.cleandoc(doc).splitlines()), "")
