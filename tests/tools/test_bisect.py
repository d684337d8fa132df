"""`fuse-run --bisect` and `--fuse-ops`: a backend that is wrong about one pair of ops is found out, and shown."""

import re
import shlex
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.bisecting.finding import smallest_finding
from fuse_dialect.bisecting.search import find_bad_merge, merges_in
from fuse_dialect.bisecting.way import Way
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.entry import function_named
from fuse_dialect.loading.array_files import random_inputs
from fuse_dialect.tools.fuse_run import main

pytestmark = pytest.mark.skipif(find_spec("llvmlite") is None, reason="needs llvmlite")

WRONG = '''
from dataclasses import replace
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.options import BackendSettings
from fuse_dialect.backends.table import find_backend
from fuse_dialect.loops.program import Apply

WRONG_ALONE = False

class Wrong:
    """Native code that takes a tangent for a sine where an exponential is in the same kernel."""

    name, layout = "wrong", "keep"

    def __init__(self, settings):
        self.engine = find_backend("llvm", settings)

    def compile(self, requests):
        return self.engine.compile([replace(each, program=self.broken(each.program)) for each in requests])

    def broken(self, program):
        functions = {each.function for stage in program.stages for each in stage.body if isinstance(each, Apply)}
        if "math.tanh" not in functions or ("math.exp" not in functions and not WRONG_ALONE):
            return program
        def sine(each):
            is_tanh = isinstance(each, Apply) and each.function == "math.tanh"
            return replace(each, function="math.sin") if is_tanh else each
        stages = tuple(replace(stage, body=tuple(map(sine, stage.body))) for stage in program.stages)
        return replace(program, stages=stages)

def make(settings):
    return Wrong(settings)
'''
TEXT = """func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %a = fuse.relu %x : tensor<4x6xf32>
  %b = fuse.add %a, %y : (tensor<4x6xf32>, tensor<6xf32>)
  %s = fuse.softmax %b, axis = 1 : tensor<4x6xf32>
  %e = fuse.exp %s : tensor<4x6xf32>
  %n = fuse.negative %e : tensor<4x6xf32>
  %t = fuse.tanh %n : tensor<4x6xf32>
  %q = fuse.sqrt %s : tensor<4x6xf32>
  %m = fuse.sum %q, axes = [1] : (tensor<4x6xf32>)
  return %t, %m : tensor<4x6xf32>, tensor<4xf32>
}
"""


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A folder in which a wrong backend is installed, as far as Python sees it."""
    (tmp_path / "wrong_backend.py").write_text(WRONG)
    info = tmp_path / "wrong_backend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong_backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fuse_dialect.backends]\nwrong = wrong_backend:make\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "program.mlir").write_text(TEXT)
    yield tmp_path
    sys.modules.pop("wrong_backend", None)


def bisect(folder: Path, *options: str) -> int:
    command = [str(folder / "program.mlir"), "--random-inputs", "0", "--bisect", str(folder / "bad.mlir")]
    return main([*command, "--fuse-ops", "strategy=tvm", *options])


def run_test(path: Path, *changes: tuple[str, str]) -> int:
    """What the first line of a test runs; each change replaces some of it."""
    command = path.read_text().splitlines()[0].removeprefix("// RUN: fuse-run ")
    for old, new in (("%s", str(path)), ("%S", str(path.parent)), *changes):
        command = command.replace(old, new)
    return main(shlex.split(command))


def test_the_merge_is_found_and_the_test_fails_until_it_is_mended(wrong: Path, capsys: pytest.CaptureFixture[str]):
    assert bisect(wrong, "--backend", "wrong", "--no-cache") == 1
    error, note, hint = capsys.readouterr().err.splitlines()[-3:]
    assert "error: the outputs differ since merge 3 of 4: %n = 'fuse.negative' into %t = 'fuse.tanh', by" in error
    assert "elements of result 0 differ" in note
    assert "bad.mlir shows it" in hint
    text = (wrong / "bad.mlir").read_text()
    # Whatever is between: both ops must be there, and nothing from before.
    assert re.findall(r"fuse\.(\w+) ", text.split("func.func")[1]) == ["exp", "negative", "tanh"]
    assert "--random-inputs 0" in text
    assert not (wrong / "bad.npz").exists()
    assert run_test(wrong / "bad.mlir") == 1
    assert run_test(wrong / "bad.mlir", ("wrong", "llvm")) == 0


def test_an_operator_that_is_wrong_alone_is_found(wrong: Path, capsys: pytest.CaptureFixture[str]):
    (wrong / "wrong_backend.py").write_text(WRONG.replace("WRONG_ALONE = False", "WRONG_ALONE = True"))
    assert bisect(wrong, "--backend", "wrong", "--no-cache") == 1
    assert "error: the outputs differ without any merge" in capsys.readouterr().err
    text = (wrong / "bad.mlir").read_text()
    assert re.findall(r"fuse\.(\w+) ", text.split("func.func")[1]) == ["tanh"]
    assert run_test(wrong / "bad.mlir") == 1


def test_inputs_are_written_where_made_up_ones_do_not_show_it(wrong: Path, capsys: pytest.CaptureFixture[str]):
    # The mistake shows far from zero alone, where tanh is 1 and a sine is not.
    (wrong / "program.mlir").write_text(
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = fuse.exp %x : tensor<4xf32>
  %t = fuse.tanh %e : tensor<4xf32>
  return %t : tensor<4xf32>
}
"""
    )
    np.savez(wrong / "inputs.npz", x=np.full(4, 5, np.float32))
    command = [str(wrong / "program.mlir"), "--inputs", str(wrong / "inputs.npz"), "--atol", "1.2"]
    assert main([*command, "--bisect", str(wrong / "bad.mlir"), "--backend", "wrong", "--no-cache"]) == 1
    capsys.readouterr()
    assert np.load(wrong / "bad.npz")["x"].tolist() == [5, 5, 5, 5]
    assert run_test(wrong / "bad.mlir") == 1


@pytest.mark.parametrize(
    "options", [("--backend", "llvm"), (), ("--fuse-ops", "strategy=separate", "--backend", "llvm")]
)
def test_nothing_is_written_where_the_outputs_agree(
    options: tuple[str, ...], wrong: Path, capsys: pytest.CaptureFixture[str]
):
    assert bisect(wrong, *options) == 0
    total = 0 if "strategy=separate" in options else 4
    assert capsys.readouterr().out == f"the outputs agree with all {total} merges: nothing to find\n"
    assert not (wrong / "bad.mlir").exists()


def test_a_strategy_that_makes_no_merges_is_bisected_by_kernels(wrong: Path):
    """Its kernels count, in their order; the last of the kernels that are kept is to blame."""
    from own_strategies import OWN_STRATEGIES

    module = fd.parse(TEXT)
    fuse = FuseOpsPass().using(strategy=OWN_STRATEGIES["chains"])
    assert merges_in(module, fuse) > 0
    sys.modules.pop("wrong_backend", None)
    from importlib import import_module

    from fuse_dialect.backends.options import BackendSettings, CompileOptions

    way = Way(CompileOptions(backend=import_module("wrong_backend").make(BackendSettings(cache=False)), fuse=fuse))
    inputs = random_inputs(function_named(module, "main"), 0, 2)
    bad, total = find_bad_merge(module, inputs, way)
    assert bad is not None
    assert 0 < bad.number <= total
    finding = smallest_finding(bad, module, inputs, way, lambda function: random_inputs(function, 0, 2), seconds=5)
    assert {"fuse.exp", "fuse.tanh"} <= {op.name for op in finding.module.walk()}
    assert finding.difference


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bisect", "bad.txt"), "argument --bisect: expected a file that ends in .mlir, got 'bad.txt'"),
        (("--bisect", "bad.mlir", "--benchmark", "3"), "argument --bisect: not allowed with --benchmark"),
        (("--bisect", "bad.mlir", "--outputs", "x.npz"), "argument --bisect: not allowed with --outputs"),
        (("--bisect", "bad.mlir", "--fuse-ops", "fusion-limit=3"), "argument --bisect: it finds the fusion-limit"),
    ],
)
def test_options_that_contradict_each_other(
    options: tuple[str, ...], message: str, wrong: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([str(wrong / "program.mlir"), "--random-inputs", "0", *options]) == 2
    assert message in capsys.readouterr().err


def test_the_file_cannot_be_the_module(wrong: Path, capsys: pytest.CaptureFixture[str]):
    path = str(wrong / "program.mlir")
    assert main([path, "--random-inputs", "0", "--bisect", path]) == 1
    assert "would overwrite the file of MODULE" in capsys.readouterr().err
    assert Path(path).read_text() == TEXT


def test_options_of_the_pass_are_those_of_fuse_opt(wrong: Path, capsys: pytest.CaptureFixture[str]):
    command = [str(wrong / "program.mlir"), "--random-inputs", "0", "--benchmark", "1", "--fuse-ops"]
    assert main([*command, "fusion-limit=0"]) == 0
    separate = capsys.readouterr().out
    assert len(re.findall("^fused_", separate, re.MULTILINE)) == 8
    assert main([*command, "fusion-limt=0"]) == 1
    assert "pass 'fuse-ops' has no option 'fusion-limt'" in capsys.readouterr().err
