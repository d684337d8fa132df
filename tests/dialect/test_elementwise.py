"""Unary elementwise ops: shape rule, meaning at the edges, cost."""

import math

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.fuse import ops_of
from fuse_dialect.dialect.ops import elementwise, trigonometry
from fuse_dialect.dialect.ops.elementwise import (
    AbsOp,
    CeilOp,
    ErfOp,
    ExpOp,
    IsinfOp,
    IsnanOp,
    LogicalNotOp,
    LogOp,
    NegativeOp,
    ReciprocalOp,
    RoundOp,
    RsqrtOp,
    SignOp,
    SqrtOp,
)

INF, NAN = math.inf, math.nan

ORACLES = {
    "fuse.abs": abs,
    "fuse.negative": lambda x: -x,
    "fuse.sign": lambda x: math.copysign(1, x) if x else 0,
    "fuse.round": round,
    "fuse.rsqrt": lambda x: x**-0.5,
    "fuse.reciprocal": lambda x: 1 / x,
}
"""What Python says of the ops that its module `math` does not have under their name."""

REAL_OPS = [
    op for family in (elementwise, trigonometry) for op in ops_of(family) if op not in (LogicalNotOp, IsnanOp, IsinfOp)
]


@pytest.mark.parametrize("op_class", REAL_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("f8", 4e-16), ("f4", 2e-7), ("f2", 6e-4), (ml_dtypes.bfloat16, 4e-3)]
)
def test_function_of_reals_is_that_of_python(apply, random, op_class, dtype, tolerance):
    oracle = ORACLES.get(op_class.name) or getattr(math, op_class.name.removeprefix("fuse."))
    least = 1.01 if op_class.name == "fuse.acosh" else 0.01
    x = random.uniform(least, least + 0.9, (2, 30)).astype(dtype)
    expected = [oracle(value) for value in x.astype(float).flat]
    result = apply(op_class, x)
    assert result.dtype == x.dtype
    np.testing.assert_allclose(result.astype(float).ravel(), expected, rtol=tolerance)


@pytest.mark.parametrize("op_class", REAL_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0)])
def test_scalars_and_empty_tensors_keep_their_shape(apply, op_class, shape):
    assert apply(op_class, np.ones(shape, np.float32)).shape == shape


@pytest.mark.parametrize("op_class", REAL_OPS, ids=lambda op: op.name)
def test_dynamic_dimensions_stay(infer, op_class):
    assert infer(op_class, "4x?xf16") == "4x?xf16"


@pytest.mark.parametrize(
    ("op_class", "x", "expected"),
    [
        (SignOp, [NAN, -0.0, -INF, 2.5], [NAN, 0, -1, 1]),
        (RoundOp, [0.5, 1.5, 2.5, -0.5, -1.5], [0, 2, 2, 0, -2]),
        (CeilOp, [-0.5, INF, NAN], [0, INF, NAN]),
        (LogOp, [-1, 0, INF], [NAN, -INF, INF]),
        (SqrtOp, [-1, 0, INF], [NAN, 0, INF]),
        (RsqrtOp, [-1, 0, INF], [NAN, INF, 0]),
        (ReciprocalOp, [0, -0.0, INF], [INF, -INF, 0]),
        (ExpOp, [1000, -1000, NAN], [INF, 0, NAN]),
        (ErfOp, [INF, -INF, NAN, 0], [1, -1, NAN, 0]),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
def test_edges_of_the_domain_are_silent(apply, op_class, x, expected, dtype):
    np.testing.assert_array_equal(apply(op_class, np.array(x, dtype)).astype(float), expected)


def test_erf_is_exact_to_the_last_bits(apply):
    x = np.concatenate([np.linspace(-7, 7, 1001), [0.46875, 1e-300, 1e300]])
    expected = [math.erf(value) for value in x]
    np.testing.assert_allclose(apply(ErfOp, x), expected, rtol=1e-15, atol=3e-16)


def test_erf_keeps_the_sign_of_zero(apply):
    assert np.signbit(apply(ErfOp, np.array([-0.0])))


@pytest.mark.parametrize(
    ("op_class", "dtype", "x", "expected"),
    [
        (AbsOp, np.int8, [-128, -1, 127], [-128, 1, 127]),
        (NegativeOp, np.uint8, [0, 1, 255], [0, 255, 1]),
        (NegativeOp, np.int8, [-128, 5], [-128, -5]),
        (SignOp, np.uint16, [0, 7], [0, 1]),
        (SignOp, np.int64, [-(2**63), 0, 3], [-1, 0, 1]),
    ],
)
def test_integers_wrap_around(apply, op_class, dtype, x, expected):
    np.testing.assert_array_equal(apply(op_class, np.array(x, dtype)), np.array(expected, dtype))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, [True, True, False, False]),
        ({"detect_negative": False}, [True, False, False, False]),
        ({"detect_positive": False}, [False, True, False, False]),
        ({"detect_negative": False, "detect_positive": False}, [False] * 4),
    ],
)
def test_isinf_detects_what_its_flags_ask_for(apply, flags, expected):
    assert apply(IsinfOp, np.array([INF, -INF, NAN, 1], np.float16), **flags).tolist() == expected


def test_isnan_gives_booleans(apply):
    assert apply(IsnanOp, np.array([INF, NAN, 1], ml_dtypes.bfloat16)).tolist() == [False, True, False]


def test_logical_not_negates(apply):
    assert apply(LogicalNotOp, np.array([True, False])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("op_class", "type", "message"),
    [
        (ExpOp, "2xi32", "expects floating-point elements, got i32"),
        (AbsOp, "2xi1", "expects numbers, got i1"),
        (LogicalNotOp, "2xi8", "expects 'input' of i1 elements, got i8"),
        (IsnanOp, "2xi32", "expects floating-point elements, got i32"),
    ],
)
def test_other_element_types_are_rejected(rejects, op_class, type, message):
    assert rejects(op_class, type) == message


def test_cost_counts_elements_and_bytes(build):
    assert cost_of(build(ExpOp, "4x8xf16")) == Cost(flops=32, bytes=128)
    assert cost_of(build(RsqrtOp, "4x8xf32")) == Cost(flops=64, bytes=256)
    assert cost_of(build(IsnanOp, "10xf32")) == Cost(flops=10, bytes=50)


def test_cost_is_unknown_with_a_dynamic_dimension(build):
    assert cost_of(build(ExpOp, "4x?xf16")) is None
