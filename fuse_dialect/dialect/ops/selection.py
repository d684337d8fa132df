"""Ops whose number of results depends on values: distinct elements, boxes that are kept. Kind `opaque`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, optional_integer, tensor_operand, tensor_result
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import product, require_float, require_integers, unify
from fuse_dialect.dialect.types import (
    DYNAMIC,
    element_count,
    normalize_axis,
    require_rank,
    require_same_element,
    tensor,
    with_shape,
)
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class UniqueOp(FuseOp):
    """The distinct elements, or slices along an axis, and where they stand.

    Shapes: any; with n elements or slices, of which m are distinct, the results are the distinct ones with m in place
        of n (elements: [m]), the first place of each [m], for each element its place among the distinct ones [n], and
        how often each occurs [m]. m is not known before.
    Types: any; places and counts are i64.
    Kind: opaque.
    Cost: ceil(log2 n) operations an element.
    Source: ONNX Unique, `numpy.unique`, Relay `unique`.
    """

    name = "fuse.unique"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    input = tensor_operand()
    values = tensor_result()
    indices = tensor_result()
    inverse = tensor_result()
    counts = tensor_result()

    axis = optional_integer()
    """The axis of the slices; single elements are compared when left out."""
    sorted = flag(True)
    """Whether the results ascend, or else stand in the order of first occurrence."""

    def _axis(self) -> int | None:
        rank = self.input.type.get_num_dims()
        return None if self.axis is None else normalize_axis(self.axis.value.data, rank)

    def infer_types(self) -> Sequence[Attribute]:
        """Lists of a length that is not known, and one of the operand's length."""
        axis, shape = self._axis(), tuple(self.input.type.get_shape())
        values = (DYNAMIC,) if axis is None else (*shape[:axis], DYNAMIC, *shape[axis + 1 :])
        size = product(shape) if axis is None else shape[axis]
        places = tensor((DYNAMIC,), i64)
        return (with_shape(self.input.type, values), places, tensor((size,), i64), places)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.unique`, reordered when the results are not sorted."""
        axis = self._axis()
        x = operands[0].reshape(-1) if axis is None else operands[0]
        comparable = x.astype(np.float64) if x.dtype.kind == "V" else x
        _, indices, inverse, counts = np.unique(
            comparable, return_index=True, return_inverse=True, return_counts=True, axis=axis
        )
        inverse = inverse.reshape(-1)
        if not self.sorted.value.data:
            order = np.argsort(indices)
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            indices, inverse, counts = indices[order], place[inverse], counts[order]
        return (x.take(indices, axis=axis), *(part.astype(np.int64) for part in (indices, inverse, counts)))

    def flops(self) -> int | None:
        """Comparisons of a merge sort."""
        count = element_count(self.input.type)
        return None if count is None else count * max(1, (count - 1).bit_length())


@irdl_op_definition
class NonMaxSuppressionOp(FuseOp):
    """Boxes in the order of their scores, without those that overlap a better one of the same class too much.

    Shapes: boxes [N, B, 4], scores [N, K, B] of K classes; limit, iou_threshold and score_threshold of rank 0. Result
        [M, 3] of numbers of image, class and box, M not known before.
    Types: boxes, scores and thresholds of one floating-point type, an integer limit; the result is i64.
    Kind: opaque.
    Cost: 12 operations for each pair of boxes of each class, at most.
    Source: ONNX NonMaxSuppression, Relay `vision.all_class_non_max_suppression`. Of equal scores the first box counts.
    """

    name = "fuse.non_max_suppression"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    boxes = tensor_operand()
    scores = tensor_operand()
    limit = tensor_operand()
    iou_threshold = tensor_operand()
    score_threshold = tensor_operand()
    result = tensor_result()

    center_point_box = flag()
    """Whether a box is x and y of its centre, width and height; else y and x of one corner, then of the other."""

    def infer_types(self) -> Sequence[Attribute]:
        """Three numbers for each box that is kept."""
        require_same_element((self.boxes.type, self.scores.type, self.iou_threshold.type, self.score_threshold.type))
        require_float(self.boxes.type)
        require_integers(self.limit.type, "limit")
        for operand, name in (
            (self.limit, "limit"),
            (self.iou_threshold, "iou_threshold"),
            (self.score_threshold, "score_threshold"),
        ):
            require_rank(operand.type, 0, name)
        batch, count, corners = require_rank(self.boxes.type, 3, "boxes")
        images, _, scored = require_rank(self.scores.type, 3, "scores")
        unify(batch, images, "the batch of 'boxes' and of 'scores'")
        unify(count, scored, "the boxes of 'boxes' and of 'scores'")
        unify(corners, 4, "the last axis of 'boxes' and a box")
        return (tensor((DYNAMIC, 3), i64),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The best box that is left, again and again, which takes out those that overlap it."""
        boxes, scores, iou_threshold, score_threshold = (widened(operands[index]) for index in (0, 1, 3, 4))
        limit = int(operands[2].reshape(()))
        kept: list[tuple[int, int, int]] = []
        for image, (corners, classes) in enumerate(zip(self._corners(boxes), scores, strict=True)):
            for number, own in enumerate(classes):
                kept.extend((image, number, box) for box in _kept(corners, own, limit, iou_threshold, score_threshold))
        return (np.array(kept, np.int64).reshape(-1, 3),)

    def _corners(self, boxes: Array) -> Array:
        """Boxes as least and greatest coordinates: [..., 2, 2], the corners apart on the axis before the last."""
        if self.center_point_box.value.data:
            centre, half = boxes[..., :2], boxes[..., 2:] / 2
            return np.stack([centre - half, centre + half], axis=-2)
        corners = boxes.reshape(*boxes.shape[:-1], 2, 2)
        return np.stack([corners.min(axis=-2), corners.max(axis=-2)], axis=-2)

    def flops(self) -> int | None:
        """Every box with every other one, for each class."""
        pairs = product((*self.scores.type.get_shape(), self.boxes.type.get_shape()[1]))
        return None if pairs == DYNAMIC else 12 * pairs


_BLOCK = 256
"""Boxes of one class that are compared with each other at once."""


def _kept(corners: Array, scores: Array, limit: int, iou_threshold: Array, score_threshold: Array) -> list[int]:
    """The boxes [B, 2, 2] of one class that are kept, at most `limit`, the best first.

    A box is kept if it overlaps none too much that was kept before it. So boxes are looked at in blocks, best first:
    those that an earlier one takes out are found for a whole block at once.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > score_threshold]
    boxes = _Boxes.of(corners[order])
    kept: list[int] = []
    earlier: list[_Boxes] = []
    for first in range(0, len(order), _BLOCK):
        block = np.arange(first, min(first + _BLOCK, len(order)))
        for each in earlier:
            block = block[~each.overlaps(boxes.at(block), iou_threshold).any(axis=0)]
        own = boxes.at(block)
        takes_out = own.overlaps(own, iou_threshold)
        is_out = np.zeros(len(block), bool)
        chosen: list[int] = []
        for place, box in enumerate(block):
            if len(kept) >= limit:
                return [int(order[each]) for each in kept]
            if not is_out[place]:
                kept.append(int(box))
                chosen.append(place)
                is_out |= takes_out[place]
        if chosen:
            earlier.append(own.at(np.array(chosen)))
    return [int(order[each]) for each in kept]


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Boxes with their sides apart, so that each is contiguous."""

    low: tuple[Array, Array]
    high: tuple[Array, Array]
    area: Array

    @classmethod
    def of(cls, corners: Array) -> "_Boxes":
        """Boxes [B, 2, 2]."""
        (low_y, low_x), (high_y, high_x) = (np.ascontiguousarray(corners[:, place].T) for place in (0, 1))
        return cls((low_y, low_x), (high_y, high_x), (high_y - low_y) * (high_x - low_x))

    def at(self, places: Array) -> "_Boxes":
        """Those at the places."""
        (low_y, low_x), (high_y, high_x) = self.low, self.high
        return _Boxes((low_y[places], low_x[places]), (high_y[places], high_x[places]), self.area[places])

    def overlaps(self, others: "_Boxes", threshold: Array) -> Array:
        """For each box and each other one whether intersection over union is more than the threshold.

        It is 0 where the two have no point in common, or one has no area.
        """
        height, width = (
            np.minimum(high[:, None], other_high) - np.maximum(low[:, None], other_low)
            for low, high, other_low, other_high in zip(self.low, self.high, others.low, others.high, strict=True)
        )
        # Most pairs have nothing in common, and need no division.
        rows, columns = np.divmod(np.flatnonzero((height > 0) & (width > 0)), others.area.size or 1)
        common = height[rows, columns] * width[rows, columns]
        own, theirs = self.area[rows], others.area[columns]
        union = own + theirs - common
        fits = (common > 0) & (own > 0) & (theirs > 0) & (union > 0)
        found = np.full(height.shape, bool(threshold < 0))
        found[rows, columns] = np.divide(common, union, out=np.zeros_like(common), where=fits) > threshold
        return found
