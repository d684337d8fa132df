"""Boxes that are kept: as the rule says it, one after the other."""

import numpy as np
import pytest

import fuse_dialect as fd


def overlap(one: np.ndarray, other: np.ndarray) -> np.float32:
    """Intersection over union of two boxes of two corners; 0 where one has no area."""
    low, high = np.minimum(one[:2], one[2:]), np.maximum(one[:2], one[2:])
    other_low, other_high = np.minimum(other[:2], other[2:]), np.maximum(other[:2], other[2:])
    sides = np.minimum(high, other_high) - np.maximum(low, other_low)
    if not (sides > 0).all():
        return np.float32(0)
    common, areas = sides.prod(), (high - low).prod() + (other_high - other_low).prod()
    return common / (areas - common)


def kept(boxes: np.ndarray, scores: np.ndarray, limit: int, iou: np.float32, least: np.float32) -> list[list[int]]:
    """Numbers of class and box: the best that overlaps none too much that was kept before."""
    found: list[list[int]] = []
    for number, own in enumerate(scores):
        chosen: list[int] = []
        for box in sorted(range(len(boxes)), key=lambda box: -own[box]):
            is_free = own[box] > least and all(overlap(boxes[box], boxes[other]) <= iou for other in chosen)
            if is_free and len(chosen) < limit:
                chosen.append(box)
        found += [[number, box] for box in chosen]
    return found


@pytest.mark.parametrize("count", [1, 7, 60, 700])
@pytest.mark.parametrize("limit", [0, 3, 1000])
def test_boxes_are_kept_as_the_rule_says(count: int, limit: int) -> None:
    # 700 boxes are more than two of the blocks that are compared at once.
    module = fd.parse(f"""
func.func @main(%b: tensor<1x{count}x4xf32>, %s: tensor<1x2x{count}xf32>, %l: tensor<i64>, %i: tensor<f32>,
                %t: tensor<f32>) -> tensor<?x3xi64> {{
  %y = fuse.non_max_suppression %b, %s, %l, %i, %t
      : (tensor<1x{count}x4xf32>, tensor<1x2x{count}xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
  return %y : tensor<?x3xi64>
}}""")
    rng = np.random.default_rng(count)
    boxes = rng.uniform(0, 1 + count / 50, (count, 4)).astype(np.float32)
    boxes[::5, 2:] = boxes[::5, :2]  # without area
    boxes[::9] = boxes[0]
    scores = rng.choice(np.array([0.1, 0.3, 0.3, 0.9], np.float32), (2, count))
    for iou in (0.0, 0.3, 1.0):
        given = (boxes[None], scores[None], np.int64(limit), np.float32(iou), np.float32(0.2))
        found = fd.run(module, *(np.asarray(each) for each in given))[0]
        assert found[:, 0].tolist() == [0] * len(found)
        assert found[:, 1:].tolist() == kept(boxes, scores, limit, np.float32(iou), np.float32(0.2))
