"""`fuse-opt` from the command line to the exit code, in this process."""

import io
import os
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from fuse_dialect.__main__ import main as package_main
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extras import install_hint
from fuse_dialect.loading import onnx_source
from fuse_dialect.tools import fuse_opt
from fuse_dialect.tools.arguments import opt_argument_parser
from fuse_dialect.tools.fuse_opt import main
from fuse_dialect.tools.opt_main import FuseOptMain

VALID = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
INVALID = 'func.func @f(%x: f32) {\n  %y = "arith.addf"(%x) : (f32) -> f32\n  return\n}\n'

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str | bytes, name: str = "x.mlir") -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write_file


def test_result_goes_to_stdout_alone(write: Write, capsys: pytest.CaptureFixture[str]):
    assert main([write(VALID), "--cse", "--time-passes", "--print-between-passes", "--dce"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("builtin.module {")
    assert "cse" not in captured.out
    assert "IR Dump After cse" in captured.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe\x00", "x.mlir:1:1: error: byte 0xFF is not UTF-8 text"),
        (b"module {\n  \xc3\x28}", "x.mlir:2:3: error: byte 0xC3 is not UTF-8 text"),
        (b"ML\xefR\x01", "x.mlir: error: MLIR bytecode cannot be read"),
        ("func.func @f() {\n  return %z : i32\n}", "x.mlir:2:10: error: use of undefined value '%z'"),
        ("module {", "x.mlir:1:9: error: unexpected end of input in block definition"),
        ("}", "x.mlir:1:1: error: expected an operation, found '}'"),
        (INVALID, "x.mlir:2:8: error: 'arith.addf' op expected 2 operands, but got 1"),
        ("%0 = arith.constant dense<1> : tensor<2xi128>", "error: format not implemented for i128"),
        ('"test.op"() {a = ' + "[" * 70_000, "x.mlir: error: input is nested too deeply"),
    ],
)
def test_mistake_in_the_input_is_diagnosed(
    text: str | bytes, message: str, write: Write, capsys: pytest.CaptureFixture[str]
):
    assert main([write(text)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("text", ["", "// only a comment", "!t = i32", " \n\t"])
def test_input_without_operations_is_an_empty_module(text: str, write: Write, capsys: pytest.CaptureFixture[str]):
    assert main([write(text)]) == 0
    assert capsys.readouterr().out == "builtin.module {\n}\n"


def test_nesting_that_xdsl_cannot_take_is_processed(write: Write, capsys: pytest.CaptureFixture[str]):
    levels = 400
    text = '"builtin.module"() ({\n' * levels + '"test.op"() : () -> ()\n' + "}) : () -> ()\n" * levels
    assert main([write(text)]) == 0
    assert capsys.readouterr().out.count("builtin.module") == levels


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-p", "cannonicalize"], 1, "hint: did you mean 'canonicalize'?"),
        (["-p", "cse{x=1}"], 1, "pass 'cse' has no option 'x'"),
        (["-p", "cse{"], 1, "expected '}'"),
        (["-p"], 1, "expected a list of passes after '-p'"),
        (["--nonsense"], 2, "unrecognized arguments: --nonsense"),
        (["--canonicalise"], 2, "hint: did you mean --canonicalize?"),
        (["-t", "nonsense"], 2, "unknown target 'nonsense'"),
        (["-t", "{"], 2, "cannot read '{'"),
        (["-f", "nonsense"], 2, "invalid choice"),
        (["--mlir-elide-elementsattrs-if-larger=-1"], 2, "expected a number of 0 or more"),
        (["-o", "/nonexistent/result.mlir"], 1, "/nonexistent/result.mlir: error: cannot write the output"),
        (["-o", "."], 1, ".: error: cannot write the output: is a directory"),
    ],
)
def test_wrong_arguments_are_diagnosed(
    arguments: list[str], status: int, message: str, write: Write, capsys: pytest.CaptureFixture[str]
):
    assert main([write(VALID), *arguments]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


@pytest.mark.parametrize("path", ["missing.mlir", "."])
def test_unreadable_input_is_diagnosed(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main([path]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: error: cannot read the input: ")


def test_stdin_and_stdout_are_spelled_with_a_dash(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VALID.encode())))
    assert main(["-", "-o", "-"]) == 0
    assert "func.func @f" in capsys.readouterr().out


def test_output_file_is_replaced_only_on_success(write: Write, tmp_path: Path):
    result = tmp_path / "result.mlir"
    result.write_text("old")
    assert main([write(INVALID), "-o", str(result)]) == 1
    assert result.read_text() == "old"
    assert main([write(VALID), "-o", str(result)]) == 0
    assert result.read_text().startswith("builtin.module {")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.mlir", "x.mlir"]


def test_output_file_keeps_its_mode(write: Write, tmp_path: Path):
    result = tmp_path / "result.mlir"
    result.write_text("old")
    result.chmod(0o640)
    assert main([write(VALID), "-o", str(result)]) == 0
    assert result.stat().st_mode & 0o777 == 0o640


def test_the_extension_of_the_output_says_its_form(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("onnx")
    program = write("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}")
    model, text = tmp_path / "y.ONNX", tmp_path / "y.mlir"
    assert main([program, "-o", str(model)]) == 0
    assert main([str(model), "-o", str(text)]) == 0
    assert "func.func @main" in text.read_text()
    for target, output in (("mlir", model), ("loops", model), ("onnx{text=true}", model), ("onnx", text)):
        before = output.read_bytes()
        assert main([program, "-t", target, "-o", str(output)]) == 2
        assert "argument -t/--target" in capsys.readouterr().err
        assert output.read_bytes() == before
    assert main([program, "-t", "onnx{text=true}", "-o", str(text)]) == 0
    assert "opset_import" in text.read_text()


def test_switches_of_mlir_opt_are_there(write: Write, capsys: pytest.CaptureFixture[str]):
    program = write(VALID)
    for options in ("--mlir-disable-threading", "--verify-each", "--verify-each=true", "--verify-each=false"):
        assert main([options, program, "--cse"]) == 0
    assert main([program, "--verify-each=perhaps"]) == 2
    capsys.readouterr()
    assert main(["--show-dialects"]) == 0
    words = capsys.readouterr().out.removeprefix("Available Dialects: ").strip().split(",")
    assert {"fuse", "func", "stablehlo"} <= set(words)
    assert words == sorted(words)


class _BreakPass(ModulePass):
    """Makes the module invalid."""

    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                function.properties["function_type"] = FunctionType.from_lists([], [i32])


def test_without_verify_each_the_last_pass_is_verified_all_the_same(write: Write, capsys: pytest.CaptureFixture[str]):
    tool = FuseOptMain(args=[write("func.func @f() { return }"), "--verify-each=false", "--cse", "--cse"])
    tool.passes = [_BreakPass(), *tool.passes]
    with pytest.raises(FuseError, match="note: after pass 'cse'"):
        tool.run()
    tool.args.verify_each = True
    with pytest.raises(FuseError, match="note: after pass 'break'"):
        tool.run()


def test_the_package_is_a_command(capsys: pytest.CaptureFixture[str], write: Write):
    assert package_main([]) == 0
    assert "python -m fuse_dialect opt" in capsys.readouterr().out
    assert package_main(["opt", write(VALID)]) == 0
    assert "func.func @f" in capsys.readouterr().out
    assert package_main(["run", "--version"]) == 0
    assert capsys.readouterr().out.startswith("fuse-run ")
    assert package_main(["fuse"]) == 2
    assert "expected opt or run" in capsys.readouterr().err


def test_device_is_written_in_place(write: Write):
    assert main([write(VALID), "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


def test_disable_verify_does_not_outlive_the_run(write: Write):
    before = Attribute.__post_init__
    assert main([write("func.func @f() -> i32 { return }"), "--disable-verify"]) == 0
    assert Attribute.__post_init__ is before


def test_expected_errors_are_results(write: Write, capsys: pytest.CaptureFixture[str]):
    text = f"{INVALID}// -----\n%0 = arith.constant 1 :\n// -----\n{VALID}"
    assert main([write(text), "--split-input-file", "--verify-diagnostics", "--parsing-diagnostics"]) == 0
    first, second, third = capsys.readouterr().out.split("// -----\n")
    assert "Operation does not verify: Expected 2 operands" in first
    assert "x.mlir:7:1" in second
    assert "func.func @f" in third


def test_error_in_a_later_part_leaves_the_others(write: Write, capsys: pytest.CaptureFixture[str]):
    assert main([write(f"{VALID}// -----\n{INVALID}"), "--split-input-file"]) == 1
    captured = capsys.readouterr()
    assert captured.out.endswith("}\n// -----\n")
    assert "x.mlir:6:8: error:" in captured.err


def test_explicit_location_wins(write: Write, capsys: pytest.CaptureFixture[str]):
    assert main([write(INVALID.replace("-> f32\n", '-> f32 loc("add.py":3:4)\n'))]) == 1
    assert capsys.readouterr().err.startswith("add.py:3:4: error: 'arith.addf' op")


def test_onnx_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def no_module(name: str) -> None:
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

    monkeypatch.setattr(onnx_source, "import_module", no_module)
    assert main(["model.onnx"]) == 1
    assert capsys.readouterr().err == (
        f"model.onnx: error: reading ONNX needs the 'onnx' extra\nhint: {install_hint('onnx')}\n"
    )


def test_llvm_extra_is_named_when_it_is_missing(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("llvmlite", "fuse_dialect.targets.llvm", "xdsl.backend.llvm.convert"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    for text in (VALID, "func.func private @f()"):
        assert main([write(text), "-t", "llvm"]) == 1
        assert capsys.readouterr().err.splitlines() == [
            "error: -t llvm needs the 'native' extra",
            f"hint: {install_hint('native')}",
        ]


def test_onnx_comes_from_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("onnx_ir")
    model = (Path(__file__).resolve().parents[2] / "docs" / "examples" / "tiny_cnn.onnx").read_bytes()
    for text, status in ((model, 0), (b"no model", 1)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(["-f", "onnx", "-"]) == status
    captured = capsys.readouterr()
    assert "fuse.conv2d" in captured.out
    assert captured.err == "<stdin>: error: the file is not an ONNX model\n"


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 1, "error: out of memory"),
        (RecursionError(), 1, "error: input is nested too deeply"),
        (KeyError("x"), 1, "error: internal error: KeyError: 'x'"),
    ],
)
def test_no_exception_leaves_the_tool(
    error: BaseException,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def fail(arguments: list[str], options: list[str]) -> None:
        raise error

    monkeypatch.setattr(fuse_opt, "_run", fail)
    assert main([]) == status
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_debug_shows_the_traceback(write: Write, capsys: pytest.CaptureFixture[str]):
    assert main([write(INVALID), "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_same_resource_keys_for_the_same_text(write: Write, capsys: pytest.CaptureFixture[str]):
    resources = '{-# dialect_resources: {builtin: {blob: "0x08"}} #-}'
    path = write(f'"test.op"() {{a = dense_resource<blob> : tensor<1xi8>}} : () -> ()\n{resources}')
    assert (main([path]), main([path])) == (0, 0)
    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :]
    assert 'blob: "0x08"' in out


def test_every_part_of_a_split_input_is_processed(write: Write, capsys: pytest.CaptureFixture[str]):
    text = f"{INVALID}// -----\n{VALID}// -----\n%0 = arith.constant 1 :\n// -----\n{INVALID}"
    assert main([write(text), "--split-input-file"]) == 1
    captured = capsys.readouterr()
    assert [bool(part.strip()) for part in captured.out.split("// -----\n")] == [False, True, False, False]
    errors = [line.partition("x.mlir:")[2] for line in captured.err.splitlines() if ": error: " in line]
    assert [place.split(":")[0] for place in errors] == ["2", "11", "13"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("--fuse-ops{max-depth=3} IN", 'write --fuse-ops="max-depth=3", or -p "fuse-ops{max-depth=3}"'),
        ("--fuse-ops --max-depth=3 IN", 'write --fuse-ops="max-depth=3"'),
        ("IN --dedup=false", 'write --fuse-ops="dedup=false"'),
        ("--fuse-ops --opt-level 0 IN", 'write --fuse-ops="opt-level=0"'),
        ("IN --opt-level 0", 'write --fuse-ops="opt-level=0"'),
        ("--fuse-ops-hw --template npu.mlir IN", 'write --fuse-ops-hw="template=npu.mlir"'),
        ("--fuse-ops IN --max-dept=3", 'write --fuse-ops="max-depth=3"'),
        ("--fuse-ops IN -opt-level=0", 'write --fuse-ops="opt-level=0"'),
    ],
)
def test_option_of_a_pass_that_stands_alone_is_explained(
    arguments: str, hint: str, write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(Path(write(VALID)).parent)
    assert main(arguments.replace("IN", "x.mlir").split()) in (1, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(f"\nhint: {hint}\n")
    assert os.listdir() == ["x.mlir"]


@pytest.mark.parametrize("options", ["max-depth=3 max-depth=4", "max-depth=3 max_depth=3", 'skip="a" skip="b c"'])
def test_option_given_twice_is_an_error(options: str, write: Write, capsys: pytest.CaptureFixture[str]):
    assert main([write(VALID), f"--fuse-ops={options}"]) == 1
    assert "is given twice" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["arm-asm", "csl", "mps", "riscv-asm", "wat", "wgsl", "x86-asm"])
def test_target_for_other_dialects_fails_cleanly(target: str, write: Write, capsys: pytest.CaptureFixture[str]):
    assert main([write(VALID), "-t", target]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[0].endswith(f"error: target '{target}' cannot write this module")


def test_every_option_of_xdsl_opt_is_there():
    theirs = ArgumentParser()
    tool = object.__new__(xDSLOptMain)
    tool.available_frontends, tool.available_passes, tool.available_targets = {}, {}, {}
    tool.register_all_arguments(theirs)
    options = {option for option in theirs._option_string_actions if option.startswith("--")}
    assert options <= opt_argument_parser("", ["mlir"], ["mlir"]).long_options


class Shrink(ModulePass):
    name = "shrink-it"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise ShrinkException


@pytest.mark.parametrize(
    ("passes", "status", "text"), [(["--shrink-it"], 0, "Success, can shrink"), ([], 1, "Failure, can't shrink")]
)
def test_shrink_says_whether_a_pass_asks_for_less(
    passes: list[str],
    status: int,
    text: str,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def register(tool: FuseOptMain) -> None:
        tool.available_passes["shrink-it"] = lambda: Shrink

    monkeypatch.setattr(FuseOptMain, "register_all_passes", register)
    assert main([write(VALID), "--shrink", *passes]) == status
    assert text in capsys.readouterr().out


def test_reproducer_fails_again(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    reproducer = str(tmp_path / "again.mlir")
    flags = [f"--mlir-pass-pipeline-crash-reproducer={reproducer}", "--cse"]
    assert main([write(VALID), *flags, "--insert-hardware", "--fuse-ops-hw=template=missing.mlir"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    comment = Path(reproducer).read_text().splitlines()[0]
    tool, *arguments = shlex.split(comment.removeprefix("// "))
    assert tool == "fuse-opt"
    assert main(arguments) == 1
    assert captured.err.endswith(capsys.readouterr().err)


def test_reproducer_is_not_written_without_an_error(write: Write, tmp_path: Path):
    reproducer = tmp_path / "again.mlir"
    assert main([write(VALID), f"--mlir-pass-pipeline-crash-reproducer={reproducer}", "--cse", "-o", os.devnull]) == 0
    assert not reproducer.exists()


def test_remarks_come_in_the_order_of_the_text(write: Write, capsys: pytest.CaptureFixture[str]):
    """The last op in the text is the first that the result needs."""
    program = """func.func @main(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %a = fuse.exp %x : tensor<4x4xf32>
      %d = fuse.log %x : tensor<4x4xf32>
      %e = fuse.sum %d, axes = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
      %b = fuse.sum %a, axes = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
      return %b, %e : tensor<4xf32>, tensor<4xf32>
    }"""
    assert main([write(program), "--fuse-ops=max-depth=1", "--fusion-remarks"]) == 0
    lines = [int(line.split(":")[1]) for line in capsys.readouterr().err.splitlines() if ": remark: " in line]
    assert len(lines) >= 2
    assert lines == sorted(lines)
