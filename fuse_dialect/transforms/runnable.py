"""Making a module ready to run: what other dialects say is said with `fuse` ops."""

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.extensions import at_place

CONVERSIONS: Mapping[tuple[str, ...], str] = {
    ("fuse.fused",): "fuse_dialect.fusion.outlining.regions:outline_regions",
    ("stablehlo.", "chlo.", "sdy."): "fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse:convert",
}
"""By how the names of a dialect's ops begin, the place of what says them with `fuse` ops, a function of a module."""


def make_runnable(module: ModuleOp) -> None:
    """Convert what is of another dialect that has a conversion, and put private functions where they are called.

    Raises:
        OpError: A function cannot be inlined.
    """
    for place in _conversions(module):
        at_place(place)(module)


def needs_conversion(module: ModuleOp) -> bool:
    """Whether a function of the module holds an op of a dialect that has a conversion."""
    return bool(_conversions(module))


def _conversions(module: ModuleOp) -> list[str]:
    names = dict.fromkeys(op.name for op in ops_inside(module))
    return [place for starts, place in CONVERSIONS.items() if any(name.startswith(starts) for name in names)]
