"""The package as a library: what `import fuse_dialect` offers."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.api import FuseOptions as OptionNames
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.options import FuseOptions
from fuse_dialect.fusion.core.plan import plan_of_roots
from fuse_dialect.fusion.core.rules import PATH_LIMIT, FusionRule, RuleTable
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.pattern_kind import PatternKind

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
CHAIN = """
func.func @main(%x: tensor<2x8xf32>) -> tensor<2xf32> {
  %y = fuse.exp %x : tensor<2x8xf32>
  %z = fuse.sum %y, axes = [1] : (tensor<2x8xf32>) -> tensor<2xf32>
  %r = fuse.relu %z : tensor<2xf32>
  return %r : tensor<2xf32>
}"""


def test_import_alone_imports_neither_xdsl_nor_numpy() -> None:
    code = "import sys, fuse_dialect; print(sorted({'xdsl', 'numpy', 'onnx'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout == "[]\n"


def test_a_program_without_stablehlo_imports_no_converter() -> None:
    """A text printed by JAX needs seventeen modules more than others do; no source format is imported besides MLIR."""
    code = f"""
import sys, fuse_dialect as fd
fd.compile(fd.parse({CHAIN!r}), backend="numpy")
print([name for name in sys.modules if "stablehlo" in name or name.startswith("fuse_dialect.frontends.onnx")])
fd.compile(fd.parse("func.func @main(%x: tensor<f32>) -> tensor<f32> {{ "
  "%y = stablehlo.exponential %x : tensor<f32> return %y : tensor<f32> }}"), backend="numpy")
print("fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse" in sys.modules)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout == "[]\nTrue\n"


def test_all_names_are_there_and_version_is_a_version() -> None:
    assert {name for name in fd.__all__ if hasattr(fd, name)} == set(fd.__all__)
    assert fd.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="no attribute 'fuse_op'"):
        _ = fd.fuse_op


def test_fused_module_runs_as_before() -> None:
    module = fd.parse(CHAIN)
    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)
    (before,) = fd.run(module, x)
    assert fd.fuse_ops(module) is module
    (after,) = fd.run(module, {"x": x})
    np.testing.assert_array_equal(before, after)
    np.testing.assert_allclose(before, np.exp(x).sum(1), rtol=1e-6)


def test_plan_names_ops_and_changes_nothing() -> None:
    module = fd.parse(CHAIN)
    before = str(module)
    plan = fd.plan_fusion(module)
    assert str(module) == before
    assert [repr(group) for group in plan.groups] == ["exp + sum -> %z", "relu -> %r"]
    assert [decision.reason for decision in plan.decisions] == [Reason.FUSED, Reason.NO_RULE, Reason.VALUE_ESCAPES]
    assert bool(plan.decisions[0])
    assert not plan.decisions[1]
    assert repr(plan.decisions[1]) == "'fuse.sum' not fused into 'fuse.relu': no-rule"
    assert "comm_reduce" in plan.decisions[1].explanation
    assert str(plan).splitlines()[:3] == ["@main: 2 groups", "  exp + sum -> %z", "  relu -> %r"]


def test_summary_counts_what_the_pass_does() -> None:
    module = fd.parse(CHAIN)
    summary = fd.plan_fusion(module).summary()
    assert (summary.ops, summary.groups, summary.primitives) == (3, 2, 2)
    assert summary.bytes_before == (64 + 64) + (64 + 8) + (8 + 8)
    assert summary.bytes_after == (64 + 8) + (8 + 8)
    assert summary.refusals == {"no-rule": 1, "value-escapes": 1}
    assert str(summary).startswith("fuse-ops: ops=3 groups=2 primitives=2 bytes-before=216 bytes-after=88; refusals: ")
    assert json.loads(json.dumps(summary.as_json()))["bytes-after"] == 88


def test_groups_of_one_structure_are_one_primitive_in_the_summary() -> None:
    module = fd.read(EXAMPLES / "two_convolutions.mlir")
    shared, single = fd.plan_fusion(module).summary(), fd.plan_fusion(module, dedup=False).summary()
    assert shared.groups == single.groups == single.primitives
    assert shared.primitives <= single.primitives


def test_options_reach_the_pass() -> None:
    assert len(fd.plan_fusion(fd.parse(CHAIN), opt_level=0).groups) == 3
    with pytest.raises(fd.FuseError, match="option 'opt-level' expects 0 or more, got -1"):
        fd.plan_fusion(fd.parse(CHAIN), opt_level=-1)


def test_text_of_an_error_is_what_the_tools_print() -> None:
    with pytest.raises(fd.FuseError) as error:
        fd.parse("func.func @main() {\n  %x = fuse.nope\n}", "some.mlir")
    assert str(error.value).startswith("some.mlir:2:8: error: ")


def test_invalid_module_is_an_error_with_a_place() -> None:
    text = "func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {\n  return %x : tensor<2xf32>\n}"
    with pytest.raises(fd.FuseError) as error:
        fd.parse(text, "f.mlir")
    assert str(error.value).startswith("f.mlir:2:3: error: 'func.return' op ")


def test_missing_file_is_an_error() -> None:
    with pytest.raises(fd.FuseError, match="cannot read the input"):
        fd.read("no/such/file.mlir")


def test_text_for_a_path_is_an_error_with_a_hint() -> None:
    with pytest.raises(fd.FuseError) as error:
        fd.compile("\nfunc.func @main() {\n" + "  // a long text\n" * 1000 + "}")
    assert str(error.value) == (
        "error: expected a path, got text: func.func @main() {...\nhint: `fuse_dialect.parse` makes a module of text"
    )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), "'main' expects 1 inputs, got 0"),
        ((np.zeros((2, 7), np.float32),), "input 'x' expects a value of type tensor<2x8xf32>"),
        (({"y": np.zeros((2, 8), np.float32)},), "no input 'x' among 'y'"),
        ((np.ma.masked_array(np.zeros((2, 8), np.float32), True),), "input 0 expects an array, got a masked array"),
    ],
)
def test_wrong_inputs_are_errors(inputs: tuple[object, ...], message: str) -> None:
    with pytest.raises(fd.FuseError, match=message):
        fd.run(fd.parse(CHAIN), *inputs)  # pyright: ignore[reportArgumentType]


def test_inputs_may_have_another_byte_order() -> None:
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    (expected,) = fd.run(fd.parse(CHAIN), x)
    for dtype in ("<f4", ">f4"):
        (result,) = fd.run(fd.parse(CHAIN), x.astype(dtype))
        assert result.dtype.isnative
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_dept": 3}, r"no option 'max_dept'\nhint: did you mean 'max_depth'\?"),
        ({"max_depth": "x"}, "option 'max_depth' expects an integer, got 'x'"),
        ({"dedup": 0}, "option 'dedup' expects True or False, got 0"),
        ({"rules": [1]}, r"option 'rules' expects a RuleTable, got \[1\]"),
        ({"strategy": 3}, "option 'strategy' expects a name or a function, got 3"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, object], message: str) -> None:
    for call in (fd.fuse_ops, fd.plan_fusion, fd.compile):
        with pytest.raises(fd.FuseError, match=message):
            call(fd.parse(CHAIN), **options)  # pyright: ignore[reportArgumentType]


def test_integers_of_numpy_are_integers() -> None:
    plan = fd.plan_fusion(fd.parse(CHAIN), max_depth=np.int64(1))  # pyright: ignore[reportArgumentType]
    assert len(plan.groups) == 3


def test_text_in_place_of_a_module_is_an_error() -> None:
    for call in (fd.fuse_ops, fd.plan_fusion, fd.run):
        with pytest.raises(fd.FuseError, match=r"expected a module, got str\nhint: fuse_dialect\.read"):
            call(CHAIN)  # pyright: ignore[reportArgumentType]


def test_decisions_include_ops_of_unknown_kind() -> None:
    plan = fd.plan_fusion(fd.parse(FOREIGN, allow_unregistered=True))
    assert [decision.reason for decision in plan.decisions] == [Reason.OPAQUE]
    assert "kind is not known" in plan.decisions[0].explanation


FOREIGN = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "my.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}"""


def test_foreign_ops_need_permission() -> None:
    with pytest.raises(fd.FuseError, match=r"my\.op"):
        fd.parse(FOREIGN)
    assert len(fd.plan_fusion(fd.parse(FOREIGN, allow_unregistered=True)).groups) == 0


def test_rules_and_strategies_from_outside_reach_fusion() -> None:
    epilogue = FusionRule(
        name="reduction-epilogue",
        phases=(0,),
        sources=frozenset({PatternKind.COMM_REDUCE}),
        edges=frozenset({PatternKind.ELEMWISE}),
        path_limit=PATH_LIMIT,
        sinks=frozenset({PatternKind.ELEMWISE}),
    )
    plan = fd.plan_fusion(fd.parse(CHAIN), rules=RuleTable((*TVM_RULES.rows, epilogue)))
    assert repr(plan.decisions[1]) == "'fuse.sum' fused into 'fuse.relu' by reduction-epilogue"
    assert [repr(group) for group in plan.groups] == ["exp + sum + relu -> %r"]
    plan = fd.plan_fusion(fd.parse(CHAIN), strategy=lambda graph, options: plan_of_roots(graph, [0, 2, 2, 3]))
    assert [repr(group) for group in plan.groups] == ["exp + sum -> %z", "relu -> %r"]
    assert [repr(decision) for decision in plan.decisions] == [
        "'fuse.exp' fused into 'fuse.sum'",
        "'fuse.sum' not fused into 'fuse.relu': not-chosen",
        "'fuse.relu' not fused: value-escapes",
    ]
    plan = fd.plan_fusion(fd.parse(CHAIN), strategy="separate")
    assert [decision.reason for decision in plan.decisions][:2] == [Reason.FUSION_OFF] * 2


DYNAMIC = """
func.func @main(%x: tensor<?x4xf32> {fuse.sizes = ["batch", ""]}, %w: tensor<1x4xf32>) -> tensor<?x4xf32> {
  %shape = fuse.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  %rows = fuse.dyn_broadcast_to %w, %shape : (tensor<1x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %y = fuse.multiply %x, %rows : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
"""


def test_compile_for_sizes_makes_one_native_kernel_of_dynamic_ops() -> None:
    pytest.importorskip("llvmlite")
    module = fd.parse(DYNAMIC)
    x, w = np.ones((3, 4), np.float32), np.full((1, 4), 2, np.float32)
    open_program, program = fd.compile(module, cache=False), fd.compile(module, cache=False, sizes={"batch": 3})
    assert [kernel.family for kernel in open_program.kernels] == ["settled", "move", "map"]
    assert [kernel.ops for kernel in program.kernels] == [("broadcast_to", "multiply")]
    assert program.kernels[0].family != "numpy"
    for each in (open_program, program):
        np.testing.assert_array_equal(each(x, w)[0], x * 2)
    with pytest.raises(fd.FuseError, match="2x4"):
        program(x[:2], w)


@pytest.mark.parametrize("sizes", [{"seq": 3}, {"batch": -1}, {"batch": 2.5}])
def test_sizes_that_have_no_meaning_are_errors(sizes: dict[str, int]) -> None:
    with pytest.raises(fd.FuseError, match="option 'sizes'"):
        fd.compile(fd.parse(DYNAMIC), "numpy", sizes=sizes)


def test_values_of_unknown_size_are_bounded() -> None:
    x, w = np.ones((3, 4), np.float32), np.ones((1, 4), np.float32)
    with pytest.raises(fd.FuseError, match="at most 40 bytes, got tensor<3x4xf32> of 48 bytes"):
        fd.run(fd.parse(DYNAMIC), x, w, max_value_bytes=40)
    with pytest.raises(fd.FuseError, match="at most 40 bytes"):
        fd.compile(fd.parse(DYNAMIC), "numpy", max_value_bytes=40)(x, w)


def test_long_loops_take_as_many_ops_as_they_may() -> None:
    module = fd.parse("""
    func.func @main(%n: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
      %y = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<f32>) -> (tensor<f32>) {
      ^bb0(%i: tensor<i64>, %s: tensor<f32>):
        %t = fuse.negative %s : tensor<f32>
        fuse.yield %t : tensor<f32>
      }
      return %y : tensor<f32>
    }""")
    inputs = np.array(301), np.float32(2)
    for run in (fd.run, lambda module, *inputs, max_ops: fd.compile(module, "numpy", max_ops=max_ops)(*inputs)):
        with pytest.raises(fd.FuseError, match="no more ops may be run"):
            run(module, *inputs, max_ops=200)
        assert run(module, *inputs, max_ops=3000)[0] == -2


def test_a_summary_counts_what_fusing_gives() -> None:
    from fuse_dialect.remarks.statistics import primitives_of, statistics_of

    text = """
    func.func @main(
      %table: tensor<?x8xf32>, %ids: tensor<4xi64>, %x: tensor<4x8xf32>
    ) -> (tensor<4x8xf32>, tensor<8xf32>) {
      %r = fuse.take %table, %ids, axis = 0 : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
      %s = fuse.multiply %r, %r : tensor<4x8xf32>
      %a = fuse.add %s, %x : tensor<4x8xf32>
      %b = fuse.exp %x : tensor<4x8xf32>
      %e = fuse.multiply %b, %b : tensor<4x8xf32>
      %m = fuse.sum %e, axes = [0] : (tensor<4x8xf32>)
      return %a, %m : tensor<4x8xf32>, tensor<8xf32>
    }"""
    for options in ({}, {"dedup": False}, {"opt_level": 0}, {"strategy": "separate"}):
        module = fd.parse(text)
        plan = fd.plan_fusion(module, **options)
        fused = fd.fuse_ops(fd.parse(text), **options)
        assert plan.summary() == statistics_of("fuse-ops", fused, primitives_of(module).keys(), plan.refusals())
    assert plan.summary().bytes_before == plan.summary().bytes_after == (128 * 2 + 32) + 256 + 384 + 256 + 256 + 160


def test_a_file_that_ends_in_onnx_is_written_as_a_model(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    module, x = fd.parse(CHAIN), np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)
    fd.write(module, tmp_path / "chain.onnx")
    np.testing.assert_array_equal(fd.run(fd.read(tmp_path / "chain.onnx"), x)[0], fd.run(module, x)[0])
    weighty = fd.read(EXAMPLES / "tiny_cnn.onnx")
    fd.write(weighty, tmp_path / "cnn.onnx", tmp_path / "cnn.safetensors")
    assert (tmp_path / "cnn.onnx").stat().st_size < (tmp_path / "cnn.safetensors").stat().st_size
    image = np.linspace(-1, 1, 768, dtype=np.float32).reshape(1, 3, 16, 16)
    np.testing.assert_array_equal(fd.run(fd.read(tmp_path / "cnn.onnx"), image)[0], fd.run(weighty, image)[0])
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(fd.FuseError, match="in its own folder"):
        fd.write(weighty, tmp_path / "cnn.onnx", tmp_path / "elsewhere" / "cnn.safetensors")


def test_text_leaves_out_large_constants_on_request() -> None:
    module = fd.parse(
        "%a = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi8>\n%b = arith.constant dense<7> : tensor<9xi8>"
    )
    assert fd.text(module) == str(module)
    elided = fd.text(module, elide=3)
    assert "dense_resource<__elided__> : tensor<4xi8>" in elided
    assert "dense<7> : tensor<9xi8>" in elided  # one number is not large
    assert fd.text(module, elide=4) == fd.text(module)
    assert "[1, 2, 3, 4]" in str(module)


def test_the_module_of_a_program_is_text() -> None:
    values = ", ".join(map(str, range(100)))
    module = fd.parse(
        f"func.func @main(%x: tensor<100xf32>) -> tensor<100xf32> {{\n"
        f"  %a = arith.constant dense<[{values}]> : tensor<100xf32>\n"
        f"  %y = fuse.add %x, %a : tensor<100xf32>\n  return %y : tensor<100xf32>\n}}"
    )
    assert "dense_resource<__elided__> : tensor<100xf32>" in fd.text(fd.compile(module, backend="numpy").module)


def test_what_is_neither_module_nor_path_is_told_where_modules_come_from() -> None:
    class Network: ...

    with pytest.raises(fd.FuseError, match=r"got Network\nhint: .*from_torch.*from_jax"):
        fd.compile(Network())


def test_a_program_says_what_it_is() -> None:
    program = fd.compile(fd.read(EXAMPLES / "tiny_cnn.onnx"), backend="numpy", threads=2)
    assert re.fullmatch(
        r"<Program 'main' for numpy, 2 threads: \d+ kernels \(.*\d+ numpy.*\), \d+ bytes of constants>", repr(program)
    )
    assert f"{len(program.kernels)} kernels" in str(program)
    assert f" {program.constant_bytes} bytes" in str(program)


def test_remedies_are_arguments_of_functions() -> None:
    module = fd.parse("""func.func @main(%x: tensor<1xf32>) -> tensor<4096xf32> {
      %y = fuse.broadcast_to %x : (tensor<1xf32>) -> tensor<4096xf32>
      return %y : tensor<4096xf32>
    }""")
    with pytest.raises(fd.FuseError, match="hint: max_value_bytes= raises the limit"):
        fd.run(module, np.zeros(1, np.float32), max_value_bytes=1000)


def test_reading_a_model_takes_limits() -> None:
    pytest.importorskip("onnx")
    path = EXAMPLES / "tiny_cnn.onnx"
    assert str(fd.read(path)) == str(fd.read(path, max_ops=1 << 20, max_bytes=1 << 20))


class _MineError(ValueError):
    """An error that the package knows nothing of."""


@pytest.mark.parametrize("error", [_MineError("mine"), fd.FuseError("mine"), KeyboardInterrupt(), MemoryError("mine")])
@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_an_error_of_the_progress_function_is_the_callers(
    error: BaseException, backend: Literal["llvm", "numpy"]
) -> None:
    def fail(*_: object) -> None:
        raise error

    module = fd.parse("""
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %y = fuse.exp %x : tensor<3xf32>
      return %y : tensor<3xf32>
    }""")
    with pytest.raises(type(error)) as caught:
        fd.compile(module, backend, cache=False, progress=fail)
    assert caught.value is error
    assert caught.value.__cause__ is None
    assert fd.compile(module, backend, cache=False)(np.zeros(3, np.float32))[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("options", [{"nonsense": True}, {"allow_unsupported_onnx": True}, {"opt_level": "high"}])
def test_wrong_options_are_refused_before_the_model_is_read(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(fd.FuseError, match=f"option '{next(iter(options))}'") as caught:
        fd.compile(tmp_path / "there is none.onnx", **options)
    assert "allow_unsupported_onnx" not in (caught.value.hint or "")


def test_options_of_the_api_are_those_of_the_pass():
    own = {"rules"}  # what text cannot say
    assert set(OptionNames.__annotations__) == {each.name for each in fields(FuseOptions)} | own


NEEDLESS = (
    "argparse", "asyncio", "email.mime", "html", "http", "ssl", "statistics", "unittest", "urllib.request", "scipy",
    "fuse_dialect.templates", "fuse_dialect.backends.libraries", "fuse_dialect.backends.llvm.contractions",
    "fuse_dialect.backends.llvm.sorting", "fuse_dialect.backends.llvm.strips", "fuse_dialect.backends.runtime.report",
    "fuse_dialect.backends.runtime.roofline", "fuse_dialect.frontends.onnx", "fuse_dialect.frontends.stablehlo",
    "fuse_dialect.hardware", "fuse_dialect.pictures", "fuse_dialect.remarks", "fuse_dialect.targets", "onnx", "torch",
)  # fmt: skip
"""Modules that one small kernel needs nothing of."""


def test_a_small_program_imports_nothing_that_it_does_not_need() -> None:
    pytest.importorskip("llvmlite")
    op = "%y = fuse.exp %x : tensor<8xf32> return %y : tensor<8xf32>"
    text = f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{ {op} }}"
    code = f"""
import sys
import fuse_dialect as fd
fd.compile(fd.parse({text!r}), cache=False)
print([name for name in {NEEDLESS!r} if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
