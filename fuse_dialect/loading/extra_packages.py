"""Packages of extras, imported when they are used."""

from importlib import import_module
from typing import Any

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extras import install_hint


def package_of_extra(module: str, extra: str) -> Any:
    """A package of an extra, or a module in it, imported.

    Raises:
        FuseError: The package is not installed; the hint says which extra has it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise FuseError(
            f"this needs the '{extra}' extra: package '{package}' is not installed", hint=install_hint(extra)
        ) from None
