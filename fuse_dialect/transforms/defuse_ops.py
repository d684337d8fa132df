"""`defuse-ops`: put the ops of primitive functions back where they are called; the inverse of `fuse-ops`.

1. A call of a function with the attribute `primitive` is replaced by the ops of the function, right where it stood.
   Primitives that call primitives are resolved from the innermost on; those on a cycle of calls stay.
   A call with discardable attributes of its own stays: they belong to no op of the primitive. A remark says so.
   `fuse.computed_again` is none of them: it says which ops of a function are copies of one, and they become one again.
2. A private primitive that nothing refers to any more is removed.
3. No op has a unit of hardware any more, nor a reason why it has none. A kernel in its place, `fuse.fused`, becomes a
   primitive first.
4. The op that gives a call's result takes the location and the name of the call, which are those that it had before
   fusion. All other ops have the locations of the primitive: groups that share one primitive share these too.

`fuse-ops` and then `defuse-ops` give back the same ops with the same attributes, wired alike. Not the same are the
names of values, the order of pure ops within a block, and what `fuse-ops` removes: pure ops that nothing reads, and
`fuse.stop_fusion`. After `link-params=true`, every primitive has its own copy of a constant.

Source: TVM `DefuseOps`, src/relay/transforms/defuse_ops.cc (v0.18).
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.budget import Limits
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.hardware import REASON_ATTRIBUTE
from fuse_dialect.fusion.inlining import DEFUSION, inline_calls
from fuse_dialect.fusion.outlining.regions import outline_regions


@dataclass(frozen=True)
class DefuseOpsPass(ModulePass):
    """Inline every call of a primitive function, and remove primitives that nobody calls any more."""

    name = "defuse-ops"

    max_ops: int = Limits().ops
    """Copies of ops that calls of shared primitives may be replaced by."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Undo the fusion of all functions of the module.

        Raises:
            OpError: A primitive, or a block with calls of primitives, is not in SSA order, or there are more copies
                than `max-ops`.

        Complexity: O(ops + operands) of the result.
        """
        outline_regions(op)
        inline_calls(op, DEFUSION, self.max_ops)
        for inner in ops_inside(op):
            if inner.attributes:
                inner.attributes.pop(REASON_ATTRIBUTE, None)
