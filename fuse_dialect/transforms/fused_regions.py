"""`outline-fused` and `inline-fused`: kernels as primitive functions with calls, or as `fuse.fused` in their places.

    fuse-opt --fuse-ops="form=inline" model.mlir
    fuse-opt --fuse-ops --inline-fused model.mlir
    fuse-opt --outline-fused fused.mlir

1. `outline-fused` moves the body of each `fuse.fused` to a private function with the attribute `primitive`, and calls
   it there. The function has the name that the op says, with a number where it is taken; kernels of the same structure
   share one.
2. `inline-fused` replaces each call of a primitive of one block by a `fuse.fused` with the ops of the function, and
   removes private functions that nothing refers to any more. Attributes and locations of calls stay with the ops, and
   marks of functions as `attributes {...}`.

Either after the other gives back what was there, up to the names of shared functions.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.budget import Limits
from fuse_dialect.fusion.inlining import Inlining, inline_calls, is_primitive
from fuse_dialect.fusion.outlining.regions import outline_regions


@dataclass(frozen=True)
class OutlineFusedPass(ModulePass):
    """Make primitive functions of kernels in their places."""

    name = "outline-fused"

    dedup: bool = True
    """Let kernels of the same structure share one function."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Outline all of them."""
        outline_regions(op, dedup=self.dedup)


@dataclass(frozen=True)
class InlineFusedPass(ModulePass):
    """Put the kernels of primitive functions in the places of their calls."""

    name = "inline-fused"

    max_ops: int = Limits().ops
    """Copies of ops that calls of shared primitives may be replaced by."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline all of them.

        Raises:
            OpError: A primitive, or a block with calls of primitives, is not in SSA order, or there are more copies
                than `max-ops`.
        """
        inline_calls(op, Inlining(self.name, is_primitive, undoes_fusion=False, as_regions=True), self.max_ops)
