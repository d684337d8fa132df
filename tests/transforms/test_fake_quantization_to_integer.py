"""Products on integers mean what the formulas of quantized numbers mean, within one step; kernels match to the bit."""

import numpy as np
import pytest
from quantized_text import Writer
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.transforms.compile_prefix import compile_prefix
from fuse_dialect.transforms.fake_quantization_to_integer import FakeQuantizationToIntegerPass


def random_network(seed: int) -> tuple[str, Array]:
    """Numbers that are quantized, moved maybe, multiplied by weights, with a bias maybe, and quantized again."""
    random = np.random.default_rng(seed)
    w = Writer(random)
    element = ("i8", "ui8")[int(random.integers(2))]
    low = -128 if element == "i8" else 0
    zeros = [int(low + random.integers(256)) for _ in range(2)]
    is_image = bool(random.integers(2))
    k, n = int(random.choice([3, 4, 8, 20])), int(random.choice([1, 5, 16, 33]))
    shape = f"2x{k}x6x7x" if is_image else f"9x{k}x"
    q = w.quantized("%x", shape, zeros[0], 0.02, element)
    if is_image and random.integers(2):
        pooled = w.op(
            "max_pool2d", (w.reals(q, shape, zeros[0], 0.02, element),), (f"tensor<{shape}f32>",),
            f"tensor<2x{k}x5x6xf32>", ", pool_size = [2, 2]",
        )  # fmt: skip
        source, shape = shape, f"2x{k}x5x6x"
        q = w.quantized(pooled, shape, zeros[0], 0.02, element)
    else:
        source = shape
    x = w.reals(q, shape, zeros[0], 0.02, element)
    taps = (3, 3) if is_image else ()
    v = random.integers(-127, 128, (n, k, *taps)).astype(np.int8)
    scale = random.uniform(0.001, 0.01, n if random.integers(2) else 1).astype(np.float32)
    scale = np.broadcast_to(scale, (n,)).copy()
    weights = w.weights(v, scale)
    types = (f"tensor<{shape}f32>", f"tensor<{''.join(f'{size}x' for size in v.shape)}f32>")
    result = f"2x{n}x{shape.split('x', 2)[2]}" if is_image else f"9x{n}x"
    if is_image:
        y = w.op("conv2d", (x, weights), types, f"tensor<{result}f32>", ", padding = [1, 1, 1, 1]")
    else:
        y = w.op("dense", (x, weights), types, f"tensor<{result}f32>")
    if random.integers(2):
        units = random.integers(-5000, 5000, n).astype(np.float32)
        is_multiple = random.integers(2)
        bias = units * (np.float32(0.02) * scale) if is_multiple else units * np.float32(0.000123)
        b = w.constant(bias.astype(np.float32), f"tensor<{n}xf32>")
        y = w.op("bias_add", (y, b), (f"tensor<{result}f32>", f"tensor<{n}xf32>"), f"tensor<{result}f32>")
    last = w.quantized(y, result, zeros[1], 0.05, element)
    image = random.standard_normal([int(size) for size in source.split("x")[:-1]]).astype(np.float32)
    return w.module(f"tensor<{source}f32>", f"tensor<{result}{element}>", last), image


def on_integers(text: str) -> ModuleOp:
    module = fd.parse(text)
    FakeQuantizationToIntegerPass().apply(Context(), module)
    module.verify()
    return module


@pytest.mark.parametrize("seed", range(60))
def test_results_are_within_one_step(seed: int) -> None:
    text, x = random_network(seed)
    module = on_integers(text)
    assert 'out_dtype = "i32"' in str(module)
    got, expected = (fd.run(each, x)[0].astype(np.int32) for each in (module, fd.parse(text)))
    assert np.abs(got - expected).max() <= 1
    assert (got != expected).mean() < 0.01


@pytest.mark.parametrize("seed", range(60))
def test_kernels_give_the_same_bits(seed: int) -> None:
    pytest.importorskip("llvmlite")
    text, x = random_network(seed)
    module = fd.parse(text)
    for each in compile_prefix("NHWC"):
        each.apply(Context(), module)
    expected = fd.run(module, x)[0]
    np.testing.assert_array_equal(fd.compile(fd.parse(text), cache=False)(x)[0], expected)


def test_sums_that_could_leave_32_bits_stay_real() -> None:
    w = Writer(np.random.default_rng(0))
    shape = "1x40000x"
    x = w.reals(w.quantized("%x", shape, 0, 0.1), shape, 0, 0.1)
    y = w.weights(np.ones((1, 40000), np.int8), np.ones(1, np.float32))
    value = w.op("dense", (x, y), (f"tensor<{shape}f32>", f"tensor<{shape}f32>"), "tensor<1x1xf32>")
    text = w.module(f"tensor<{shape}f32>", "tensor<1x1xf32>", value)
    assert "out_dtype" not in str(on_integers(text))


def test_signs_come_back_for_who_returns_them() -> None:
    w = Writer(np.random.default_rng(0))
    text = w.module("tensor<4x4xf32>", "tensor<4x4xi8>", w.quantized("%x", "4x4x", 3, 0.1))
    module = on_integers(text)
    assert "ui8" in str(module)
    x = np.linspace(-20, 20, 16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(fd.run(module, x)[0], fd.run(fd.parse(text), x)[0])


OPERATORS = """func.func @main(%q: tensor<2x4x5x5xui8>, %other: tensor<2x4x5x5xi8>) -> tensor<2x3x5x5xi32> {
  %v = arith.constant dense<WEIGHTS> : tensor<4x4x3x3xi8>
  %zero = arith.constant dense<7> : tensor<i32>
  %wide = fuse.cast %q : (tensor<2x4x5x5xui8>) -> tensor<2x4x5x5xi32>
  %of_v = fuse.cast %v : (tensor<4x4x3x3xi8>) -> tensor<4x4x3x3xi32>
  %sums = fuse.conv2d %wide, %of_v, padding = [1, 1, 1, 1]
      : (tensor<2x4x5x5xi32>, tensor<4x4x3x3xi32>) -> tensor<2x4x5x5xi32>
  %real = fuse.cast %sums : (tensor<2x4x5x5xi32>) -> tensor<2x4x5x5xf32>
  %scale = arith.constant dense<0.002> : tensor<f32>
  %scaled = fuse.multiply %real, %scale : (tensor<2x4x5x5xf32>, tensor<f32>) -> tensor<2x4x5x5xf32>
  %whole = fuse.round %scaled : tensor<2x4x5x5xf32>
  %by = arith.constant dense<-9.0> : tensor<f32>
  %moved = fuse.add %whole, %by : (tensor<2x4x5x5xf32>, tensor<f32>) -> tensor<2x4x5x5xf32>
  %bounded = fuse.clip %moved, min = -128.0, max = 127.0 : tensor<2x4x5x5xf32>
  %byte = fuse.cast %bounded : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xi8>
  %one = fuse.cast %byte : (tensor<2x4x5x5xi8>) -> tensor<2x4x5x5xf32>
  %two = fuse.cast %other : (tensor<2x4x5x5xi8>) -> tensor<2x4x5x5xf32>
  %half = arith.constant dense<0.47> : tensor<f32>
  %of_one = fuse.multiply %one, %half : (tensor<2x4x5x5xf32>, tensor<f32>) -> tensor<2x4x5x5xf32>
  %of_two = fuse.multiply %two, %half : (tensor<2x4x5x5xf32>, tensor<f32>) -> tensor<2x4x5x5xf32>
  %both = fuse.add %of_one, %of_two : tensor<2x4x5x5xf32>
  %rounded = fuse.round %both : tensor<2x4x5x5xf32>
  %within = fuse.clip %rounded, min = -128.0, max = 127.0 : tensor<2x4x5x5xf32>
  %sum = fuse.cast %within : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xi8>
  %w = arith.constant dense<LAST> : tensor<3x4x1x1xi8>
  %of_w = fuse.cast %w : (tensor<3x4x1x1xi8>) -> tensor<3x4x1x1xi32>
  %wide_sum = fuse.cast %sum : (tensor<2x4x5x5xi8>) -> tensor<2x4x5x5xi32>
  %x = fuse.subtract %wide_sum, %zero : (tensor<2x4x5x5xi32>, tensor<i32>) -> tensor<2x4x5x5xi32>
  %y = fuse.conv2d %x, %of_w : (tensor<2x4x5x5xi32>, tensor<3x4x1x1xi32>) -> tensor<2x3x5x5xi32>
  func.return %y : tensor<2x3x5x5xi32>
}"""


def test_operators_on_integers_with_a_sign_lose_it_and_keep_their_bits() -> None:
    """QLinearConv and QLinearAdd scale before they round: no quotient is in sight."""
    random = np.random.default_rng(0)
    weights = [random.integers(-128, 128, shape, np.int8) for shape in ((4, 4, 3, 3), (3, 4, 1, 1))]
    text = OPERATORS.replace("WEIGHTS", str(weights[0].tolist())).replace("LAST", str(weights[1].tolist()))
    module = on_integers(text)
    assert str(module).count('out_dtype = "i32"') == 2
    assert str(module).count("fuse.isnan") == 0
    inputs = random.integers(0, 256, (2, 4, 5, 5), np.uint8), random.integers(-128, 128, (2, 4, 5, 5), np.int8)
    expected = fd.run(fd.parse(text), *inputs)[0]
    np.testing.assert_array_equal(fd.run(module, *inputs)[0], expected)
    pytest.importorskip("llvmlite")
    for target in (None, "haswell"):
        np.testing.assert_array_equal(fd.compile(fd.parse(text), cache=False, target_cpu=target)(*inputs)[0], expected)


NOT_NUMBERS = np.array([np.nan, np.inf, -np.inf, -np.nan, 1.05, -1.05, 3e38, 0.25], np.float32)


@pytest.mark.parametrize("element", ["i8", "ui8"])
@pytest.mark.parametrize("zero", [0, 5, 127])
def test_nan_becomes_what_it_was(element: str, zero: int) -> None:
    w = Writer(np.random.default_rng(0))
    text = w.module("tensor<8xf32>", f"tensor<8x{element}>", w.quantized("%x", "8x", zero, 0.1, element))
    expected = fd.run(fd.parse(text), NOT_NUMBERS)[0]
    np.testing.assert_array_equal(fd.run(on_integers(text), NOT_NUMBERS)[0], expected)
    pytest.importorskip("llvmlite")
    np.testing.assert_array_equal(fd.compile(fd.parse(text), cache=False)(NOT_NUMBERS)[0], expected)


def test_quantized_numbers_are_not_asked_whether_they_are_nan() -> None:
    """The argument of a network may be nan, what follows from its integers cannot."""
    for seed in range(60):
        text = str(on_integers(random_network(seed)[0]))
        assert text.count("fuse.isnan") <= 1


INTEGERS = """func.func @main(%q: tensor<3x8xui8>, %z: tensor<ui8>) -> tensor<3x5xi32> {
  %v = arith.constant dense<WEIGHTS> : tensor<8x5xi8>
  %x = fuse.cast %q : (tensor<3x8xui8>) -> tensor<3x8xi32>
  %y = fuse.cast %z : (tensor<ui8>) -> tensor<i32>
  %d = fuse.subtract %x, %y : (tensor<3x8xi32>, tensor<i32>) -> tensor<3x8xi32>
  %w = fuse.cast %v : (tensor<8x5xi8>) -> tensor<8x5xi32>
  %r = fuse.matmul %d, %w : (tensor<3x8xi32>, tensor<8x5xi32>) -> tensor<3x5xi32>
  return %r : tensor<3x5xi32>
}"""


def test_a_zero_point_that_is_computed_is_exact() -> None:
    random = np.random.default_rng(1)
    text = INTEGERS.replace("WEIGHTS", str(random.integers(-128, 128, (8, 5)).tolist()))
    module = on_integers(text)
    assert "fuse.dense" in str(module)
    q, z = random.integers(0, 256, (3, 8)).astype(np.uint8), np.array(201, np.uint8)
    np.testing.assert_array_equal(fd.run(module, q, z)[0], fd.run(fd.parse(text), q, z)[0])


IMAGE = """func.func @main(%q: tensor<1x3x6x5xui8>, %z: tensor<ui8>) -> tensor<1x5x4x5xi32> {
  %v = arith.constant dense<WEIGHTS> : tensor<5x3x3x3xi8>
  %x = fuse.cast %q : (tensor<1x3x6x5xui8>) -> tensor<1x3x6x5xi32>
  %y = fuse.cast %z : (tensor<ui8>) -> tensor<i32>
  %d = fuse.subtract %x, %y : (tensor<1x3x6x5xi32>, tensor<i32>) -> tensor<1x3x6x5xi32>
  %w = fuse.cast %v : (tensor<5x3x3x3xi8>) -> tensor<5x3x3x3xi32>
  %r = fuse.conv2d %d, %w, padding = [2, 1, 1, 1], strides = [2, 1] : (tensor<1x3x6x5xi32>, tensor<5x3x3x3xi32>) -> tensor<1x5x4x5xi32>
  return %r : tensor<1x5x4x5xi32>
}"""  # noqa: E501


def test_an_image_gets_the_zero_point_that_is_computed_around_it() -> None:
    random = np.random.default_rng(1)
    text = IMAGE.replace("WEIGHTS", str(random.integers(-128, 128, (5, 3, 3, 3)).tolist()))
    module = on_integers(text)
    assert "out_dtype" in str(module)
    q, z = random.integers(0, 256, (1, 3, 6, 5)).astype(np.uint8), np.array(201, np.uint8)
    expected = fd.run(fd.parse(text), q, z)[0]
    np.testing.assert_array_equal(fd.run(module, q, z)[0], expected)
    pytest.importorskip("llvmlite")
    np.testing.assert_array_equal(fd.compile(fd.parse(text), cache=False)(q, z)[0], expected)


SPLIT = """func.func @main(%x: tensor<2x12x5xf32>) -> (tensor<2x12x7xi32>, tensor<2x12x2xf32>) {
  %z = arith.constant dense<-9.0> : tensor<f32>
  %r = fuse.round %x : tensor<2x12x5xf32>
  %a = fuse.add %r, %z : (tensor<2x12x5xf32>, tensor<f32>) -> tensor<2x12x5xf32>
  %c = fuse.clip %a, min = -128.0, max = 127.0 : tensor<2x12x5xf32>
  %q = fuse.cast %c : (tensor<2x12x5xf32>) -> tensor<2x12x5xi8>
  %one, %other = fuse.split %q, axis = 2, sizes = [3, 2] : (tensor<2x12x5xi8>) -> (tensor<2x12x3xi8>, tensor<2x12x2xi8>)
  %i = fuse.cast %one : (tensor<2x12x3xi8>) -> tensor<2x12x3xi32>
  %n = arith.constant dense<-9> : tensor<i32>
  %d = fuse.subtract %i, %n : (tensor<2x12x3xi32>, tensor<i32>) -> tensor<2x12x3xi32>
  %v = arith.constant dense<WEIGHTS> : tensor<7x3xi8>
  %w = fuse.cast %v : (tensor<7x3xi8>) -> tensor<7x3xi32>
  %y = fuse.dense %d, %w : (tensor<2x12x3xi32>, tensor<7x3xi32>) -> tensor<2x12x7xi32>
  %f = fuse.cast %other : (tensor<2x12x2xi8>) -> tensor<2x12x2xf32>
  return %y, %f : tensor<2x12x7xi32>, tensor<2x12x2xf32>
}"""


def test_pieces_of_integers_with_a_sign_lose_it_and_are_multiplied_as_integers() -> None:
    random = np.random.default_rng(2)
    text = SPLIT.replace("WEIGHTS", str(random.integers(-128, 128, (7, 3)).tolist()))
    module = on_integers(text)
    assert 'out_dtype = "i32"' in str(module)
    assert "tensor<2x12x3xui8>, tensor<2x12x2xui8>" in str(module)
    x = random.uniform(-200, 200, (2, 12, 5)).astype(np.float32)
    for got, expected in zip(fd.run(module, x), fd.run(fd.parse(text), x), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_pieces_of_reals_that_are_quantized_alike_are_pieces_of_integers() -> None:
    w = Writer(np.random.default_rng(3))
    q = w.quantized("%x", "4x6x", 100, 0.02, "ui8")
    real = w.reals(q, "4x6x", 100, 0.02, "ui8")
    w.lines.append(
        f"%one, %other = fuse.split {real}, axis = 1, sizes = [2, 4] : "
        "(tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>)"
    )
    last = w.quantized("%other", "4x4x", 100, 0.02, "ui8")
    text = w.module("tensor<4x6xf32>", "tensor<4x4xui8>", last)
    module = on_integers(text)
    assert str(module).count("fuse.round") == 1
    x = np.random.default_rng(4).uniform(-3, 3, (4, 6)).astype(np.float32)
    np.testing.assert_array_equal(fd.run(module, x)[0], fd.run(fd.parse(text), x)[0])
