"""Ops of arith and math on tensors as mlir-opt prints them: what they mean, and that they are printed alike."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array

WHOLE = np.array([3, -4, 100, -128], np.int8)
REAL = np.array([1.5, -np.inf, np.nan, 1e-40], np.float32)
TRUTHS = np.array([True, False, True, False])
TYPES = {np.dtype(np.int8): "i8", np.dtype(np.float32): "f32", np.dtype(np.bool_): "i1"}


def run(op: str, result: str, *arrays: Array) -> Array:
    """The value of an op that reads `%0`, `%1` and so on."""
    arguments = ", ".join(f"%{place}: tensor<4x{TYPES[array.dtype]}>" for place, array in enumerate(arrays))
    text = f"func.func @main({arguments}) -> {result} {{\n  %y = {op}\n  return %y : {result}\n}}"
    module = fd.parse(text)
    assert str(fd.parse(str(module))) == str(module)
    (found,) = fd.run(module, *arrays)
    (compiled,) = fd.compile(module, backend="numpy", cache=False)(*arrays)
    np.testing.assert_array_equal(found, compiled)
    return found


@pytest.mark.parametrize(
    ("op", "result", "operands", "meaning"),
    [
        ("arith.sitofp %0 : tensor<4xi8> to tensor<4xf32>", "f32", [WHOLE], lambda x: x.astype(np.float32)),
        ("arith.uitofp %0 nneg : tensor<4xi8> to tensor<4xf32>", "f32", [WHOLE], lambda x: x.view(np.uint8)),
        ("arith.extsi %0 : tensor<4xi8> to tensor<4xi32>", "i32", [WHOLE], lambda x: x.astype(np.int32)),
        ("arith.extui %0 nneg : tensor<4xi8> to tensor<4xi32>", "i32", [WHOLE], lambda x: x.view(np.uint8)),
        ("arith.trunci %0 overflow<nsw> : tensor<4xi8> to tensor<4xi1>", "i1", [WHOLE], lambda x: x & 1 == 1),
        ("arith.index_cast %0 : tensor<4xi8> to tensor<4xindex>", "index", [WHOLE], lambda x: x),
        ("arith.index_castui %0 : tensor<4xi8> to tensor<4xindex>", "index", [WHOLE], lambda x: x.view(np.uint8)),
        ("arith.fptosi %0 : tensor<4xf32> to tensor<4xi32>", "i32", [REAL[:1].repeat(4)], np.trunc),
        ("arith.fptoui %0 : tensor<4xf32> to tensor<4xi32>", "i32", [REAL[:1].repeat(4)], np.trunc),
        (
            "arith.cmpi ult, %0, %1 : tensor<4xi8>",
            "i1",
            [WHOLE, WHOLE[::-1].copy()],
            lambda x, y: x.view("u1") < y.view("u1"),
        ),
        ("arith.cmpf ueq, %0, %1 : tensor<4xf32>", "i1", [REAL, REAL], lambda x, y: np.full(4, True)),
        ("arith.select %0, %1, %2 : tensor<4xi1>, tensor<4xf32>", "f32", [TRUTHS, REAL, -REAL], np.where),
        ("arith.remf %0, %1 : tensor<4xf32>", "f32", [REAL, np.ones(4, np.float32)], np.fmod),
        (
            "math.clampf %0 to [%1, %2] : tensor<4xf32>",
            "f32",
            [REAL, -np.ones(4, np.float32), np.ones(4, np.float32)],
            np.clip,
        ),
        ("math.isfinite %0 : tensor<4xf32>", "i1", [REAL], np.isfinite),
        ("math.isinf %0 : tensor<4xf32>", "i1", [REAL], np.isinf),
        ("math.isnan %0 fastmath<nsz> : tensor<4xf32>", "i1", [REAL], np.isnan),
        ("math.isnormal %0 : tensor<4xf32>", "i1", [REAL], lambda x: np.isfinite(x) & (np.abs(x) > 1e-37)),
    ],
    ids=lambda value: value.partition(" ")[0] if isinstance(value, str) else "",
)
def test_an_op_on_tensors(op: str, result: str, operands: Sequence[Array], meaning: Callable[..., Any]) -> None:
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(run(op, f"tensor<4x{result}>", *operands), meaning(*operands))


def test_what_is_left_of_the_error_function_keeps_its_places() -> None:
    x = np.array([0, 1, 5, 9], np.float32)
    # 1 - erf(x) to 30 places.
    expected = [1, 0.15729920705028513, 1.5374597944280349e-12, 4.137031746513810e-37]
    np.testing.assert_allclose(run("math.erfc %0 : tensor<4xf32>", "tensor<4xf32>", x), expected, rtol=2e-7)


def test_a_quotient_of_the_least_integer_is_rounded_up() -> None:
    x, y = np.array([-128, -128, 127, -7], np.int8), np.array([127, -127, 126, -2], np.int8)
    assert run("arith.ceildivsi %0, %1 : tensor<4xi8>", "tensor<4xi8>", x, y).tolist() == [-1, 2, 2, 4]


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("arith.sitofp %0 : tensor<4xi8> to tensor<5xf32>", "expects a result of the operand's shape"),
        ("arith.sitofp %0 : tensor<4xi8> to f32", "expects a result of the operand's shape"),
        ("arith.extsi %0 : tensor<4xi8> to tensor<4xi8>", "expects a result with more bits than i8"),
        ("arith.trunci %0 : tensor<4xi8> to tensor<4xi32>", "expects a result with fewer bits than i8"),
        ("arith.index_cast %0 : tensor<4xi8> to tensor<4xi32>", "expects to convert from or to an index"),
        ('"arith.cmpi"(%0, %0) {predicate = 3 : i64} : (tensor<4xi8>, tensor<4xi8>) -> i1', "of the operand's shape"),
        (
            '"arith.cmpi"(%0, %0) {predicate = 10 : i64} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi1>',
            "has no comparison 10",
        ),
        ("arith.select %0, %0 : tensor<4xi1>, tensor<4xi8>", "operand types"),
    ],
)
def test_a_bad_op_is_refused(op: str, message: str) -> None:
    with pytest.raises(fd.FuseError, match=message):
        fd.parse(f"func.func @main(%0: tensor<4xi8>) {{\n  %y = {op}\n  return\n}}")
