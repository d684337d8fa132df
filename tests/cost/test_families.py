"""A kernel that is planned by cost is of the family that its form promises; where it is none, somebody is told."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from fuzzing.chains import random_chain
from fuzzing.generator import make_program
from fuzzing.moves import random_moves
from fuzzing.promises import MACHINES, broken_promises
from xdsl.dialects.builtin import ModuleOp, TensorType

import fuse_dialect as fd
from fuse_dialect.loading.module_file import module_of_text
from fuse_dialect.loops.families import FAMILIES, NONE, keeps_promise
from fuse_dialect.loops.forms import Form
from fuse_dialect.tools.backends import note_slow_kernels

MACHINE = "cpu-avx512"
LIGHT_MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
ROW_AND_MAP = """func.func @main(%x: tensor<64x64xf32>, %v: tensor<64x32xf32>)
  -> (tensor<64x64xf32>, tensor<32x64xf32>) {
  %y = fuse.softmax %x : tensor<64x64xf32>
  %z = fuse.transpose %v, permutation = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  return %y, %z : tensor<64x64xf32>, tensor<32x64xf32>
}"""


CONV1D_TO_OUTER_PRODUCT = """func.func @main(%x: tensor<5x3x1xf32>, %w: tensor<3x1x5xf32>, %v: tensor<4x1xf32>)
  -> tensor<5x5x4xf32> {
  %c = fuse.conv1d %x, %w, strides = [2], data_layout = "NWC", kernel_layout = "WIO"
    : (tensor<5x3x1xf32>, tensor<3x1x5xf32>) -> tensor<5x1x5xf32>
  %r = fuse.reshape %c : (tensor<5x1x5xf32>) -> tensor<5x5x1xf32>
  %y = fuse.dense %r, %v : (tensor<5x5x1xf32>, tensor<4x1xf32>) -> tensor<5x5x4xf32>
  return %y : tensor<5x5x4xf32>
}"""
ROWS_OF_ONE_VECTOR = """func.func @main(%x: tensor<4xf32>, %w: tensor<33x4xf32>) -> tensor<33x33xf32> {
  %b = fuse.broadcast_to %x : (tensor<4xf32>) -> tensor<33x4xf32>
  %p = fuse.dense %b, %w : (tensor<33x4xf32>, tensor<33x4xf32>) -> tensor<33x33xf32>
  %y = fuse.log_softmax %p : tensor<33x33xf32>
  return %y : tensor<33x33xf32>
}"""
COLUMNS_FOR_FEW_ROWS = """func.func @main(%x: tensor<2x3x4x2xi8>, %w: tensor<1x1x2x3xi8>) -> tensor<2x1x3x12xi8> {
  %t = fuse.transpose %x, permutation = [0, 3, 1, 2] : (tensor<2x3x4x2xi8>) -> tensor<2x2x3x4xi8>
  %r = fuse.reshape %t : (tensor<2x2x3x4xi8>) -> tensor<2x1x2x12xi8>
  %y = fuse.batch_matmul %w, %r, transpose_a = true : (tensor<1x1x2x3xi8>, tensor<2x1x2x12xi8>) -> tensor<2x1x3x12xi8>
  return %y : tensor<2x1x3x12xi8>
}"""
NOBODY_READS_THE_SUMS = """func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %p = fuse.matmul %x, %w : (tensor<8x8xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %y = fuse.ones_like %p : tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}"""
RESHAPED_ACROSS_AXES = """func.func @main(%x: tensor<6x4x7xf32>, %w: tensor<8x7xf32>) -> tensor<8x24xf32> {
  %p = fuse.dense %x, %w : (tensor<6x4x7xf32>, tensor<8x7xf32>) -> tensor<6x4x8xf32>
  %e = fuse.exp %p : tensor<6x4x8xf32>
  %y = fuse.reshape %e : (tensor<6x4x8xf32>) -> tensor<8x24xf32>
  return %y : tensor<8x24xf32>
}"""

RESHAPED_ACROSS_AND_ADDED = """func.func @main(%x: tensor<5x3x2x16xf32>, %v: tensor<20xf32>) -> tensor<4x9x20xf32> {
  %p = fuse.max_pool2d %x, pool_size = [3, 1], padding = [1, 0, 1, 1], layout = "NHWC"
    : (tensor<5x3x2x16xf32>) -> tensor<5x3x3x16xf32>
  %r = fuse.reshape %p : (tensor<5x3x3x16xf32>) -> tensor<4x9x20xf32>
  %y = fuse.add %r, %v : (tensor<4x9x20xf32>, tensor<20xf32>) -> tensor<4x9x20xf32>
  return %y : tensor<4x9x20xf32>
}"""
ROWS_THAT_ARE_LOOKED_UP = """
func.func @main(%x: tensor<3x5xi64>, %i: tensor<2x3x2xi64>, %w: tensor<3x9xi64>) -> tensor<2x9xi64> {
  %g = fuse.gather_nd %x, %i : (tensor<3x5xi64>, tensor<2x3x2xi64>) -> tensor<2x3xi64>
  %y = fuse.matmul %g, %w : (tensor<2x3xi64>, tensor<3x9xi64>) -> tensor<2x9xi64>
  return %y : tensor<2x9xi64>
}"""
ROWS_CUT_IN_FEW = """
func.func @main(%x: tensor<6x8x7xf32>, %w: tensor<8x7xf32>, %v: tensor<4x1x8xf32>) -> tensor<6x4x2x8xf32> {
  %p = fuse.dense %x, %w : (tensor<6x8x7xf32>, tensor<8x7xf32>) -> tensor<6x8x8xf32>
  %r = fuse.reshape %p : (tensor<6x8x8xf32>) -> tensor<6x4x2x8xf32>
  %y = fuse.add %r, %v : (tensor<6x4x2x8xf32>, tensor<4x1x8xf32>) -> tensor<6x4x2x8xf32>
  return %y : tensor<6x4x2x8xf32>
}"""

IMAGE_WITH_A_ROW_TO_ALL = """
func.func @main(%x: tensor<1x16x28x28xf32>, %w: tensor<16x16x1x1xf32>)
  -> (tensor<1x16x28x28xf32>, tensor<1x16x28x28xf32>) {
  %p = fuse.conv2d %x, %w : (tensor<1x16x28x28xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x28x28xf32>
  %t = fuse.tanh %p : tensor<1x16x28x28xf32>
  %s = fuse.strided_slice %p, begin = [0], end = [1], axes = [2]
    : (tensor<1x16x28x28xf32>) -> tensor<1x16x1x28xf32>
  %y = fuse.add %x, %s : (tensor<1x16x28x28xf32>, tensor<1x16x1x28xf32>) -> tensor<1x16x28x28xf32>
  return %t, %y : tensor<1x16x28x28xf32>, tensor<1x16x28x28xf32>
}"""
PADDED_AT_THE_END = """
func.func @main(%x: tensor<1x64x28x28xf32>, %v: tensor<64x64x1x1xf32>, %w: tensor<64x64x1x1xf32>)
  -> tensor<1x64x28x28xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = fuse.strided_slice %x, begin = [18], end = [28], axes = [3]
    : (tensor<1x64x28x28xf32>) -> tensor<1x64x28x10xf32>
  %p = fuse.conv2d %s, %v : (tensor<1x64x28x10xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x28x10xf32>
  %q = fuse.pad %p, %zero, low = [0, 0, 0, 0], high = [0, 0, 0, 18]
    : (tensor<1x64x28x10xf32>, tensor<f32>) -> tensor<1x64x28x28xf32>
  %r = fuse.conv2d %x, %w : (tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x28x28xf32>
  %y = fuse.add %r, %q : tensor<1x64x28x28xf32>
  return %y : tensor<1x64x28x28xf32>
}"""
TURNED_AT_THE_END = """
func.func @main(%x: tensor<1x16x28x28xf32>, %w: tensor<16x16x1x1xf32>, %v: tensor<28xf32>)
  -> (tensor<1x16x28x28xf32>, tensor<1x16x28x28xf32>) {
  %p = fuse.conv2d %x, %w : (tensor<1x16x28x28xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x28x28xf32>
  %r = fuse.reverse %x, axes = [2] : tensor<1x16x28x28xf32>
  %a = fuse.add %p, %r : tensor<1x16x28x28xf32>
  %y = fuse.add %a, %v : (tensor<1x16x28x28xf32>, tensor<28xf32>) -> tensor<1x16x28x28xf32>
  %t = fuse.transpose %r, permutation = [0, 1, 3, 2] : (tensor<1x16x28x28xf32>) -> tensor<1x16x28x28xf32>
  %z = fuse.add %t, %a : tensor<1x16x28x28xf32>
  return %y, %z : tensor<1x16x28x28xf32>, tensor<1x16x28x28xf32>
}"""


def broken(module: ModuleOp, machine: str = MACHINE) -> list[str]:
    return broken_promises(module, machine)[0]


def _is_static(module: ModuleOp) -> bool:
    """Whether all sizes are known, and all ops have loops."""
    results = [result.type for op in module.walk() for result in op.results]
    return all(not isinstance(type, TensorType) or type.has_static_shape() for type in results)


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_programs_become_what_is_promised(first: int) -> None:
    seen = 0
    for seed in range(first, first + 20):
        program = make_program(seed)
        module = None if program is None else program.module()
        if module is not None and _is_static(module):
            seen += 1
            assert broken(module) == [], seed
    assert seen


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_chains_become_what_is_promised(first: int) -> None:
    strips = 0
    for seed in range(first, first + 20):
        differs, families = broken_promises(fd.parse(random_chain(seed).text), MACHINE)
        assert differs == [], seed
        strips += families.count("strips")
    assert strips


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_moves_become_what_is_promised(first: int) -> None:
    strips = 0
    for seed in range(first, first + 20):
        differs, families = broken_promises(fd.parse(random_moves(seed).text), MACHINES[seed % len(MACHINES)])
        assert differs == [], seed
        strips += families.count("strips")
    assert strips


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LIGHT_MODELS.glob("*.onnx")), ids=lambda path: path.stem)
def test_networks_become_what_is_promised(path: Path) -> None:
    assert broken(fd.read(path)) == []


@pytest.mark.parametrize("machine", MACHINES)
def test_a_broken_promise_is_told(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken(fd.parse(ROW_AND_MAP), machine) == []
    monkeypatch.setattr(Form, "family", "contraction")
    (only,) = broken(fd.parse(ROW_AND_MAP), machine)
    assert "planned as contraction, and is rows" in only


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "text",
    [
        CONV1D_TO_OUTER_PRODUCT,
        ROWS_OF_ONE_VECTOR,
        COLUMNS_FOR_FEW_ROWS,
        NOBODY_READS_THE_SUMS,
        RESHAPED_ACROSS_AXES,
        RESHAPED_ACROSS_AND_ADDED,
        ROWS_CUT_IN_FEW,
        ROWS_THAT_ARE_LOOKED_UP,
        IMAGE_WITH_A_ROW_TO_ALL,
        PADDED_AT_THE_END,
        TURNED_AT_THE_END,
    ],
)
def test_what_broke_a_promise_once_keeps_it(text: str, machine: str) -> None:
    assert broken(fd.parse(text), machine) == []


def test_products_over_nothing_have_a_form() -> None:
    text = """func.func @main(%x: tensor<9x0xf64>, %w: tensor<0x8xf64>, %v: tensor<8x1xf64>) -> tensor<9x1xf64> {
      %y = fuse.einsum %x, %w, %v, equation = "ab,bc,cd->ad"
        : (tensor<9x0xf64>, tensor<0x8xf64>, tensor<8x1xf64>) -> tensor<9x1xf64>
      return %y : tensor<9x1xf64>
    }"""
    assert broken(fd.parse(text)) == []


def test_the_strategy_of_tvm_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Form, "family", "contraction")
    program = fd.compile(fd.parse(ROW_AND_MAP), cache=False, strategy="tvm")
    assert [kernel.promised for kernel in program.kernels] == ["", ""]


def test_reports_say_what_was_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Form, "family", "contraction")
    program = fd.compile(fd.parse(ROW_AND_MAP), strategy="cost", cache=False)
    assert [(kernel.family, kernel.promised) for kernel in program.kernels] == [
        ("rows", "contraction"),
        ("map", ""),
    ]
    profile = program.profile(np.ones((64, 64), np.float32), np.ones((64, 32), np.float32), repeat=2)
    assert str(profile).count("planned as contraction") == 1
    assert json.dumps(profile.as_json()).count('"promised": "contraction"') == 1


def test_a_kernel_may_be_of_a_family_that_is_tried_before() -> None:
    for number, promised in enumerate(FAMILIES):
        kept = [family for family in FAMILIES if keeps_promise(promised, family)]
        assert kept == [family for place, family in enumerate(FAMILIES) if place <= number or family == "map"]
        assert not keeps_promise(promised, NONE)
        assert keeps_promise(promised, "of another backend")
    assert keeps_promise("", "generic")


def test_fuse_run_says_what_is_slower_than_planned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Form, "family", "map")
    file = module_of_text(ROW_AND_MAP, "<string>")
    note_slow_kernels(fd.compile(file.module, strategy="cost", cache=False), file)
    assert capsys.readouterr().err.splitlines() == [
        "remark: 1 of 2 kernels are slower than planned",
        "note: fused_softmax: planned as map, is rows",
    ]
