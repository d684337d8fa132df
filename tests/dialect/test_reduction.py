"""Reductions: shape rule, meaning at the edges, cost."""

import math

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.reduction import (
    AllOp,
    AnyOp,
    ArgmaxOp,
    ArgminOp,
    MaxOp,
    MeanOp,
    MinOp,
    ProdOp,
    SumOp,
    VarianceOp,
)

INF, NAN = math.inf, math.nan
NUMERIC = {SumOp: np.sum, MeanOp: np.mean, MaxOp: np.max, MinOp: np.min, ProdOp: np.prod, VarianceOp: np.var}
numeric = pytest.mark.parametrize(
    ("op_class", "numpy"), NUMERIC.items(), ids=lambda value: getattr(value, "name", None)
)
TRUTH = {AnyOp: np.any, AllOp: np.all}
ARGUMENTS = {ArgmaxOp: np.argmax, ArgminOp: np.argmin}
arguments = pytest.mark.parametrize(
    ("op_class", "numpy"), ARGUMENTS.items(), ids=lambda value: getattr(value, "name", None)
)
AXES = [None, [], [0], [-1], [2, 0], [0, 1, 2]]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, "f32"),
        ({"axes": []}, "2x?x4xf32"),
        ({"axes": [1]}, "2x4xf32"),
        ({"axes": [-1]}, "2x?xf32"),
        ({"axes": [2, 0]}, "?xf32"),
        ({"keepdims": True}, "1x1x1xf32"),
        ({"axes": [1], "keepdims": True}, "2x1x4xf32"),
        ({"axes": [0, -1], "keepdims": True}, "1x?x1xf32"),
    ],
)
def test_reduced_axes_vanish_or_become_one(infer, properties, expected):
    for op_class in NUMERIC:
        assert infer(op_class, "2x?x4xf32", **properties) == expected
    for op_class in TRUTH:
        assert infer(op_class, "2x?x4xi1", **properties) == expected.replace("f32", "i1")


@numeric
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduction_is_that_of_numpy(apply, random, op_class, numpy, axes, keepdims):
    x = random.normal(size=(2, 3, 4))
    expected = numpy(x, axis=None if axes is None else tuple(axes), keepdims=keepdims)
    np.testing.assert_allclose(apply(op_class, x, axes=axes, keepdims=keepdims), expected, rtol=1e-13)


@pytest.mark.parametrize(("op_class", "numpy"), TRUTH.items())
@pytest.mark.parametrize("axes", AXES, ids=str)
def test_truth_values_are_reduced_as_in_numpy(apply, random, op_class, numpy, axes):
    x = random.random((2, 3, 4)) < 0.3
    expected = numpy(x, axis=None if axes is None else tuple(axes))
    np.testing.assert_array_equal(apply(op_class, x, axes=axes), expected)


@pytest.mark.parametrize(
    ("op_class", "expected"),
    [(SumOp, 0), (ProdOp, 1), (MeanOp, NAN), (VarianceOp, NAN), (MaxOp, -INF), (MinOp, INF)],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ml_dtypes.bfloat16])
def test_reduction_of_nothing_is_silent(apply, op_class, expected, dtype):
    result = apply(op_class, np.ones((2, 0), dtype), axes=[1])
    np.testing.assert_array_equal(result.astype(float), [expected, expected])
    assert apply(op_class, np.ones((0, 2), dtype), axes=[1]).shape == (0,)


@pytest.mark.parametrize(
    ("op_class", "dtype", "expected"),
    [
        (SumOp, "i4", 0),
        (ProdOp, "u1", 1),
        (MaxOp, "i1", -128),
        (MinOp, "i1", 127),
        (MaxOp, "u8", 0),
        (MinOp, "u8", 2**64 - 1),
        (MaxOp, "?", False),
        (MinOp, "?", True),
        (AnyOp, "?", False),
        (AllOp, "?", True),
    ],
)
def test_reduction_of_nothing_gives_the_neutral_element(apply, op_class, dtype, expected):
    assert apply(op_class, np.ones((0,), dtype)) == expected


def test_integers_are_reduced_in_their_own_type(apply):
    x = np.array([100, 100, 100], np.int8)
    assert apply(SumOp, x) == np.int8(300 - 256)
    assert apply(ProdOp, np.array([16, 16, 2], np.uint8)) == 0
    assert apply(MeanOp, np.array([-3, -4], np.int32)) == -3
    assert apply(MeanOp, np.array([2**61, 2**61 - 2], np.int64)) == 2**61 - 1
    assert apply(MeanOp, np.full(256, 100, np.int8)) == 100
    assert apply(MeanOp, np.full(3, 255, np.uint8)) == 255
    assert apply(MaxOp, np.array([2**63 - 1, 2**63 - 2], np.int64)) == 2**63 - 1


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_accumulated_in_single(apply, dtype):
    x = np.full(5000, 1.0, dtype)
    assert float(apply(SumOp, x)) == float(np.array(5000).astype(dtype))
    assert apply(MeanOp, x) == 1
    assert apply(VarianceOp, x * dtype(100)) == 0


def test_half_precision_overflows_silently(apply):
    assert apply(SumOp, np.full(3, 60000, np.float16)) == INF


@pytest.mark.parametrize("op_class", [MaxOp, MinOp, SumOp, ProdOp, MeanOp, VarianceOp])
@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
def test_nan_spreads(apply, op_class, dtype):
    assert np.isnan(apply(op_class, np.array([1, NAN, INF], dtype)).astype(float))


def test_unbiased_variance_divides_by_one_less(apply, random):
    x = random.normal(size=(4, 5))
    np.testing.assert_allclose(apply(VarianceOp, x, axes=[1], unbiased=True), np.var(x, axis=1, ddof=1))
    np.testing.assert_array_equal(apply(VarianceOp, x[:, :1], axes=[1], unbiased=True), [NAN] * 4)


def test_variance_is_stable_far_from_zero(apply):
    x = np.array([1e8 + 1, 1e8 + 2, 1e8 + 3])
    np.testing.assert_allclose(apply(VarianceOp, x), 2 / 3, rtol=1e-6)


@arguments
@pytest.mark.parametrize("axes", [None, [0], [-1], [1]], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_index_is_that_of_numpy(apply, random, op_class, numpy, axes, keepdims):
    x = random.integers(0, 4, (3, 4, 5))
    axis = None if axes is None else axes[0]
    result = apply(op_class, x, axes=axes, keepdims=keepdims)
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, numpy(x, axis=axis, keepdims=keepdims))


@arguments
def test_last_of_equal_elements_counts_when_asked_for(apply, op_class, numpy):
    x = np.array([[1, 1, 1], [0, 2, 2], [2, 0, 0]], np.uint8)
    last = {ArgmaxOp: [2, 2, 0], ArgminOp: [2, 0, 2]}[op_class]
    first = {ArgmaxOp: [0, 1, 0], ArgminOp: [0, 0, 1]}[op_class]
    assert apply(op_class, x, axes=[1]).tolist() == first
    assert apply(op_class, x, axes=[1], select_last_index=True).tolist() == last
    assert apply(op_class, x, select_last_index=True) == {ArgmaxOp: 6, ArgminOp: 8}[op_class]
    assert apply(op_class, np.array(3), select_last_index=True) == 0


@arguments
def test_index_of_nan_wins(apply, op_class, numpy):
    for dtype in ("f4", "f2", ml_dtypes.bfloat16):
        assert apply(op_class, np.array([1, NAN, INF, -INF], dtype)) == 1


@arguments
def test_indices_may_be_i32(build, op_class, numpy):
    assert str(build(op_class, "2x3xf32", axes=[0]).result.type) == "tensor<3xi64>"
    assert str(build(op_class, "2x3xf32", axes=[0], result="3xi32").result.type) == "tensor<3xi32>"


@pytest.mark.parametrize(
    ("op_class", "type", "properties", "message"),
    [
        (SumOp, "2x3xf32", {"axes": [2]}, "expects axes in [-2, 2) for rank 2, got 2"),
        (SumOp, "2x3xf32", {"axes": [0, -2]}, "expects distinct axes, axis 0 is named twice"),
        (SumOp, "2xi1", {}, "expects numbers, got i1"),
        (VarianceOp, "2xi32", {}, "expects floating-point elements, got i32"),
        (AnyOp, "2xi32", {}, "expects 'input' of i1 elements, got i32"),
        (ArgmaxOp, "2x3xf32", {"axes": [0, 1]}, "expects one axis or none, got axes [0, 1]"),
        (ArgmaxOp, "2x3xf32", {"axes": []}, "expects one axis or none, got axes []"),
        (ArgminOp, "2x0xf32", {}, "expects elements to choose from, got dimension 1 of size 0"),
        (
            ArgmaxOp,
            "2x3xf32",
            {"axes": [0], "result": "2xi32"},
            "expects result 0 of type tensor<3xi64> or tensor<3xi32>, got tensor<2xi32>",
        ),
    ],
)
def test_wrong_use_is_rejected(rejects, op_class, type, properties, message):
    assert rejects(op_class, type, **properties) == message


def test_cost_counts_operand_elements(build):
    assert cost_of(build(SumOp, "4x8xf32", axes=[1])) == Cost(flops=32, bytes=128 + 16)
    assert cost_of(build(VarianceOp, "4x8xf32")) == Cost(flops=128, bytes=132)
    assert cost_of(build(ArgmaxOp, "4x8xf32", axes=[1])) == Cost(flops=32, bytes=128 + 32)
    assert cost_of(build(SumOp, "?x8xf32", axes=[0])) is None
