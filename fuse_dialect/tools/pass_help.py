"""What `fuse-opt --help-pass=NAME` prints: what a pass does, and its options."""

import dataclasses
import inspect
from textwrap import fill
from typing import Any, get_type_hints

from xdsl.passes import ModulePass

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loading.pipeline import PassTable, closest, option_fields, option_name, type_words
from fuse_dialect.tools.field_docs import field_docs

_WIDTH = 100


def pass_help(name: str, table: PassTable) -> str:
    """The help of one pass.

    Raises:
        FuseError: There is no such pass, or it cannot be imported.
    """
    if name not in table:
        raise FuseError(f"unknown pass '{name}'", hint=closest(name, table) or "--list-passes shows all passes")
    try:
        cls = table[name]()
    except ImportError as error:
        raise FuseError(f"pass '{name}' is not available: {error}") from error
    options = option_fields(cls)
    example = f'--{name}="{option_name(options[0].name)}={_default(options[0])}"' if options else f"--{name}"
    lines = [f"usage: fuse-opt {example} [input]", "", *_description(cls)]
    if options:
        lines.extend(("", "options:"))
        docs, hints = field_docs(cls), get_type_hints(cls)
        for field in options:
            lines.append(f"  {option_name(field.name)}={_default(field)}  ({type_words(hints[field.name])})")
            if meaning := " ".join(docs.get(field.name, "").split()):
                lines.append(fill(meaning, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6))
    return "".join(f"{line}\n" for line in lines)


def _description(cls: type[ModulePass]) -> list[str]:
    """The docstring of the module where the pass stands, or of its class if it has one of its own."""
    module, own = inspect.getmodule(cls), cls.__dict__.get("__doc__")
    # A dataclass without a docstring gets its signature for one.
    is_written = isinstance(own, str) and not own.startswith(f"{cls.__name__}(")
    text = (module.__doc__ if module is not None else None) or (own if is_written else None)
    return inspect.cleandoc(text or "(no description)").splitlines()


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is dataclasses.MISSING or field.default in (None, "", ()):
        return "..."
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
