"""`sink-scales`: a number that scales the columns of a product scales its result instead.

`q @ (k * c)` is `(q @ k) * c`. Exporters scale both operands of the scores of attention, each by the root of the
scale. A product copies its columns before it multiplies, and only moves them, so a scaled operand is a kernel of its
own, which stores it; a scaled result is the product's epilogue.

1. The product is a `fuse.batch_matmul` of f32 or f64, whose second operand nobody else reads.
2. It is multiplied with, or divided by, a constant of one element, of rank 0 or of axes of size 1 no more than its own.
3. Constants, times the number, are constants: they are left to `fold-constants`.

Results differ by rounding, and where sums of products are near the greatest number by overflow. Functions with
`primitive` or `fuse.compiler` are left alone.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.broadcast import DivideOp, MultiplyOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class SinkScalesPass(ModulePass):
    """Scale the results of products rather than their columns."""

    name = "sink-scales"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Sink the scales of all functions of the module; linear in the number of ops."""
        for inner in list(walk_unfinished(op)):
            if isinstance(inner, BatchMatmulOp):
                _sink(inner)


def _sink(product: BatchMatmulOp) -> None:
    """Let a product multiply what is not scaled, and scale what comes out."""
    scaled = product.operands[1]
    found = _scale(scaled)
    if found is None or constant_of(found[0]) is not None:
        return
    value, number = found
    assert isinstance(scaled, OpResult), "a scaled value is a result"
    scale = scaled.op
    product.operands[1] = value
    factor = constant(number.reshape(()))
    is_quotient = isinstance(scale, DivideOp)
    result = (DivideOp if is_quotient else MultiplyOp)(product.results[0], factor.result)
    for new, before in ((factor, product), (result, product.next_op)):
        new.location = scale.location
        assert before is not None, "a product ends no block"
        Rewriter.insert_op(new, InsertPoint.before(before))
    product.results[0].replace_uses_with_if(result.results[0], lambda use: use.operation is not result)
    if not scaled.uses:
        Rewriter.erase_op(scale)


def _scale(value: SSAValue) -> tuple[SSAValue, Array] | None:
    """What is scaled and the number, if a value is one scaled by a number, and for one reader (1, 2)."""
    if not isinstance(value, OpResult) or not isinstance(value.op, MultiplyOp | DivideOp) or not value.has_one_use():
        return None
    if not is_tensor(value.type) or value.type.element_type not in (f32, f64):
        return None
    for place in (1, 0) if isinstance(value.op, MultiplyOp) else (1,):
        number, other = constant_of(value.op.operands[place]), value.op.operands[1 - place]
        if number is not None and number.size == 1 and other.type == value.type:
            return other, number
    return None
