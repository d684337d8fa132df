"""Input that once was reported as a bug of the tool: whatever is read, the error is the input's or there is none."""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from fuse_dialect.tools.fuse_opt import main
from fuse_dialect.universe import OWN_NAMES

NESTED = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  builtin.module attributes {fuse.pattern_kind = #fuse.pattern_kind<elemwise>} {
    func.func @inner(%y: tensor<4xf32>) -> tensor<4xf32> {
      %z = fuse.relu %y : tensor<4xf32>
      return %z : tensor<4xf32>
    }
  }
  "acme.module"() ({
    func.func @other(%y: tensor<4xf32>) -> tensor<4xf32> {
      %z = fuse.relu %y : tensor<4xf32>
      return %z : tensor<4xf32>
    }
  }) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>} : () -> ()
  %y = fuse.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
INVALID = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @p(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @p() : () -> tensor<4xf32>
  %u, %v = func.call @p(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %w = func.call @q(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %y : tensor<4xf32>, tensor<4xf32>
}
func.func private @p(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %y = fuse.relu %x : tensor<4xf32>
  return %y, %y : tensor<4xf32>, tensor<4xf32>
}
func.func private @q(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  "fuse.add"(%x) : (tensor<4xf32>) -> ()
}
"""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str) -> str:
        path = tmp_path / "x.mlir"
        path.write_text(text)
        return str(path)

    return write_file


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
    assert "internal error" not in err.getvalue()
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", OWN_NAMES.all_passes)
def test_functions_in_an_op_with_a_kind(name: str, write: Write):
    status, _, err = run(write(NESTED), "--allow-unregistered-dialect", f"--{name}")
    if name == "convert-fuse-to-linalg":
        assert status == 1
        assert "holds ops in a region, which do not become linalg" in err
    else:
        assert (status, err) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("-t", "hardware-dot"), ("--print-op-generic",), ("--fusion-remarks",)])
@pytest.mark.parametrize("name", OWN_NAMES.all_passes)
def test_module_that_is_not_verified(name: str, flags: tuple[str, ...], write: Write):
    status, out, err = run(write(INVALID), "--disable-verify", f"--{name}", *flags)
    assert (status == 0) == (err == "")
    assert (status == 1) == (out == "")


def test_hint_of_an_unverified_module(write: Write):
    _, _, err = run(write(INVALID), "--disable-verify", "--defuse-ops")
    assert err.endswith("hint: without --disable-verify the verifier says what is wrong\n")
    status, _, err = run(write(INVALID), "--defuse-ops")
    assert status == 1
    assert "x.mlir:2:8: error: 'func.call' op" in err


@pytest.mark.parametrize("dim", [2**31, 2**63 - 1, 2**64])
@pytest.mark.parametrize("name", OWN_NAMES.all_passes)
def test_enormous_sizes(dim: int, name: str, write: Write):
    text = f"""func.func @main(%x: tensor<{dim}x{dim}xf32>) -> tensor<{dim}xf32> {{
      %y = fuse.relu %x : tensor<{dim}x{dim}xf32>
      %z = fuse.sum %y, axes = [0] : (tensor<{dim}x{dim}xf32>) -> tensor<{dim}xf32>
      return %z : tensor<{dim}xf32>
    }}"""
    status, _, err = run(write(text), f"--{name}", "--fusion-remarks")
    assert status in (0, 1)
    assert sys.getsizeof(err) < 10_000


REDUCE = '"stablehlo.reduce"(OPERANDS) <{dimensions = array<i64: 0>}> ({ BODY }) : (TYPES) -> tensor<4xf32>'
PAIR = REDUCE.replace("OPERANDS", "%x, %x").replace("TYPES", "tensor<4xf32>, tensor<4xf32>")
WHILE = '"stablehlo.while"(%x) ({ BODY }, { BODY }) : (tensor<4xf32>) -> tensor<4xf32>'
YIELD = '"stablehlo.return"(%x) : (tensor<4xf32>) -> ()'


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            REDUCE.replace("OPERANDS", "%x").replace("TYPES", "tensor<4xf32>").replace("BODY", YIELD),
            "an input and a start for each",
        ),
        (
            REDUCE.replace("OPERANDS", "").replace("TYPES", "").replace("BODY", YIELD),
            "an input and a start for each",
        ),
        (
            REDUCE.replace("OPERANDS", "%x, %x")
            .replace("TYPES", "tensor<4xf32>, tensor<4xf32>")
            .replace("BODY", YIELD),
            "expects region #0 to take 2 arguments, got 0",
        ),
        (
            PAIR.replace("BODY", ""),
            "expects region #0 to be one block",
        ),
        (WHILE.replace("BODY", YIELD), "expects region #0 to take 1 arguments, got 0"),
        (WHILE.replace("BODY", ""), "expects region #0 to be one block"),
    ],
)
def test_op_that_its_form_cannot_say_is_diagnosed(op: str, message: str, write: Write):
    text = f"func.func @main(%x: tensor<4xf32>) {{\n  %y = {op}\n  return\n}}\n"
    status, out, err = run(write(text))
    assert (status, out) == (1, "")
    assert message in err
    assert ":2:" in err


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            "linalg.transpose ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) permutation = [7]",
            "'linalg.transpose' op is not valid (IndexError in its verifier: tuple index out of range)",
        ),
        (
            '"stablehlo.compare"(%x, %x) <{comparison_direction = 1 : i32}> : (tensor<4xf32>, tensor<4xf32>) -> i1',
            "base",
        ),
        (
            '"tosa.abs"(%x) {"not a = property" = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>',
            "has no attribute 'not a =",
        ),
        (
            '"linalg.matmul"(%x, %x, %x) <{operandSegmentSizes = array<i32: 2, 1>}> ({ ^bb0(%a: f32, %b: f32, %c: f32):'
            ' "linalg.yield"(%a) : (f32) -> () }) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>',
            "expects a result of the type of each tensor in 'outs'",
        ),
    ],
)
def test_op_that_is_not_valid_is_diagnosed(op: str, message: str, write: Write):
    status, out, err = run(write(f"func.func @main(%x: tensor<4xf32>) {{\n  %y = {op}\n  return\n}}\n"))
    assert (status, out) == (1, "")
    assert message in err
    assert ":2:" in err


def test_op_that_xdsl_cannot_print_is_diagnosed(write: Write, monkeypatch: pytest.MonkeyPatch):
    op = '"tensor.expand_shape"(%x) <{reassociation = [[0, 1]], static_output_shape = array<i64: 2, NUMBER>}>'
    text = f"func.func @main(%x: tensor<4xf32>) {{\n  %y = {op} : (tensor<4xf32>) -> tensor<2x2xf32>\n  return\n}}\n"
    path = write(text.replace("NUMBER", str(-(1 << 63))))
    monkeypatch.setattr("fuse_dialect.loading.definitions.PRINTED_FORMS", {})
    status, out, err = run(path)
    assert (status, out) == (1, "")
    assert "x.mlir:2:8: error: 'tensor.expand_shape' op has no custom form (IndexError in its printer:" in err
    assert "hint: --print-op-generic prints it" in err
    assert '"tensor.expand_shape"(%x) <{' in run(path, "--print-op-generic")[1]


def test_attribute_of_a_tosa_op_is_printed_so_that_it_is_read_back(write: Write):
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = "tosa.abs"(%x) {"a.b c" = 1 : i32, fuse.hardware_reason = "none"} : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    status, out, _ = run(write(text))
    assert status == 0
    assert '{"a.b c" = 1 : i32, fuse.hardware_reason = "none"}' in out
    assert run(write(out))[1] == out
