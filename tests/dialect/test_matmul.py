"""Matrix products: shape rule, meaning, cost."""

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, DenseOp, MatmulOp


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
def test_dense_multiplies_by_the_transposed_weight(apply, random, shape):
    x, w = random.standard_normal(shape), random.standard_normal((4, 5))
    np.testing.assert_allclose(apply(DenseOp, x, w), np.einsum("...k,nk->...n", x, w))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batches", [((), (), MatmulOp), ((2,), (2,), BatchMatmulOp), ((3, 1), (4,), BatchMatmulOp)])
def test_products_transpose_the_last_two_axes(apply, random, transpose_a, transpose_b, batches):
    left, right, op_class = batches
    a, b = random.standard_normal((*left, 3, 5)), random.standard_normal((*right, 5, 4))
    lhs = a.swapaxes(-1, -2) if transpose_a else a
    rhs = b.swapaxes(-1, -2) if transpose_b else b
    got = apply(op_class, lhs, rhs, transpose_a=transpose_a, transpose_b=transpose_b)
    np.testing.assert_allclose(got, np.einsum("...mk,...kn->...mn", a, b))


def test_batch_matmul_broadcasts_a_matrix(apply, onnx_reference, random):
    a = random.standard_normal((2, 3, 4, 5)).astype(np.float32)
    b = random.standard_normal((5, 6)).astype(np.float32)
    np.testing.assert_allclose(apply(BatchMatmulOp, a, b), onnx_reference("MatMul", a, b), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op_class", [DenseOp, MatmulOp])
def test_products_of_short_floats_are_summed_in_f32(apply, dtype, op_class):
    shapes = ((1, 4096), (1, 4096)) if op_class is DenseOp else ((1, 4096), (4096, 1))
    assert apply(op_class, *(np.ones(shape, dtype) for shape in shapes)).item() == 4096


def test_products_over_nothing_are_zero(apply):
    np.testing.assert_array_equal(apply(MatmulOp, np.ones((2, 0)), np.ones((0, 3))), np.zeros((2, 3)))


def test_dynamic_sizes_stay_dynamic(infer):
    assert infer(DenseOp, "?x?x8xf32", "4x?xf32") == "?x?x4xf32"
    assert infer(MatmulOp, "?x8xf32", "8x?xf32") == "?x?xf32"
    assert infer(MatmulOp, "8x?xf32", "4x?xf32", transpose_a=True, transpose_b=True) == "?x4xf32"
    assert infer(BatchMatmulOp, "?x1x4x8xf32", "3x8x?xf32") == "?x3x4x?xf32"


@pytest.mark.parametrize(
    ("op_class", "types", "message"),
    [
        (
            DenseOp,
            ("2x3xf32", "4x5xf32"),
            "expects equal sizes of the last axis of 'input' and of 'weight', got 3 and 5",
        ),
        (DenseOp, ("2x3xf32", "4x3x1xf32"), "expects 'weight' of rank 2, got rank 3 (4x3x1)"),
        (DenseOp, ("f32", "4x3xf32"), "expects 'input' of rank 1 or more, got rank 0 (scalar)"),
        (DenseOp, ("2x3xf32", "4x3xf64"), "expects operands of one element type, got f32 and f64"),
        (DenseOp, ("2x3xi1", "4x3xi1"), "expects numbers, got i1"),
        (MatmulOp, ("2x3xf32", "4x5xf32"), "expects equal sizes of the inner axes of 2x3 and 4x5, got 3 and 4"),
        (MatmulOp, ("1x2x3xf32", "3x5xf32"), "expects 'lhs' of rank 2, got rank 3 (1x2x3)"),
        (BatchMatmulOp, ("2x3xf32", "3x5xf32"), "expects an operand of rank 3 or more, got 2x3 and 3x5"),
        (BatchMatmulOp, ("2x2x3xf32", "3x3x5xf32"), "expects broadcast-compatible shapes, got 2 and 3"),
    ],
)
def test_products_reject(rejects, op_class, types, message):
    assert message in rejects(op_class, *types)


def test_cost_counts_two_for_each_product(build):
    assert cost_of(build(DenseOp, "2x3x8xf32", "4x8xf32")) == Cost(2 * 6 * 4 * 8, 4 * (48 + 32 + 24))
    assert cost_of(build(MatmulOp, "8x2xf16", "8x4xf16", transpose_a=True)) == Cost(2 * 2 * 4 * 8, 2 * (16 + 32 + 8))
    assert build(BatchMatmulOp, "3x1x2x8xf32", "5x8x4xf32").flops() == 2 * 15 * 2 * 4 * 8
    assert build(MatmulOp, "2x?xf32", "8x4xf32").flops() == 2 * 2 * 4 * 8
    assert build(MatmulOp, "2x?xf32", "?x4xf32").flops() is None
