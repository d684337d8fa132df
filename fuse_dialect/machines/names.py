"""Machines by name: one set of names for `machine=` of plans, for `--target-cpu` and for `FUSE_TARGET_CPU`.

1. `native` is the processor at hand, and what counts where nobody names another.
2. Files in `shipped/` describe machines that come with the package: `cpu-avx512`.
3. Processors have the names that LLVM knows them by: `haswell`.
4. A package of your own adds a machine by an entry point, and installing it is all it takes:

       [project.entry-points."fuse_dialect.machines"]
       mine = "my_package.machines:MINE"

   The entry point names a `Machine`, which is data: nothing is called.
5. The path of a file that ends in `.toml` describes one: see `description`.
"""

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extensions import added, loaded
from fuse_dialect.machines.environment import NATIVE, machine_named
from fuse_dialect.machines.host import host_machine
from fuse_dialect.machines.machine import Machine
from fuse_dialect.machines.processors import PROCESSORS, features_of, machine_of

ENTRY_POINTS = "fuse_dialect.machines"
"""Group of the entry points by which other packages add machines."""
_SHIPPED = Path(__file__).parent / "shipped"
_FILE = ".toml"


def find_machine(name: str = "") -> Machine:
    """The machine of a name, which may be without rates: see `description.with_rates`.

    Args:
        name: One of `machine_names`, or the path of a file that ends in `.toml`; by default what the environment
            variable names, else the processor at hand.

    Raises:
        FuseError: There is none, its file is wrong, or its package cannot be imported.
    """
    name = machine_named(name)
    if name == NATIVE:
        return host_machine()
    if name.endswith(_FILE) or name in shipped():
        # A reader of TOML takes longer to import than a small program takes to plan, and most runs need no file.
        from fuse_dialect.machines.description import read_machine, shipped_machine

        return read_machine(Path(name)) if name.endswith(_FILE) else shipped_machine(name)
    if name in PROCESSORS:
        return machine_of(name, features_of(name))
    point = added(ENTRY_POINTS).get(name)
    if point is not None:
        return loaded(point, "machine", "a Machine", lambda found: isinstance(found, Machine))
    known = machine_names()
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}, and paths of {_FILE} files"
    raise FuseError(f"unknown machine '{name}'", hint=hint)


def machine_names() -> tuple[str, ...]:
    """All names: `native`, machines of this package, processors, machines of others."""
    return (NATIVE, *shipped(), *sorted(PROCESSORS), *sorted(added(ENTRY_POINTS)))


@cache
def shipped() -> tuple[str, ...]:
    """Names of the machines that come with the package."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob(f"*{_FILE}")))
