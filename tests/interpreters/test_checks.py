"""Checks of IREE and StableHLO: read, printed, passed, failed with a place."""

from io import StringIO
from pathlib import Path

import pytest

import fuse_dialect as fd
from fuse_dialect.targets.mlir import FusePrinter
from fuse_dialect.tools.fuse_run import main

ROW = "tensor<2xf32>"
PASSES = [
    f"check.expect_eq(%x, %x) : {ROW}",
    f"check.expect_eq_const(%x, dense<[1.000000e+00, 2.000000e+00]> : {ROW}) : {ROW}",
    f"check.expect_almost_eq_const(%x, dense<[1.000010e+00, 2.000000e+00]> : {ROW}) : {ROW}",
    f"check.expect_almost_eq_const(%x, dense<[1.500000e+00, 2.500000e+00]> : {ROW}, "
    f"atol 1.000000e-02, rtol 5.000000e-01) : {ROW}",
    f"check.expect_almost_eq %x, %y, tolerance = 1.000000e-01 : {ROW}",
    f"check.expect_almost_eq_const %x, dense<[1.000000e+00, 2.000000e+00]> : {ROW}",
    f"check.expect_eq_const %x, dense<[1.000000e+00, 2.000000e+00]> : {ROW}",
    f"check.expect_close %x, %y, max_ulp_difference = 1, min_ulp_difference = 0 : {ROW}, {ROW}",
    f"check.expect_close %x, %y, max_ulp_difference = {2**64 - 1} : {ROW}, {ROW}",
    "check.expect_true(%one) : i32",
    "check.expect_false(%zero) : i32",
    "check.expect_all_true(%ones) : tensor<2xi8>",
]
FAILS = [
    (f"check.expect_eq(%x, %z) : {ROW}", "1 of 2 elements differ: expects 3.0 at [1], got 2.0"),
    (f"check.expect_eq(%x, %y) : {ROW}", "1 of 2 elements differ: expects 1.0000001"),
    (f"check.expect_eq_const(%x, dense<[2.0, 2.0]> : {ROW}) : {ROW}", "expects 2.0 at [0], got 1.0"),
    (f"check.expect_almost_eq(%x, %z) : {ROW}", "got 2.0 (atol 0.0001, rtol 0)"),
    (f"check.expect_almost_eq(%x, %nan) : {ROW}", "2 of 2 elements differ: expects nan at [0], got 1.0"),
    (f"check.expect_almost_eq(%nan, %x) : {ROW}", "2 of 2 elements differ: expects 1.0 at [0], got nan"),
    (f"check.expect_close %x, %z : {ROW}, {ROW}", "(from 0 to 1 units in the last place)"),
    (f"check.expect_close %x, %y, min_ulp_difference = 1 : {ROW}, {ROW}", "expects 2.0 at [1], got 2.0"),
    ("check.expect_true(%zero) : i32", "fails: expects 1, got 0"),
    ("check.expect_false(%one) : i32", "fails: expects 0, got 1"),
    (f"stablehlo.custom_call @check.expect_eq(%x, %z) : ({ROW}, {ROW}) -> ()", "expects 3.0 at [1], got 2.0"),
    (f"stablehlo.custom_call @check.expect_close(%x, %z) : ({ROW}, {ROW}) -> ()", "expects 3.0 at [1], got 2.0"),
]


def program(check: str) -> str:
    return f"""func.func @main() {{
  %x = util.unfoldable_constant dense<[1.0, 2.0]> : {ROW}
  %y = util.unfoldable_constant dense<[1.00000012, 2.0]> : {ROW}
  %z = arith.constant dense<[1.0, 3.0]> : {ROW}
  %nan = arith.constant dense<0x7FC00000> : {ROW}
  %one = util.unfoldable_constant 1 : i32
  %zero = util.unfoldable_constant 0 : i32
  %ones = util.unfoldable_constant dense<1> : tensor<2xi8>
  {check}
  return
}}
"""


@pytest.mark.parametrize("check", PASSES)
def test_a_check_passes_and_is_printed_as_it_was(check: str) -> None:
    module = fd.parse(program(check))
    assert fd.run(module) == []
    assert fd.run(fd.fuse_ops(module)) == []
    text = StringIO()
    FusePrinter(stream=text).print_op(module)
    assert check in text.getvalue()


@pytest.mark.parametrize(("check", "message"), FAILS)
def test_a_check_that_fails_is_an_error_with_a_place(
    check: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(program(check))
    assert main([str(path)]) == 1
    error = capsys.readouterr().err
    assert f"{path}:9:3: error: '{check.split('(')[0].split(' ')[0]}' op " in error
    assert message in error
    assert "Traceback" not in error


def test_the_greatest_difference_is_printed_as_it_is_read() -> None:
    check = f"check.expect_close %x, %y, max_ulp_difference = {2**64 - 1} : {ROW}, {ROW}"
    printed = fd.text(fd.parse(program(check)))
    assert f"max_ulp_difference = {2**64 - 1}" in printed
    assert fd.text(fd.parse(printed)) == printed


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (f"check.expect_eq(%x) : {ROW}", "expected"),
        (f"check.expect_eq(%x, %x, atol 1) : {ROW}", "'check.expect_eq' op compares without 'atol'"),
        (f"check.expect_close %x, %y, max_ulp_difference = -1 : {ROW}, {ROW}", "unsigned integer of 64 bits"),
        (f"check.expect_almost_eq(%x, %x, btol 1) : {ROW}", "unknown or repeated tolerance 'btol'"),
        ('"check.expect_eq"(%x) : (tensor<2xf32>) -> ()', "expects 2 operands, got 1"),
        ('"check.expect_eq_const"(%x) : (tensor<2xf32>) -> ()', "expects a constant in 'value'"),
        ("check.expect_eq_const(%x, dense<[1, 2]> : tensor<2xi64>) : tensor<2xf32>", "expects int64 of shape [2]"),
    ],
)
def test_a_bad_check_is_diagnosed(check: str, message: str) -> None:
    with pytest.raises(fd.FuseError, match="error") as caught:
        fd.run(fd.parse(program(check)))
    assert message in str(caught.value)
