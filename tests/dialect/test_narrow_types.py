"""Types of 8 bits and less: constants, casts, and that no loops compute with them."""

import ml_dtypes
import numpy as np
import pytest

from fuse_dialect.api import compile as compile_module
from fuse_dialect.api import parse, read, run, write
from fuse_dialect.dialect.constants import constant_array, constant_attribute
from fuse_dialect.dialect.types import element_dtype, element_type_of
from fuse_dialect.loops.program import Refusal
from fuse_dialect.lowering.loop_program import lower

NAMES = {
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float6_e2m3fn": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN",
    "float4_e2m1fn": "f4E2M1FN",
    "int4": "i4",
    "uint4": "ui4",
    "int2": "i2",
    "uint2": "ui2",
}
NUMBERS = {"int4": [-8, -1, 0, 7], "uint4": [0, 15, 3, 4], "int2": [-2, -1, 0, 1], "uint2": [0, 3, 1, 2]}

names = pytest.mark.parametrize("name", NAMES)


def numbers(name: str):
    values = NUMBERS.get(name, [1.0, 2.0, 4.0, 0.5] if "e8m0" in name else [-1.0, 0.0, 1.5, 4.0])
    return np.array(values).astype(getattr(ml_dtypes, name))


@names
def test_element_type_and_dtype_are_each_others_inverse(name):
    element = element_type_of(np.dtype(getattr(ml_dtypes, name)))
    assert str(element) == NAMES[name]
    assert element_dtype(element) == np.dtype(getattr(ml_dtypes, name))


@names
def test_constants_keep_their_numbers_in_attributes_and_text(name):
    x = numbers(name)
    assert constant_array(constant_attribute(x)).tobytes() == x.tobytes()
    module = parse(f"""
        func.func @main() -> tensor<4x{NAMES[name]}> {{
          %c = arith.constant {constant_attribute(x)}
          func.return %c : tensor<4x{NAMES[name]}>
        }}""")
    (read,) = run(parse(str(module)))
    assert read.dtype == x.dtype
    assert read.tobytes() == x.tobytes()
    splat = np.broadcast_to(x[0], (3, 2))
    assert constant_array(constant_attribute(splat)).tobytes() == np.ascontiguousarray(splat).tobytes()


CAST = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {{
  %n = fuse.cast %x : (tensor<?xf32>) -> tensor<?x{0}>
  %r = fuse.reshape %n : tensor<?x{0}>
  %y = fuse.cast %r : (tensor<?x{0}>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}}"""


@names
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_numbers_that_a_type_holds_come_back(name, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    x = numbers(name).astype(np.float32)
    program = compile_module(parse(CAST.format(NAMES[name])), backend, cache=False)
    np.testing.assert_array_equal(program(x)[0], x)
    np.testing.assert_array_equal(run(parse(CAST.format(NAMES[name])), x)[0], x)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("int4", [7, -8, 0, 7, -8, 7, -8, 0]),
        ("uint4", [15, 0, 0, 15, 0, 8, 0, 0]),
        ("int2", [1, -2, 0, 1, -2, 1, -2, 0]),
        ("uint2", [3, 0, 0, 3, 0, 3, 0, 0]),
    ],
)
@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
def test_reals_out_of_range_become_the_nearest_number(name, expected, type_):
    x = np.array([np.inf, -np.inf, np.nan, 300, -300, 8.5, -9.5, -0.9]).astype(f"f{int(type_[1:]) // 8}")
    narrow = f"tensor<8x{NAMES[name]}>"
    text = f"""func.func @main(%x: tensor<8x{type_}>) -> {narrow} {{
      %y = fuse.cast %x : (tensor<8x{type_}>) -> {narrow}
      func.return %y : {narrow}
    }}"""
    (result,) = run(parse(text), x)
    np.testing.assert_array_equal(result.astype(np.int64), expected)


@names
def test_loops_are_refused_with_the_type(name):
    (function,) = parse(CAST.format(NAMES[name])).ops
    refusal = lower(function)
    assert isinstance(refusal, Refusal)
    assert f"elements of type {NAMES[name]}, which no loops compute with" in refusal.reason


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_onnx_keeps_the_lowest_bits_and_is_written_what_saturates(name, tmp_path):
    parser = pytest.importorskip("onnx.parser")
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx_ir")
    kind = {"int4": 22, "uint4": 21}[name]
    body = f"n = Cast<to={kind}>(x) y = Cast<to=1>(n)"
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> g (float[5] x) => (float[5] y) {{ {body} }}')
    from fuse_dialect.frontends.onnx.reader import import_model

    x = np.array([-9.5, 17.9, 3.5, 100, -1], np.float32)
    (result,) = run(import_model(model), x)
    np.testing.assert_array_equal(result, x.astype(np.int64).astype(getattr(ml_dtypes, name)).astype(np.float32))
    lines = [line.replace("%r", "%n") for line in CAST.splitlines() if "reshape" not in line]
    module = parse("\n".join(lines).format(NAMES[name]).replace("?", "5"))
    path = tmp_path / "cast.onnx"
    write(module, path)
    (expected,) = run(module, x)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {session.get_inputs()[0].name: x})[0], expected)
    np.testing.assert_array_equal(run(read(path), x)[0], expected)
