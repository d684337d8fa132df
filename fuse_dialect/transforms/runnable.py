"""Making a module ready to run: what other dialects say is said with `fuse` ops."""

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ComplexType, ModuleOp

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.types import is_tensor
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
    ops = list(ops_inside(module))
    names = dict.fromkeys(op.name for op in ops)
    if any(isinstance(op, func.FuncOp) and _takes_or_gives_complex(op) for op in ops):
        # Complex numbers may pass through a function that has no op.
        names["stablehlo.complex"] = None
    return [place for starts, place in CONVERSIONS.items() if any(name.startswith(starts) for name in names)]


def _takes_or_gives_complex(function: func.FuncOp) -> bool:
    types = (*function.function_type.inputs, *function.function_type.outputs)
    return any(is_tensor(type) and isinstance(type.element_type, ComplexType) for type in types)
