"""Quantized StableHLO computes what its specification says, on NumPy and natively."""

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass
from fuse_dialect.frontends.stablehlo.rules.quantized import Quantization, quantization_of

Q = "!quant.uniform<i8:f32, 0.5:-3>"
PER_ROW = "!quant.uniform<i8:f32:0, {0.5:1, 0.25}>"
F32 = np.float32


def results(body: str, x: npt.NDArray[F32], result: str) -> tuple[np.ndarray, np.ndarray]:
    """What a program of `%x: tensor<2x3xf32>` gives on NumPy and natively."""
    text = f"func.func @main(%x: tensor<2x3xf32>) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    (plain,) = fd.run(fd.parse(text), x)
    (native,) = fd.compile(fd.parse(text), cache=False)(x)
    return plain, native


def quantized(x: npt.NDArray[F32], scale: float | npt.NDArray[F32], zero: float | npt.NDArray[F32]) -> np.ndarray:
    """The integers of i8 for real numbers."""
    return np.rint(np.clip(x / F32(scale) + F32(zero), -128, 127)).astype(np.int8)


def rows(*numbers: float) -> npt.NDArray[F32]:
    return np.array(numbers, F32)[:, None]


X = np.array([[0.25, -1.75, 300.0], [np.inf, -0.1, 7.0]], F32)


@pytest.mark.parametrize(
    ("type", "scale", "zero"), [(Q, F32(0.5), F32(-3)), (PER_ROW, rows(0.5, 0.25), rows(1, 0))], ids=["all", "rows"]
)
def test_numbers_are_quantized_and_back(type: str, scale: npt.NDArray[F32], zero: npt.NDArray[F32]) -> None:
    expected = quantized(X, scale, zero)
    head = f"%q = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x{type}>"
    bits = f"%r = stablehlo.bitcast_convert %q : (tensor<2x3x{type}>) -> tensor<2x3xi8>"
    real = f"%r = stablehlo.uniform_dequantize %q : (tensor<2x3x{type}>) -> tensor<2x3xf32>"
    for found in results(f"{head}\n{bits}", X, "tensor<2x3xi8>"):
        np.testing.assert_array_equal(found, expected)
    for found in results(f"{head}\n{real}", X, "tensor<2x3xf32>"):
        np.testing.assert_array_equal(found, (expected.astype(F32) - zero) * scale)


def test_ops_compute_on_real_numbers() -> None:
    wide = "!quant.uniform<i8:f32, 1.0:5>"
    body = f"""
      %q = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x{Q}>
      %s = stablehlo.add %q, %q : (tensor<2x3x{Q}>, tensor<2x3x{Q}>) -> tensor<2x3x{wide}>
      %t = stablehlo.transpose %s, dims = [1, 0] : (tensor<2x3x{wide}>) -> tensor<3x2x{wide}>
      %n = stablehlo.uniform_quantize %t : (tensor<3x2x{wide}>) -> tensor<3x2x{Q}>
      %r = stablehlo.bitcast_convert %n : (tensor<3x2x{Q}>) -> tensor<3x2xi8>"""
    real = (quantized(X, 0.5, -3).astype(F32) + 3) * F32(0.5)
    total = (quantized(real + real, 1.0, 5).astype(F32) - 5) * F32(1.0)
    for found in results(body, X, "tensor<3x2xi8>"):
        np.testing.assert_array_equal(found, quantized(total, 0.5, -3).T)


def test_constants_are_integers() -> None:
    body = f"""
      %q = stablehlo.constant() <{{value = dense<[[1, -2, 3], [4, 5, 6]]> : tensor<2x3xi8>}}> : () -> tensor<2x3x{Q}>
      %d = stablehlo.uniform_dequantize %q : (tensor<2x3x{Q}>) -> tensor<2x3xf32>
      %r = stablehlo.add %d, %x : tensor<2x3xf32>"""
    for found in results(body, np.ones((2, 3), F32), "tensor<2x3xf32>"):
        np.testing.assert_array_equal(found, np.array([[3.0, 1.5, 4.0], [4.5, 5.0, 5.5]], F32))


def test_large_numbers_stay_in_the_integers() -> None:
    wide = "!quant.uniform<i32:f32, 1.0>"
    body = f"""
      %q = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x{wide}>
      %r = stablehlo.bitcast_convert %q : (tensor<2x3x{wide}>) -> tensor<2x3xi32>"""
    for found in results(body, np.full((2, 3), 3e9, F32), "tensor<2x3xi32>"):
        np.testing.assert_array_equal(found, np.full((2, 3), 2147483520))


def of(text: str) -> Quantization | None:
    """What is read in a type."""
    module = parse_mlir(f"func.func private @f(tensor<2x{text}>)")
    type = next(op for op in module.ops).properties["function_type"].inputs.data[0]  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(type, TensorType)
    return quantization_of(type)


def test_types_say_their_integers() -> None:
    narrow = of("!quant.uniform<i8<-127:127>:f32, 2.0e-1:3>")
    assert narrow is not None
    assert (narrow.low, narrow.high, narrow.scales, narrow.zero_points, narrow.axis) == (-127, 127, (0.2,), (3,), None)
    unsigned = of("!quant.uniform<u8:f16:0, {0.5, 0.25:128}>")
    assert unsigned is not None
    assert (unsigned.low, unsigned.high, unsigned.integer) == (0, 255, IntegerType(8, Signedness.UNSIGNED))
    assert (unsigned.scales, unsigned.zero_points, unsigned.axis) == ((0.5, 0.25), (0, 128), 0)


@pytest.mark.parametrize(
    "text",
    [
        *("<i8:f32:{0:2}, {1.0, 2.0}>", "<i8:f8E5M2, 1.0>", "<i8:f32:0, 1.0>", "<i8:f32, x>", "<i8>"),
        *("<i64:f32, 1.0>", "<i99999:f32, 1.0>", "<i8:f32:1, {1.0, 2.0}>", "<i8:f32:0, {1.0, 2.0, 3.0}>"),
    ],
)
def test_other_types_are_not_read(text: str) -> None:
    assert of(f"!quant.uniform{text}") is None


@pytest.mark.parametrize(
    ("argument", "body"),
    [
        (f"tensor<3x{Q}>", f"%r = stablehlo.uniform_dequantize %x : (tensor<3x{Q}>) -> tensor<3xf32>"),
        ("tensor<3xf32>", f"%q = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x{Q}>\n"
         f"%r = stablehlo.custom_call @f(%q) : (tensor<3x{Q}>) -> tensor<3xf32>"),
    ],
    ids=["argument", "call"],
)  # fmt: skip
def test_types_that_others_see_stay(argument: str, body: str) -> None:
    module = fd.parse(f"func.func @main(%x: {argument}) -> tensor<3xf32> {{\n{body}\nreturn %r : tensor<3xf32>\n}}")
    before = str(module)
    ConvertStableHLOToFusePass().apply(Context(), module)
    assert str(module) == before
    with pytest.raises(OpError, match="has no equal among the 'fuse' ops"):
        ConvertStableHLOToFusePass(strict=True).apply(Context(), module)
