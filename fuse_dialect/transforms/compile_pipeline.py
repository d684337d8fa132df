"""`compile-pipeline`: all that `fuse_dialect.compile` does to a module before it makes kernels, as one pass.

    fuse-opt --compile-pipeline model.onnx

1. StableHLO becomes `fuse` ops, and private functions go where they are called (`make_runnable`);
2. `compile-prefix`;
3. `fuse-ops`.

Each primitive that is left becomes a kernel. So does each operator that stays outside of them: a loop, a branch, or an
op that no plan moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.fusion.core.options import FuseOptions
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.machines.machine import Machine
from fuse_dialect.transforms.compile_prefix import compile_prefix
from fuse_dialect.transforms.runnable import make_runnable


def prepare(
    module: ModuleOp,
    fuse: FuseOpsPass,
    layout: Literal["NHWC", "NCHW", "keep"] = "NHWC",
    sizes: Sequence[str] = (),
) -> None:
    """Bring a module into the form that kernels are made of.

    Args:
        module: The module; it changes.
        fuse: How operators are grouped.
        layout: Of images; `keep` for that which each op has.
        sizes: Numbers for named sizes of arguments: `batch=4`.

    Raises:
        OpError: A function cannot be inlined, or a block is not in SSA order.
        PassFailedException: The module cannot be fused.
    """
    prepare_to_fuse(module, layout, sizes, fuse.machine or fuse.target)
    fuse.apply(Context(), module)


def prepare_to_fuse(
    module: ModuleOp,
    layout: Literal["NHWC", "NCHW", "keep"] = "NHWC",
    sizes: Sequence[str] = (),
    target: Machine | str | None = None,
) -> None:
    """Do all of `prepare` but the fusion.

    Args:
        module: The module; it changes.
        layout: Of images.
        sizes: Numbers for named sizes of arguments.
        target: What code is made for, or its name; by default the processor at hand.

    Raises:
        OpError: A function cannot be inlined, or a block is not in SSA order.
    """
    make_runnable(module)
    context = Context()
    for each in compile_prefix(layout, sizes, target):
        each.apply(context, module)


@dataclass(frozen=True)
class CompilePipelinePass(FuseOptions, ModulePass):
    """Do to a module what compiling it does before it makes kernels: convert, fold, lay out and fuse."""

    name = "compile-pipeline"

    layout: Literal["NHWC", "NCHW", "keep"] = "NHWC"
    """Layout of images, as in `convert-layout`: machine code wants NHWC; `keep` for that which each op has."""
    sizes: tuple[str, ...] = ()
    """Numbers for named sizes of arguments: `sizes="batch=4","seq=128"`."""

    @property
    def grouped_by(self) -> str:
        """The strategy that groups: the one that is named, or that for what is compiled."""
        return self._grouping().grouped_by

    def _grouping(self) -> FuseOpsPass:
        return FuseOpsPass(**self.options()).to_compile()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run everything."""
        prepare(
            op,
            self._grouping(),
            self.layout,
            self.sizes,
        )
