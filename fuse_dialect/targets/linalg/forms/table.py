"""Which ops have a form of their own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from fuse_dialect.dialect.fuse import ops_of
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import (
    concatenation,
    dynamic,
    factorizations,
    fourier,
    layout,
    linear_algebra,
    linear_systems,
    opaque,
    selection,
    sequences,
    tuples,
)
from fuse_dialect.targets.linalg.forms import counts, lines, sequential, shapes
from fuse_dialect.targets.linalg.steps import Steps, Table

Writer: TypeAlias = Callable[[Any, Steps, Sequence[Table]], Sequence[SSAValue]]
"""Writes an op of one class: its results, from the tensors that stand for its operands."""

WRITERS: Mapping[type[FuseOp], Writer] = {
    # Its elements are sizes: a compiler that has them on its host needs no loop.
    dynamic.ShapeOfOp: shapes.write_shape_of,
    # Sizes, offsets and strides are elements of operands: a loop program takes them as numbers.
    dynamic.DynBroadcastToOp: shapes.write_broadcast,
    dynamic.DynReshapeOp: shapes.write_dyn_reshape,
    dynamic.DynFullOp: shapes.write_full,
    dynamic.DynStridedSliceOp: shapes.write_strided_slice,
    dynamic.DynTileOp: shapes.write_tile,
    dynamic.DynPadOp: shapes.write_pad,
    dynamic.DynArangeOp: shapes.write_arange,
    dynamic.DynOneHotOp: shapes.write_one_hot,
    dynamic.DynTopkOp: lines.write_topk,
    # Results are as many as values say: they are counted by a stage before.
    opaque.ArgwhereOp: counts.write_argwhere,
    selection.UniqueOp: counts.write_unique,
    # Each step needs the one before, and reads what that one found.
    selection.NonMaxSuppressionOp: sequential.write_non_max_suppression,
    linear_algebra.DetOp: sequential.write_det,
    # The loops are those of the definition, n * n: a kernel would be slower than the fast transform of NumPy.
    sequences.DftOp: lines.write_dft,
}
"""For ops that have no loop program, and why they have none."""

FALLBACKS: Mapping[type[FuseOp], Writer] = {
    layout.ReshapeOp: shapes.write_reshape,
    concatenation.ConcatenateOp: shapes.write_concatenate,
}
"""For ops that have a loop program, but not for all sizes and properties."""

WITHOUT_FORM: Mapping[type[FuseOp], str] = {
    tuples.TupleOp: "a tuple is no result of a function of linalg",
    tuples.GetTupleElementOp: "a tuple is no argument of a function of linalg",
    **dict.fromkeys(
        (*ops_of(factorizations), *ops_of(linear_systems)), "linalg has products of matrices, and no factors of them"
    ),
    **dict.fromkeys(ops_of(fourier), "linalg has no fast transform, and a slow one is thousands of times as slow"),
}
"""Ops that have no form in linalg when they stand alone, and why; tuples inside a function vanish."""

PARTLY: Mapping[str, str] = {
    "any": "elements of less than 8 bits, and floats of 8",
    "fuse.deformable_conv2d, fuse.max_pool2d_indices": "images of open sizes",
    "fuse.resize2d with `antialias` and without `scales`": "images of open sizes",
    "fuse.if, fuse.loop": "tuples; values of open sizes that are stacked",
    "fuse.roi_align": "a `sampling_ratio` of 0: it depends on each region how many values it has",
    "fuse.unique": "slices along an axis of several",
}
"""What has no form of ops that have one."""
