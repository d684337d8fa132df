"""What TOSA means by NumPy: the pseudocode of its specification, pixel by pixel, and what it says of corner cases."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError

TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "i1": np.bool_}


def type_of(array: Array, element: str = "") -> str:
    name = element or next(name for name, dtype in TYPES.items() if array.dtype == dtype)
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{name}>"


def run(op: str, result: str, *arrays: Array) -> Array:
    """The result of `tosa.<op>` on the arrays."""
    types = [type_of(array) for array in arrays]
    arguments = ", ".join(f"%{number}: {type}" for number, type in enumerate(types))
    name, _, attributes = op.partition(" ")
    operands = ", ".join(f"%{number}" for number in range(len(arrays)))
    text = f"""func.func @main({arguments}) -> {result} {{
      %y = tosa.{name} {operands} {attributes} : ({", ".join(types)}) -> {result}
      return %y : {result}
    }}"""
    module = parse_mlir(text)
    module.verify()
    return run_module(module, arrays)[0]


def scaled(value: int, multiplier: int, shift: int, double_round: bool) -> int:
    """`apply_scale_32` of the specification, in Python's integers."""
    rounding = 1 << (shift - 1)
    if double_round and shift > 31:
        rounding += 1 << 30 if value >= 0 else -(1 << 30)
    return (value * multiplier + rounding) >> shift


@settings(max_examples=50)
@given(
    values=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=5),
    multiplier=st.integers(2**30, 2**31 - 1),
    shift=st.integers(2, 46),
    points=st.tuples(st.just(0), st.integers(-128, 127)),
    mode=st.sampled_from(["SINGLE_ROUND", "DOUBLE_ROUND"]),
)
def test_rescale(values: list[int], multiplier: int, shift: int, points: tuple[int, int], mode: str) -> None:
    given_ = np.array(values, np.int32)
    result = run(
        f"rescale {{scale32 = true, rounding_mode = {mode}, per_channel = false, input_unsigned = false, "
        "output_unsigned = false}",
        f"tensor<{len(values)}xi8>",
        given_,
        np.array([multiplier], np.int32),
        np.array([shift], np.int8),
        np.array([points[0]], np.int32),
        np.array([points[1]], np.int8),
    )
    wanted = [scaled(value, multiplier, shift, mode == "DOUBLE_ROUND") + points[1] for value in values]
    assert result.tolist() == [min(max(value, -128), 127) for value in wanted]


def test_rescale_reads_and_writes_unsigned_integers_by_channel() -> None:
    result = run(
        "rescale {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = true, input_unsigned = true, "
        "output_unsigned = true}",
        "tensor<1x2xi8>",
        np.array([[-1, -1]], np.int8),  # 255
        np.array([1 << 30, 1 << 30], np.int32),
        np.array([30, 31], np.int8),
        np.array([-128], np.int8),  # 128
        np.array([5], np.int8),
    )
    assert result.view(np.uint8).tolist() == [[255 - 128 + 5, 64 + 5]]


def convolved(image: Array, weight: Array, bias: Array, points: tuple[int, int], stride: int, pad: int) -> Array:
    """The definition of `conv2d`, multiplication by multiplication."""
    count, height, width, channels = image.shape
    filters, rows, columns, _ = weight.shape
    out = [(size + 2 * pad - window) // stride + 1 for size, window in ((height, rows), (width, columns))]
    result = np.zeros([count, *out, filters], np.int64)
    for n, y, x, f in np.ndindex(*result.shape):
        total = int(bias[f])
        for ky, kx, c in np.ndindex(rows, columns, channels):
            iy, ix = y * stride - pad + ky, x * stride - pad + kx
            if 0 <= iy < height and 0 <= ix < width:
                total += (int(image[n, iy, ix, c]) - points[0]) * (int(weight[f, ky, kx, c]) - points[1])
        result[n, y, x, f] = total
    return result


@pytest.mark.parametrize(("stride", "pad"), [(1, 0), (1, 1), (2, 1)])
def test_an_integer_convolution_subtracts_zero_points(stride: int, pad: int) -> None:
    random = np.random.default_rng(stride)
    image, weight = random.integers(-128, 128, (2, 5, 6, 3), np.int8), random.integers(-128, 128, (4, 3, 2, 3), np.int8)
    bias = random.integers(-99, 99, 4, np.int32)
    expected = convolved(image, weight, bias, (7, -3), stride, pad)
    points = (np.array([7], np.int8), np.array([-3], np.int8))
    window = f"pad = array<i64: {pad}, {pad}, {pad}, {pad}>, stride = array<i64: {stride}, {stride}>"
    op = f"conv2d {{acc_type = i32, dilation = array<i64: 1, 1>, {window}}}"
    result = run(op, type_of(expected, "i32"), image, weight, bias, *points)
    np.testing.assert_array_equal(result, expected)
    depth = weight[:1].transpose(1, 2, 3, 0)
    by_channel = np.concatenate(
        [
            convolved(image[..., c : c + 1], weight[:1, ..., c : c + 1], bias[c : c + 1], (7, -3), stride, pad)
            for c in range(3)
        ],
        axis=-1,
    )
    op = op.replace("conv2d", "depthwise_conv2d")
    result = run(op, type_of(by_channel, "i32"), image, depth, bias[:3], *points)
    np.testing.assert_array_equal(result, by_channel)


def test_a_transposed_convolution_spreads_pixels() -> None:
    image = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    weight, bias = np.ones((1, 2, 2, 1), np.float32), np.array([10], np.float32)
    op = "transpose_conv2d {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}"
    result = run(op, "tensor<1x4x4x1xf32>", image, weight, bias)
    np.testing.assert_array_equal(result[0, ..., 0], np.kron([[0, 1], [2, 3]], np.ones((2, 2))) + 10)


@pytest.mark.parametrize("dtype", ["i8", "f32"])
def test_an_average_counts_pixels_of_the_image_alone(dtype: str) -> None:
    image = np.arange(16).reshape(1, 4, 4, 1).astype(TYPES[dtype])
    zero = np.array([0], TYPES[dtype])
    window = "kernel = array<i64: 3, 3>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>"
    acc = "i32" if dtype == "i8" else "f32"
    result = run(f"avg_pool2d {{acc_type = {acc}, {window}}}", f"tensor<1x4x4x1x{dtype}>", image, zero, zero)
    for y, x in np.ndindex(4, 4):
        seen = image[0, max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2, 0].astype(np.float64)
        mean = seen.mean()
        assert result[0, y, x, 0] == (np.floor(mean + 0.5) if dtype == "i8" else np.float32(mean))


def test_a_maximum_ignores_what_is_padded() -> None:
    image = -np.arange(1, 5, dtype=np.int8).reshape(1, 2, 2, 1)
    window = "kernel = array<i64: 2, 2>, pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 1, 1>"
    result = run(f"max_pool2d {{{window}}}", "tensor<1x2x2x1xi8>", image)
    assert result[0, ..., 0].tolist() == [[-1, -1], [-1, -1]]


@pytest.mark.parametrize("mode", ["NEAREST_NEIGHBOR", "BILINEAR"])
@pytest.mark.parametrize("dtype", ["i8", "f32"])
def test_resize(mode: str, dtype: str) -> None:
    """The specification's loop over pixels: twice as large, from half a pixel before the image."""
    image = np.array([[0, 10], [20, 40]]).reshape(1, 2, 2, 1).astype(TYPES[dtype])
    unit, step, offset, border = 4, 2, -1, 1
    count = ((2 - 1) * unit - offset + border) // step + 1
    expected = np.zeros((count, count))
    for oy, ox in np.ndindex(count, count):
        (y0, y1, dy), (x0, x1, dx) = (
            (max(place // unit, 0), min(place // unit + 1, 1), place % unit)
            for place in (oy * step + offset, ox * step + offset)
        )
        if mode == "BILINEAR":
            one, other = (
                image[0, row, x0, 0] * float(unit - dx) + image[0, row, x1, 0] * float(dx) for row in (y0, y1)
            )
            expected[oy, ox] = one * (unit - dy) + other * dy
        else:
            expected[oy, ox] = image[0, y1 if 2 * dy >= unit else y0, x1 if 2 * dx >= unit else x0, 0]
    if mode == "BILINEAR" and dtype == "f32":
        expected = expected / unit**2
    element = "i32" if mode == "BILINEAR" and dtype == "i8" else dtype
    numbers = [np.array(each, np.int64) for each in ([unit, step, unit, step], [offset] * 2, [border] * 2)]
    shapes = ", ".join(f"%s{index}" for index in range(3))
    consts = "\n".join(
        f"%s{index} = tosa.const_shape {{values = dense<{each.tolist()}> : tensor<{len(each)}xindex>}} : "
        f"() -> !tosa.shape<{len(each)}>"
        for index, each in enumerate(numbers)
    )
    result = f"tensor<1x{count}x{count}x1x{element}>"
    text = f"""func.func @main(%x: {type_of(image)}) -> {result} {{
      {consts}
      %y = tosa.resize %x, {shapes} {{mode = {mode}}}
        : ({type_of(image)}, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> {result}
      return %y : {result}
    }}"""
    (actual,) = run_module(parse_mlir(text), [image])
    np.testing.assert_array_equal(actual[0, ..., 0], expected)


NAN = np.float32(np.nan)
X = np.array([[1.5, -2.5, NAN], [0.5, 3.0, -np.inf]], np.float32)
I = np.array([[7, -8, 9], [-5, 2**31 - 1, -(2**31)]], np.int32)  # noqa: E741
CASES: list[tuple[str, str, tuple[Array, ...], Callable[[], object]]] = [
    ("cast", "tensor<2x3xi32>", (X,), lambda: [[2, -2, 0], [0, 3, -(2**31)]]),
    ("cast", "tensor<2x3xi8>", (I,), lambda: I.astype(np.int8)),
    ("cast", "tensor<2x3xi1>", (I,), lambda: I != 0),
    ("maximum {nan_mode = IGNORE}", "tensor<2x3xf32>", (X, np.zeros_like(X)), lambda: np.fmax(X, 0)),
    ("maximum {nan_mode = PROPAGATE}", "tensor<2x3xf32>", (X, np.zeros_like(X)), lambda: np.maximum(X, 0)),
    (
        "clamp {min_val = -1.0 : f32, max_val = 2.0 : f32}",
        "tensor<2x3xf32>",
        (X,),
        lambda: [[1.5, -1, NAN], [0.5, 2, -1]],
    ),
    ("intdiv", "tensor<2x3xi32>", (I, np.full_like(I, 2)), lambda: np.trunc(I / 2)),
    ("clz", "tensor<2x3xi32>", (I,), lambda: [[29, 0, 28], [0, 1, 0]]),
    (
        "arithmetic_right_shift {round = true}",
        "tensor<2x3xi32>",
        (I, np.full_like(I, 1)),
        lambda: [[4, -4, 5], [-2, 2**30, -(2**30)]],
    ),
    (
        "logical_right_shift",
        "tensor<2x3xi32>",
        (I, np.full_like(I, 1)),
        lambda: (I.view(np.uint32) >> 1).view(np.int32),
    ),
    ("negate", "tensor<2x3xi32>", (I,), lambda: [[-7, 8, -9], [5, -(2**31) + 1, 2**31 - 1]]),
    ("argmax {axis = 1 : i32, nan_mode = IGNORE}", "tensor<2xi32>", (X,), lambda: [0, 1]),
    ("argmax {axis = 1 : i32, nan_mode = PROPAGATE}", "tensor<2xi32>", (X,), lambda: [2, 1]),
    ("reduce_sum {axis = 0 : i32}", "tensor<1x3xi32>", (I,), lambda: I.sum(0, keepdims=True).astype(np.int32)),
    ("reverse {axis = 1 : i32}", "tensor<2x3xi32>", (I,), lambda: I[:, ::-1]),
    ("transpose {perms = array<i32: 1, 0>}", "tensor<3x2xi32>", (I,), lambda: I.T),
    ("add", "tensor<2x3xi32>", (I, I[:, :1]), lambda: I + I[:, :1]),
    (
        "gather",
        "tensor<1x2x1xi32>",
        (np.array([[[5], [6], [7]]], np.int32), np.array([[2, 0]], np.int32)),
        lambda: [[[7], [5]]],
    ),
    (
        "scatter",
        "tensor<1x3x1xi32>",
        (np.array([[[5], [6], [7]]], np.int32), np.array([[2, 0]], np.int32), np.array([[[1], [2]]], np.int32)),
        lambda: [[[2], [6], [1]]],
    ),
    (
        "table",
        "tensor<3xi8>",
        (np.array([-128, 0, 127], np.int8), np.arange(-128, 128).astype(np.int8)[::-1].copy()),
        lambda: [127, -1, -128],
    ),
    (
        "matmul",
        "tensor<1x1x1xi32>",
        (
            np.array([[[3, 4]]], np.int8),
            np.array([[[5], [6]]], np.int8),
            np.array([1], np.int8),
            np.array([2], np.int8),
        ),
        lambda: [[[2 * 3 + 3 * 4]]],
    ),
]


@pytest.mark.parametrize(("op", "result", "arrays", "expected"), CASES, ids=[case[0] for case in CASES])
def test_an_op_is_what_the_specification_says(
    op: str, result: str, arrays: tuple[Array, ...], expected: Callable[[], object]
) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(op, result, *arrays), np.asarray(expected()))


@pytest.mark.parametrize(
    ("op", "result", "arrays", "message"),
    [
        (
            "gather",
            "tensor<1x1x1xi32>",
            (np.zeros((1, 3, 1), np.int32), np.array([[3]], np.int32)),
            "'tosa.gather' op cannot be run: index 3 is outside axis 1 of size 3",
        ),
        ("reverse {axis = 2 : i32}", "tensor<2x3xi32>", (I,), "'tosa.reverse' op cannot be run: axis 2 is not among"),
        ("concat {axis = 0 : i32}", "tensor<4x3xi32>", (I, I[:, :2]), "'tosa.concat' op cannot be run: "),
        ('custom {domain_name = "d"}', "tensor<2x3xi32>", (I,), "'tosa.custom' op has no meaning"),
        ("add", "tensor<2x2xi32>", (I, I), "'tosa.add' op result 0 expects a value of type tensor<2x2xi32>"),
    ],
)
def test_a_bad_op_is_named(op: str, result: str, arrays: tuple[Array, ...], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        run(op, result, *arrays)


def test_a_loop_without_an_end_is_stopped() -> None:
    text = """func.func @main(%x: tensor<i1>) -> tensor<i1> {
      %y = tosa.while_loop (%a = %x) : (tensor<i1>) -> tensor<i1> {
        tosa.yield %a : tensor<i1>
      } do {
      ^bb0(%a: tensor<i1>):
        tosa.yield %a : tensor<i1>
      }
      return %y : tensor<i1>
    }"""
    assert not run_module(parse_mlir(text), [np.array(False)])[0]
    with pytest.raises(EvaluationError, match=r"'tosa.while_loop' op runs too long: no more ops may be run"):
        run_module(parse_mlir(text), [np.array(True)])


def test_a_branch_takes_inputs() -> None:
    text = """func.func @main(%c: tensor<i1>, %x: tensor<2xi32>) -> tensor<2xi32> {
      %y = tosa.cond_if %c (%a = %x) : tensor<i1> (tensor<2xi32>) -> tensor<2xi32> {
      ^bb0(%a: tensor<2xi32>):
        %s = tosa.add %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
        tosa.yield %s : tensor<2xi32>
      } else {
      ^bb0(%a: tensor<2xi32>):
        tosa.yield %a : tensor<2xi32>
      }
      return %y : tensor<2xi32>
    }"""
    module = parse_mlir(text)
    again = parse_mlir(str(module))
    assert again.is_structurally_equivalent(module)
    for condition in (True, False):
        (result,) = run_module(again, [np.array(condition), np.array([1, 2], np.int32)])
        assert result.tolist() == ([2, 4] if condition else [1, 2])


def test_a_branch_as_older_versions_print_it_is_read() -> None:
    text = """func.func @main(%c: tensor<i1>, %x: tensor<2xi32>) -> tensor<2xi32> {
      %y = tosa.cond_if %c -> (tensor<2xi32>) {
        %n = tosa.abs %x : (tensor<2xi32>) -> tensor<2xi32>
        tosa.yield %n : tensor<2xi32>
      } else {
        tosa.yield %x : tensor<2xi32>
      }
      return %y : tensor<2xi32>
    }"""
    module = parse_mlir(text)
    assert run_module(module, [np.array(True), np.array([-1, 2], np.int32)])[0].tolist() == [1, 2]
    assert run_module(module, [np.array(False), np.array([-1, 2], np.int32)])[0].tolist() == [-1, 2]
