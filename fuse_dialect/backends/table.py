"""The backends: those that come with the package, and those that other packages add. The one table of them.

A package of your own adds a backend by an entry point, and installing it is all it takes:

    [project.entry-points."fuse_dialect.backends"]
    mine = "my_package.backend:make"

`make` takes `BackendSettings` and gives a `Backend`. If the backend has an attribute `layout`, images are brought into
that layout before fusion. If it has an attribute `machine`, plans by cost are made for that machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.options import BackendSettings, CompileOptions, Layout
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extensions import added, at_place, loaded
from fuse_dialect.extras import install_hint
from fuse_dialect.machines.machine import Machine
from fuse_dialect.machines.names import find_machine

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True, slots=True)
class BackendRow:
    """A backend of this package."""

    place: str
    """Function that makes it, as `module:function`; the module is imported when the name is used."""
    needs: str = ""
    """Package without which it cannot run."""
    extra: str = ""
    """Extra of this package that installs it."""


BACKENDS: Mapping[str, BackendRow] = {
    "llvm": BackendRow("fuse_dialect.backends.llvm.factory:make", "llvmlite", "native"),
    "numpy": BackendRow("fuse_dialect.backends.numpy.backend:make"),
}
"""The backends of this package by name."""
ENTRY_POINTS = "fuse_dialect.backends"
"""Group of the entry points by which other packages add backends."""


def find_backend(name: str, settings: BackendSettings) -> Backend:
    """The backend that is called `name`: of the table, or of another package that is installed.

    Raises:
        FuseError: There is none of this name, or it cannot be made.
    """
    row = BACKENDS.get(name)
    if row is None:
        return loaded(_point(name), "backend", "a function", callable)(settings)
    if row.needs and find_spec(row.needs) is None:
        raise FuseError(f"backend '{name}' needs the extra '{row.extra}'", hint=install_hint(row.extra))
    return at_place(row.place)(settings)


def engine_of(options: CompileOptions) -> Backend:
    """The backend that options name, or are given.

    Raises:
        FuseError: It is unknown or not installed, or it cannot be made.
    """
    return find_backend(options.backend, options) if isinstance(options.backend, str) else options.backend


def check_backend_name(name: str) -> None:
    """Check that there is a backend of this name; nothing is imported.

    Raises:
        FuseError: There is none.
    """
    if name not in BACKENDS:
        _point(name)


def layout_of(backend: Backend) -> Layout:
    """The layout of images that the backend asks for.

    Raises:
        FuseError: There is no such layout.
    """
    layout = getattr(backend, "layout", "keep")
    if layout not in ("NHWC", "NCHW", "keep"):
        raise FuseError(f"backend '{backend.name}' asks for layout {layout!r}, expected NHWC, NCHW or keep")
    return layout


def machine_of(backend: Backend, settings: BackendSettings) -> Machine | None:
    """What plans are made for: the machine that the backend makes code for, else that of the settings, if it is named.

    Raises:
        FuseError: There is no such machine.
    """
    machine = getattr(backend, "machine", None)
    if isinstance(machine, Machine):
        return machine
    return find_machine(settings.target_cpu) if settings.target_cpu else None


def _point(name: str) -> "EntryPoint":
    others = added(ENTRY_POINTS)
    if name in others:
        return others[name]
    known = (*BACKENDS, *sorted(others))
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else None
    raise FuseError(f"unknown backend '{name}', expected one of {', '.join(known)}", hint=hint)
