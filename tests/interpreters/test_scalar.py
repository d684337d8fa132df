"""The NumPy meaning of `arith` and `math` ops, and how bodies run on arrays."""

import math as python_math
import operator

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import BFloat16Type, f16, f32, f64, i1, i8, i32, i64
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.test_value import create_ssa_value

from fuse_dialect.dialect.ops.broadcast import BiasAddOp
from fuse_dialect.dialect.types import tensor
from fuse_dialect.interpreters.scalar import evaluate_scalar, run_scalar_body

INF, NAN = python_math.inf, python_math.nan


def value(type):
    """A scalar SSA value."""
    return create_ssa_value(type)


COMPARE = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@pytest.mark.parametrize("predicate", CMPI_COMPARISON_OPERATIONS)
def test_integers_compare_signed_or_unsigned(predicate):
    numbers = [-128, -1, 0, 1, 127]
    read = [number % 256 for number in numbers] if predicate.startswith("u") else numbers
    meaning = COMPARE[predicate[-2:]]
    array = np.array(numbers, np.int8)
    result = evaluate_scalar(arith.CmpiOp(value(i8), value(i8), predicate), [array[:, None], array])
    assert result.tolist() == [[meaning(a, b) for b in read] for a in read]


@pytest.mark.parametrize("predicate", CMPF_COMPARISON_OPERATIONS)
def test_floats_compare_ordered_or_unordered(predicate):
    numbers = [NAN, -INF, 0.0, 1.0]
    array = np.array(numbers, np.float16)

    def meaning(a, b):
        unordered = python_math.isnan(a) or python_math.isnan(b)
        if predicate in ("true", "false"):
            return predicate == "true"
        if predicate in ("ord", "uno"):
            return unordered == (predicate == "uno")
        return predicate[0] == "u" if unordered else COMPARE[predicate[1:]](a, b)

    result = evaluate_scalar(arith.CmpfOp(value(f16), value(f16), predicate), [array[:, None], array])
    assert result.tolist() == [[meaning(a, b) for b in numbers] for a in numbers]


@pytest.mark.parametrize(
    ("op", "x", "expected"),
    [
        (arith.ExtSIOp(value(i1), i8), np.array([True, False]), [-1, 0]),
        (arith.ExtUIOp(value(i1), i8), np.array([True, False]), [1, 0]),
        (arith.ExtUIOp(value(i8), i32), np.array([-1], np.int8), [255]),
        (arith.ExtSIOp(value(i8), i64), np.array([-1], np.int8), [-1]),
        (arith.TruncIOp(value(i32), i8), np.array([257, -129], np.int32), [1, 127]),
        (arith.UIToFPOp(value(i64), f64), np.array([-1]), [2.0**64]),
        (arith.SIToFPOp(value(i1), f32), np.array([True]), [-1]),
        (arith.FPToUIOp(value(f32), i8), np.array([200.7], np.float32), [200 - 256]),
        (arith.FPToSIOp(value(f16), i32), np.array([-2.5], np.float16), [-2]),
        (arith.TruncFOp(value(f32), BFloat16Type()), np.array([1.00390625], np.float32), [1]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_conversions(op, x, expected):
    assert evaluate_scalar(op, [x]).tolist() == expected


@pytest.mark.parametrize(
    ("op_class", "lhs", "rhs", "expected"),
    [
        (arith.DivSIOp, -7, 2, -3),
        (arith.DivUIOp, -7, 2, 124),
        (arith.FloorDivSIOp, -7, 2, -4),
        (arith.RemSIOp, -7, 2, -1),
        (arith.RemUIOp, -7, 4, 1),
        (arith.MaxUIOp, -1, 1, -1),
        (arith.MinSIOp, -1, 1, -1),
        (arith.ShRSIOp, -128, 1, -64),
        (arith.ShRUIOp, -128, 1, 64),
        (math.IPowIOp, -2, 3, -8),
    ],
)
def test_integer_operations(op_class, lhs, rhs, expected):
    result = evaluate_scalar(op_class(value(i8), value(i8)), [np.array([lhs], np.int8), np.array([rhs], np.int8)])
    assert result.dtype == np.int8
    assert result.tolist() == [expected]


@pytest.mark.parametrize("type", [f32, f64])
def test_multiply_add_rounds_once(type):
    dtype = np.float32 if type == f32 else np.float64
    x = np.array([1 + np.finfo(dtype).eps], dtype)
    result = evaluate_scalar(math.FmaOp(*[value(type)] * 3), [x, x, -(x * x)])
    assert result.tolist() == [float(np.finfo(dtype).eps) ** 2]


def test_powers_of_two_are_rounded_once():
    x = np.array([-3.5, 0.0, 0.3, 12.0], np.float32)
    expected = np.exp2(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(evaluate_scalar(math.Exp2Op(value(f32)), [x]), expected)


def test_an_op_without_meaning_is_named():
    with pytest.raises(InterpretationError, match=r"'math.cbrt' op has no meaning in a scalar body"):
        evaluate_scalar(math.CbrtOp(value(f32)), [np.ones(1, np.float32)])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_body_runs_on_operands_that_broadcast_does_not_align(axis):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    vector = np.arange(x.shape[axis], dtype=np.float32)
    op = BiasAddOp(value(tensor(x.shape, f32)), value(tensor(vector.shape, f32)), axis=axis)
    np.testing.assert_array_equal(run_scalar_body(op, x, vector), op.evaluate(x, vector)[0])
