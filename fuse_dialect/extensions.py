"""What is found by name when it is used: places in this package, and what others add by entry point."""

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def at_place(place: str) -> Any:
    """What stands at a place of this package, spelled `module:name`; the module is imported by that.

    A room names by it what it does not import: a strategy that can be deleted, a format that few programs are in.
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def folders_of_packages() -> tuple[tuple[str, int], ...]:
    """The folders in which packages are installed, and when each has changed: what is known of packages holds as long.

    To look for entry points is to open a file of each package, tens of milliseconds.
    """
    return tuple((path, _changed(path)) for path in sys.path)


def _changed(path: str) -> int:
    try:
        return os.stat(path or os.curdir).st_mtime_ns
    except (OSError, ValueError):  # an archive or a folder may be gone, or the text may be no path
        return 0


def added(group: str) -> "dict[str, EntryPoint]":
    """The entry points of a group, by name; their packages are not imported."""
    return dict(_entry_points(group, folders_of_packages()))


@lru_cache(maxsize=32)
def _entry_points(group: str, folders: tuple[tuple[str, int], ...]) -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # it takes as long to import as a small program to compile

    return {point.name: point for point in entry_points(group=group)}


def loaded(point: "EntryPoint", what: str, expected: str, fits: Callable[[Any], bool]) -> Any:
    """What an entry point names.

    Args:
        point: One of `added`.
        what: What it adds, for an error: `backend`.
        expected: What it must name, for an error: `a function`.
        fits: Whether an object is that.

    Raises:
        FuseError: Its package cannot be imported, or it names something else.
    """
    try:
        found = point.load()
    except (ImportError, AttributeError, ValueError) as error:  # a machine of impossible numbers is a ValueError
        raise FuseError(f"{what} '{point.name}' of '{point.value}' cannot be imported: {error}") from error
    if not fits(found):
        raise FuseError(f"{what} '{point.name}' expects '{point.value}' to be {expected}")
    return found
