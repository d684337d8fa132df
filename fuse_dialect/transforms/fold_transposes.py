"""`fold-transposes`: a matrix product whose right operand is transposed first reads that operand as it lies.

To the kernel it is the order of two strides. A decoder that keeps its keys as they come would write all of them another
way at each step: the copy takes longer than the product.

1. The transpose swaps the last two axes and leaves the others in place.
2. The right operand alone: it is packed before it is multiplied, in either order of its axes. Rows of the left one are
   read where they lie, and in a column each element has a cache line of its own.
3. Left alone: sums of bytes, whose kernels read four neighbours along a row at once; and ops whose
   `fuse.pattern_kind` says how they fuse.

A transpose that nothing else reads is erased. Source: ONNX Runtime's `MatmulTransposeFusion`.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.ops.layout import TransposeOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, MatmulOp
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class FoldTransposesPass(ModulePass):
    """Let matrix products read what is transposed for them."""

    name = "fold-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change those of all functions of the module; linear in the number of ops."""
        for product in [each for each in walk_unfinished(op) if isinstance(each, MatmulOp | BatchMatmulOp)]:
            swap = product.rhs.owner
            if not isinstance(swap, TransposeOp) or product.out_dtype.data:
                continue
            if not _swaps_matrices(swap) or any(PATTERN_KIND_ATTRIBUTE in each.attributes for each in (product, swap)):
                continue
            product.operands[1] = swap.input
            product.properties["transpose_b"] = IntegerAttr(int(not product.transpose_b.value.data), i1)
            if not swap.result.uses:
                Rewriter.erase_op(swap)


def _swaps_matrices(op: TransposeOp) -> bool:
    """Condition 1."""
    rank = len(op.order)
    return rank > 1 and op.order == (*range(rank - 2), rank - 1, rank - 2)
