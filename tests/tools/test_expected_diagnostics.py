"""`--verify-diagnostics`: diagnostics that comments expect, as mlir-opt checks them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fuse_dialect.tools.fuse_opt import main

GOOD = "func.func @good(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
BAD = """func.func @bad(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<4xf32> {
  BEFORE
  %z = fuse.add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32> BESIDE
  // BEHIND
  return %z : tensor<4xf32>
}
"""
MESSAGE = "expects broadcast-compatible shapes, got 4 and 3"

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def run(text: str, *options: str) -> tuple[int, str, str]:
        (tmp_path / "x.mlir").write_text(text)
        code = main([str(tmp_path / "x.mlir"), "--verify-diagnostics", *options])
        return code, *capsys.readouterr()

    return run


def bad(before: str = "", beside: str = "", behind: str = "") -> str:
    return BAD.replace("BEFORE", before).replace("BESIDE", beside).replace("BEHIND", behind)


MET = [
    bad(f"// expected-error@+1 {{{{{MESSAGE}}}}}"),
    bad(f"// expected-error @+1 {{{{{MESSAGE}}}}}"),
    bad(beside="// expected-error {{'fuse.add' op expects broadcast}}"),
    bad(behind="expected-error@-1 {{dimension 0: 4 vs 3}}"),
    bad(behind="expected-error@above {{4 and 3}}"),
    bad("// expected-error@below {{4 and 3}}"),
    bad(beside="// expected-error-re {{got {{[0-9]+}} and {{(3|4)}} (dimension}}"),
    "// expected-error@+1 {{fuse.nothing}}\n%0 = fuse.nothing\n",
]


@pytest.mark.parametrize("text", MET)
def test_an_expected_error_is_no_failure(check: Check, text: str) -> None:
    assert check(text) == (0, "", "")


UNMET = [
    (bad("// expected-error@+1 {{something else}}"), ["unexpected error: 'fuse.add'", '"something else" was not']),
    (bad("// expected-error {{4 and 3}}"), ["unexpected error", 'expected error "4 and 3" was not produced']),
    (bad("// expected-warning@+1 {{4 and 3}}"), ["unexpected error", "expected warning"]),
    (bad(beside="// expected-error-re {{got {{[a-z]+}} and}}"), ["unexpected error", "expected error"]),
    (bad(beside="// expected-error {{got {{[0-9]+}} and}}"), ["unexpected error", "expected error"]),
    (bad("// expected-error@+1 {{4 and 3}}\n  // expected-error@+1 {{4 and 3}}"), ["expected error"]),
    (GOOD + "// expected-remark@-1 {{fused}}\n", ['expected remark "fused" was not produced']),
]


@pytest.mark.parametrize(("text", "complaints"), UNMET)
def test_what_is_not_as_expected_is_an_error(check: Check, text: str, complaints: list[str]) -> None:
    code, _, errors = check(text)
    lines = [line for line in errors.splitlines() if "error: " in line]
    assert code == 1
    assert len(lines) >= len(complaints)
    assert all(any(complaint in line for line in lines) for complaint in complaints)


def test_places_count_from_the_beginning_of_the_file(check: Check) -> None:
    text = f"{GOOD}// -----\n{bad('// expected-error@+1 {{4 and 3}}')}// -----\n{GOOD}"
    code, output, errors = check(text, "--split-input-file")
    assert (code, errors) == (0, "")
    assert output.count("// -----") == 2
    assert output.count("func.func @good") == 2


def test_a_part_that_expects_nothing_must_have_no_error(check: Check) -> None:
    text = f"{bad('// expected-error@+1 {{4 and 3}}')}// -----\n{bad()}"
    code, _, errors = check(text, "--split-input-file")
    assert code == 1
    assert errors.count("error:") == 2  # of the tool, and the one it quotes
    assert "x.mlir:10:1: error: unexpected error: 'fuse.add' op" in errors


def test_a_note_with_a_place_is_expected_by_its_own_line(check: Check) -> None:
    text = """// expected-note@below {{first defined here}}
func.func @f() { return }
// expected-error@below {{edefinition of symbol}}
func.func @f() { return }
"""
    assert check(text) == (0, "", "")
    assert "unexpected note: first defined here" in check(text.replace("expected-note@below", ""))[2]


def test_remarks_are_expected_too(check: Check) -> None:
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{value-escapes}}
  %y = fuse.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
    code, _, errors = check(text, "--fuse-ops", "--fusion-remarks")
    assert (code, errors) == (0, "")
    assert check(text.replace("value-escapes", "no-rule"), "--fuse-ops", "--fusion-remarks")[0] == 1


def test_without_expectations_errors_are_results(check: Check) -> None:
    code, output, errors = check(bad())
    assert (code, errors) == (0, "")
    assert MESSAGE in output


def test_good_parts_are_printed_beside_the_errors_of_bad_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "x.mlir", tmp_path / "y.mlir"
    source.write_text(f"{GOOD}// -----\n{bad()}// -----\n{GOOD}")
    assert main([str(source), "--split-input-file"]) == 1
    output, errors = capsys.readouterr()
    good, nothing, again = output.split("// -----\n")
    assert (good, nothing) == (again, "")
    assert "func.func @good" in good
    assert "x.mlir:7:8: error: 'fuse.add' op" in errors
    # A file is whole or not there.
    assert main([str(source), "--split-input-file", "-o", str(target)]) == 1
    assert not target.exists()
    capsys.readouterr()
