"""Programs of linalg, tensor and TOSA as MLIR's tools print them give the same before and after fusion."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import layout_of
from fuse_dialect.transforms.runnable import make_runnable

PRINTED = Path(__file__).parents[1] / "data" / "mlir" / "printed"
FILES = sorted(str(path.relative_to(PRINTED)) for path in PRINTED.rglob("*.mlir") if path.name != "util.mlir")
FORMS = {
    "tvm": FuseOpsPass(),
    "cost": FuseOpsPass(strategy="cost"),
    "inline": FuseOpsPass(form="inline"),
}
REFUSED = {"scatter", "shapes"}
"""Functions that no such inputs fit: an index may be there once; a slice reaches out of its tensor."""
INDICES = {"small": 1}
"""Arguments that are indices, by function; 4 in others, as sizes that are open."""


def inputs_of(function: func.FuncOp) -> list[Array]:
    """Random inputs; integers are small, since some are places."""
    random = np.random.default_rng(0)
    arrays: list[Array] = []
    for type in function.function_type.inputs:
        layout = layout_of(type)
        assert layout is not None
        shape, dtype = [4 if size == DYNAMIC else size for size in layout[0]], layout[1]
        is_float = dtype.kind == "f"
        arrays.append((random.standard_normal(shape) if is_float else random.integers(0, 2, shape)).astype(dtype))
    return [
        np.array(INDICES.get(function.sym_name.data, 4)) if isinstance(type, IndexType) else array
        for type, array in zip(function.function_type.inputs, arrays, strict=True)
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FILES)
def test_fusion_keeps_what_a_printed_program_means(name: str, form: str) -> None:
    module = fd.read(PRINTED / name)
    fused = module.clone()
    FORMS[form].apply(Context(), fused)
    make_runnable(fused)
    fused.verify()
    for function in [op for op in module.ops if isinstance(op, func.FuncOp)]:
        entry = function.sym_name.data
        if entry in REFUSED:
            continue
        arrays = inputs_of(function)
        expected = run_module(module, arrays, entry)
        for one, other in zip(run_module(fused, arrays, entry), expected, strict=True):
            np.testing.assert_array_equal(one, other)


LINALG_WITH_NUMBERS = """func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %zero = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %n = tensor.dim %x, %zero : tensor<?x8xf32>
  %empty = tensor.empty(%n) : tensor<?x8xf32>
  %start = linalg.fill ins(%two : f32) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = linalg.add ins(%x, %start : tensor<?x8xf32>, tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}"""


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_programs_with_numbers_that_are_no_tensors_compile(backend: str) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    (found,) = fd.compile(fd.parse(LINALG_WITH_NUMBERS), backend=backend, cache=False)(x)
    np.testing.assert_array_equal(found, x + 2)


REGIONS = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %one = "tosa.const"() {values = dense<1> : tensor<i32>} : () -> tensor<i32>
  %zero = "tosa.const"() {values = dense<0> : tensor<i32>} : () -> tensor<i32>
  %more = tosa.greater %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %first = tosa.cond_if %more : tensor<i1> -> tensor<4xf32> {
    %a = tosa.abs %x : (tensor<4xf32>) -> tensor<4xf32>
    tosa.yield %a : tensor<4xf32>
  } else {
    tosa.yield %x : tensor<4xf32>
  }
  %y:2 = tosa.while_loop (%i = %zero, %e = %first) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
    %c = tosa.greater %n, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %e: tensor<4xf32>):
    %j = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %d = tosa.add %e, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    tosa.yield %j, %d : tensor<i32>, tensor<4xf32>
  }
  return %y#1 : tensor<4xf32>
}"""


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("strategy", ["tvm", "cost"])
def test_branches_and_loops_of_other_dialects_compile(backend: str, strategy: str) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    x = np.array([1, -2, 3, -4], np.float32)
    program = fd.compile(fd.parse(REGIONS), backend=backend, strategy=strategy, cache=False)
    np.testing.assert_array_equal(program(np.array(3, np.int32), x)[0], np.abs(x) * 8)
    np.testing.assert_array_equal(program(np.array(0, np.int32), x)[0], x)


SIZES = """func.func @main(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %s = tosa.dim %x {axis = 0 : i32} : (tensor<?x3xf32>) -> !tosa.shape<1>
  %e = tosa.dim %x {axis = 1 : i32} : (tensor<?x3xf32>) -> !tosa.shape<1>
  %m = tosa.mul_shape %s, %e : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  %y = tosa.reshape %x, %m : (tensor<?x3xf32>, !tosa.shape<1>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}"""


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_lists_of_sizes_of_tosa_compile(backend: str) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(fd.compile(fd.parse(SIZES), backend=backend, cache=False)(x)[0], x.reshape(-1))


def test_checks_are_made_in_compiled_programs() -> None:
    text = """func.func @main(%x: tensor<2xf32>) {
      %y = tosa.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
      check.expect_eq_const(%y, dense<0.0> : tensor<2xf32>) : tensor<2xf32>
      return
    }"""
    program = fd.compile(fd.parse(text), backend="numpy", cache=False)
    assert not program(np.zeros(2, np.float32))
    with pytest.raises(fd.FuseError, match=r"expects 0\.0 at \[1\]"):
        program(np.array([0, 1], np.float32))


PADDED = """func.func @main(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x3xf32>)
    -> (tensor<1x3x5x5xf32>, tensor<1x2x7x7xf32>) {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x2x5x5xf32>
  %abs = linalg.abs ins(%x : tensor<1x2x5x5xf32>) outs(%empty : tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %padded = tensor.pad %abs low[0, 0, 1, 1] high[0, 0, 1, 1] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  }} : tensor<1x2x5x5xf32> to tensor<1x2x7x7xf32>
  %out = tensor.empty() : tensor<1x3x5x5xf32>
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32>
  %y = linalg.conv_2d_nchw_fchw {{dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}}
    ins(%padded, %w : tensor<1x2x7x7xf32>, tensor<3x2x3x3xf32>) outs(%start : tensor<1x3x5x5xf32>)
    -> tensor<1x3x5x5xf32>
  %other = tensor.empty() : tensor<1x2x7x7xf32>
  %z = linalg.exp ins({exp} : tensor<1x2x7x7xf32>) outs(%other : tensor<1x2x7x7xf32>) -> tensor<1x2x7x7xf32>
  return %y, %z : tensor<1x3x5x5xf32>, tensor<1x2x7x7xf32>
}}"""


@pytest.mark.parametrize(
    ("exp", "names"),
    [
        ("%other", ["fused_abs", "fused_pad_fill_conv_2d_nchw_fchw", "fused_exp"]),
        ("%padded", ["fused_abs_pad", "fused_fill_conv_2d_nchw_fchw", "fused_exp"]),
    ],
)
def test_what_is_padded_for_one_window_is_read_where_it_lies(exp: str, names: list[str]) -> None:
    module = fd.parse(PADDED.format(exp=exp))
    fused = fd.fuse_ops(module)
    calls = [op.callee.string_value() for op in fused.walk() if isinstance(op, func.CallOp)]
    assert sorted(calls) == sorted(names)
    if exp == "%padded":
        inputs = [
            np.random.default_rng(0).integers(-4, 4, shape).astype(np.float32) for shape in ((1, 2, 5, 5), (3, 2, 3, 3))
        ]
        for one, other in zip(fd.run(module, *inputs), fd.run(fused, *inputs), strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_assertion_that_is_false_is_an_error() -> None:
    text = """func.func @main(%x: i1) -> i1 {
      cf.assert %x, "it must hold"
      return %x : i1
    }"""
    with pytest.raises(fd.FuseError, match=r"'cf\.assert' op fails: it must hold"):
        fd.run(fd.parse(text), np.array(False))
