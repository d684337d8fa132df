"""Distinct elements, and boxes that are kept."""

import ml_dtypes
import numpy as np
import pytest

from fuse_dialect.dialect.ops.selection import NonMaxSuppressionOp, UniqueOp


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_, ml_dtypes.bfloat16])
def test_unique_lists_each_once(apply, random, axis, ordered, dtype):
    x = random.integers(0, 2, (5, 3)).astype(dtype)
    values, indices, inverse, counts = apply(UniqueOp, x, axis=axis, sorted=ordered)
    slices = [x.reshape(-1)[i] for i in range(x.size)] if axis is None else list(np.moveaxis(x, axis, 0))
    keys = [np.asarray(item).tobytes() for item in slices]
    found = list(values) if axis is None else list(np.moveaxis(values, axis, 0))
    assert [np.asarray(item).tobytes() for item in found] == [keys[i] for i in indices]
    assert [keys.index(keys[i]) for i in indices] == list(indices)
    assert [keys[i] for i in indices[inverse]] == keys
    assert [keys.count(keys[i]) for i in indices] == list(counts)
    tuples = [tuple(np.asarray(item, np.float64).reshape(-1)) for item in found]
    assert tuples == sorted(tuples) if ordered else list(indices) == sorted(indices)


def overlap(one, other):
    low, high = np.maximum(one[0], other[0]), np.minimum(one[1], other[1])
    if (high <= low).any():
        return 0.0
    area = np.prod(high - low)
    return area / (np.prod(one[1] - one[0]) + np.prod(other[1] - other[0]) - area)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("limit", [0, 2, 100])
def test_boxes_that_overlap_a_better_one_are_left_out(apply, random, center, limit):
    boxes = random.uniform(0, 4, (2, 12, 4)).round(1)
    scores = random.uniform(size=(2, 3, 12)).round(1)
    got = apply(
        NonMaxSuppressionOp,
        boxes,
        scores,
        np.array(limit),
        np.array(0.3),
        np.array(0.2),
        center_point_box=center,
    )
    expected = []
    for n, k in np.ndindex(2, 3):
        kept = []
        for b in sorted(range(12), key=lambda b: (-scores[n, k, b], b)):
            if scores[n, k, b] <= 0.2 or len(kept) == limit:
                continue
            first, second = boxes[n, b, :2], boxes[n, b, 2:]
            box = (first - second / 2, first + second / 2) if center else tuple(np.sort([first, second], axis=0))
            if all(overlap(box, other) <= 0.3 for other, _ in kept):
                kept.append((box, b))
        expected += [[n, k, b] for _, b in kept]
    assert got.tolist() == expected


def test_nothing_is_kept_of_nothing(apply):
    numbers = [np.array(9), np.array(0.5, np.float32), np.array(0.0, np.float32)]
    empty = apply(NonMaxSuppressionOp, np.zeros((1, 0, 4), np.float32), np.zeros((1, 2, 0), np.float32), *numbers)
    assert empty.shape == (0, 3)
