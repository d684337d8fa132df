"""Operator fusion for any xDSL or MLIR dialect: exactly TVM's partitions, explained.

    import fuse_dialect as fd

    module = fd.read("model.onnx")      # or fd.parse(text)
    print(fd.plan_fusion(module))       # what would be fused, and why the rest would not
    fd.fuse_ops(module)                 # fuse in place
    outputs = fd.run(module, x)         # on NumPy, the definition of what a program means
    program = fd.compile("model.onnx")  # to machine code: program(x) is a tuple of arrays

Everything is imported when it is first used, so that `import fuse_dialect` costs nothing to a tool that needs a part.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuse_dialect.api import compile as compile
    from fuse_dialect.api import fuse_ops as fuse_ops
    from fuse_dialect.api import fuse_ops_hw as fuse_ops_hw
    from fuse_dialect.api import hardware_report as hardware_report
    from fuse_dialect.api import load as load
    from fuse_dialect.api import parse as parse
    from fuse_dialect.api import plan_fusion as plan_fusion
    from fuse_dialect.api import read as read
    from fuse_dialect.api import run as run
    from fuse_dialect.api import text as text
    from fuse_dialect.api import write as write
    from fuse_dialect.backends.runtime.program import Program as Program
    from fuse_dialect.diagnostics import FuseError as FuseError
    from fuse_dialect.diagnostics import Reason as Reason
    from fuse_dialect.frontends.torch_exports import LostStateWarning as LostStateWarning
    from fuse_dialect.hardware.lower_trips import lower_trips as lower_trips
    from fuse_dialect.hardware.trips import Trip as Trip
    from fuse_dialect.hardware.trips import for_each_trip as for_each_trip
    from fuse_dialect.hardware.trips import trips_of as trips_of
    from fuse_dialect.jax.capture import from_jax as from_jax
    from fuse_dialect.jax.jit import jit as jit
    from fuse_dialect.pytorch.capture import from_torch as from_torch
    from fuse_dialect.remarks.module_plan import Decision as Decision
    from fuse_dialect.remarks.module_plan import ModulePlan as ModulePlan
    from fuse_dialect.remarks.module_plan import PlannedGroup as PlannedGroup
    from fuse_dialect.remarks.statistics import FusionStatistics as FusionStatistics
    from fuse_dialect.rows.mapping import map_rows as map_rows

    __version__: str

_PLACES = {
    "fuse_dialect.api": (
        "compile",
        "fuse_ops",
        "fuse_ops_hw",
        "hardware_report",
        "load",
        "parse",
        "plan_fusion",
        "read",
        "run",
        "text",
        "write",
    ),
    "fuse_dialect.backends.runtime.program": ("Program",),
    "fuse_dialect.diagnostics": ("FuseError", "Reason"),
    "fuse_dialect.frontends.torch_exports": ("LostStateWarning",),
    "fuse_dialect.hardware.lower_trips": ("lower_trips",),
    "fuse_dialect.hardware.trips": ("Trip", "for_each_trip", "trips_of"),
    "fuse_dialect.jax.capture": ("from_jax",),
    "fuse_dialect.jax.jit": ("jit",),
    "fuse_dialect.pytorch.capture": ("from_torch",),
    "fuse_dialect.remarks.module_plan": ("Decision", "ModulePlan", "PlannedGroup"),
    "fuse_dialect.remarks.statistics": ("FusionStatistics",),
    "fuse_dialect.rows.mapping": ("map_rows",),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = ["__version__", *sorted(_PLACE_OF)]  # pyright: ignore[reportUnsupportedDunderAll]


if os.environ.get("FUSE_LOG"):
    from fuse_dialect.logs import listen as _listen

    _listen(os.environ["FUSE_LOG"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fuse_dialect")
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module 'fuse_dialect' has no attribute '{name}'")
    return getattr(import_module(place), name)


def __dir__() -> list[str]:
    return sorted({name for name in globals() if name.startswith("__")} | set(__all__))
