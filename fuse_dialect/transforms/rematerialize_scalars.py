"""`rematerialize-scalars`: a constant of one element that several ops read is written down for each of them.

TVM's partition puts a scalar constant into the kernel of its reader, if there is one; with several it is an argument of
each. A number that a kernel knows is a literal there: `power(x, 2)` is a product, and not a call of `pow`.
`compile-prefix` runs this pass last, since merging equal constants undoes it.

1. Constants of rank 0 are copied, also into loops and branches.
2. One element of a higher rank, `[2.0]`, is written with rank 0 for an op that broadcasts it to another operand.
   Frontends write either.
3. Functions with `primitive` or `fuse.compiler` are left alone.

Source: rematerialization of constants in XLA, xla/service/cpu/cpu_compiler.cc and xla/service/gpu/transforms.
"""

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.ops.broadcast import BinaryOp, WhereOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class RematerializeScalarsPass(ModulePass):
    """Give each reader of a scalar constant a constant of its own."""

    name = "rematerialize-scalars"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Copy the constants of all functions of the module; linear in the number of ops and operands."""
        for inner in list(walk_unfinished(op)):
            if not isinstance(inner, arith.ConstantOp) or not is_tensor(inner.result.type):
                continue
            readers = list(dict.fromkeys(use.operation for use in inner.result.uses))
            if inner.result.type.get_num_dims() == 0:
                if len(readers) > 1:
                    _copy(inner, readers)
            elif prod(inner.result.type.get_shape()) == 1:
                _copy(inner, [reader for reader in readers if _broadcasts(reader, inner)])  # condition 2


def _broadcasts(reader: Operation, number: arith.ConstantOp) -> bool:
    """Whether an op gives the same with a constant of one element that has no axes."""
    if not isinstance(reader, BinaryOp | WhereOp):
        return False
    others = [value.type for value in reader.operands if value is not number.result]
    rank = number.result.type.get_num_dims() if is_tensor(number.result.type) else 0
    return any(is_tensor(type) and type.get_num_dims() >= rank for type in others)


def _copy(number: arith.ConstantOp, readers: list[Operation]) -> None:
    """Give readers constants of their own, of rank 0."""
    value = number.result
    elements = constant_of(value)
    if elements is None:
        return
    for reader in readers:
        copy = constant(elements.reshape(()))
        copy.attributes.update(number.attributes)
        copy.location = number.location
        copy.result.name_hint = value.name_hint
        Rewriter.insert_op(copy, InsertPoint.before(reader))
        reader.operands = [copy.result if operand is value else operand for operand in reader.operands]
    if not value.uses:
        Rewriter.erase_op(number)
