"""Arithmetic that broadcasts: shape rule, meaning at the edges, cost."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.broadcast import (
    AddOp,
    BiasAddOp,
    DivideOp,
    FloorDivideOp,
    MaximumOp,
    MinimumOp,
    ModOp,
    MultiplyOp,
    PowerOp,
    PreluOp,
    SubtractOp,
    WhereOp,
)
from fuse_dialect.interpreters.scalar import run_scalar_body

INF, NAN = math.inf, math.nan
ARITHMETIC = [AddOp, SubtractOp, MultiplyOp, DivideOp, FloorDivideOp, ModOp, PowerOp, MaximumOp, MinimumOp]
arithmetic = pytest.mark.parametrize("op_class", ARITHMETIC, ids=lambda op: op.name)


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        ("4x8xf32", "4x8xf32", "4x8xf32"),
        ("4x8xf32", "f32", "4x8xf32"),
        ("4x1xf32", "8xf32", "4x8xf32"),
        ("3x1x5xf32", "1x4x1xf32", "3x4x5xf32"),
        ("0xf32", "1xf32", "0xf32"),
        ("?xf32", "8xf32", "8xf32"),
        ("?xf32", "1xf32", "?xf32"),
        ("?xf32", "?xf32", "?xf32"),
        ("?x1xf32", "4x?xf32", "4x?xf32"),
    ],
)
@arithmetic
def test_shapes_broadcast(infer, op_class, lhs, rhs, expected):
    assert infer(op_class, lhs, rhs) == expected
    assert infer(op_class, rhs, lhs) == expected


@arithmetic
def test_other_shapes_and_types_are_rejected(rejects, op_class):
    assert rejects(op_class, "4x8xf32", "3x8xf32") == (
        "expects broadcast-compatible shapes, got 4x8 and 3x8 (dimension 0: 4 vs 3)"
    )
    assert rejects(op_class, "2xi1", "2xi1") == "expects numbers, got i1"
    if op_class is not PowerOp:
        assert rejects(op_class, "2xf32", "2xf64") == "expects operands of one element type, got f32 and f64"


@arithmetic
def test_scalars_and_empty_tensors_keep_their_shape(apply, op_class):
    assert apply(op_class, np.float32(2) * np.ones(()), np.ones(())).shape == ()
    assert apply(op_class, np.ones((0, 3)), np.ones(3)).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_integer_division_truncates_or_floors(apply, dtype):
    lhs, rhs = (np.array(x, dtype) for x in ([7, -7, 7, -7, 6, -6], [2, 2, -2, -2, 3, -3]))
    exact = [Fraction(int(a), int(b)) for a, b in zip(lhs, rhs, strict=True)]
    assert apply(DivideOp, lhs, rhs).tolist() == [math.trunc(q) for q in exact]
    assert apply(FloorDivideOp, lhs, rhs).tolist() == [math.floor(q) for q in exact]
    assert apply(ModOp, lhs, rhs).tolist() == [a - math.floor(a / b) * b for a, b in zip(lhs, rhs, strict=True)]
    assert apply(ModOp, lhs, rhs, fmod=True).tolist() == [math.fmod(a, b) for a, b in zip(lhs, rhs, strict=True)]


def test_integer_division_is_exact_beyond_double_precision(apply):
    lhs = np.array([-(2**62) - 1, 2**62 + 1])
    assert apply(DivideOp, lhs, np.array([2, 2])).tolist() == [-(2**61), 2**61]
    unsigned = np.array([2**64 - 1], np.uint64)
    assert apply(DivideOp, unsigned, np.array([2], np.uint64)).tolist() == [2**63 - 1]


@pytest.mark.parametrize("op_class", [DivideOp, FloorDivideOp, ModOp])
def test_integer_division_by_zero_is_silent(apply, op_class):
    assert apply(op_class, np.array([1, -1]), np.array([0, 0])).shape == (2,)


def test_integers_wrap_around_silently(apply):
    most, one = np.array(127, np.int8), np.array(1, np.int8)
    assert apply(AddOp, most, one) == -128
    assert apply(SubtractOp, -most, one + one) == 127
    assert apply(MultiplyOp, most, most) == 1


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    ("op_class", "lhs", "rhs", "expected"),
    [
        (DivideOp, [1, -1, 0, INF], [0, 0, 0, INF], [INF, -INF, NAN, NAN]),
        (FloorDivideOp, [7, -7, 1], [2, 2, 0], [3, -4, INF]),
        (ModOp, [5.5, -5.5, 5.5, 1, INF, 1], [2, 2, -2, INF, 2, 0], [1.5, 0.5, -0.5, 1, NAN, NAN]),
        (PowerOp, [2, -8, 0, NAN, -2], [-1, 0.5, -1, 0, 3], [0.5, NAN, INF, 1, -8]),
        (MaximumOp, [NAN, 1, -INF], [1, NAN, 2], [NAN, NAN, 2]),
        (MinimumOp, [NAN, 1, -INF], [1, NAN, 2], [NAN, NAN, -INF]),
    ],
)
def test_edges_are_silent(apply, op_class, lhs, rhs, expected, dtype):
    result = apply(op_class, np.array(lhs, dtype), np.array(rhs, dtype))
    np.testing.assert_array_equal(result.astype(float), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("fmod", [False, True])
def test_mod_agrees_with_onnx_and_its_body_is_exact(build, random, onnx_reference, dtype, fmod):
    lhs, rhs = (random.normal(size=2000).astype(dtype) * scale for scale in (100, 1))
    rhs[:200] = np.round(rhs[:200], 1)
    lhs[:200] = rhs[:200] * np.arange(200)
    rhs[rhs == 0] = 1
    op = build(ModOp, *[f"2000xf{lhs.itemsize * 8}"] * 2, fmod=fmod)
    exact = np.abs(lhs.astype(float) / rhs) < (2.0**52 if dtype == np.float64 else 2.0**23)
    (result,) = op.evaluate(lhs, rhs)
    np.testing.assert_array_equal(result, (np.fmod if fmod else np.mod)(lhs, rhs))
    np.testing.assert_array_equal(run_scalar_body(op, lhs, rhs)[exact], result[exact])
    if fmod:
        np.testing.assert_array_equal(result, onnx_reference("Mod", lhs, rhs, fmod=1))


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (np.array([2, -2, 3], np.int32), np.array([10, 3, 0], np.int32), [1024, -8, 1]),
        (np.array([1, -1, -1, 2, -3], np.int64), np.array([-5, -2, -3, -1, -2], np.int64), [1, 1, -1, 0, 0]),
        (np.array([2, 3], np.uint8), np.array([3, 5], np.uint8), [8, 243]),
        (np.array([9, 2], np.int32), np.array([0.5, -1.0], np.float32), [3, 0]),
        (np.array([9, 2], np.float32), np.array([2, -1], np.int64), [81, 0.5]),
        (np.array([2, 3], np.float16), np.array([2, 3], np.int8), [4, 27]),
    ],
)
def test_power_has_the_type_of_the_base(apply, base, exponent, expected):
    result = apply(PowerOp, base, exponent)
    assert result.dtype == base.dtype
    assert result.tolist() == expected


@pytest.mark.parametrize(
    ("condition", "lhs", "rhs", "expected"),
    [
        ("4x1xi1", "8xf32", "f32", "4x8xf32"),
        ("?xi1", "3x1xi8", "3x4xi8", "3x4xi8"),
        ("i1", "?xf16", "1xf16", "?xf16"),
        ("2xi1", "2xi1", "2xi1", "2xi1"),
    ],
)
def test_where_broadcasts_all_three(infer, condition, lhs, rhs, expected):
    assert infer(WhereOp, condition, lhs, rhs) == expected


def test_where_chooses_by_the_condition(apply):
    condition = np.array([[True], [False]])
    lhs, rhs = np.array([1, NAN], ml_dtypes.bfloat16), np.array(3, ml_dtypes.bfloat16)
    np.testing.assert_array_equal(apply(WhereOp, condition, lhs, rhs).astype(float), [[1, NAN], [3, 3]])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_a_vector_runs_along_its_axis(apply, random, axis):
    x = random.normal(size=(2, 3, 4)).astype(np.float32)
    vector = random.normal(size=x.shape[axis]).astype(np.float32)
    spread = np.moveaxis(np.broadcast_to(vector, (*np.delete(x.shape, axis), vector.size)), -1, axis)
    np.testing.assert_array_equal(apply(BiasAddOp, x, vector, axis=axis), x + spread)
    np.testing.assert_array_equal(apply(PreluOp, x, vector, axis=axis), np.where(x < 0, x * spread, x))


def test_prelu_is_that_of_onnx(apply, random, onnx_reference):
    x, alpha = random.normal(size=(2, 3, 4, 5)), random.normal(size=3)
    np.testing.assert_array_equal(apply(PreluOp, x, alpha), onnx_reference("PRelu", x, alpha.reshape(3, 1, 1)))


@pytest.mark.parametrize("op_class", [BiasAddOp, PreluOp])
def test_a_vector_must_fit_its_axis(infer, rejects, op_class):
    assert infer(op_class, "2x?x4xf32", "3xf32") == "2x?x4xf32"
    assert infer(op_class, "2x3x4xf32", "?xf32") == "2x3x4xf32"
    assert "expects equal sizes of axis 1" in rejects(op_class, "2x3x4xf32", "4xf32")
    assert "of rank 1, got rank 0 (scalar)" in rejects(op_class, "2x3x4xf32", "f32")
    assert "expects axes in [-2, 2) for rank 2, got 2" in rejects(op_class, "2x3xf32", "3xf32", axis=2)


def test_cost_counts_result_elements(build):
    assert cost_of(build(AddOp, "4x1xf32", "8xf32")) == Cost(flops=32, bytes=16 + 32 + 128)
    assert cost_of(build(ModOp, "4xi8", "4xi8")) == Cost(flops=20, bytes=12)
    assert cost_of(build(PreluOp, "2x3xf16", "3xf16")) == Cost(flops=12, bytes=30)
    assert cost_of(build(AddOp, "?xf32", "1xf32")) is None
