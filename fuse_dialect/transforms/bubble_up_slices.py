"""`bubble-up-slices`: of a result that is only read in part, no more than that part is computed.

A classifier reads the first token of the last layer, a language model the last row of its products, a neural operator
the slow waves of a transform. The slice moves up to the operands, through products, reductions and what stands between
(`result_parts`), so that they compute that much.

1. What is asked of a value is the smallest part that holds what each of its readers reads. A reader of all of it, one
   that is returned, or one in a region asks for all. Of more than half of an axis all is asked for.
2. Only products and reductions are worth it, and lines that are normalized: a map computes a part for its reader
   anyway, where both are one kernel. So an op computes a part if it is one of those, or reads a value that is a part.
3. An op that computes a part reads parts; where its operand is larger, a slice stands before it.
4. Every element is computed as before, but a product of fewer rows may add up in another order.
5. Left alone: ops with an open size or an empty one, or whose `fuse.pattern_kind` says how they fuse.

Source: MLIR's bubble-up patterns of `tensor.extract_slice`:
mlir/lib/Dialect/Linalg/Transforms/BubbleUpExtractSlice.cpp.
"""

from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.ops.matmul import DenseOp, TransposableProductOp
from fuse_dialect.dialect.ops.normalization import AxisOp, LayerNormOp
from fuse_dialect.dialect.ops.reduction import ReductionOp
from fuse_dialect.dialect.types import DYNAMIC, Shape, is_tensor, normalize_axis, tensor_type, with_shape
from fuse_dialect.transforms.result_parts import Part, PartialOp, partial_op, shape_of, whole
from fuse_dialect.transforms.unfinished import walk_unfinished

WORTH = (TransposableProductOp, DenseOp, ReductionOp, AxisOp, LayerNormOp)
"""Ops of which computing a part saves time (2)."""


@dataclass(frozen=True)
class BubbleUpSlicesPass(ModulePass):
    """Compute of products, reductions and normalized lines the part that is read."""

    name = "bubble-up-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change all functions of the module; linear in the number of ops, operands and axes."""
        ops = list(walk_unfinished(op))
        for inner in ops:
            if isinstance(inner, TakeOp):
                _as_slice(inner)
        for block in dict.fromkeys(inner.parent for inner in ops if inner.parent is not None):
            _Block(block).narrow()


def _as_slice(op: TakeOp) -> None:
    """Make a slice of what is taken at constant indices in a row, none of them out of range."""
    places, sizes = constant_of(op.indices), _known_shape(op.input)
    if places is None or not places.size or sizes is None or op.axis is None:
        return
    axis = normalize_axis(op.axis.value.data, len(sizes))
    indices = places.astype(np.int64).reshape(-1)
    indices = np.where(indices < 0, indices + sizes[axis], indices)
    step = int(indices[1] - indices[0]) if len(indices) > 1 else 1
    if step < 1 or indices[0] < 0 or indices[-1] >= sizes[axis] or (np.diff(indices) != step).any():
        return
    slice = StridedSliceOp(op.input, begin=[int(indices[0])], end=[int(indices[-1]) + 1], strides=[step], axes=[axis])
    # What is all of an axis is moved alone: a slice between would keep kernels apart.
    is_part = len(indices) < sizes[axis]
    reshape = ReshapeOp(slice.result if is_part else op.input, result_types=[op.result.type])
    reshape.attributes.update(op.attributes)
    new: list[Operation] = [slice, reshape] if is_part else [reshape]
    for each in new:
        each.location = op.location
    Rewriter.replace_op(op, new, [reshape.result])


def _known_shape(value: SSAValue) -> Shape | None:
    """The sizes of a tensor, if all are known and none is 0."""
    sizes = tuple(value.type.get_shape()) if is_tensor(value.type) else (DYNAMIC,)
    return None if DYNAMIC in sizes or 0 in sizes else sizes


@dataclass(slots=True)
class _Block:
    """What is asked for and made in one block."""

    block: Block
    asked: dict[SSAValue, Part] = field(default_factory=dict[SSAValue, Part])
    """Of values with readers (1)."""
    partial: dict[Operation, PartialOp] = field(default_factory=dict[Operation, PartialOp])
    """Ops that read a part of an operand, or may give a part of their result."""
    made: dict[SSAValue, tuple[SSAValue, Part]] = field(default_factory=dict[SSAValue, tuple[SSAValue, Part]])
    """For values of which a part is computed that part."""
    slices: dict[tuple[SSAValue, Part], SSAValue] = field(default_factory=dict[tuple[SSAValue, Part], SSAValue])

    def narrow(self) -> None:
        """Ask from the last op to the first, and make parts from the first to the last."""
        ops = list(self.block.ops)
        for op in reversed(ops):
            self._ask(op)
        if not self.partial:
            return
        old: list[Operation] = []
        for op in ops:
            found = self.partial.get(op)
            if found is not None and self._is_changed(op, found):
                old.append(op)
                self._make(op, found)
        for op in reversed(old):
            if not any(result.uses for result in op.results):
                Rewriter.erase_op(op)

    def _ask(self, op: Operation) -> None:
        """Ask for what an op reads."""
        found = self._partial(op)
        if found is not None:
            self.partial[op] = found
        for index, operand in enumerate(op.operands):
            sizes = _known_shape(operand)
            if sizes is not None:
                self._ask_for(operand, whole(sizes) if found is None else found.read[index])

    def _ask_for(self, value: SSAValue, part: Part | None) -> None:
        if part is None:
            return
        before = self.asked.get(value, part)
        hull = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(before, part, strict=True)]
        self.asked[value] = tuple(hull)

    def _partial(self, op: Operation) -> PartialOp | None:
        """How an op computes what is asked of it; `None` where it computes all from all."""
        if not isinstance(op, FuseOp) or len(op.results) != 1 or op.regions or PATTERN_KIND_ATTRIBUTE in op.attributes:
            return None
        shapes = [_known_shape(value) for value in (*op.operands, *op.results)]
        (result,) = op.results
        sizes = shapes[-1]
        if sizes is None or None in shapes or result not in self.asked:
            return None
        part = whole(sizes)
        if all(use.operation.parent is self.block for use in result.uses):
            # (1) A slice of more than half saves too little for what it costs.
            part = tuple(
                each if 2 * (each[1] - each[0]) <= size else (0, size)
                for each, size in zip(self.asked[result], sizes, strict=True)
            )
        found = partial_op(op, part)
        if found is None or (found.given == whole(sizes) and _reads_all(op, found)):
            return None
        return found

    def _is_changed(self, op: Operation, found: PartialOp) -> bool:
        """Whether an op is made anew (2)."""
        if any(operand in self.made for operand in op.operands):
            return True
        return isinstance(op, WORTH) and found.given != whole(_shape(op.results[0]))

    def _make(self, op: Operation, found: PartialOp) -> None:
        """Put the op that computes a part before the one that computes all."""
        operands = [
            self._part(op, operand, part)
            for operand, part in zip(op.operands, found.read, strict=True)
            if part is not None
        ]
        (result,) = op.results
        part_type = with_shape(tensor_type(result), shape_of(found.given))
        if found.is_operand:
            (value,) = operands
        else:
            properties = {**op.properties, **found.properties}
            new = type(op).create(operands=operands, result_types=[part_type], properties=properties)
            new.attributes.update(op.attributes)
            new.location = op.location
            Rewriter.insert_op(new, InsertPoint.before(op))
            (value,) = new.results
            value.name_hint = result.name_hint
        if found.given == whole(_shape(result)):
            result.replace_all_uses_with(value)
        else:
            self.made[result] = value, found.given

    def _part(self, op: Operation, value: SSAValue, part: Part) -> SSAValue:
        """A part of a value; a slice of what there is, if that is more (3)."""
        own, given = self.made.get(value) or (value, whole(_shape(value)))
        if given == part:
            return own
        key = own, part
        if key not in self.slices:
            begin = [low - start for (low, _), (start, _) in zip(part, given, strict=True)]
            end = [first + size for first, size in zip(begin, shape_of(part), strict=True)]
            slice = StridedSliceOp(own, begin=begin, end=end, axes=list(range(len(part))))
            slice.location = op.location
            Rewriter.insert_op(slice, InsertPoint.before(op))
            self.slices[key] = slice.result
        return self.slices[key]


def _shape(value: SSAValue) -> Shape:
    return tuple(tensor_type(value).get_shape())


def _reads_all(op: Operation, found: PartialOp) -> bool:
    """Whether an op reads all of its operands."""
    return all(part == whole(_shape(operand)) for operand, part in zip(op.operands, found.read, strict=True))
