"""Ops that copy elements along axes: shape rule, meaning, cost."""

import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp


@pytest.fixture
def x():
    """Six numbers in two rows."""
    return np.arange(6, dtype=np.int64).reshape(2, 3)


@pytest.mark.parametrize("shape", [(2, 3), (1, 2, 3), (4, 2, 3)])
def test_broadcast_to_repeats_new_axes(apply, x, shape):
    result = apply(BroadcastToOp, x, result="x".join(map(str, shape)) + "xi64")
    np.testing.assert_array_equal(result, np.broadcast_to(x, shape))


@pytest.mark.parametrize(
    ("source", "target", "shape", "expected"),
    [
        ("?x1xi64", "?x4xi64", (3, 1), (3, 4)),
        ("?x1xi64", "2x?x4xi64", (3, 1), (2, 3, 4)),
        ("?xi64", "5xi64", (1,), (5,)),
        ("i64", "0x2xi64", (), (0, 2)),
        ("3xi64", "2x?xi64", (3,), (2, 3)),
    ],
)
def test_broadcast_to_takes_unknown_sizes_from_the_operand(build, source, target, shape, expected):
    (result,) = build(BroadcastToOp, source, result=target).evaluate(np.ones(shape, np.int64))
    assert result.shape == expected


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("4x1xf32", "4xf32", "expects a result of rank 2 or more, got 4"),
        ("4x8xf32", "4x1xf32", "(dimension 1: 8 vs 1)"),
        ("4x8xf32", "3x8xf32", "(dimension 0: 4 vs 3)"),
        ("4x1xf32", "4x?xf32", "expects a known size in dimension 1 of the result, got '?'"),
        ("4xf32", "?x4xf32", "expects a known size in dimension 0 of the result, got '?'"),
        ("4xf32", "4xf16", "expects operands of one element type, got f32 and f16"),
    ],
)
def test_broadcast_to_rejects(rejects, source, target, message):
    assert message in rejects(BroadcastToOp, source, result=target)


@pytest.mark.parametrize(
    ("axis", "count", "expected"),
    [(0, 1, "1x2x?xi8"), (1, 2, "2x1x1x?xi8"), (2, 1, "2x?x1xi8"), (-1, 1, "2x?x1xi8"), (-3, 2, "1x1x2x?xi8")],
)
def test_expand_dims_puts_ones_at_the_axis(infer, axis, count, expected):
    assert infer(ExpandDimsOp, "2x?xi8", axis=axis, num_newaxis=count) == expected


def test_expand_dims_is_that_of_numpy(apply, x):
    for axis in range(-3, 3):
        np.testing.assert_array_equal(apply(ExpandDimsOp, x, axis=axis), np.expand_dims(x, axis))
    assert apply(ExpandDimsOp, np.ones(()), axis=0, num_newaxis=3).shape == (1, 1, 1)


def test_repeat_repeats_slices(apply, infer, x):
    assert apply(RepeatOp, x, repeats=2, axis=1).tolist() == [[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]]
    assert apply(RepeatOp, x, repeats=2).tolist() == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]]
    assert infer(RepeatOp, "2x?xf32", repeats=3, axis=-2) == "6x?xf32"
    assert infer(RepeatOp, "2x?xf32", repeats=3, axis=1) == "2x?xf32"


@pytest.mark.parametrize("reps", [[2, 1], [3], [2, 1, 2], [1, 0], [], [1, 1]])
def test_tile_is_that_of_numpy(apply, x, reps):
    np.testing.assert_array_equal(apply(TileOp, x, reps=reps), np.tile(x, reps))


@pytest.mark.parametrize(
    ("reps", "expected"), [([3], "2x?xf32"), ([5, 2, 1], "5x4x?xf32"), ([], "2x?xf32"), ([2, 0], "4x?xf32")]
)
def test_tile_multiplies_sizes(infer, reps, expected):
    assert infer(TileOp, "2x?xf32", reps=reps) == expected


@pytest.mark.parametrize(
    ("op_class", "properties", "message"),
    [
        (ExpandDimsOp, {"axis": 3}, "expects axes in [-3, 3) for rank 3, got 3"),
        (ExpandDimsOp, {"axis": 0, "num_newaxis": 0}, "expects num_newaxis of at least 1, got 0"),
        (ExpandDimsOp, {}, "expects property 'axis'"),
        (RepeatOp, {"repeats": 0}, "expects repeats of at least 1, got 0"),
        (RepeatOp, {"repeats": 1, "axis": 2}, "expects axes in [-2, 2) for rank 2, got 2"),
        (TileOp, {"reps": [1, -2]}, "expects reps of at least 0, got [1, -2]"),
    ],
)
def test_wrong_properties_are_rejected(rejects, op_class, properties, message):
    assert rejects(op_class, "2x3xf32", **properties) == message


def test_copies_cost_only_bytes(build):
    assert cost_of(build(TileOp, "4xf32", reps=[3])) == Cost(flops=0, bytes=16 + 48)
    assert cost_of(build(BroadcastToOp, "4xf32", result="2x4xf32")) == Cost(flops=0, bytes=16 + 32)
