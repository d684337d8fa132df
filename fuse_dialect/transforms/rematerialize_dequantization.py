"""`rematerialize-dequantization`: each reader of real numbers that come from quantized ones computes them itself.

Integers of 8 bits take a quarter of the memory of the real numbers that they stand for, and the conversion is a few
operations for each. If several kernels read the real numbers they would be stored; with a conversion of its own each
kernel reads the integers. `compile-prefix` runs this pass near its end, since merging equal ops undoes it.

Functions with `primitive` or `fuse.compiler` are left alone.

Source: rematerialization in XLA, xla/service/hlo_rematerialization.cc.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import MultiplyOp
from fuse_dialect.transforms.quantization.patterns import reals_of
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class RematerializeDequantizationPass(ModulePass):
    """Give each reader of dequantized numbers a conversion of its own."""

    name = "rematerialize-dequantization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Copy the conversions of all functions of the module; linear in the number of ops and operands."""
        for inner in list(walk_unfinished(op)):
            if isinstance(inner, MultiplyOp):
                _copy_for_readers(inner)


def _copy_for_readers(multiply: MultiplyOp) -> None:
    value = multiply.results[0]
    reals = reals_of(value)
    readers = list(dict.fromkeys(use.operation for use in value.uses))
    if reals is None:
        return
    chain = _chain(value, reals.integers.q)
    # The first reader keeps the conversion, as long as nobody else reads a part of it.
    kept = all(each.results[0].has_one_use() for each in chain[:-1])
    for reader in readers[1 if kept else 0 :]:
        if not isinstance(reader, FuseOp):
            continue
        copied = _copied(chain, reader)
        reader.operands = [copied if operand is value else operand for operand in reader.operands]
    if not value.uses:
        for each in reversed(chain):
            if not each.results[0].uses:
                Rewriter.erase_op(each)


def _chain(value: SSAValue, source: SSAValue) -> list[Operation]:
    """The ops from integers to real numbers, in order; other operands are parameters."""
    ops: list[Operation] = []
    while value is not source:
        assert isinstance(value.owner, Operation)
        ops.insert(0, value.owner)
        value = value.owner.operands[0]
    return ops


def _copied(chain: list[Operation], before: Operation) -> SSAValue:
    value = chain[0].operands[0]
    for op in chain:
        copy = op.clone()
        copy.location = op.location
        copy.operands[0] = value
        Rewriter.insert_op(copy, InsertPoint.before(before))
        value = copy.results[0]
        value.name_hint = op.results[0].name_hint
    return value
