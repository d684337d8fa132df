"""Programs with regions, blocks and effects mean the same after every pass; `tools/fuzz_passes.py` runs more."""

import pytest
from fuzz_passes import PIPELINES, check_program
from fuzzing import effect_semantics
from fuzzing.effect_programs import program_text
from fuzzing.effect_semantics import run_program
from xdsl.dialects import cf, scf

from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.fusion.kinds.kind_of import op_name


def _module(text):
    return read_mlir(text, "t.mlir", context(allow_unregistered=True))[0]


@pytest.mark.parametrize("name", PIPELINES)
def test_programs_mean_the_same(name):
    problems = [problem for seed in range(24) for problem in check_program(seed, [name])]
    assert problems == []


def test_programs_have_all_that_is_hard():
    modules = [_module(program_text(seed)) for seed in range(40)]
    names = {op_name(op) for module in modules for op in module.walk()}
    assert {"test.read", "test.log", "test.region", "stablehlo.reduce", "scf.if", "scf.for", "func.call"} <= names
    assert {"fuse.conv2d", "fuse.batch_norm", "fuse.split", "fuse.tuple", "fuse.stop_fusion", "fuse.sort"} <= names
    assert {"cf.br", "cf.cond_br"} <= names
    branches = [op for module in modules for op in module.walk() if isinstance(op, cf.BranchOp)]
    blocks = [list(op.parent.parent.blocks) for op in branches]
    places = [(each.index(op.parent), each.index(op.successor)) for op, each in zip(branches, blocks, strict=True)]
    assert any(before > after for before, after in places)
    assert any(before < after for before, after in places)
    nested = [op for module in modules for op in module.walk() if isinstance(op, scf.IfOp) and op.results]
    assert nested


_EFFECTS = """
  func.func @main(%x: tensor<1x2x3x3xf64>, %y: tensor<1x2x3x3xf64>, %v: tensor<2xf64>) -> tensor<1x2x3x3xf64> {
    %a = fuse.relu %x : tensor<1x2x3x3xf64>
    FIRST
    SECOND
    return %RETURNED : tensor<1x2x3x3xf64>
  }"""
_LOG = '"test.log"(%{}) : (tensor<1x2x3x3xf64>) -> ()'
_READ = '%b = "test.read"() : () -> tensor<1x2x3x3xf64>'


def _outcome(first, second, returned="a"):
    text = _EFFECTS.replace("FIRST", first).replace("SECOND", second).replace("RETURNED", returned)
    return run_program(_module(text))


@pytest.mark.parametrize(
    "other",
    [
        (_LOG.format("x"), _LOG.format("a")),
        (_LOG.format("a"), ""),
        (_READ, _LOG.format("x")),
        (_LOG.format("a"), _LOG.format("x"), "x"),
    ],
)
def test_outcomes_differ_in_effects_their_order_values_and_results(other):
    before = _outcome(_LOG.format("a"), _LOG.format("x"))
    assert before.differs(_outcome(_LOG.format("a"), _LOG.format("x")), tolerance=0) is None
    assert before.differs(_outcome(*other), tolerance=0) is not None


def test_what_is_read_depends_on_the_effects_before():
    first, second = _outcome(_READ, "", "b"), _outcome(_LOG.format("x"), _READ, "b")
    assert first.results[0].tolist() != second.results[0].tolist()


def test_program_that_loops_is_stopped(monkeypatch):
    monkeypatch.setattr(effect_semantics, "MOST_BRANCHES", 20)
    text = """
      func.func @main(%x: tensor<1x2x3x3xf64>, %y: tensor<1x2x3x3xf64>, %v: tensor<2xf64>) -> tensor<1x2x3x3xf64> {
        cf.br ^a
      ^a:
        "test.log"(%x) : (tensor<1x2x3x3xf64>) -> ()
        cf.br ^a
      }"""
    outcome = run_program(_module(text))
    assert outcome.results is None
    assert len(outcome.effects) == 20
