"""Ops whose shape the program computes: each means the op without `dyn_`, and rejects numbers that are no shape."""

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from fuse_dialect.budget import MOST_VALUE_BYTES
from fuse_dialect.dialect.ops.dynamic import (
    DynArangeOp,
    DynBroadcastToOp,
    DynFullOp,
    DynOneHotOp,
    DynPadOp,
    DynReshapeOp,
    DynResize2dOp,
    DynStridedSliceOp,
    DynTileOp,
    DynTopkOp,
    ShapeOfOp,
)
from fuse_dialect.dialect.types import element_type_of, tensor
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.pattern_kind import PatternKind

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def numbers(*values):
    return np.array(values, np.int64)


def number(value, dtype=np.int64):
    return np.array(value, dtype)


@pytest.mark.parametrize("shape", [(), (0,), (3, 1, 5)])
def test_shape_of_gives_the_sizes(apply, shape):
    np.testing.assert_array_equal(apply(ShapeOfOp, np.zeros(shape, np.float16)), np.array(shape, np.int64))


def test_broadcast_takes_a_1_as_the_size_of_the_operand(apply):
    np.testing.assert_array_equal(apply(DynBroadcastToOp, X, numbers(2, 1, 4)), np.broadcast_to(X, (2, 3, 4)))
    np.testing.assert_array_equal(apply(DynBroadcastToOp, X[:1], numbers(5, 1)), np.broadcast_to(X[:1], (5, 4)))
    np.testing.assert_array_equal(apply(DynBroadcastToOp, X, numbers(4)), X)


def test_reshape_computes_a_size_and_keeps_another(apply):
    np.testing.assert_array_equal(apply(DynReshapeOp, X, numbers(2, -1)), X.reshape(2, 6))
    np.testing.assert_array_equal(apply(DynReshapeOp, X, numbers(0, 2, 2)), X.reshape(3, 2, 2))
    np.testing.assert_array_equal(apply(DynReshapeOp, X, numbers(-1, 0)), X)
    np.testing.assert_array_equal(apply(DynReshapeOp, X[:0], numbers(2, 0), allowzero=True), np.zeros((2, 0)))


def test_full_repeats_a_number(apply):
    np.testing.assert_array_equal(apply(DynFullOp, number(7, np.int8), numbers(2, 0, 3)), np.full((2, 0, 3), 7))
    assert apply(DynFullOp, number(7, np.int8), numbers()).shape == ()


def test_slice_counts_as_python_does(apply):
    slices = ((0, 2, 1), (-2, 99, 1), (3, -5, -2))
    for begin, end, step in slices:
        bounds = [numbers(bound) for bound in (begin, end, step)]
        expected = X[:, slice(begin, end if end != -5 else None, step)]
        np.testing.assert_array_equal(apply(DynStridedSliceOp, X, *bounds, axes=[1]), expected)


def test_tile_repeats_the_whole(apply):
    np.testing.assert_array_equal(apply(DynTileOp, X, numbers(2)), np.tile(X, 2))
    np.testing.assert_array_equal(apply(DynTileOp, X, numbers(2, 1, 0)), np.tile(X, (2, 1, 0)))


def test_pad_adds_and_crops(apply):
    padded = apply(DynPadOp, X, number(9, np.float32), numbers(1, -1), numbers(0, 2))
    np.testing.assert_array_equal(padded, np.pad(X[:, 1:], ((1, 0), (0, 2)), constant_values=9))
    edges = apply(DynPadOp, X, number(0, np.float32), numbers(1, 0), numbers(0, 2), mode="edge")
    np.testing.assert_array_equal(edges, np.pad(X, ((1, 0), (0, 2)), mode="edge"))


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 5, 1), (7, 0, -3), (3, 3, 1), (5, 0, 1)])
def test_arange_counts(apply, start, stop, step):
    for dtype in (np.int64, np.int32, np.float32):
        found = apply(DynArangeOp, *(number(bound, dtype) for bound in (start, stop, step)))
        np.testing.assert_array_equal(found, np.arange(start, stop, step, dtype))


def test_resize_samples_an_image(apply):
    image = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    found = apply(
        DynResize2dOp, image, numbers(4, 2), coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    np.testing.assert_array_equal(found, image.repeat(2, axis=2))


def test_topk_and_one_hot_take_their_number_from_an_operand(apply):
    values, places = apply(DynTopkOp, X, number(2))
    np.testing.assert_array_equal(values, X[:, [3, 2]])
    np.testing.assert_array_equal(places, [[3, 2]] * 3)
    hot = apply(DynOneHotOp, numbers(1, 0), number(1, np.float32), number(0, np.float32), number(3))
    np.testing.assert_array_equal(hot, np.eye(3)[[1, 0]])


REJECTED = [
    (DynBroadcastToOp, (X, numbers(5, 4)), "3x4 and 5x4"),
    (DynBroadcastToOp, (X, numbers(-1, 4)), "at least 0"),
    (DynReshapeOp, (X, numbers(5, -1)), "12 elements"),
    (DynReshapeOp, (X, numbers(-1, -1)), "at most one"),
    (DynReshapeOp, (X, numbers(-2, 6)), "at least -1"),
    (DynReshapeOp, (X, numbers(3, 4, 0)), "keep"),
    (DynReshapeOp, (X, numbers(3, 5)), "12 elements"),
    (DynFullOp, (number(0), numbers(-1)), "at least 0"),
    (DynFullOp, (number(0), numbers(MOST_VALUE_BYTES, 2)), "bytes"),
    (DynFullOp, (number(0), numbers(2**62, 2**62, 2**62)), "bytes"),
    (DynBroadcastToOp, (X[:1, :1], numbers(2**40, 2**40)), "bytes"),
    (DynStridedSliceOp, (X, numbers(0), numbers(1), numbers(0)), "strides other than 0"),
    (DynTileOp, (X, numbers(-1)), "at least 0"),
    (DynTileOp, (X, numbers(2**60, 2**60)), "bytes"),
    (DynPadOp, (X, number(0, np.float32), numbers(-2, 0), numbers(-2, 0)), "widths that fit"),
    (DynPadOp, (X, number(0, np.float32), numbers(2**61, 0), numbers(0, 0)), "bytes"),
    (DynArangeOp, (number(0), number(5), number(0)), "step other than 0"),
    (DynArangeOp, (number(0.0, np.float64), number(np.inf, np.float64), number(1.0, np.float64)), "finite"),
    (DynArangeOp, (number(0), number(2**60), number(1)), "bytes"),
    (DynResize2dOp, (np.zeros((1, 1, 2, 2), np.float32), numbers(0, 2)), "at least 1"),
    (DynResize2dOp, (np.zeros((1, 1, 2, 2), np.float32), numbers(2**40, 2)), "bytes"),
    (DynTopkOp, (X, number(5)), "at most 4"),
    (DynOneHotOp, (numbers(1), number(1), number(0), number(-1)), "at least 1"),
    (DynOneHotOp, (numbers(1), number(1), number(0), number(2**50)), "bytes"),
]


@pytest.mark.parametrize(("op_class", "operands", "words"), REJECTED, ids=lambda value: getattr(value, "name", None))
def test_numbers_that_are_no_shape_are_rejected(op_class, operands, words):
    types = [tensor(array.shape, element_type_of(array.dtype)) for array in operands]
    op = op_class(*map(create_ssa_value, types))
    with pytest.raises(VerifyException, match=words):
        op.evaluate(*operands)


def test_kind_is_opaque_as_long_as_a_size_of_the_result_is_open(build):
    for op_class, types, open_type, static_type, kind in [
        (DynReshapeOp, ("?x4xf32", "2xi64"), "2x?xf32", "2x8xf32", PatternKind.INJECTIVE),
        (DynBroadcastToOp, ("?x4xf32", "2xi64"), "?x4xf32", "3x4xf32", PatternKind.BROADCAST),
        (DynFullOp, ("f32", "1xi64"), "?xf32", "3xf32", PatternKind.ELEMWISE),
    ]:
        assert kind_of(build(op_class, *types, result=open_type)) is PatternKind.OPAQUE
        assert kind_of(build(op_class, *types, result=static_type)) is kind
