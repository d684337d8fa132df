"""`-t onnx`: what is written means what the module means, as our own reader and onnxruntime, if installed, have it."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from checking.rounding import assert_near, roundings_of
from fuzzing.comparing import assert_agrees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from light_models import LightResults, light_model, ramp_for
from op_examples import assert_close, examples, functions, operator, random_operands
from random_programs import random_programs
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.frontends.onnx.reader import import_model, load_onnx_module
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.entry import function_named
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.loading.array_files import random_inputs
from fuse_dialect.targets.onnx.body import DOMAIN
from fuse_dialect.targets.onnx.model import onnx_model
from fuse_dialect.targets.onnx.operators import ROWS
from fuse_dialect.tools import fuse_opt

WITHOUT_ROW = {
    "fuse.bitcast": "BitCast came with opset 26",
    "fuse.cumprod": "CumProd came with opset 26",
    **{
        f"fuse.{name}": "ONNX has no factors of matrices, and of systems of equations none"
        for name in (
            *("cholesky", "lu", "householder_qr", "householder_product", "eigh", "eigvalsh", "svd", "svdvals"),
            *("solve", "triangular_solve", "inverse"),
        )
    },
    **{f"fuse.{name}": "DFT has both parts in one tensor" for name in ("fft", "rfft", "irfft")},
    "fuse.tuple": "a tuple is the list of its fields",
    "fuse.get_tuple_element": "a field of that list",
}
"""Ops that no ONNX operator stands for, and why."""


def test_every_op_has_a_row_or_a_reason() -> None:
    missing = {op.name for op in ALL_OPS} - {op.name for op in ROWS}
    new, stale = sorted(missing - {*WITHOUT_ROW}), sorted({*WITHOUT_ROW} - missing)
    assert not new, (
        f"{', '.join(new)}: add '@ROWS.row(...)' in fuse_dialect/targets/onnx/operators/, "
        "or the reason to WITHOUT_ROW in tests/targets/test_onnx_target.py"
    )
    assert not stale, f"{', '.join(stale)}: has a row, take it out of WITHOUT_ROW in tests/targets/test_onnx_target.py"
    assert len(ROWS) == len(ALL_OPS) - len(WITHOUT_ROW)


@pytest.mark.parametrize("op_class", [*ROWS], ids=lambda op: op.name)
def test_an_op_read_back_means_the_same(op_class: type[FuseOp]) -> None:
    random = np.random.default_rng(0)
    compared = 0
    for op in examples()[op_class.name]:
        for function in functions(op):
            compared += _is_same(function, random)
    assert compared


def _is_same(function: func.FuncOp, random: np.random.Generator) -> bool:
    function.properties["sym_name"] = StringAttr("main")
    module = ModuleOp([function])
    arrays = [np.asarray(array) for array in random_operands(function, random)]
    try:
        expected = run_module(module, arrays)
    except EvaluationError:
        return False  # the size that stands for `?` does not fit this op
    try:
        model = onnx_model(module)
    except OpError:
        return False  # what is refused has tests of its own
    onnx.checker.check_model(model, full_check=True)
    try:
        back = import_model(model)
    except FuseError:
        # Our reader needs to know more sizes than ONNX.
        assert any(DYNAMIC in type.get_shape() for type in function.function_type.inputs if is_tensor(type))
        return False
    for actual, array in zip(run_module(back, arrays), expected, strict=True):
        op = operator(function)
        if op.name == "fuse.resize2d" and array.dtype == np.float64:
            # ONNX has scales in 32 bits.
            np.testing.assert_allclose(actual, array, rtol=1e-5, atol=1e-5)
        else:
            assert_close(actual, array, f"{op}")
    return True


def _inputs(module: ModuleOp, seed: int = 1) -> list[Array]:
    return random_inputs(function_named(module, "main"), seed, 3)


def _run_with_onnxruntime(model: bytes | str, inputs: list[Array]) -> list[Array]:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {port.name: array for port, array in zip(session.get_inputs(), inputs, strict=True)})


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_programs(), st.booleans())
def test_random_programs_read_back_mean_the_same(module: ModuleOp, link_params: bool) -> None:
    inputs = _inputs(module)
    expected = run_module(module, inputs)
    FuseOpsPass(link_params=link_params).apply(Context(), module)
    model = onnx_model(module)
    onnx.checker.check_model(model, full_check=True)
    for actual, array in zip(run_module(import_model(model), inputs), expected, strict=True):
        np.testing.assert_array_equal(actual, array)


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_programs())
def test_onnxruntime_runs_random_programs(module: ModuleOp) -> None:
    inputs = _inputs(module)
    written = module.clone()
    FuseOpsPass().apply(Context(), module)
    assert_agrees(written, inputs, _run_with_onnxruntime(onnx_model(module).SerializeToString(), inputs))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet", "light_resnet50"])
def test_a_light_model_is_written_with_its_groups_and_its_numbers(
    name: str, tmp_path: Path, light_results: LightResults
) -> None:
    module = light_model(name)
    # For random numbers a softmax of SqueezeNet gets what rounding leaves of 1000 equal sums of 1e7.
    inputs, expected = [ramp_for(module)], [light_results.read(name)]
    FuseOpsPass().apply(Context(), module)
    path = tmp_path / "fused.onnx"
    path.write_bytes(onnx_model(module).SerializeToString())
    model = onnx.load(path)
    groups = [op for op in module.ops if isinstance(op, func.FuncOp) and "primitive" in op.attributes]
    assert [function.name for function in model.functions] == [group.sym_name.data for group in groups]
    assert {function.domain for function in model.functions} == {DOMAIN}
    assert {node.domain for node in model.graph.node} <= {DOMAIN, ""}
    for actual, array in zip(run_module(load_onnx_module(path), inputs), expected, strict=True):
        np.testing.assert_array_equal(actual, array)
    for actual, array in zip(_run_with_onnxruntime(str(path), inputs), expected, strict=True):
        assert_near(actual, array, roundings_of(module))


PROGRAM = """
func.func @main(%x: tensor<4x64xf32> {onnx.name = "my input"}) ->
    (tensor<4x32xf32> {onnx.name = "out:0"}, tensor<4x64xf32>) {
  %w = arith.constant dense<"WEIGHT"> : tensor<32x64xf32>
  %y = fuse.dense %x, %w : (tensor<4x64xf32>, tensor<32x64xf32>)
  %r = fuse.relu %y : tensor<4x32xf32>
  return %r, %x : tensor<4x32xf32>, tensor<4x64xf32>
}"""


def _program() -> ModuleOp:
    weight = np.random.default_rng(0).random((32, 64), np.float32)
    return fd.parse(PROGRAM.replace("WEIGHT", f"0x{weight.tobytes().hex()}"))


def test_inputs_and_results_keep_their_names_and_every_result_has_its_own() -> None:
    model = onnx_model(fd.fuse_ops(_program()))
    assert [port.name for port in model.graph.input] == ["my input"]
    assert [port.name for port in model.graph.output] == ["out:0", "result1"]
    assert [tensor.name for tensor in model.graph.initializer] == ["w"]


def test_weights_are_external_data_in_the_file_that_is_written(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    (tmp_path / "in.mlir").write_text(str(_program()))
    path, weights = str(tmp_path / "m.onnx"), str(tmp_path / "m.safetensors")
    arguments = [str(tmp_path / "in.mlir"), "--fuse-ops", "-t", "onnx", "-o", path, "--weights", weights]
    assert fuse_opt.main(arguments) == 0
    (tensor,) = onnx.load(path, load_external_data=False).graph.initializer
    assert {entry.key: entry.value for entry in tensor.external_data}["location"] == "m.safetensors"
    x = np.random.default_rng(1).random((4, 64), np.float32)
    expected = fd.run(_program(), x)
    for actual, array in zip(fd.run(fd.read(path), x), expected, strict=True):
        np.testing.assert_array_equal(actual, array)
    assert_agrees(_program(), [x], _run_with_onnxruntime(path, [x]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("%y = math.exp %x : tensor<4x?xf32>", "'math.exp' op cannot be written as ONNX"),
        (
            "%y = fuse.sort %x : tensor<4x?xf32>",
            "'fuse.sort' op along an axis whose size is not known cannot be written as ONNX",
        ),
        (
            "%c = arith.constant dense_resource<__elided__> : tensor<4x7xf32>\n"
            "%y = fuse.add %x, %c : (tensor<4x?xf32>, tensor<4x7xf32>) -> tensor<4x?xf32>",
            "expects the elements of the constant",
        ),
    ],
)
def test_what_cannot_be_written_is_an_error_that_names_the_op(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = f"func.func @main(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {{\n{text}\nreturn %y : tensor<4x?xf32>\n}}"
    (tmp_path / "in.mlir").write_text(module)
    assert fuse_opt.main([str(tmp_path / "in.mlir"), "-t", "onnx", "-o", str(tmp_path / "m.onnx")]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert "in.mlir:2:" in error
    assert not (tmp_path / "m.onnx").exists()


def test_windows_of_no_elements_have_no_form() -> None:
    module = fd.parse("""
        func.func @main(%x: tensor<1x1x0x3xf32>) -> tensor<1x1x6x3xf32> {
          %y = fuse.adaptive_avg_pool2d %x, output_size = [6, 3] : (tensor<1x1x0x3xf32>) -> tensor<1x1x6x3xf32>
          return %y : tensor<1x1x6x3xf32>
        }""")
    with pytest.raises(OpError, match="with windows of no elements cannot be written as ONNX"):
        onnx_model(module)


@pytest.mark.parametrize("norm", ["instance_norm", "group_norm", "batch_norm", "layer_norm"])
@pytest.mark.parametrize("shape", ["4x3", "4x3x5"])
def test_channels_on_the_first_axis_have_no_batch(norm: str, shape: str) -> None:
    count = 4 if norm == "batch_norm" else 2
    vectors = ", ".join(f"%v{place}: tensor<4xf32>" for place in range(count))
    names = ", ".join(f"%v{place}" for place in range(count))
    types = ", ".join(["tensor<4xf32>"] * count)
    groups = ", num_groups = 2" if norm == "group_norm" else ""
    module = fd.parse(f"""
        func.func @main(%x: tensor<{shape}xf32>, {vectors}) -> tensor<{shape}xf32> {{
          %y = fuse.{norm} %x, {names}, axis = 0{groups} : (tensor<{shape}xf32>, {types}) -> tensor<{shape}xf32>
          return %y : tensor<{shape}xf32>
        }}""")
    inputs = [np.abs(array) for array in _inputs(module)]
    assert_agrees(module, inputs, run_module(import_model(onnx_model(module)), inputs))


def test_a_single_number_is_transposed() -> None:
    module = fd.parse("""
        func.func @main(%x: tensor<f32>) -> tensor<f32> {
          %y = fuse.transpose %x, permutation = [] : tensor<f32>
          return %y : tensor<f32>
        }""")
    x = np.array(3, np.float32)
    np.testing.assert_array_equal(run_module(import_model(onnx_model(module)), [x])[0], x)


def test_a_module_without_main_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.mlir").write_text("func.func private @main(tensor<4xf32>) -> tensor<4xf32>")
    assert fuse_opt.main([str(tmp_path / "in.mlir"), "-t", "onnx"]) == 1
    assert "writes the function '@main'" in capsys.readouterr().err


def test_a_large_constant_in_a_group_is_refused() -> None:
    weight = np.random.default_rng(0).random((512, 64), np.float32)
    text = PROGRAM.replace("32x64", "512x64").replace("4x32", "4x512").replace("WEIGHT", f"0x{weight.tobytes().hex()}")
    module = fd.fuse_ops(fd.parse(text), link_params=True)
    with pytest.raises(OpError, match="large constant in a function"):
        onnx_model(module)


def test_tuples_are_lists_of_their_fields() -> None:
    module = fd.parse("""
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tuple<tensor<2x3xf32>, tensor<2x6xf32>> {
      %a = fuse.exp %x : tensor<2x3xf32>
      %t = fuse.tuple %a, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
      %b = fuse.get_tuple_element %t, index = 1 : (tuple<tensor<2x3xf32>, tensor<2x3xf32>>) -> tensor<2x3xf32>
      %c = fuse.concatenate %a, %b, axis = 1 : (tensor<2x3xf32>, tensor<2x3xf32>)
      %r = fuse.tuple %a, %c : (tensor<2x3xf32>, tensor<2x6xf32>) -> tuple<tensor<2x3xf32>, tensor<2x6xf32>>
      return %r : tuple<tensor<2x3xf32>, tensor<2x6xf32>>
    }""")
    inputs = _inputs(module)
    expected = run_module(module, inputs)
    for actual, array in zip(run_module(import_model(onnx_model(fd.fuse_ops(module))), inputs), expected, strict=True):
        np.testing.assert_array_equal(actual, array)


LOOPS = """
func.func @main(%x: tensor<5x3xf32>, %h: tensor<3xf32>, %n: tensor<i64>) ->
    (tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %last, %all = fuse.loop states(%h : tensor<3xf32>) rows(%x : tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<3xf32>, %row: tensor<3xf32>):
    %sum = fuse.add %state, %row : tensor<3xf32>
    %next = fuse.tanh %sum : tensor<3xf32>
    fuse.yield %next, %sum : tensor<3xf32>, tensor<3xf32>
  }
  %bound = arith.constant dense<2.0> : tensor<3xf32>
  %more = fuse.loop limit(%n : tensor<i64>) states(%last : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<3xf32>):
    %double = fuse.add %state, %state : tensor<3xf32>
    %under = fuse.less %double, %bound : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %all_under = fuse.all %under : (tensor<3xi1>) -> tensor<i1>
    fuse.yield while(%all_under : tensor<i1>) %double : tensor<3xf32>
  }
  %zero = arith.constant dense<0> : tensor<i64>
  %positive = fuse.greater %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %chosen = fuse.if(%positive : tensor<i1>) -> (tensor<3xf32>) {
    %negative = fuse.negative %more : tensor<3xf32>
    fuse.yield %negative : tensor<3xf32>
  } else {
    fuse.yield %h : tensor<3xf32>
  }
  return %last, %all, %more, %chosen : tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>
}"""


ROUNDINGS = 5 * 9
"""Of a row: so many additions and hyperbolic tangents follow each other."""


@pytest.mark.parametrize("count", [0, 1, 9])
def test_regions_are_graphs_inside(count: int) -> None:
    random = np.random.default_rng(0)
    inputs = [random.random((5, 3), np.float32), random.random(3, np.float32), np.array(count)]
    expected = fd.run(fd.parse(LOOPS), *inputs)
    model = onnx_model(fd.fuse_ops(fd.parse(LOOPS)))
    onnx.checker.check_model(model, full_check=True)
    for actual, array in zip(fd.run(import_model(model), *inputs), expected, strict=True):
        assert_near(actual, array, ROUNDINGS)
    for actual, array in zip(_run_with_onnxruntime(model.SerializeToString(), inputs), expected, strict=True):
        assert_near(actual, array, ROUNDINGS)
