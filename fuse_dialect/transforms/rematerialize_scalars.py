"""`rematerialize-scalars`: a constant of one element that several ops read is written down for each of them.

TVM's partition puts a scalar constant into the kernel of its reader, if there is one; with several it is an argument of
each. A number that a kernel knows is a literal there: `power(x, 2)` is a product, and not a call of `pow`.
`compile-prefix` runs this pass last, since merging equal constants undoes it.

Constants of rank 0 are copied, also into loops and branches. Functions with `primitive` or
`fuse.compiler` are left alone.

Source: rematerialization of constants in XLA, xla/service/cpu/cpu_compiler.cc and xla/service/gpu/transforms.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class RematerializeScalarsPass(ModulePass):
    """Give each reader of a scalar constant a constant of its own."""

    name = "rematerialize-scalars"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Copy the constants of all functions of the module; linear in the number of ops and operands."""
        for inner in list(walk_unfinished(op)):
            if not isinstance(inner, arith.ConstantOp):
                continue
            value = inner.result
            if not is_tensor(value.type) or value.type.get_num_dims():
                continue
            readers = list(dict.fromkeys(use.operation for use in value.uses))
            if len(readers) < 2:
                continue
            for reader in readers:
                copy = inner.clone()
                copy.location = inner.location
                copy.result.name_hint = value.name_hint
                Rewriter.insert_op(copy, InsertPoint.before(reader))
                reader.operands = [copy.result if operand is value else operand for operand in reader.operands]
            Rewriter.erase_op(inner)
