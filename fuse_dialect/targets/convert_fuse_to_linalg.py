"""`convert-fuse-to-linalg`: `fuse` ops as `linalg`, `tensor`, `arith` and `math` on tensors, for MLIR and IREE.

1. Matrix products, convolutions and pools become named ops of linalg where there is one; everything else that computes
   becomes `linalg.generic`, each with all the elementwise work that can be done in one pass.
2. Kernels in their places, `fuse.fused`, become primitive functions first. These stay functions, by default with
   `noinline`, so that IREE does not merge them again, and then one for each call.
3. Integers lose their sign in types: `ui8` is `i8`, as `arith` has it. The bits are the same.
4. Trips through hardware become functions like others, or, with `declare-trips`, declarations: what is left is for a
   compiler of the host, and the calls are for the runtime of the device.
5. Equal names of dynamic sizes are taken for equal: a dimension that is 1 when the program runs is not broadcast.

An op without any form in linalg is an error.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.ssa import check_ssa_order
from fuse_dialect.fusion.outlining.regions import outline_regions
from fuse_dialect.targets.linalg.arrays import signless_type
from fuse_dialect.targets.linalg.calls import keep_calls
from fuse_dialect.targets.linalg.function import ConvertedBlock, converted_block


@dataclass(frozen=True)
class ConvertFuseToLinalgPass(ModulePass):
    """Turn `fuse` ops into named and generic ops of linalg on tensors."""

    name = "convert-fuse-to-linalg"

    noinline: bool = True
    """Keep IREE from inlining primitives, and give each call a function of its own, which IREE 3.13 needs; without the
    attribute it groups anew."""
    named_softmax: bool = False
    """Write a softmax as `linalg.softmax`, one dispatch of IREE; MLIR's own lowerings do not know that op."""

    declare_trips: bool = False
    """Leave out what trips through hardware hold: their functions become declarations, for the host to link."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all functions of the module.

        Raises:
            OpError: An op has no form in linalg, or stands in a function of several blocks; the module is not changed,
                but for kernels in their places, which are functions then.
        """
        outline_regions(op)
        functions = [inner for inner in op.walk() if isinstance(inner, func.FuncOp)]
        trips = [each for each in functions if self.declare_trips and HARDWARE_ATTRIBUTE in each.attributes]
        blocks = [None if function in trips else self._converted(function) for function in functions]
        for function, block in zip(functions, blocks, strict=True):
            type = signless_type(function.function_type)
            assert isinstance(type, FunctionType), "a function's type stays one"
            function.properties["function_type"] = type
            if block is not None:
                block.replace_in(function.body)
        for trip in trips:
            for block in list(trip.body.blocks):
                trip.body.detach_block(block).erase()
            trip.attributes.pop(PRIMITIVE_ATTRIBUTE, None)
        if self.noinline:
            keep_calls(op)

    def _converted(self, function: func.FuncOp) -> ConvertedBlock | None:
        """The new block of a function; `None` for a declaration, and for several blocks that hold no op of ours."""
        if len(function.body.blocks) == 1:
            check_ssa_order(function.body.block)
            return converted_block(function.body.block, named_softmax=self.named_softmax)
        for op in function.walk():
            if isinstance(op, FuseOp):
                raise OpError(op, f"'{op.name}' op stands in a function of several blocks, which do not become linalg")
        return None
