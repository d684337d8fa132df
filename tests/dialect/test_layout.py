"""Ops that rearrange elements: shape rule, meaning, cost."""

import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp, StackOp
from fuse_dialect.dialect.ops.layout import (
    BatchFlattenOp,
    DepthToSpaceOp,
    LayoutTransformOp,
    ReshapeOp,
    ReverseOp,
    SpaceToDepthOp,
    SqueezeOp,
    TransposeOp,
)


def counted(*shape):
    """The numbers 0, 1, ... under a shape."""
    return np.arange(np.prod(shape), dtype=np.int64).reshape(shape)


@pytest.mark.parametrize(
    ("shape", "result", "expected"),
    [
        ((2, 6), "3x4xi64", (3, 4)),
        ((2, 6), "3x?xi64", (3, 4)),
        ((2, 6), "?xi64", (12,)),
        ((1, 1), "i64", ()),
        ((), "1x1xi64", (1, 1)),
        ((2, 3, 8), "?x?x2x4xi64", (2, 3, 2, 4)),
        ((2, 0), "?x2xi64", (0, 2)),
        ((0, 3), "3x?xi64", (3, 0)),
        ((4, 6, 0), "?x0xi64", (0, 0)),
        ((0, 5), "?x?xi64", (0, 5)),
        ((4, 0, 6), "4x?x0xi64", (4, 0, 0)),
        ((0, 4), "?x3x0xi64", (0, 3, 0)),
    ],
)
def test_reshape_keeps_the_order_of_elements(build, shape, result, expected):
    x = counted(*shape)
    dims = "x".join("?" for _ in shape) + "x" if shape else ""
    (y,) = build(ReshapeOp, f"{dims}i64", result=result).evaluate(x)
    np.testing.assert_array_equal(y, x.reshape(expected))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("2x6xf32", "3x5xf32", "expects a result of 12 elements as in 2x6, got 15 in 3x5"),
        ("2x6xf32", "5x?xf32", "expects a result that 12 elements fill, got 5x?"),
        ("2x6xf32", "0x?xf32", "expects a result that 12 elements fill, got 0x?"),
        ("2x6xf32", "3x4xf16", "expects a result of f32, got f16"),
        ("4x?x8xf32", "?x?x8xf32", "behind equal leading dimensions, got 4x?x8 and ?x?x8"),
    ],
)
def test_reshape_rejects_other_elements(rejects, source, target, message):
    assert message in rejects(ReshapeOp, source, result=target)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [-1, 0, -2]])
def test_transpose_permutes_axes(apply, order):
    np.testing.assert_array_equal(
        apply(TransposeOp, counted(2, 3, 4), permutation=order), counted(2, 3, 4).transpose(order)
    )


@pytest.mark.parametrize(("axes", "shape"), [([0], (3, 1, 4)), ([-2, 0], (3, 4)), ([], (3, 4))])
def test_squeeze_drops_axes_of_size_one(apply, axes, shape):
    np.testing.assert_array_equal(apply(SqueezeOp, counted(1, 3, 1, 4), axes=axes), counted(*shape))


@pytest.mark.parametrize("axes", [[], [0], [1, -1]])
def test_reverse_flips_axes(apply, axes):
    np.testing.assert_array_equal(apply(ReverseOp, counted(2, 3, 4), axes=axes), np.flip(counted(2, 3, 4), axes))


@pytest.mark.parametrize(("shape", "expected"), [((2, 3, 4), (2, 12)), ((5,), (5, 1)), ((0, 3), (0, 3))])
def test_batch_flatten_keeps_the_first_axis(apply, shape, expected):
    np.testing.assert_array_equal(apply(BatchFlattenOp, counted(*shape)), counted(*expected))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_agrees_with_onnx(apply, onnx_reference, mode):
    x = counted(2, 8, 2, 3).astype(np.float32)
    expected = onnx_reference("DepthToSpace", x, blocksize=2, mode=mode)
    np.testing.assert_array_equal(apply(DepthToSpaceOp, x, block_size=2, mode=mode), expected)
    last = apply(DepthToSpaceOp, x.transpose(0, 2, 3, 1), block_size=2, mode=mode, layout="NHWC")
    np.testing.assert_array_equal(last.transpose(0, 3, 1, 2), expected)


def test_space_to_depth_agrees_with_onnx(apply, onnx_reference):
    x = counted(2, 3, 4, 6).astype(np.float32)
    expected = onnx_reference("SpaceToDepth", x, blocksize=2)
    np.testing.assert_array_equal(apply(SpaceToDepthOp, x, block_size=2), expected)
    last = apply(SpaceToDepthOp, x.transpose(0, 2, 3, 1), block_size=2, layout="NHWC")
    np.testing.assert_array_equal(last.transpose(0, 3, 1, 2), expected)


def test_layout_transform_permutes_axes(apply):
    x = counted(2, 3, 4, 5)
    got = apply(LayoutTransformOp, x, src_layout="NCHW", dst_layout="NHWC")
    np.testing.assert_array_equal(got, x.transpose(0, 2, 3, 1))


def test_layout_transform_cuts_blocks_and_joins_them_again(apply):
    x = counted(2, 8, 3, 5)
    blocked = apply(LayoutTransformOp, x, src_layout="NCHW", dst_layout="NHCW4c")
    assert blocked.shape == (2, 3, 2, 5, 4)
    for n, c, h, w in np.ndindex(*x.shape):
        assert blocked[n, h, c // 4, w, c % 4] == x[n, c, h, w]
    recut = apply(LayoutTransformOp, blocked, src_layout="NHCW4c", dst_layout="NCHW2c")
    assert recut.shape == (2, 4, 3, 5, 2)
    np.testing.assert_array_equal(apply(LayoutTransformOp, recut, src_layout="NCHW2c", dst_layout="NCHW"), x)


def test_layout_transform_cuts_two_axes(apply):
    x = counted(4, 6, 1, 2)
    got = apply(LayoutTransformOp, x, src_layout="OIHW", dst_layout="OIHW3i2o")
    for o, i, h, w in np.ndindex(*x.shape):
        assert got[o // 2, i // 3, h, w, i % 3, o % 2] == x[o, i, h, w]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_joins_along_an_axis(apply, axis):
    parts = [counted(2, 3, 4), counted(2, 3, 4) + 100, counted(2, 3, 4) + 200]
    np.testing.assert_array_equal(apply(ConcatenateOp, *parts, axis=axis), np.concatenate(parts, axis))
    np.testing.assert_array_equal(apply(ConcatenateOp, parts[0], axis=axis), parts[0])


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stack_joins_along_a_new_axis(apply, axis):
    parts = [counted(2, 3), counted(2, 3) + 100]
    np.testing.assert_array_equal(apply(StackOp, *parts, axis=axis), np.stack(parts, axis))


def test_split_cuts_in_pieces(apply):
    x = counted(2, 6)
    pieces = apply(SplitOp, x, axis=-1, sizes=[1, 0, 5])
    for piece, expected in zip(pieces, [x[:, :1], x[:, 1:1], x[:, 1:]], strict=True):
        np.testing.assert_array_equal(piece, expected)
    np.testing.assert_array_equal(apply(SplitOp, x, sizes=[2]), x)


def test_joining_ops_are_tuples_to_the_fusion_analysis():
    assert ConcatenateOp.OPERANDS_FORM_TUPLE
    assert StackOp.OPERANDS_FORM_TUPLE
    assert not SplitOp.OPERANDS_FORM_TUPLE


def test_dynamic_sizes_stay_dynamic(infer):
    assert infer(TransposeOp, "?x3x4xf32", permutation=[1, 0, 2]) == "3x?x4xf32"
    assert infer(SqueezeOp, "1x?x?xf32", axes=[0, 1]) == "?xf32"
    assert infer(BatchFlattenOp, "?x3x4xf32") == "?x12xf32"
    assert infer(BatchFlattenOp, "2x?x4xf32") == "2x?xf32"
    assert infer(DepthToSpaceOp, "?x8x?x4xf32", block_size=2) == "?x2x?x8xf32"
    assert infer(SpaceToDepthOp, "?x?x4x?xf32", block_size=2) == "?x?x2x?xf32"
    assert infer(LayoutTransformOp, "?x?x4x4xf32", src_layout="NCHW", dst_layout="NHWC4c") == "?x4x4x?x4xf32"
    assert infer(ConcatenateOp, "2x?xf32", "?x3xf32") == "?x3xf32"
    assert infer(ConcatenateOp, "2x?xf32", "2x3xf32", axis=1) == "2x?xf32"
    assert infer(StackOp, "2x?xf32", "?x3xf32", axis=1) == "2x2x3xf32"
    assert infer(SplitOp, "?x6xf32", sizes=[2, 3]) == ["2x6xf32", "3x6xf32"]


@pytest.mark.parametrize(
    ("op_class", "types", "properties", "message"),
    [
        (TransposeOp, ("2x3xf32",), {"permutation": [0]}, "expects 2 numbers in permutation, got 1 ([0])"),
        (TransposeOp, ("2x3xf32",), {"permutation": [0, -2]}, "expects distinct axes, axis 0 is named twice"),
        (TransposeOp, ("2x3xf32",), {"permutation": [0, 2]}, "expects axes in [-2, 2) for rank 2, got 2"),
        (SqueezeOp, ("2x1xf32",), {"axes": [0]}, "expects size 1 on squeezed axis 0, got 2"),
        (SqueezeOp, ("?x1xf32",), {"axes": []}, "expects named axes for a dynamic shape, got ?x1"),
        (ReverseOp, ("2x1xf32",), {"axes": [0, 0]}, "expects distinct axes, axis 0 is named twice"),
        (BatchFlattenOp, ("f32",), {}, "expects 'input' of rank 1 or more, got rank 0 (scalar)"),
        (DepthToSpaceOp, ("1x6x2x2xf32",), {"block_size": 2}, "expects channels divisible by 4, got 6"),
        (DepthToSpaceOp, ("1x4x2x2xf32",), {"block_size": 0}, "expects block_size of at least 1, got 0"),
        (
            DepthToSpaceOp,
            ("1x4x2x2xf32",),
            {"block_size": 2, "mode": "X"},
            "expects mode to be 'DCR' or 'CRD', got 'X'",
        ),
        (SpaceToDepthOp, ("1x1x2x3xf32",), {"block_size": 2}, "expects width divisible by 2, got 3"),
        (SpaceToDepthOp, ("1x1x2xf32",), {"block_size": 2}, "expects 'input' of rank 4, got rank 3"),
        (LayoutTransformOp, ("1x2xf32",), {"src_layout": "NC", "dst_layout": "NH"}, "expects layouts of the same axes"),
        (
            LayoutTransformOp,
            ("1x2xf32",),
            {"src_layout": "NC", "dst_layout": "N-C"},
            "such as 'NCHW' or 'NCHW4c', got 'N-C'",
        ),
        (LayoutTransformOp, ("1x2xf32",), {"src_layout": "NN", "dst_layout": "NC"}, "names each axis once"),
        (
            LayoutTransformOp,
            ("1x2xf32",),
            {"src_layout": "NC", "dst_layout": "N2c"},
            "and blocks only its axes, got 'N2c'",
        ),
        (
            LayoutTransformOp,
            ("1x2xf32",),
            {"src_layout": "NC", "dst_layout": "NC4c"},
            "expects axis 'C' divisible by 4, got 2",
        ),
        (
            LayoutTransformOp,
            ("1x2x3xf32",),
            {"src_layout": "NC4c", "dst_layout": "NC"},
            "block 'c' of layout 'NC4c', got 4 and 3",
        ),
        (
            LayoutTransformOp,
            ("1x2x3xf32",),
            {"src_layout": "NC", "dst_layout": "CN"},
            "expects rank 2 for layout 'NC', got 1x2x3",
        ),
        (ConcatenateOp, (), {}, "expects 1 or more operands, got none"),
        (ConcatenateOp, ("2x3xf32", "2x4xf32"), {}, "got 2x3 and 2x4 (dimension 1: 3 vs 4)"),
        (ConcatenateOp, ("2x3xf32", "6xf32"), {}, "expects operands of one rank, got 2x3 and 6"),
        (ConcatenateOp, ("2xf32", "2xi32"), {}, "expects operands of one element type, got f32 and i32"),
        (ConcatenateOp, ("f32", "f32"), {}, "expects axes in [0, 0) for rank 0, got 0"),
        (StackOp, ("2x3xf32", "2x4xf32"), {}, "got 2x3 and 2x4 (dimension 1: 3 vs 4)"),
        (StackOp, ("2x3xf32",), {"axis": 3}, "expects axes in [-3, 3) for rank 3, got 3"),
        (SplitOp, ("4xf32",), {"sizes": [2, 3]}, "expects sizes that add up to 4, got [2, 3]"),
        (SplitOp, ("4xf32",), {"sizes": []}, "expects sizes of 0 or more, got []"),
        (SplitOp, ("4xf32",), {"sizes": [5, -1]}, "expects sizes of 0 or more, got [5, -1]"),
    ],
)
def test_rearrangements_reject(rejects, op_class, types, properties, message):
    assert message in rejects(op_class, *types, **properties)


def test_moving_elements_costs_bytes_alone(build):
    assert cost_of(build(TransposeOp, "2x3xf32", permutation=[1, 0])) == Cost(0, 48)
    assert cost_of(build(ConcatenateOp, "2xf16", "3xf16")) == Cost(0, 20)
    assert cost_of(build(SplitOp, "4xf32", sizes=[1, 3])) == Cost(0, 32)
    assert cost_of(build(SplitOp, "?xf32", sizes=[1, 3])) is None
