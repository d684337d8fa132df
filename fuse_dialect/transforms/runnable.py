"""Making a module ready to run: what StableHLO says is said with `fuse` ops."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.dialect.nesting import ops_inside


def make_runnable(module: ModuleOp) -> None:
    """Convert the StableHLO in a module, if there is any, and put private functions where they are called.

    Raises:
        OpError: A function cannot be inlined.
    """
    if has_stablehlo(module):
        # These import 17 modules, and most programs need none of them.
        from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass
        from fuse_dialect.frontends.stablehlo.rules.composites import call_decompositions
        from fuse_dialect.fusion.inline import InlinePass

        call_decompositions(module)
        InlinePass().apply(Context(), module)
        ConvertStableHLOToFusePass().apply(Context(), module)


def has_stablehlo(module: ModuleOp) -> bool:
    """Whether a function of the module holds an op of StableHLO or CHLO."""
    return any(op.name.startswith(("stablehlo.", "chlo.")) for op in ops_inside(module))
