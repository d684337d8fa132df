"""`inline`: put the ops of private functions where they are called.

JAX prints every `jax.jit` inside a program as a private function, and fusion does not look through calls. So this pass
belongs before `fuse-ops`.

1. A call of a private function of one block is replaced by the ops of the function, wherever it stands: also in the
   body of a loop. Functions that call functions are resolved from the innermost on; those on a cycle of calls stay.
2. A call with discardable attributes of its own stays, and so do functions with `no_inline`, primitives, functions of
   other compilers, and functions that something else than a call refers to.
3. A private function that nothing refers to any more is removed.
4. Ops keep their own locations and names. Those whose location names no line, as JAX prints its own functions, get that
   of the call besides: `loc(callsite("mul" at "model.py":3:4))`.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.budget import Limits
from fuse_dialect.fusion.inlining import Inlining, has_one_block, inline_calls
from fuse_dialect.fusion.ir.function_like import is_private
from fuse_dialect.fusion.ir.fusible_blocks import COMPILER_ATTRIBUTE, PRIMITIVE_ATTRIBUTE

NO_INLINE_ATTRIBUTE = "no_inline"
"""MLIR's name for a function that must stay."""


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Replace calls of private functions by the ops of these, and remove functions that nobody calls any more."""

    name = "inline"

    max_ops: int = Limits().ops
    """Copies of ops that calls of functions may be replaced by."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline in all functions of the module.

        Raises:
            OpError: A function, or a block with calls, is not in SSA order, or there are more copies than `max-ops`.
        """
        inline_calls(op, _PRIVATE_FUNCTIONS, self.max_ops)


def _can_be_inlined(function: func.FuncOp) -> bool:
    stays = {PRIMITIVE_ATTRIBUTE, COMPILER_ATTRIBUTE, NO_INLINE_ATTRIBUTE} & function.attributes.keys()
    return is_private(function) and not stays and has_one_block(function)


_PRIVATE_FUNCTIONS = Inlining(InlinePass.name, takes=_can_be_inlined, undoes_fusion=False)
