"""Opaque ops: shape rule, meaning, cost."""

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

import fuse_dialect as fd
from fuse_dialect.dialect.ops.opaque import (
    ArangeOp,
    ArgsortOp,
    ArgwhereOp,
    DropoutOp,
    LrnOp,
    ScatterNdOp,
    SortOp,
    StopFusionOp,
    TopkOp,
)
from fuse_dialect.dialect.ops.sequences import CumsumOp
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.lowering.loop_program import lower


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 3, 2)])
def test_lrn_of_nothing_is_nothing(apply, shape):
    assert apply(LrnOp, np.zeros(shape, np.float32)).shape == shape


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort_orders_each_line(apply, random, axis):
    x = random.standard_normal((3, 4, 5))
    np.testing.assert_array_equal(apply(SortOp, x, axis=axis), np.sort(x, axis))
    np.testing.assert_array_equal(apply(SortOp, x, axis=axis, is_ascend=False), -np.sort(-x, axis))


@pytest.mark.parametrize("is_ascend", [True, False])
def test_argsort_keeps_the_order_of_equal_elements(apply, random, is_ascend):
    x = random.integers(0, 3, 20)
    expected = sorted(range(20), key=lambda i: x[i] if is_ascend else -x[i])
    np.testing.assert_array_equal(apply(ArgsortOp, x, is_ascend=is_ascend), expected)


def test_argsort_gives_i32_where_its_type_says_so(apply):
    got = apply(ArgsortOp, np.array([3, 1, 2], np.int32), result="3xi32")
    assert got.dtype == np.int32
    assert got.tolist() == [1, 2, 0]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64])
def test_topk_agrees_with_onnx(apply, onnx_reference, random, axis, largest, dtype):
    x = random.integers(0, 5, (4, 5, 6)).astype(dtype)
    expected = onnx_reference("TopK", x, np.array([3]), axis=axis, largest=largest, outputs=2)
    values, indices = apply(TopkOp, x, k=3, axis=axis, is_ascend=not largest)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum_agrees_with_onnx(apply, onnx_reference, random, axis, exclusive, reverse):
    x = random.integers(-9, 9, (3, 4)).astype(np.float64)
    expected = onnx_reference("CumSum", x, np.array(axis), exclusive=int(exclusive), reverse=int(reverse))
    np.testing.assert_array_equal(apply(CumsumOp, x, axis=axis, exclusive=exclusive, reverse=reverse), expected)


def test_cumsum_of_integers_wraps_and_of_nothing_is_nothing(apply):
    np.testing.assert_array_equal(apply(CumsumOp, np.array([100, 100], np.int8), axis=0), np.array([100, -56], np.int8))
    assert apply(CumsumOp, np.zeros((0, 2)), axis=0, exclusive=True).shape == (0, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("axis", [1, -1])
def test_lrn_is_its_definition(apply, random, size, axis):
    x = random.standard_normal((2, 5, 3, 4))
    lines = np.moveaxis(x, axis, -1)
    expected = np.empty_like(lines)
    for index in np.ndindex(*lines.shape):
        *line, c = index
        window = lines[(*line, slice(max(0, c - (size - 1) // 2), c + size // 2 + 1))]
        expected[index] = lines[index] / (2.0 + 0.5 / size * (window**2).sum()) ** 0.3
    got = apply(LrnOp, x, size=size, axis=axis, bias=2.0, alpha=0.5, beta=0.3)
    np.testing.assert_allclose(np.moveaxis(got, axis, -1), expected)


def test_lrn_of_a_sum_that_is_minus_infinity_is_its_power(apply):
    x = np.array([[0.5, np.inf, 0.5]], np.float32)
    # -inf to the power of 1/2 is inf, as `pow` of C has it, and no root.
    with np.errstate(invalid="ignore"):
        got = apply(LrnOp, x, size=3, alpha=-1.0, beta=0.5)
    np.testing.assert_array_equal(got, np.array([[0, np.nan, 0]], np.float32))


def test_lrn_of_short_floats_is_computed_in_f32(apply):
    x = np.full((1, 3), 200, ml_dtypes.bfloat16)
    expected = apply(LrnOp, x.astype(np.float32), size=3).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(apply(LrnOp, x, size=3), expected)


@pytest.mark.parametrize("op_class", [DropoutOp, StopFusionOp])
def test_identities_give_their_operand(apply, random, op_class):
    x = random.standard_normal((2, 3))
    np.testing.assert_array_equal(apply(op_class, x), x)


@pytest.mark.parametrize("mode", ["update", "add", "mul", "min", "max"])
@pytest.mark.parametrize(("depth", "count"), [(1, (3,)), (2, (4,)), (3, (2, 3)), (2, ())])
def test_scatter_nd_agrees_with_onnx(apply, onnx_reference, random, mode, depth, count):
    x = random.integers(0, 9, (3, 4, 5)).astype(np.float32)
    indices = random.integers(-3, 3, (*count, depth))
    updates = random.integers(0, 9, (*count, *x.shape[depth:])).astype(np.float32)
    expected = onnx_reference("ScatterND", x, indices, updates, reduction="none" if mode == "update" else mode)
    before = x.copy()
    np.testing.assert_array_equal(apply(ScatterNdOp, x, indices, updates, mode=mode), expected)
    np.testing.assert_array_equal(x, before)


def test_scatter_nd_applies_the_last_update_of_a_place(apply):
    got = apply(ScatterNdOp, np.zeros(3), np.array([[1], [1]]), np.array([5.0, 7.0]))
    np.testing.assert_array_equal(got, [0, 7, 0])


def test_scatter_nd_refuses_indices_out_of_range(build):
    with pytest.raises(IndexError):
        build(ScatterNdOp, "3xf32", "1x1xi64", "1xf32").evaluate(np.zeros(3), np.array([[3]]), np.zeros(1))


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 5, 1), (1, 2, 0.25), (5, 0, -2), (3, 3, 1), (3, 1, 1), (0, 1, 0.3)]
)
def test_arange_is_numpy_arange(apply, start, stop, step):
    expected = np.arange(start, stop, step, np.float64)
    properties = {"start": float(start), "stop": float(stop), "step": float(step)}
    np.testing.assert_allclose(apply(ArangeOp, result=f"{len(expected)}xf64", **properties), expected)
    np.testing.assert_allclose(apply(ArangeOp, result="?xf64", **properties), expected)


WRAPPED = {
    "ui8": (-3.0, 2.0, 1.0, [253, 254, 255, 0, 1]),
    "i8": (126.0, 130.0, 1.0, [126, 127, -128, -127]),
    "ui16": (0.5, -2.0, -0.75, [0, 0, 65535, 65535]),
    "ui32": (2.0**32 - 2, 2.0**32 + 2, 2.0, [2**32 - 2, 0]),
    "i64": (-3.0, 0.0, 1.0, [-3, -2, -1]),
    "ui64": (2.0**64 - 4096, 2.0**64, 2048.0, [2**64 - 4096, 2**64 - 2048]),
}


@pytest.mark.parametrize("element", WRAPPED)
def test_arange_loses_the_bits_that_its_type_has_no_room_for(element):
    start, stop, step, expected = WRAPPED[element]
    module = fd.parse(f"""func.func @main() -> tensor<{len(expected)}x{element}> {{
      %y = fuse.arange start = {start}, stop = {stop}, step = {step} -> tensor<{len(expected)}x{element}>
      return %y : tensor<{len(expected)}x{element}>
    }}""")
    wanted = np.array(expected, dtype_named(element))
    np.testing.assert_array_equal(fd.run(module)[0], wanted)
    pytest.importorskip("llvmlite")
    for strategy in ("tvm", "cost"):
        np.testing.assert_array_equal(fd.compile(module, strategy=strategy, cache=False)()[0], wanted)


@pytest.mark.parametrize(
    ("start", "step", "is_whole"),
    [
        *((0.0, 1.0, True), (-7.0, 2.0, True), (9.0, -3.0, True), (2.0**53 - 4, 1.0, True)),
        *((2.0**53, 2.0, False), (0.5, 1.0, False), (0.0, 1.5, False), (0.0, 2.0**51 + 1, False)),
    ],
)
def test_numbers_are_counted_in_integers_where_reals_would_not_round(start, step, is_whole):
    module = fd.parse(f"""func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> {{
      %0 = fuse.arange start = {start}, stop = {start + 4 * step}, step = {step} -> tensor<4xi64>
      %1 = fuse.add %0, %x : tensor<4xi64>
      return %1 : tensor<4xi64>
    }}""")
    x = np.array([0, 1, -5, 3])
    expected = (start + np.arange(4) * step).astype(np.int64) + x
    (function,) = module.ops
    assert ("f64" not in str(lower(function))) == is_whole
    np.testing.assert_array_equal(fd.run(module, x)[0], expected)
    pytest.importorskip("llvmlite")
    np.testing.assert_array_equal(fd.compile(module, cache=False)(x)[0], expected)


def test_arange_gives_the_element_type_of_its_result(apply):
    got = apply(ArangeOp, result="3xui8", stop=3.0)
    assert got.dtype == np.uint8
    assert got.tolist() == [0, 1, 2]


@pytest.mark.parametrize("x", [np.array([[0, 2], [3, 0]]), np.array(5.0), np.array(0.0), np.array([True, False])])
def test_argwhere_lists_the_indices_of_nonzero_elements(apply, x):
    np.testing.assert_array_equal(apply(ArgwhereOp, x), np.argwhere(x))


def test_dynamic_sizes_stay_dynamic(infer):
    assert infer(SortOp, "?x4xf32") == "?x4xf32"
    assert infer(ArgsortOp, "?x4xf32") == "?x4xi64"
    assert infer(TopkOp, "?x?xf32", k=3) == ["?x3xf32", "?x3xi64"]
    assert infer(ScatterNdOp, "?x4xf32", "?x1xi64", "2x?xf32") == "?x4xf32"
    assert infer(ArgwhereOp, "?x4xf32") == "?x2xi64"
    assert infer(ArgwhereOp, "f32") == "?x0xi64"


@pytest.mark.parametrize(
    ("op_class", "types", "properties", "message"),
    [
        (SortOp, ("4xi1",), {}, "expects numbers, got i1"),
        (SortOp, ("f32",), {}, "expects axes in [0, 0) for rank 0, got -1"),
        (ArgsortOp, ("4xf32",), {"axis": 1}, "expects axes in [-1, 1) for rank 1, got 1"),
        (ArgsortOp, ("4xf32",), {"result": "4xi16"}, "expects result 0 of type tensor<4xi64>, got tensor<4xi16>"),
        (ArgsortOp, ("4xf32",), {"result": "5xi32"}, "got 4 and 5 (dimension 0: 4 vs 5)"),
        (TopkOp, ("4xf32",), {"k": 5}, "expects k of at most 4, got 5"),
        (CumsumOp, ("4xf32",), {"axis": 2}, "expects axes in [-1, 1) for rank 1, got 2"),
        (LrnOp, ("1x4xi32",), {}, "expects floating-point elements, got i32"),
        (LrnOp, ("1x4xf32",), {"size": 0}, "expects size of at least 1, got 0"),
        (ScatterNdOp, ("4xf32", "2x1xi64", "2xf64"), {}, "expects operands of one element type, got f32 and f64"),
        (ScatterNdOp, ("4xf32", "2x2xi64", "2xf32"), {}, "expects a last axis of 'indices' in [1, 1], got 2"),
        (ScatterNdOp, ("4xf32", "2x?xi64", "2xf32"), {}, "expects a last axis of 'indices' in [1, 1], got ?"),
        (ScatterNdOp, ("4xf32", "2x1xi64", "3xf32"), {}, "got 2 and 3 (dimension 0: 2 vs 3)"),
        (ScatterNdOp, ("4x4xf32", "2x1xi64", "2xf32"), {}, "expects 'updates' of rank 2, got rank 1 (2)"),
        (ScatterNdOp, ("4xf32", "2x1xf32", "2xf32"), {}, "expects integers in 'indices', got f32"),
        (ScatterNdOp, ("4xf32", "2x1xi64", "2xf32"), {"mode": "none"}, "or 'max', got 'none'"),
        (ScatterNdOp, ("4xi1", "2x1xi64", "2xi1"), {"mode": "add"}, "expects numbers, got i1"),
        (ArangeOp, (), {"stop": 4.0, "result": "5xf32"}, "expects a result of 4 elements, got 5"),
        (ArangeOp, (), {"stop": 4.0, "result": "2x2xf32"}, "expects 'result' of rank 1, got rank 2 (2x2)"),
        (ArangeOp, (), {"stop": 4.0, "step": 0.0, "result": "4xf32"}, "a step other than 0, got 0.0, 4.0, 0.0"),
        (ArangeOp, (), {"stop": float("inf"), "result": "4xf32"}, "expects finite numbers"),
        (ArangeOp, (), {"stop": 4.0}, "needs its result types spelled out: '-> type'"),
    ],
)
def test_opaque_ops_reject(rejects, op_class, types, properties, message):
    assert message in rejects(op_class, *types, **properties)


def test_cost_counts_comparisons_and_updates(build):
    assert cost_of(build(SortOp, "2x8xf32")) == Cost(16 * 3, 128)
    assert cost_of(build(TopkOp, "2x5xf32", k=2)) == Cost(10 * 3, 40 + 16 + 32)
    assert build(CumsumOp, "2x5xf32", axis=0).flops() == 10
    assert build(LrnOp, "1x5xf32", size=3).flops() == 5 * 10
    assert cost_of(build(DropoutOp, "1x5xf32")) == Cost(0, 40)
    assert build(ScatterNdOp, "4xf32", "2x1xi64", "2xf32").flops() == 0
    assert build(ScatterNdOp, "4xf32", "2x1xi64", "2xf32", mode="add").flops() == 2
    assert cost_of(build(ArangeOp, stop=4.0, result="4xf32")) == Cost(8, 16)
    assert build(ArgwhereOp, "2x3xf32").flops() == 6
    assert cost_of(build(ArgwhereOp, "2x3xf32")) is None
    assert build(SortOp, "?x8xf32").flops() is None


def test_narrow_floats_are_sorted_with_nan_in_the_end(build):
    x = np.array([3, np.nan, -1, 2], ml_dtypes.bfloat16)
    (values,) = build(SortOp, "4xbf16").evaluate(x)
    np.testing.assert_array_equal(values.astype(np.float32), np.array([-1, 2, 3, np.nan], np.float32))
    _, places = build(TopkOp, "4xbf16", k=3, is_ascend=True).evaluate(x)
    assert places.tolist() == [2, 3, 0]
