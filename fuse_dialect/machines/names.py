"""Machines of other packages. What each backend knows by itself it keeps in a table of its own.

A package of your own adds a machine by an entry point, and installing it is all it takes:

    [project.entry-points."fuse_dialect.machines"]
    mine = "my_package.machines:MINE"

The entry point names a `Machine`, which is data: nothing is called.
"""

from fuse_dialect.extensions import added, loaded
from fuse_dialect.machines.machine import Machine

ENTRY_POINTS = "fuse_dialect.machines"
"""Group of the entry points by which other packages add machines."""


def machine_names() -> tuple[str, ...]:
    """The names of all machines that are added, sorted."""
    return tuple(sorted(added(ENTRY_POINTS)))


def find_machine(name: str) -> Machine | None:
    """The machine of another package that is called `name`; `None` if there is none.

    Raises:
        FuseError: Its package cannot be imported, or the entry point names something else.
    """
    point = added(ENTRY_POINTS).get(name)
    return None if point is None else loaded(point, "machine", "a Machine", lambda found: isinstance(found, Machine))
