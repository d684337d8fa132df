"""Modules of extras, imported when they are used."""

from typing import Any

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extras import install_hint


def imported(module: str, extra: str) -> Any:
    """A module of an extra.

    Raises:
        FuseError: It is not installed.
    """
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise FuseError(f"this needs '{package}'", hint=install_hint(extra)) from error
