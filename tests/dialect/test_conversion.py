"""Casts and tensors of one number."""

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.conversion import BitcastOp, CastOp, FullOp, OnesLikeOp, ZerosLikeOp


@pytest.mark.parametrize(
    ("source", "target", "x", "expected"),
    [
        ("f4", "i4", [1.9, -1.9, 0.5], [1, -1, 0]),
        ("f4", "?", [0.0, -0.0, 0.5, np.nan], [False, False, True, True]),
        ("i4", "?", [0, 256, -1], [False, True, True]),
        ("?", "f2", [True, False], [1, 0]),
        ("?", "i1", [True, False], [1, 0]),
        ("i4", "i1", [257, -129], [1, 127]),
        ("i1", "u2", [-1], [65535]),
        ("u1", "i1", [255], [-1]),
        ("u8", "f4", [2**64 - 1], [2.0**64]),
        ("f8", "f2", [1e30, 1 + 2**-12], [np.inf, 1]),
        ("f4", ml_dtypes.bfloat16, [1.00390625], [1.0]),
        ("f2", ml_dtypes.bfloat16, [65504], [65536]),
        (ml_dtypes.bfloat16, "f2", [1e30, -1.5], [np.inf, -1.5]),
        (ml_dtypes.bfloat16, "i8", [-2.5], [-2]),
    ],
)
def test_cast_converts_as_in_c(apply, source, target, x, expected):
    names = {"i4": "i32", "?": "i1", "f2": "f16", "i1": "i8", "u2": "ui16", "f4": "f32", "i8": "i64"}
    result = apply(CastOp, np.array(x, source), result=f"{len(x)}x{names.get(target, 'bf16')}")
    np.testing.assert_array_equal(result, np.array(expected, target))


def test_bits_are_read_as_another_type(apply):
    x = np.array([[1.0, -0.0], [np.inf, 2.5]], np.float32)
    np.testing.assert_array_equal(apply(BitcastOp, x, result="2x2xui32"), x.view(np.uint32))
    np.testing.assert_array_equal(apply(BitcastOp, np.array([True, False]), result="2xi8"), [1, 0])


def test_cast_of_floats_beyond_the_range_is_silent(apply):
    assert apply(CastOp, np.array([np.inf, np.nan, 1e30], np.float32), result="3xi8").shape == (3,)


@pytest.mark.parametrize("result", ["2x?xi32", "2x3xi32", "?x?xi32"])
def test_cast_may_know_more_or_less_of_the_shape(build, result):
    assert str(build(CastOp, "2x?xf32", result=result).result.type) == f"tensor<{result}>"


def test_cast_keeps_the_shape(rejects):
    message = rejects(CastOp, "2x?xf32", result="3x?xi32")
    assert message == "expects a result of type tensor<2x?xi32>, got tensor<3x?xi32>"


def test_full_has_the_shape_of_its_result_type(apply):
    np.testing.assert_array_equal(
        apply(FullOp, np.array(7, np.int8), result="2x0x3xi8"), np.full((2, 0, 3), 7, np.int8)
    )
    np.testing.assert_array_equal(apply(FullOp, np.array(7, np.int8), result="2x3xi8"), np.full((2, 3), 7, np.int8))


@pytest.mark.parametrize(
    ("fill", "result", "message"),
    [
        ("1xf32", "2xf32", "expects 'fill' of rank 0, got rank 1 (1)"),
        ("f32", "2x?xf32", "expects a static result shape, got 2x?"),
        ("f32", "2xf16", "expects operands of one element type, got f32 and f16"),
    ],
)
def test_full_rejects(rejects, fill, result, message):
    assert rejects(FullOp, fill, result=result) == message


@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16, "i1", "u8", "?"])
def test_like_ops_take_type_and_shape(apply, dtype):
    x = np.array([[5, 0, 1]], dtype)
    np.testing.assert_array_equal(apply(ZerosLikeOp, x), np.zeros((1, 3), dtype))
    np.testing.assert_array_equal(apply(OnesLikeOp, x), np.ones((1, 3), dtype))


def test_filling_costs_no_operations(build):
    assert cost_of(build(FullOp, "f32", result="4x8xf32")) == Cost(flops=0, bytes=4 + 128)
    assert cost_of(build(OnesLikeOp, "4xi8")) == Cost(flops=0, bytes=8)
    assert cost_of(build(CastOp, "4xf32", result="4xi1")) == Cost(flops=4, bytes=20)
