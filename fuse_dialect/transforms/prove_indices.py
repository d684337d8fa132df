"""`prove-indices`: indices that cannot be out of range are marked, so that nobody looks.

`fuse.gather` and `fuse.gather_nd` raise an error for an index out of range: a kernel looks at all indices, and does not
run in parts. Where every index is known to be in range, `mode = "fast"` says so:

1. A range of integers is found for a value from how it is computed; see `integer_ranges`.
2. The numbers of a position in `gather_nd` have a range each, where they are constants or put side by side by a
   concatenation.
3. Indices may count from the end, down to minus the size. Sizes are those of the type; an open one proves nothing.

Functions with `primitive` or `fuse.compiler` are left alone.

Source: masks as `torch.onnx.export` writes them index a tensor by `arange`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.analysis.integer_ranges import MAX_ELEMENTS, Range, Ranges
from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, StackOp
from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, normalize_axis
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class ProveIndicesPass(ModulePass):
    """Mark `gather` and `gather_nd` whose indices are known to be in range."""

    name = "prove-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark those of all functions of the module; linear in the number of ops and operands."""
        ranges = Ranges()
        for inner in walk_unfinished(op):
            if isinstance(inner, GatherOp | GatherNdOp) and inner.mode.data == "raise" and _is_proven(inner, ranges):
                inner.mode = StringAttr("fast")


def _is_proven(op: GatherOp | GatherNdOp, ranges: "Ranges") -> bool:
    if isinstance(op, GatherOp):
        axis = normalize_axis(op.axis.value.data, len(op.shape))
        return _is_inside(ranges.of(op.indices), op.shape[axis])
    depth = op.indices.type.get_shape()[-1]
    batch = op.batch_dims.value.data
    sizes = op.shape[batch : batch + depth] if depth != DYNAMIC else ()
    each = _each_number(op.indices, depth, ranges)
    return bool(sizes) and all(_is_inside(found, size) for found, size in zip(each, sizes, strict=True))


def _is_inside(found: Range | None, size: int) -> bool:
    return found is not None and size != DYNAMIC and -size <= found[0] and found[1] < size


def _each_number(indices: SSAValue, depth: int, ranges: "Ranges") -> Sequence[Range | None]:
    """The ranges of the numbers of a position (2)."""
    array = constant_of(indices)
    if array is not None and 0 < array.size <= MAX_ELEMENTS:
        numbers = array.reshape(-1, depth)
        return list(zip(map(int, numbers.min(0)), map(int, numbers.max(0)), strict=True))
    owner = indices.owner
    rank = len(cast(Tensor, indices.type).get_shape())
    if isinstance(owner, ConcatenateOp) and normalize_axis(owner.axis.value.data, rank) == rank - 1:
        widths = [operand.type.get_shape()[-1] for operand in owner.inputs]
        if DYNAMIC not in widths:
            parts = zip(owner.inputs, widths, strict=True)
            return [ranges.of(operand) for operand, width in parts for _ in range(width)]
    if isinstance(owner, StackOp) and normalize_axis(owner.axis.value.data, rank) == rank - 1:
        return [ranges.of(operand) for operand in owner.inputs]
    return [ranges.of(indices)] * depth
