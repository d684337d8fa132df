"""`tools/run_stablehlo_tests.py` on small files: what it counts as right, refused and wrong, and how it reads them."""

import ast
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import run_stablehlo_tests
from stablehlo_suite import constants
from stablehlo_suite.cases import Check, cases_of
from stablehlo_suite.constants import UnreadableError, read_dense, read_type
from stablehlo_suite.judging import complaint, is_near_sum

ROOT = Path(__file__).parents[2]

FROM_JAX = """// RUN: something
module @jit_main attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main() -> (tensor<2x2xf32> {jax.result_info = "", mhlo.layout_mode = "default"}) {
    %0:2 = call @inputs() : () -> (tensor<2x2xf32>, tensor<2x2xf32>)
    %1 = call @expected() : () -> tensor<2x2xf32>
    %2 = stablehlo.add %0#0, %0#1 : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_close(%2, %1) {has_side_effect = true}
      : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return %2 : tensor<2x2xf32>
  }
  func.func private @inputs() -> (tensor<2x2xf32> {mhlo.layout_mode = "default"}, tensor<2x2xf32>) {
    %cst = stablehlo.constant dense<[[1.0, 2.0], [-3.0, 0x7F800000]]> : tensor<2x2xf32>
    %cst_0 = stablehlo.constant dense<"0x0000803F000000400000404000008040"> : tensor<2x2xf32>
    return %cst, %cst_0 : tensor<2x2xf32>, tensor<2x2xf32>
  }
  func.func private @expected() -> tensor<2x2xf32> {
    %cst = stablehlo.constant dense<[[2.0, 4.0], [0.0, 0x7F800000]]> : tensor<2x2xf32>
    return %cst : tensor<2x2xf32>
  }
}
"""
OF_INTERPRETER = """func.func @sum() {
  // check.expect_eq_const %x, dense<7> : tensor<i64> is a comment
  %x = stablehlo.constant dense<[[1, 2],
                                 [3, 4]]> : tensor<2x2xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<2x2xi64>, tensor<i64>) -> tensor<2xi64>
  check.expect_eq_const %y, dense<[3, 7]> : tensor<2xi64>
  func.return
}

// -----

func.func @two() {
  %x = stablehlo.constant dense<2.0> : tensor<f64>
  %y = stablehlo.negate %x : tensor<f64>
  "check.expect_almost_eq_const"(%y) <{value = dense<-2.00001> : tensor<f64>}> : (tensor<f64>) -> ()
  %z = stablehlo.negate %y : tensor<f64>
  check.expect_eq %z, %x : tensor<f64>
  func.return
}
"""


def checkout(tmp_path: Path, testdata: str = "", interpreter: str = "") -> Path:
    for folder, name, text in (("testdata", "a.mlir", testdata), ("tests/interpret", "b.mlir", interpreter)):
        place = tmp_path / "stablehlo" / folder
        place.mkdir(parents=True)
        if text:
            (place / name).write_text(text)
    return tmp_path


def test_right_in_every_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_stablehlo_tests.main([str(checkout(tmp_path, FROM_JAX, OF_INTERPRETER))]) == 0
    printed = capsys.readouterr().out
    for way in ("numpy", "fused", "native"):
        assert f"testdata         {way:<7} 1 cases: 1 right, 0 refused, 0 wrong" in printed
        assert (
            f"tests/interpret  {way:<7} 2 cases: 2 right, 0 refused, 0 wrong; right are 1 of 1 files and 3 of 3 checks"
            in (printed)
        )


@pytest.mark.parametrize(
    ("good", "bad"),
    [("[3, 7]>", "[3, 8]>"), ("dense<-2.00001>", "dense<-2.001>"), ("expect_eq %z, %x", "expect_eq %y, %x")],
)
def test_what_is_expected_otherwise_is_wrong(
    good: str, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = OF_INTERPRETER.replace(good, bad)
    assert text != OF_INTERPRETER
    assert run_stablehlo_tests.main([str(checkout(tmp_path, interpreter=text)), "--ways", "numpy"]) == 1
    printed = capsys.readouterr().out
    assert "2 cases: 1 right, 0 refused, 1 wrong" in printed
    assert "\nwrong: b/" in printed


def test_refusals_are_counted_by_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """func.func @main() {
  %x = stablehlo.constant dense<[[2.0, 0.0], [0.0, 2.0]]> : tensor<2x2xf32>
  %y = stablehlo.custom_call @solved_elsewhere(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<0.5> : tensor<2x2xf32>
  func.return
}
"""
    assert run_stablehlo_tests.main([str(checkout(tmp_path, interpreter=text)), "--ways", "numpy"]) == 0
    printed = capsys.readouterr().out
    assert "1 cases: 0 right, 1 refused, 0 wrong" in printed
    assert "    1 'stablehlo.custom_call' op has no equal among the 'fuse' ops: a call of a function outside" in printed


def test_a_folder_without_tests_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_stablehlo_tests.main([str(tmp_path)]) == 1
    assert "no test of testdata" in capsys.readouterr().err


def test_inputs_become_arguments_and_expected_values_are_not_in_the_program(tmp_path: Path) -> None:
    (case,) = cases_of(next((checkout(tmp_path, FROM_JAX) / "stablehlo/testdata").iterdir()))
    assert [each.type for each in case.inputs] == ["tensor<2x2xf32>"] * 2
    assert "constant" not in case.text
    assert "@expected" not in case.text
    assert "check." not in case.text


def test_a_case_as_written_keeps_its_inputs(tmp_path: Path) -> None:
    path = checkout(tmp_path, interpreter=OF_INTERPRETER) / "stablehlo/tests/interpret/b.mlir"
    given, written = (list(cases_of(path, as_written=flag)) for flag in (False, True))
    assert [len(case.inputs) for case in given] == [2, 1]
    assert [len(case.inputs) for case in written] == [0, 0]


@pytest.mark.parametrize(
    ("dense", "type_", "expected"),
    [
        ("dense<2>", "tensor<3xi8>", np.full(3, 2, np.int8)),
        ("dense<[[1, -2], [3, 4]]>", "tensor<2x2xi32>", np.array([[1, -2], [3, 4]], np.int32)),
        ("dense<[true, false]>", "tensor<2xi1>", np.array([True, False])),
        ("dense<[0x7F800000, 0xFF800000]>", "tensor<2xf32>", np.array([np.inf, -np.inf], np.float32)),
        ("dense<0x7FC0>", "tensor<bf16>", np.array(np.nan, ml_dtypes.bfloat16)),
        ("dense<[1.5e+00, -0.0]>", "tensor<2xf16>", np.array([1.5, -0.0], np.float16)),
        ('dense<"0x003C00C0">', "tensor<2xf16>", np.array([1, -2], np.float16)),
        ('dense<"0x803F">', "tensor<2x2xbf16>", np.ones((2, 2), ml_dtypes.bfloat16)),
        ('dense<"0x0001">', "tensor<2xi1>", np.array([False, True])),
        ("dense<[(1.0, -2.0), (0.0, 3.0)]>", "tensor<2xcomplex<f32>>", np.array([1 - 2j, 3j], np.complex64)),
        ("dense<[-8, 7]>", "tensor<2xi4>", np.array([-8, 7], ml_dtypes.int4)),
        ("dense<[0.5, 448.0]>", "tensor<2xf8E4M3FN>", np.array([0.5, 448], ml_dtypes.float8_e4m3fn)),
        ("dense<>", "tensor<2x0xui8>", np.zeros((2, 0), np.uint8)),
        ("dense<18446744073709551615>", "tensor<ui64>", np.array(2**64 - 1, np.uint64)),
    ],
)
def test_constants(dense: str, type_: str, expected: constants.Array) -> None:
    found = read_dense(dense, read_type(type_))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("dense", "type_"),
    [
        ("dense<[1, [2, 3]]>", "tensor<2x2xi32>"),
        ("dense<[1, 2, 3]>", "tensor<2xi32>"),
        ('dense<"0x01020304">', "tensor<3xi8>"),
        ("dense<1>", "tensor<2xi7>"),
        ("dense<1>", "tensor<?xi32>"),
        ("sparse<1>", "tensor<2xi32>"),
    ],
)
def test_what_is_not_known_is_said_to_be(dense: str, type_: str) -> None:
    with pytest.raises(UnreadableError):
        read_dense(dense, read_type(type_))


def test_constants_are_read_without_the_package() -> None:
    for name in ("constants", "text", "cases", "judging"):
        tree = ast.parse((ROOT / f"tools/stablehlo_suite/{name}.py").read_text())
        plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        of_modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        imported = {each.partition(".")[0] for each in (*plain, *of_modules)}
        assert not imported & {"fuse_dialect", "xdsl"}, name


CLOSE = Check("close", 0, ulps=(0, 3))


@pytest.mark.parametrize(
    ("check", "actual", "expected", "is_good"),
    [
        (CLOSE, 1.0, 1.0 + 3 * 2**-23, True),
        (CLOSE, 1.0, 1.0 + 4 * 2**-23, False),
        (CLOSE, 2**-149, -(2**-149), True),
        (CLOSE, np.nan, np.nan, True),
        (CLOSE, np.inf, np.finfo(np.float32).max, False),
        (Check("close", 0, ulps=(2**64 - 1, 2**64 - 1)), np.inf, -np.inf, True),
        (Check("close", 0, ulps=(5, 5)), 1.0, 1.0 + 4 * 2**-23, False),
        (Check("eq", 0), 0.0, -0.0, False),
        (Check("eq", 0), np.nan, np.nan, True),
        (Check("almost_eq", 0, 1e-3), 1.0, 1.0009, True),
        (Check("almost_eq", 0, 1e-3), 1.0, 1.0011, False),
        (Check("almost_eq", 0, 1e-3), np.inf, np.inf, True),
        (Check("almost_eq", 0, 1e-3), np.nan, 1.0, False),
    ],
)
def test_judgements(check: Check, actual: float, expected: float, is_good: bool) -> None:
    arrays = np.array([actual], np.float32), np.array([expected], np.float32)
    assert (complaint(check, *arrays) == "") == is_good


def test_other_types_and_shapes_are_wrong() -> None:
    one = np.ones(2, np.float32)
    assert complaint(Check("eq", 0), one, one.astype(np.float64))
    assert complaint(Check("eq", 0), one, one[None])


TWO_FUNCTIONS = """func.func @main() {
  %x = stablehlo.constant dense<0.5> : tensor<f32>
  %y = stablehlo.exponential %x : tensor<f32>
  %z = stablehlo.log %y : tensor<f32>
  check.expect_close %z, %w, max_ulp_difference = 3 : tensor<f32>, tensor<f32>
  %w = stablehlo.constant dense<EXPECTED> : tensor<f32>
  func.return
}
"""


@pytest.mark.parametrize(("ulps", "outcome"), [(5, 0), (7, 1)])
def test_units_of_several_functions_add_up(ulps: int, outcome: int, tmp_path: Path) -> None:
    text = TWO_FUNCTIONS.replace("EXPECTED", repr(0.5 + ulps * 2**-24))
    assert run_stablehlo_tests.main([str(checkout(tmp_path, interpreter=text)), "--ways", "numpy"]) == outcome


def test_the_units_of_a_sum_are_those_of_the_largest() -> None:
    expected = np.array([8.0, 1e-6], np.float32)
    near, far = (np.array([8.0, 1e-6 + ulps * 2**-20], np.float32) for ulps in (2.9, 3.5))
    assert complaint(CLOSE, near, expected)
    assert is_near_sum(CLOSE, near, expected)
    assert not is_near_sum(CLOSE, far, expected)


def test_functions_of_one_part_are_cases_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = OF_INTERPRETER.replace("// -----", "// // -----")
    assert run_stablehlo_tests.main([str(checkout(tmp_path, interpreter=text)), "--ways", "numpy"]) == 0
    assert "2 cases: 2 right, 0 refused, 0 wrong" in capsys.readouterr().out
