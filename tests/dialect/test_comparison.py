"""Comparisons, logic and bits: shape rule and meaning."""

import math
import operator

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.comparison import (
    BandOp,
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LeftShiftOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalOrOp,
    LogicalXorOp,
    NotEqualOp,
    RightShiftOp,
)

COMPARISONS = {
    EqualOp: operator.eq,
    NotEqualOp: operator.ne,
    LessOp: operator.lt,
    LessEqualOp: operator.le,
    GreaterOp: operator.gt,
    GreaterEqualOp: operator.ge,
}
LOGIC = {LogicalAndOp: operator.and_, LogicalOrOp: operator.or_, LogicalXorOp: operator.xor}
BITS = {
    BitwiseAndOp: operator.and_,
    BitwiseOrOp: operator.or_,
    BitwiseXorOp: operator.xor,
}

NUMBERS = [math.nan, -math.inf, -1.0, -0.0, 0.0, 1.0, math.inf]


@pytest.mark.parametrize(("op_class", "meaning"), COMPARISONS.items(), ids=lambda value: getattr(value, "name", None))
@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [
        ("f8", NUMBERS),
        ("f4", NUMBERS),
        ("f2", NUMBERS),
        (ml_dtypes.bfloat16, NUMBERS),
        ("i1", [-128, 0, 127]),
        ("u1", [0, 127, 128, 255]),
        ("u8", [0, 2**63, 2**64 - 1]),
        ("?", [False, True]),
    ],
)
def test_all_pairs_compare_as_in_python(apply, op_class, meaning, dtype, numbers):
    column, row = np.array(numbers, dtype)[:, None], np.array(numbers, dtype)
    result = apply(op_class, column, row)
    assert result.tolist() == [[meaning(a, b) for b in numbers] for a in numbers]


@pytest.mark.parametrize(("op_class", "meaning"), LOGIC.items(), ids=lambda value: getattr(value, "name", None))
def test_logic_has_its_truth_table(apply, op_class, meaning):
    values = np.array([False, True])
    assert apply(op_class, values[:, None], values).tolist() == [[meaning(a, b) for b in (0, 1)] for a in (0, 1)]


@pytest.mark.parametrize(("op_class", "meaning"), BITS.items(), ids=lambda value: getattr(value, "name", None))
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8])
def test_bits_combine_as_in_python(apply, op_class, meaning, dtype):
    numbers = [0, 1, 85, 127] + ([255] if dtype == np.uint8 else [-1, -128])
    column, row = np.array(numbers, dtype)[:, None], np.array(numbers, dtype)
    assert apply(op_class, column, row).tolist() == [[meaning(a, b) for b in numbers] for a in numbers]


def test_shifts_move_bits(apply):
    signed, unsigned = np.array([-128, -3, 5], np.int8), np.array([128, 253], np.uint8)
    assert apply(RightShiftOp, signed, np.array(1, np.int8)).tolist() == [-64, -2, 2]
    assert apply(RightShiftOp, unsigned, np.array(1, np.uint8)).tolist() == [64, 126]
    assert apply(LeftShiftOp, signed, np.array(1, np.int8)).tolist() == [0, -6, 10]
    assert apply(LeftShiftOp, unsigned, np.array(1, np.uint8)).tolist() == [0, 250]


@pytest.mark.parametrize(
    ("op_class", "lhs", "rhs", "expected"),
    [
        (LessOp, "4x1xf32", "?xf32", "4x?xi1"),
        (EqualOp, "?xi1", "8xi1", "8xi1"),
        (LogicalOrOp, "4x1xi1", "i1", "4x1xi1"),
        (BitwiseXorOp, "?x3xui8", "1xui8", "?x3xui8"),
        (LeftShiftOp, "0x1xi32", "3xi32", "0x3xi32"),
    ],
)
def test_shapes_broadcast(infer, op_class, lhs, rhs, expected):
    assert infer(op_class, lhs, rhs) == expected


@pytest.mark.parametrize(
    ("op_class", "lhs", "rhs", "message"),
    [
        (LessOp, "2xf32", "2xi32", "expects operands of one element type, got f32 and i32"),
        (LogicalAndOp, "2xi8", "2xi8", "expects 'lhs' of i1 elements, got i8"),
        (BitwiseOrOp, "2xi1", "2xi1", "expects integers in 'lhs', got i1"),
        (RightShiftOp, "2xf32", "2xf32", "expects integers in 'lhs', got f32"),
    ],
)
def test_other_element_types_are_rejected(rejects, op_class, lhs, rhs, message):
    assert rejects(op_class, lhs, rhs) == message


def test_cost_counts_booleans_as_bytes(build):
    assert cost_of(build(EqualOp, "4x1xf32", "8xf32")) == Cost(flops=32, bytes=16 + 32 + 32)


@pytest.mark.parametrize(("lower", "upper"), [(-9, 0), (-2, 1), (0, 9), (2, 1), (-1, 3)])
def test_a_band_is_what_two_triangles_share(apply, lower, upper):
    expected = np.tri(4, 6, upper, dtype=bool) & ~np.tri(4, 6, lower - 1, dtype=bool)
    np.testing.assert_array_equal(apply(BandOp, result="4x6xi1", lower=lower, upper=upper), expected)


def test_a_band_has_two_numbers(apply):
    expected = np.where(np.tri(4, 6, dtype=bool), np.float16(0.5), np.float16(-np.inf))
    result = apply(BandOp, result="4x6xf16", lower=-9, upper=0, inside=0.5, outside=-math.inf)
    np.testing.assert_array_equal(result, expected)
