"""`rematerialize-dequantization`: each reader of real numbers that come from quantized ones computes them itself.

Integers of 8 bits take a quarter of the memory of the real numbers that they stand for, and the conversion is a few
operations for each. If several kernels read the real numbers they would be stored; with a conversion of its own each
kernel reads the integers. `compile-prefix` runs this pass near its end, since merging equal ops undoes it.

A reader that picks some of the elements, at most half of them, picks integers, and what it has picked is converted. So
do readers that pick parts of a function of the real numbers, all together no more elements than there are: the function
is computed of each part. Where a part is quantized again, this is a function of a byte.

Functions with `primitive` or `fuse.compiler` are left alone.

Source: rematerialization in XLA, xla/service/hlo_rematerialization.cc.
"""

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import BinaryOp, MultiplyOp
from fuse_dialect.dialect.ops.elementwise import UnaryOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.types import DYNAMIC, tensor_type, with_shape
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
    if _pick_before_functions(value, chain):
        return
    if all(_rank(each) == 0 for op in chain for each in op.operands[1:]):
        for reader in readers:
            if isinstance(reader, TakeOp | StridedSliceOp) and _picks_few(reader, value):
                _pick_integers(reader, chain)
        readers = [reader for reader in readers if reader.parent is not None]
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


def _rank(value: SSAValue) -> int:
    return tensor_type(value).get_num_dims()


def _pick_before_functions(value: SSAValue, chain: list[Operation]) -> bool:
    """Let readers pick integers that pick parts of a function of real numbers; whether that is what is read."""
    functions: list[Operation] = []
    while value.has_one_use():
        (use,) = value.uses
        op = use.operation
        is_unary = isinstance(op, UnaryOp) or (isinstance(op, BinaryOp) and use.index == 0 and _rank(op.rhs) == 0)
        if not is_unary or op.results[0].type != value.type:
            break
        functions.append(op)
        value = op.results[0]
    readers = list(dict.fromkeys(use.operation for use in value.uses))
    picks = [each for each in readers if isinstance(each, TakeOp | StridedSliceOp) and _picks_few(each, value)]
    if not functions or not picks or len(picks) < len(readers):
        return False
    if sum(prod(tensor_type(each.result).get_shape()) for each in picks) > prod(tensor_type(value).get_shape()):
        return False
    for each in picks:
        _pick_integers(each, [*chain, *functions])
    for each in reversed([*chain, *functions]):
        if not each.results[0].uses:
            Rewriter.erase_op(each)
    return True


def _picks_few(reader: TakeOp | StridedSliceOp, value: SSAValue) -> bool:
    """Whether an op picks at most half of the elements of a value, and reads it for nothing else."""
    shapes = [tensor_type(each).get_shape() for each in (value, reader.results[0])]
    if reader.operands[0] is not value or value in reader.operands[1:] or any(DYNAMIC in shape for shape in shapes):
        return False
    source, picked = map(prod, shapes)
    return 2 * picked <= source


def _pick_integers(reader: TakeOp | StridedSliceOp, chain: list[Operation]) -> None:
    """Let an op pick from the integers at the start of a conversion, and convert what it has picked."""
    source = chain[0].operands[0]
    shape = tensor_type(reader.results[0]).get_shape()
    new: list[Operation] = [
        type(reader).create(
            operands=[source, *reader.operands[1:]],
            result_types=[with_shape(tensor_type(source), shape)],
            properties=dict(reader.properties),
            attributes=dict(reader.attributes),
        )
    ]
    for op in chain:
        new.append(
            type(op).create(
                operands=[new[-1].results[0], *op.operands[1:]],
                result_types=[with_shape(tensor_type(op.results[0]), shape)],
                properties=dict(op.properties),
                attributes=dict(op.attributes),
            )
        )
    for op in new:
        op.location = reader.location
    Rewriter.replace_op(reader, new)


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
