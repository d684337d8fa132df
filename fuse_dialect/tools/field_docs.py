"""Docstrings below the fields of a class: what an option of a pass means, for the help and the reference."""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from pathlib import Path


def field_docs(cls: type) -> dict[str, str]:
    """Docstrings below the fields of a class and of its bases: Python keeps them in the source alone."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] not in ("builtins", "xdsl"):
            docs.update(_docs_in_source(base))
    return docs


@cache
def _docs_in_source(cls: type) -> Mapping[str, str]:
    docs: dict[str, str] = {}
    definition = _classes(inspect.getmodule(cls)).get(cls.__name__)
    if definition is None:
        return docs
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                    docs[name] = str(following.value.value)
            case _:
                pass
    return docs


@cache
def _classes(module: object) -> Mapping[str, ast.ClassDef]:
    """The classes of a module, as syntax. `inspect.getsource` does not find classes that decorators rebuild."""
    path = getattr(module, "__file__", None)
    if not isinstance(path, str):
        return {}
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        # Only the compiled module is installed.
        return {}
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
