"""Who groups what is compiled: `cost`, unless a strategy or rules are given, at every entry point (ADR 78)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.bisecting.way import Way
from fuse_dialect.fusion.core.rules import RuleTable
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.tools.fuse_run import main

SOFTMAX = """
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %top = fuse.max %x, axes = [1], keepdims = true : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %less = fuse.subtract %x, %top : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  %e = fuse.exp %less : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %sum = fuse.sum %e, axes = [1], keepdims = true : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %y = fuse.divide %e, %sum : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
"""
BY_COST, BY_TVM = 1, 4
"""Kernels: TVM's groups end at a reduction."""
FEWER_RULES = RuleTable(TVM_RULES.rows)


@pytest.mark.parametrize(
    ("fuse", "kernels"),
    [
        (None, BY_COST),
        (FuseOpsPass(dedup=False), BY_COST),
        (FuseOpsPass(strategy="tvm"), BY_TVM),
        (FuseOpsPass().using(rules=FEWER_RULES), BY_TVM),
        (FuseOpsPass(opt_level=0), 5),
    ],
)
def test_what_python_compiles(fuse: FuseOpsPass | None, kernels: int) -> None:
    assert len(compile_program(fd.parse(SOFTMAX), CompileOptions(fuse=fuse)).kernels) == kernels


@pytest.mark.parametrize(
    ("options", "kernels"),
    [({}, BY_COST), ({"dedup": False}, BY_COST), ({"strategy": "tvm"}, BY_TVM), ({"rules": FEWER_RULES}, BY_TVM)],
)
def test_what_the_library_compiles(options: dict[str, Any], kernels: int) -> None:
    assert len(fd.compile(fd.parse(SOFTMAX), **options).kernels) == kernels


@pytest.mark.parametrize(
    ("options", "kernels"),
    [
        ([], BY_COST),
        (["--fuse-ops", ""], BY_COST),
        (["--fuse-ops", "dedup=false"], BY_COST),
        (["--fuse-ops", "strategy=tvm"], BY_TVM),
    ],
)
def test_what_the_command_line_compiles(options: list[str], kernels: int, tmp_path: Path) -> None:
    (tmp_path / "softmax.mlir").write_text(SOFTMAX)
    found = tmp_path / "found.json"
    words = [str(tmp_path / "softmax.mlir"), "--backend", "llvm", "--no-cache", "--random-inputs", "0"]
    assert main([*words, "--benchmark", "1", "--json", str(found), *options]) == 0
    assert len(json.loads(found.read_text())["kernels"]) == kernels


def test_a_way_in_doubt_is_bisected_as_it_is_compiled() -> None:
    assert Way().fuse == FuseOpsPass(strategy="cost")
    assert Way(CompileOptions(fuse=FuseOpsPass(strategy="tvm"))).fuse == FuseOpsPass(strategy="tvm")


def test_a_saved_program_keeps_who_has_grouped_it(tmp_path: Path) -> None:
    program = fd.compile(fd.parse(SOFTMAX), dedup=False)
    program.save(tmp_path / "softmax.fuse")
    loaded = fd.load(tmp_path / "softmax.fuse")
    x = np.random.default_rng(0).standard_normal((8, 64), np.float32)
    assert len(loaded.kernels) == BY_COST
    np.testing.assert_array_equal(loaded(x)[0], program(x)[0])


def test_the_pass_alone_groups_as_tvm_does() -> None:
    assert len(fd.plan_fusion(fd.parse(SOFTMAX)).groups) == BY_TVM
