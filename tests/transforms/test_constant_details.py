"""Details of the passes before fusion: each test fails for a small change that other tests let through."""

import numpy as np
from fuzzing.comparing import assert_agrees
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.array_files import random_inputs
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass
from fuse_dialect.transforms.fold_constants import FoldConstantsPass
from fuse_dialect.transforms.fold_scale_axis import FoldScaleAxisPass


def _names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk()]


def _after(text: str, *passes: ModulePass) -> ModuleOp:
    module = parse_mlir(text)
    for each in passes:
        each.apply(context(), module)
    verify_module(module)
    return module


def _inputs(module: ModuleOp) -> list[Array]:
    (main,) = [op for op in module.ops if isinstance(op, func.FuncOp)]
    return random_inputs(main, 0, 0)


def _outputs(module: ModuleOp) -> list[Array]:
    return list(run_module(module, _inputs(module)))


def test_splat_that_would_be_written_out_is_not_folded():
    text = """func.func @main() -> tensor<f32> {
      %one = arith.constant dense<1.0> : tensor<1xf32>
      %c = fuse.broadcast_to %one : (tensor<1xf32>) -> tensor<4096xf32>
      %s = fuse.sum %c : (tensor<4096xf32>) -> tensor<f32>
      return %s : tensor<f32>
    }"""
    assert "fuse.sum" in _names(_after(text, FoldConstantsPass(max_bytes=1000)))
    assert "fuse.sum" not in _names(_after(text, FoldConstantsPass()))


def test_barrier_of_a_constant_stays():
    text = """func.func @main() -> tensor<2xf32> {
      %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %s = fuse.stop_fusion %c : tensor<2xf32>
      return %s : tensor<2xf32>
    }"""
    assert "fuse.stop_fusion" in _names(_after(text, FoldConstantsPass()))


def test_scale_of_zero_does_not_go_where_a_constant_is_divided_by_it():
    text = """func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32> {
      %s = arith.constant dense<[[[[0.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
      %b = arith.constant dense<[[[[1.0]], [[3.0]]]]> : tensor<1x2x1x1xf32>
      %w = arith.constant dense<0.5> : tensor<3x2x1x1xf32>
      %y = fuse.multiply %x, %s : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
      %z = fuse.add %y, %b : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
      %r = fuse.conv2d %z, %w : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
      return %r : tensor<1x3x4x4xf32>
    }"""
    for scale, multiplies in (("0.0", True), ("4.0", False)):
        changed = text.replace("[[0.0]]", f"[[{scale}]]")
        folded = _after(changed, FoldScaleAxisPass(), FoldConstantsPass())
        assert ("fuse.multiply" in _names(folded)) == multiplies
        written = parse_mlir(changed)
        assert_agrees(written, _inputs(written), _outputs(folded), reassociates=True)


def test_scale_in_another_block_than_the_product_stays():
    scale = "fuse.multiply %x, %s : (tensor<1x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<1x3x4x4xf32>"
    text = """func.func @main(%x: tensor<1x3x4x4xf32>, %c: i1) -> tensor<1x3x4x4xf32> {
      %w = arith.constant dense<0.5> : tensor<3x3x1x1xf32>
      %s = arith.constant dense<[[[[5.0]], [[2.0]], [[3.0]]]]> : tensor<1x3x1x1xf32>
      OUTSIDE
      %r = scf.if %c -> (tensor<1x3x4x4xf32>) {
        INSIDE
        %z = fuse.conv2d %y, %w : (tensor<1x3x4x4xf32>, tensor<3x3x1x1xf32>) -> tensor<1x3x4x4xf32>
        scf.yield %z : tensor<1x3x4x4xf32>
      } else {
        scf.yield %x : tensor<1x3x4x4xf32>
      }
      return %r : tensor<1x3x4x4xf32>
    }"""
    passes = (FoldScaleAxisPass(), FoldConstantsPass())
    outside = text.replace("OUTSIDE", f"%y = {scale}").replace("INSIDE", "")
    inside = text.replace("INSIDE", f"%y = {scale}").replace("OUTSIDE", "")
    assert "fuse.multiply" in _names(_after(outside, *passes))
    assert "fuse.multiply" not in _names(_after(inside, *passes))


def test_bias_in_another_block_than_the_one_before_is_not_merged_with_it():
    text = """func.func @main(%x: tensor<1x3x4x4xf32>, %c: i1) -> tensor<1x3x4x4xf32> {
      %w = arith.constant dense<0.5> : tensor<3x3x1x1xf32>
      %p = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %q = arith.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32>
      %z = fuse.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<3x3x1x1xf32>) -> tensor<1x3x4x4xf32>
      %a = fuse.bias_add %z, %p : (tensor<1x3x4x4xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
      OUTSIDE
      %r = scf.if %c -> (tensor<1x3x4x4xf32>) {
        INSIDE
        scf.yield %b : tensor<1x3x4x4xf32>
      } else {
        scf.yield %x : tensor<1x3x4x4xf32>
      }
      return %r : tensor<1x3x4x4xf32>
    }"""
    second = "%b = fuse.bias_add %a, %q : (tensor<1x3x4x4xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>"
    inside = text.replace("INSIDE", second).replace("OUTSIDE", "")
    outside = text.replace("OUTSIDE", second).replace("INSIDE", "")
    counts = [_names(_after(each, FoldScaleAxisPass())).count("fuse.bias_add") for each in (inside, outside)]
    assert counts == [2, 1]


def test_layout_that_moves_less_than_the_ops_read_is_profitable():
    text = """func.func @main(%x: tensor<1x64x2x2xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x2x2xf32> {
      %y = fuse.conv2d %x, %w, padding = [1, 1, 1, 1]
        : (tensor<1x64x2x2xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x2x2xf32>
      return %y : tensor<1x64x2x2xf32>
    }"""
    constant = text.replace(", %w: tensor<64x64x3x3xf32>)", ")").replace(
        "%y = ", "%w = arith.constant dense<0.5> : tensor<64x64x3x3xf32>\n      %y = "
    )
    assert "fuse.transpose" in _names(_after(constant, ConvertLayoutPass(if_profitable=True)))


def test_index_among_elements_of_several_axes_depends_on_their_order():
    text = """func.func @main(%x: tensor<1x3x4x4xf32>, %w: tensor<5x3x1x1xf32>) -> tensor<i64> {
      %y = fuse.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<5x3x1x1xf32>) -> tensor<1x5x4x4xf32>
      %r = fuse.argmax %y : (tensor<1x5x4x4xf32>) -> tensor<i64>
      return %r : tensor<i64>
    }"""
    converted = _after(text, ConvertLayoutPass())
    np.testing.assert_array_equal(_outputs(converted)[0], _outputs(parse_mlir(text))[0])


def test_normalization_of_what_is_no_longer_batch_first_is_the_same():
    text = """func.func @main(%x: tensor<2x3x4x4xf32>, %w: tensor<5x3x1x1xf32>, %g: tensor<2xf32>)
        -> tensor<5x2x4x4xf32> {
      %y = fuse.conv2d %x, %w : (tensor<2x3x4x4xf32>, tensor<5x3x1x1xf32>) -> tensor<2x5x4x4xf32>
      %t = fuse.transpose %y, permutation = [1, 0, 2, 3] : (tensor<2x5x4x4xf32>) -> tensor<5x2x4x4xf32>
      %r = fuse.instance_norm %t, %g, %g, axis = 1
        : (tensor<5x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<5x2x4x4xf32>
      return %r : tensor<5x2x4x4xf32>
    }"""
    converted = _after(text, ConvertLayoutPass())
    written = parse_mlir(text)
    assert_agrees(written, _inputs(written), _outputs(converted))
