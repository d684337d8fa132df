"""`cut-splits`: each of many pieces of a split is a slice of its own, which its reader takes.

A split has several results. Those of a few pieces may be what the kernel before writes; many, as the steps of a loop
that is written out have them, are a kernel that copies all of its operand, and readers read the copies. A slice is
where something begins: whoever computes element by element with one reads the operand there.

1. All readers do so, perhaps behind ops that only arrange elements anew. Pieces that nobody reads go.
2. Functions with `primitive` or `fuse.compiler` are left alone, and so are splits of axes of open size, whose pieces
   say how long the axis is.

Source: StableHLO, which has slices and no split.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.op import MapOp
from fuse_dialect.dialect.ops.concatenation import SplitOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import MoveOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis, tensor_type
from fuse_dialect.transforms.unfinished import walk_unfinished

MANY = 8
"""Pieces that no kernel before writes side by side."""
_MOST_MOVES = 4


@dataclass(frozen=True)
class CutSplitsPass(ModulePass):
    """Take the pieces of a split one by one, where there are many."""

    name = "cut-splits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change all functions of the module; linear in the number of ops and results."""
        for inner in list(walk_unfinished(op)):
            if isinstance(inner, SplitOp) and len(inner.results) >= MANY and all(map(_is_computed_with, inner.results)):
                _cut(inner)


def _is_computed_with(piece: SSAValue) -> bool:
    """Whether all readers compute element by element (1)."""
    readers = [use.operation for use in piece.uses]
    for _ in range(_MOST_MOVES):
        moves = [each for each in readers if isinstance(each, MoveOp | ExpandDimsOp)]
        others = [each for each in readers if not isinstance(each, MoveOp | ExpandDimsOp)]
        if not all(isinstance(each, MapOp) for each in others):
            return False
        if not moves:
            return True
        readers = [use.operation for each in moves for use in each.result.uses]
    return False


def _cut(split: SplitOp) -> None:
    """Put slices in the place of a split (1); one of an open axis stays (2)."""
    shape = tensor_type(split.input).get_shape()
    axis = normalize_axis(split.axis.value.data, len(shape))
    if shape[axis] == DYNAMIC:
        return
    begin = 0
    for piece, size in zip(split.results, split.sizes.get_values(), strict=True):
        if piece.uses:
            slice = StridedSliceOp(
                split.input, begin=[begin], end=[begin + size], axes=[axis], result_types=[piece.type]
            )
            slice.location = split.location
            slice.result.name_hint = piece.name_hint
            Rewriter.insert_op(slice, InsertPoint.before(split))
            piece.replace_all_uses_with(slice.result)
        begin += size
    Rewriter.erase_op(split)
