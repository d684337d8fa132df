"""Passes over text of strangers: what it expands to is bounded, and nothing is done twice that is nested."""

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from fuzzing.hostile_inputs import (
    batch_norm_of_splats,
    convolution_of_splats,
    doubling_primitives,
    scaled_sums_of_splats,
    shared_norms,
    shared_scales,
    shifts_by_splats,
)
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import FuncOp

from fuse_dialect.budget import Limits
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.mlir.dense_literal import MAX_EXPANDED_SPLAT
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.tools.fuse_opt import main
from fuse_dialect.tools.fuse_run import main as fuse_run
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass
from fuse_dialect.transforms.fold_scale_axis import FoldScaleAxisPass
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass


def _module(text):
    return read_mlir(text, "t.mlir", context())[0]


def test_primitives_that_double_are_refused_before_they_are_copied():
    module = _module(doubling_primitives(30))
    before = str(module)
    with pytest.raises(OpError, match="'max-ops' allows") as caught:
        DefuseOpsPass().apply(context(), module)
    assert caught.value.op.name == "func.call"
    assert "defuse-ops{max-ops=N}" in caught.value.hint
    assert str(module) == before


def test_limit_of_copies_is_an_option_and_moves_are_free():
    module = _module(doubling_primitives(3))
    with pytest.raises(OpError):
        DefuseOpsPass(max_ops=10).apply(context(), _module(doubling_primitives(3)))
    DefuseOpsPass(max_ops=1000).apply(context(), module)
    assert sum(op.name == "fuse.relu" for op in module.walk()) == 8
    chain = """
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %a = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
        return %a : tensor<4xf32>
      }
      func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
        %a = fuse.relu %x : tensor<4xf32>
        return %a : tensor<4xf32>
      }"""
    DefuseOpsPass(max_ops=0).apply(context(), _module(chain))


def test_limit_of_copies_below_zero_is_refused(tmp_path, capsys):
    path = tmp_path / "t.mlir"
    path.write_text(doubling_primitives(1))
    assert main(["--defuse-ops=max-ops=-1", str(path)]) == 1
    assert "option 'max-ops' expects 0 or more, got -1" in capsys.readouterr().err


def test_calls_that_double_are_stopped_when_run():
    module = _module(doubling_primitives(30))
    with pytest.raises(EvaluationError, match="called too often") as caught:
        run_module(module, [np.zeros(4, np.float32)])
    assert "max_ops=" in caught.value.hint


def test_limit_of_calls_is_that_of_the_caller():
    module = _module(doubling_primitives(5))
    (result,) = run_module(module, [np.full(4, -1, np.float32)])
    assert result.tolist() == [0] * 4
    with pytest.raises(EvaluationError):
        run_module(module, [np.zeros(4, np.float32)], limits=Limits(ops=50))


@pytest.mark.parametrize("size", [1, 10**8, 2**40])
def test_splats_stay_splats_in_a_batch_norm(size):
    module = _module(batch_norm_of_splats(size))
    SimplifyInferencePass().apply(context(), module)
    constants = [op.value for op in module.walk() if isinstance(op, arith.ConstantOp)]
    assert len(constants) == 2
    for value in constants:
        assert isinstance(value, DenseIntOrFPElementsAttr)
        assert len(value.data.data) == 4
    scale = np.float32(1.5 / np.sqrt(1.5 + 1e-5))
    assert np.frombuffer(constants[0].data.data, np.float32)[0] == scale


_PRIMITIVE = """
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
    %a = fuse.relu %x : tensor<4xf32>
    return %a : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = func.call @f(%x) CALL : (tensor<4xf32>) -> tensor<4xf32>
    return %a : tensor<4xf32>
  }"""


def _defused(text):
    ctx = context(allow_unregistered=True)
    module = read_mlir(text, "t.mlir", ctx)[0]
    DefuseOpsPass().apply(ctx, module)
    module.verify()
    return str(module)


@pytest.mark.parametrize(
    "text",
    [
        "module attributes {uses = @f} { BODY }",
        "module attributes {uses = [{deep = @f}]} { BODY }",
        'module { BODY "test.uses"() {symbol = @f} : () -> () }',
        'module { BODY "test.uses"() ({ "test.inner"() {symbol = @f} : () -> () }) : () -> () }',
        'module { BODY "test.uses"() {text = #other.ref<"@f">} : () -> () }',
        "module { BODY module @inner attributes {uses = @outer::@f} { } }",
    ],
)
def test_primitive_that_something_else_names_stays(text):
    defused = _defused(text.replace("BODY", _PRIMITIVE.replace("CALL", "")))
    assert "func.func private @f" in defused
    assert "func.call" not in defused


def test_primitive_that_nothing_names_goes():
    assert "@f" not in _defused(_PRIMITIVE.replace("CALL", ""))


def test_call_with_attributes_of_its_own_stays():
    defused = _defused(_PRIMITIVE.replace("CALL", "{mine = 1 : i64}"))
    assert "func.call @f(%x) {mine = 1 : i64}" in defused
    assert "func.func private @f" in defused


_DEAD_ACROSS_BLOCKS = """
  func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
    %k = arith.constant dense<1.0> : tensor<4xf32>
    %a = fuse.relu %x : tensor<4xf32>
    %live = fuse.exp %x : tensor<4xf32>
    cf.br ^b
  ^b:
    %b = fuse.add %a, %k : tensor<4xf32>
    %t = fuse.tuple %b, %k : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
    cf.br ^c
  ^c:
    scf.if %c {
      %g = fuse.get_tuple_element %t, index = 0 : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
      %e = fuse.exp %g : tensor<4xf32>
    }
    return %live : tensor<4xf32>
  }"""


def test_dead_chain_across_blocks_is_erased_at_once():
    module = _module(_DEAD_ACROSS_BLOCKS)
    FuseOpsPass().apply(context(), module)
    module.verify()
    once = str(module)
    assert [op.name for op in module.walk() if op.name.startswith(("fuse.", "arith."))] == ["fuse.exp"]
    FuseOpsPass().apply(context(), module)
    assert str(module) == once


_TAKE = """
  func.func @main(%x: tensor<5xf32>) -> tensor<4xf32> {
    %i = arith.constant dense<[4611686018427387904, -9223372036854775808, -1, 7]> : tensor<4xi64>
    %y = fuse.take %x, %i, AXIS mode = "wrap" : (tensor<5xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }"""


@pytest.mark.parametrize("axis", ["", "axis = 0,"])
def test_index_far_out_of_range_wraps_around_at_once(axis):
    x = np.arange(5, dtype=np.float32)
    (result,) = run_module(_module(_TAKE.replace("AXIS", axis)), [x])
    assert result.tolist() == [4611686018427387904 % 5, -9223372036854775808 % 5, 4, 2]


_DEAD_IN_OTHER_BLOCKS = """
  func.func @main(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
    cf.br ^b
  ^c:
    %dead = fuse.exp %a : tensor<1x4x8x8xf32>
    return %b : tensor<1x4x8x8xf32>
  ^b:
    %a = fuse.relu %x : tensor<1x4x8x8xf32>
    %b = fuse.relu %a : tensor<1x4x8x8xf32>
    cf.br ^c
  }"""


def test_hardware_groups_give_nothing_that_only_dead_ops_have_read():
    module = _module(_DEAD_IN_OTHER_BLOCKS)
    FuseOpsHwPass().apply(context(), module)
    module.verify()
    assert "fuse.exp" not in str(module)
    assert max(len(op.function_type.outputs) for op in module.walk() if isinstance(op, FuncOp)) == 1


def test_call_that_stays_has_a_remark(tmp_path, capsys):
    path = tmp_path / "t.mlir"
    path.write_text(_PRIMITIVE.replace("CALL", "{mine = 1 : i64}"))
    assert main(["--defuse-ops", "--fusion-remarks", "--remarks-verbose", str(path)]) == 0
    told = capsys.readouterr().err
    assert "t.mlir:7:10: remark: 'func.call' op of '@f' stays: call-attributes" in told
    assert "'mine'" in told
    path.write_text(_PRIMITIVE.replace("CALL", ""))
    assert main(["--defuse-ops", "--fusion-remarks", "--remarks-verbose", str(path)]) == 0
    assert capsys.readouterr().err == ""


_LARGE = """
  func.func private @f(%x: tensor<4xf32>) -> tensor<f32> {
    %a = fuse.broadcast_to %x : (tensor<4xf32>) -> tensor<1000000x1000000x4xf32>
    %s = fuse.sum %a : (tensor<1000000x1000000x4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
  func.func @small(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = fuse.relu %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @takes(%x: tensor<4000000000000xf32>) -> tensor<4000000000000xf32> {
    return %x : tensor<4000000000000xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    %s = func.call @f(%x) : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }"""


@pytest.mark.parametrize(
    ("entry", "line"), [("main", ":3:10: error: 'fuse.broadcast_to' op"), ("takes", ":11:3: error: 'func.func' op")]
)
@pytest.mark.parametrize("more", [[], ["--backend", "llvm"], ["--benchmark", "1"]])
def test_value_of_terabytes_is_refused_before_the_run(tmp_path, capsys, entry, line, more):
    path = tmp_path / "t.mlir"
    path.write_text(_LARGE)
    assert fuse_run([str(path), "--random-inputs", "0", "--entry", entry, *more]) == 1
    told = capsys.readouterr().err
    assert line in told
    assert "16000000000000 bytes, more than the 4294967296 that one may take" in told
    assert "--max-value-bytes" in told


def test_size_of_values_that_do_not_run_does_not_matter_and_the_limit_is_an_option(tmp_path, capsys):
    path = tmp_path / "t.mlir"
    path.write_text(_LARGE)
    run = [str(path), "--random-inputs", "0", "--entry", "small"]
    assert fuse_run(run) == 0
    assert fuse_run([*run, "--max-value-bytes", "16"]) == 0
    assert fuse_run([*run, "--max-value-bytes", "15"]) == 1
    assert "16 bytes, more than the 15" in capsys.readouterr().err


NO_MEMORY_HOLDS = 10**12


@pytest.mark.parametrize("make", [convolution_of_splats, scaled_sums_of_splats, shifts_by_splats])
@pytest.mark.parametrize(
    "name",
    [
        "compile-prefix",
        "convert-fuse-to-linalg",
        "convert-layout",
        "convert-stablehlo-to-fuse",
        "eliminate-common-subexpr",
        "fold-constants",
        "fold-scale-axis",
        "fuse-ops",
    ],
)
def test_splats_stay_one_element(make, name, tmp_path, capsys):
    path = tmp_path / "t.mlir"
    path.write_text(make(NO_MEMORY_HOLDS))
    passes = [f"--{name}"] if name != "convert-fuse-to-linalg" else ["--convert-stablehlo-to-fuse", f"--{name}"]
    assert main([*passes, str(path)]) == 0, capsys.readouterr().err
    assert f"{NO_MEMORY_HOLDS}x" in capsys.readouterr().out


def test_splat_of_factors_is_folded_as_one_number():
    module = _module(convolution_of_splats(MAX_EXPANDED_SPLAT + 1))
    x = np.arange(4 * 8 * 8, dtype=np.float32).reshape(1, 4, 8, 8)
    written = module.clone()
    FoldScaleAxisPass().apply(context(), module)
    assert not any(op.name in ("fuse.divide", "fuse.add") for op in module.walk())
    assert [op.operands[1].type.get_shape() for op in module.walk() if op.name == "fuse.multiply"] == [(1,)]
    assert_agrees(written, [x], run_module(module, [x]), reassociates=True)


def test_a_vector_that_many_layers_share_is_written_as_far_as_the_option_allows():
    def scaled_values(bytes_in_all):
        module = _module(shared_scales(6))
        FoldScaleAxisPass(max_total_bytes=bytes_in_all).apply(context(), module)
        factors = [op for op in module.walk() if op.name == "fuse.multiply"]
        return sum(op.operands[0].owner.name == "fuse.conv2d" for op in factors)

    assert scaled_values(1 << 26) == 0
    assert scaled_values(0) == 6
    assert 0 < scaled_values(1 << 18) < 6


def test_vectors_are_merged_as_far_as_the_option_allows():
    image = "tensor<1x4x1x1xf32>"
    text = f"""
    func.func @main(%x: {image}) -> {image} {{
      %w = arith.constant dense<1.0> : tensor<4x4x1x1xf32>
      %s = arith.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
      %0 = fuse.conv2d %x, %w : ({image}, tensor<4x4x1x1xf32>) -> {image}
      %1 = fuse.add %0, %s : ({image}, tensor<4x1x1xf32>) -> {image}
      %2 = fuse.add %1, %s : ({image}, tensor<4x1x1xf32>) -> {image}
      return %2 : {image}
    }}"""
    for bytes_in_all, merged in ((1 << 20, 1), (31, 0)):
        module = _module(text)
        FoldScaleAxisPass(max_total_bytes=bytes_in_all).apply(context(), module)
        assert sum(op.name == "fuse.bias_add" for op in module.walk()) == merged


def test_parameters_that_many_norms_share_are_folded_as_far_as_the_option_allows():
    def constants(**options):
        module = _module(shared_norms(6))
        SimplifyInferencePass(**options).apply(context(), module)
        assert not any(op.name == "fuse.batch_norm" for op in module.walk())
        return sum(op.name == "arith.constant" and op.result.type.get_num_dims() > 0 for op in module.walk())

    assert constants() == 12
    assert constants(max_total_bytes=1 << 17) == 2 * 2 + 1
    assert constants(max_total_bytes=0) == constants(fold_constants=False) == 1


@pytest.mark.parametrize("name", ["fold-constants", "fold-scale-axis", "simplify-inference"])
def test_bytes_below_zero_are_refused(name, tmp_path, capsys):
    path = tmp_path / "t.mlir"
    path.write_text(shared_scales(1))
    assert main([f"--{name}=max-total-bytes=-1", str(path)]) == 1
    assert "option 'max-total-bytes' expects 0 or more, got -1" in capsys.readouterr().err
